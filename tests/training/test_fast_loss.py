import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.model import Transformer, preset
from course_lib.training.fast_loss import loss_and_gradient, projected_loss
from course_lib.training.loss import label_smoothed_loss

PAD = 0


def make(*, seed=0, batch=3, target=7, width=8, vocab=11, bias=True, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()

    labels = torch.randint(1, vocab, (batch, target), generator=generator)
    lengths = torch.randint(1, target + 1, (batch, 1), generator=generator)
    labels[torch.arange(target) >= lengths] = PAD
    return (
        normal(batch, target, width),
        normal(vocab, width),
        normal(vocab) if bias else None,
        labels,
    )


def plain_loss(hidden, weight, bias, labels, smoothing):
    return label_smoothed_loss(F.linear(hidden, weight, bias).float(), labels, PAD, smoothing)


def value_and_gradients(loss, *tensors):
    tensors = [t for t in tensors if t is not None]
    return [loss.detach(), *torch.autograd.grad(loss, tensors)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 4, 5, 256])
def test_value_and_gradients_are_the_plain_loss_s(smoothing, bias, rows):
    hidden, weight, offset, labels = make(bias=bias)
    fast = projected_loss(hidden, weight, offset, labels, PAD, smoothing, rows=rows)
    plain = plain_loss(hidden, weight, offset, labels, smoothing)
    torch.testing.assert_close(
        value_and_gradients(fast, hidden, weight, offset),
        value_and_gradients(plain, hidden, weight, offset),
        atol=1e-6,
        rtol=1e-5,
    )


def test_the_gradient_is_the_slope_of_the_value():
    hidden, weight, bias, labels = make(dtype=torch.float64)
    torch.autograd.gradcheck(
        lambda h, w, b: projected_loss(h, w, b, labels, PAD, 0.1, rows=4), (hidden, weight, bias)
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_under_autocast_it_is_the_plain_loss_under_autocast(smoothing):
    hidden, weight, bias, labels = make(batch=16, target=20, width=64, vocab=300)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fast = projected_loss(hidden, weight / 8, bias, labels, PAD, smoothing)
        plain = plain_loss(hidden, weight / 8, bias, labels, smoothing)
    assert fast.dtype == torch.float32
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-5)
    exact = plain_loss(hidden, weight / 8, bias, labels, smoothing)
    for of_fast, of_exact in zip(
        value_and_gradients(fast, hidden, weight, bias),
        value_and_gradients(exact, hidden, weight, bias),
        strict=True,
    ):
        assert of_fast.dtype == of_exact.dtype
        assert (of_fast - of_exact).norm() < 0.01 * of_exact.norm()


def test_a_model_in_bfloat16_gets_gradients_in_bfloat16():
    hidden, weight, bias, labels = make(dtype=torch.bfloat16)
    loss = projected_loss(hidden, weight, bias, labels, PAD, 0.1)
    _, *gradients = value_and_gradients(loss, hidden, weight, bias)
    assert {g.dtype for g in gradients} == {torch.bfloat16}


def test_the_incoming_gradient_scales_all_gradients():
    hidden, weight, bias, labels = make()
    loss = projected_loss(hidden, weight, bias, labels, PAD, 0.1)
    once = torch.autograd.grad(loss, (hidden, weight, bias), retain_graph=True)
    thrice = torch.autograd.grad(3 * loss, (hidden, weight, bias))
    torch.testing.assert_close(thrice, tuple(3 * g for g in once))


def test_a_batch_of_pads_has_loss_zero_and_zero_gradients():
    hidden, weight, bias, labels = make()
    loss = projected_loss(hidden, weight, bias, torch.full_like(labels, PAD), PAD, 0.1)
    assert all((x == 0).all() for x in value_and_gradients(loss, hidden, weight, bias))


def test_what_stands_at_pads_is_never_read():
    hidden, weight, bias, labels = make()
    broken = hidden.detach().masked_fill((labels == PAD)[..., None], float("nan")).requires_grad_()
    loss = projected_loss(broken, weight, bias, labels, PAD, 0.1)
    torch.testing.assert_close(loss, projected_loss(hidden, weight, bias, labels, PAD, 0.1))
    _, gradient = value_and_gradients(loss, broken)
    assert (gradient[labels == PAD] == 0).all() and gradient[labels != PAD].all()


def test_strided_tensors_are_read_in_their_own_order():
    hidden, weight, bias, labels = make()
    turned = hidden.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
    columns = weight.detach().T.contiguous().T.requires_grad_()
    turned_labels = labels.T.contiguous().T
    assert not turned.is_contiguous() and not columns.is_contiguous()
    torch.testing.assert_close(
        value_and_gradients(
            projected_loss(turned, columns, bias, turned_labels, PAD, 0.1), turned, columns
        ),
        value_and_gradients(plain_loss(hidden, weight, bias, labels, 0.1), hidden, weight),
    )


def test_a_table_used_as_embedding_and_as_output_gets_both_gradients():
    torch.manual_seed(0)
    table, tokens = nn.Parameter(torch.randn(11, 8)), torch.randint(1, 11, (3, 7))
    fast = projected_loss(F.embedding(tokens, table), table, None, tokens, PAD, 0.1)
    plain = plain_loss(F.embedding(tokens, table), table, None, tokens, 0.1)
    torch.testing.assert_close(value_and_gradients(fast, table), value_and_gradients(plain, table))


@pytest.mark.parametrize("tying", ["none", "all"])
def test_a_transformer_learns_the_same_from_both_losses(tying):
    torch.manual_seed(0)
    model = Transformer(preset("small", source_vocab=23, target_vocab=23, tying=tying))
    source, target = torch.randint(1, 23, (4, 6)), torch.randint(1, 23, (4, 5))
    labels = target.roll(-1, 1)
    hidden = model.hidden(target, model.encode(source), source)
    fast = projected_loss(hidden, model.output.weight, model.output.bias, labels, PAD, 0.1)
    plain = label_smoothed_loss(model(source, target), labels, PAD, 0.1)
    parameters = list(model.parameters())
    torch.testing.assert_close(
        value_and_gradients(fast, *parameters),
        value_and_gradients(plain, *parameters),
        atol=1e-5,
        rtol=1e-4,
    )


def test_a_word_that_was_thought_impossible_has_a_large_and_finite_loss():
    logits = torch.tensor([[0.0, 500.0, -500.0]])
    loss, gradient = loss_and_gradient(logits, torch.tensor([2]), 0.0)
    assert loss == 1000 and torch.equal(gradient, torch.tensor([[0.0, 1.0, -1.0]]))


class Sizes(TorchDispatchMode):
    """Notes the largest tensor that any operation makes, and counts the products."""

    largest = products = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.products += "mm" in func.name()
        if isinstance(out, torch.Tensor):
            self.largest = max(self.largest, out.numel())
        return out


def test_the_logits_never_exist_as_a_whole():
    hidden, weight, bias, labels = make(batch=40, target=30, width=4, vocab=50)
    with Sizes() as fast:
        projected_loss(hidden, weight, bias, labels, PAD, 0.1, rows=32).backward()
    with Sizes() as plain:
        plain_loss(hidden, weight, bias, labels, 0.1).backward()
    assert plain.largest == 40 * 30 * 50
    assert fast.largest <= max(hidden.numel(), 32 * 50)


def test_without_gradients_only_the_logits_are_computed():
    hidden, weight, bias, labels = make()
    with torch.no_grad(), Sizes() as seen:
        loss = projected_loss(hidden, weight, bias, labels, PAD, 0.1)
    assert loss.grad_fn is None and seen.products == 1
    torch.testing.assert_close(loss, plain_loss(hidden, weight, bias, labels, 0.1).detach())


@pytest.mark.parametrize("bias", [True, False])
def test_torch_func_gives_the_same_gradients(bias):
    hidden, weight, offset, labels = (x.detach() for x in make())
    offset = offset if bias else None

    def loss(hidden, weight):
        return projected_loss(hidden, weight, offset, labels, PAD, 0.1, rows=4)

    def plain(hidden, weight):
        return plain_loss(hidden, weight, offset, labels, 0.1)

    found = torch.func.grad(loss, argnums=(0, 1))(hidden, weight)
    expected = torch.func.grad(plain, argnums=(0, 1))(hidden, weight)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("smoothing", [-0.1, 2.0, float("nan")])
def test_a_smoothing_that_is_no_share_is_refused(smoothing):
    with pytest.raises(ValueError, match="smoothing is a share and must lie in"):
        projected_loss(*make(), PAD, smoothing)
