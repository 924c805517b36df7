import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.model import Dropout
from course_lib.model.dropout import dropout, random_bytes


@pytest.mark.parametrize("p", [1 / 256, 0.1, 0.25, 0.5, 0.9, 255 / 256])
def test_the_share_that_falls_is_p_to_the_next_256th(p):
    torch.manual_seed(0)
    n, quantised = 1_000_000, round(256 * p) / 256
    dropped = (dropout(torch.ones(n), p, True) == 0).double().mean()
    assert abs(quantised - p) <= 1 / 512
    assert abs(dropped - quantised) < 5 * (quantised * (1 - quantised) / n) ** 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_what_stays_is_scaled_by_the_share_really_kept(dtype):
    torch.manual_seed(0)
    x = torch.full((50, 41), 3.0, dtype=dtype)
    y = dropout(x, 0.1, True)
    assert y.dtype == dtype and y.shape == x.shape
    assert set(y.flatten().tolist()) == {0.0, (x[0, 0] * (256 / 230)).item()}


@pytest.mark.parametrize("p", [0.1, 0.3])
def test_the_mean_stays(p):
    torch.manual_seed(0)
    assert abs(dropout(torch.ones(2_000_000), p, True).mean() - 1) < 0.003


def test_each_byte_of_a_word_is_equally_random():
    torch.manual_seed(0)
    bytes_of_words = random_bytes(torch.Size((1 << 16, 8)))
    for index in range(8):
        counts = torch.bincount(bytes_of_words[:, index].long(), minlength=256).double()
        chi_squared = ((counts - 256) ** 2 / 256).sum()
        assert 255 - 6 * 510**0.5 < chi_squared < 255 + 6 * 510**0.5


def test_neighbours_fall_independently():
    torch.manual_seed(0)
    fell = (dropout(torch.ones(1_000_000), 0.5, True) == 0).double() - 0.5
    for step in (1, 2, 4, 8, 16):
        assert abs((fell[step:] * fell[:-step]).mean()) < 5 * 0.25 / 1000


def test_the_gradient_is_the_mask_times_the_scale():
    torch.manual_seed(0)
    x = torch.randn(7, 5, 3).transpose(0, 2).requires_grad_()
    y = dropout(x, 0.4, True)
    y.sum().backward()
    torch.testing.assert_close(x.grad, (y / x).detach())
    assert 0 < (x.grad == 0).sum() < x.numel()


def test_the_seed_decides_what_falls():
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = dropout(x, 0.5, True), dropout(x, 0.5, True)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(x, 0.5, True))
    assert not torch.equal(first, second)


def test_the_state_of_the_generator_restores_what_falls():
    dropout(torch.ones(13), 0.5, True)
    state = torch.get_rng_state()
    expected = [dropout(torch.ones(13), 0.5, True) for _ in range(3)]
    torch.set_rng_state(state)
    assert all(torch.equal(e, dropout(torch.ones(13), 0.5, True)) for e in expected)


def test_nothing_falls_in_eval_or_at_zero():
    x = torch.randn(9)
    state = torch.get_rng_state()
    assert torch.equal(dropout(x, 0.5, False), x) and torch.equal(dropout(x, 0.0, True), x)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("p", [0.0, 0.001, 0.999, 1.0])
def test_shares_that_a_byte_cannot_hold_are_left_to_pytorch(p):
    x = torch.randn(100)
    torch.manual_seed(0)
    expected = F.dropout(x, p, True)
    torch.manual_seed(0)
    assert torch.equal(dropout(x, p, True), expected)


def test_other_devices_are_left_to_pytorch(monkeypatch):
    monkeypatch.setattr(F, "dropout", lambda x, p, training: f"{x.device.type} {p} {training}")
    x = torch.ones(3, device="meta")
    # Unwrapped, for the checked signature does not let a sentence pass as a tensor.
    assert getattr(dropout, "__wrapped__", dropout)(x, 0.5, True) == "meta 0.5 True"


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_p_must_be_a_probability(p):
    with pytest.raises(ValueError, match="has to be between 0 and 1"):
        dropout(torch.ones(3), p, True)


@pytest.mark.parametrize("shape", [(0,), (), (1,), (8,), (3, 0, 2), (9, 1)])
def test_every_shape_may_drop_out(shape):
    assert dropout(torch.ones(shape), 0.5, True).shape == shape


def test_the_module_is_a_dropout_that_acts_while_training_only():
    module, x = Dropout(0.5), torch.ones(1000)
    assert isinstance(module, nn.Dropout) and module.p == 0.5
    assert 0 < (module(x) == 0).sum() < 1000
    assert torch.equal(module.eval()(x), x)
