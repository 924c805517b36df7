"""Three forms of one equation, and several heads of it."""

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from course_lib.model import (
    AttentionCache,
    MultiHeadAttention,
    attention_einsum,
    attention_fused,
    attention_matmul,
    causal_mask,
    merge_heads,
    split_heads,
)
from course_lib.model.attention_forms import ATTENTION, fastest_attention

FORMS = [attention_matmul, attention_einsum, attention_fused]
IN_THE_OPEN = [attention_matmul, attention_einsum]


def heads(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random (batch, heads, length, width) whose memory is not in that order."""
    batch, n_heads, length, width = shape
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, length, width, n_heads, generator=generator).to(dtype)
    return x.permute(0, 3, 1, 2).requires_grad_()


def run(form, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None):
    """Context, and the gradients of a function of it that weighs every entry differently."""
    context, _ = form(query, key, value, mask)
    ramp = torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view(context.shape)
    gradients = torch.autograd.grad((context.sin() * ramp).sum(), (query, key, value))
    return context, *gradients


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_three_forms_agree_in_values_and_gradients(data):
    size = st.integers(1, 5)
    batch, n_heads, queries, keys, width, value_width = (data.draw(size) for _ in range(6))
    if data.draw(st.booleans()):  # the case in which a wrong axis order goes unnoticed
        queries = keys = n_heads
    query = heads(batch, n_heads, queries, width, seed=1)
    key = heads(batch, n_heads, keys, width, seed=2)
    value = heads(batch, n_heads, keys, value_width, seed=3)
    shape = data.draw(
        st.sampled_from(
            [(batch, n_heads, queries, keys), (batch, 1, 1, keys), (1, 1, queries, keys)]
        )
    )
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 100)))
    mask = torch.rand(shape, generator=generator) < 0.6  # some rows are fully masked
    mask = data.draw(st.sampled_from([mask, None]))
    reference = run(attention_matmul, query, key, value, mask)
    for form in FORMS[1:]:
        for mine, theirs in zip(run(form, query, key, value, mask), reference, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", IN_THE_OPEN)
def test_attention_is_equation_1_row_by_row(form):
    query, key, value = heads(2, 3, 3, 4), heads(2, 3, 5, 4, seed=1), heads(2, 3, 5, 2, seed=2)
    context, weights = form(query, key, value)
    for b in range(2):
        for h in range(3):
            for q in range(3):
                scores = torch.stack([query[b, h, q] @ key[b, h, k] / 2.0 for k in range(5)])
                torch.testing.assert_close(weights[b, h, q], scores.softmax(0))
                expected = sum(w * v for w, v in zip(scores.softmax(0), value[b, h], strict=True))
                torch.testing.assert_close(context[b, h, q], expected)


@pytest.mark.parametrize("form", IN_THE_OPEN)
def test_rows_of_weights_sum_to_one_and_hidden_keys_get_exactly_none(form):
    query, key = heads(2, 2, 4, 3), heads(2, 2, 4, 3, seed=1)
    _, weights = form(query, key, key, causal_mask(4))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 4))
    assert (weights.triu(1) == 0).all()


def test_fused_form_has_no_weights_to_return():
    query = heads(1, 2, 3, 4)
    assert attention_fused(query, query, query)[1] is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("form", FORMS)
def test_fully_masked_row_gives_zeros_and_finite_gradients(form, dtype):
    query, key, value = (heads(2, 2, 3, 4, seed=s, dtype=dtype) for s in range(3))
    mask = torch.ones(2, 1, 3, 3, dtype=torch.bool)
    mask[0, :, 1] = False  # one query
    mask[1] = False  # a whole sentence
    context, *gradients = run(form, query, key, value, mask)
    assert (context[0, :, 1] == 0).all()
    assert (context[1] == 0).all()
    assert (context[0, :, 0] != 0).all()
    for gradient in gradients:
        assert gradient.isfinite().all()
        assert (gradient[1] == 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_dropout_drops_weights_and_keeps_their_mean(form):
    torch.manual_seed(0)
    query, value = torch.zeros(1, 1, 2000, 4), torch.ones(1, 1, 64, 4)
    context, _ = form(query, value, value, dropout_p=0.5)
    assert context.mean().item() == pytest.approx(1.0, abs=0.02)
    assert context.std() > 0.05


def test_returned_weights_are_those_before_dropout():
    query = heads(1, 2, 3, 4)
    _, weights = attention_matmul(query, query, query, dropout_p=0.9)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 3))


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3, 4)] * 3, "got (2, 3, 4), (2, 3, 4), (2, 3, 4): did you forget split_heads?"),
        (
            [(2, 3, 4, 8), (1, 3, 4, 8), (1, 3, 4, 8)],
            "query and key must agree in batch, heads and d_head",
        ),
        (
            [(2, 3, 4, 8), (2, 3, 4, 7), (2, 3, 4, 7)],
            "query and key must agree in batch, heads and d_head",
        ),
        ([(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 4, 8)], "each key needs exactly one value"),
    ],
)
def test_shapes_that_do_not_fit_are_explained(form, shapes, message):
    with pytest.raises(ValueError, match="attention expects query .*" + re.escape(message)):
        form(*(torch.zeros(shape) for shape in shapes))


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("form", FORMS)
def test_wrong_masks_are_explained_by_every_form(form):
    x = torch.zeros(2, 3, 4, 8)
    with pytest.raises(TypeError, match="mask must be boolean"):
        form(x, x, x, torch.ones(4, 4))
    with pytest.raises(ValueError, match="mask must broadcast axis by axis to the scores"):
        form(x, x, x, torch.ones(2, 4, dtype=torch.bool))


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(4,), (4, 4), (4, 4, 4)])
def test_every_form_refuses_missing_axes_even_if_all_sizes_coincide(form, shape):
    x, mask = torch.zeros(4, 4, 4, 8), torch.ones(shape, dtype=torch.bool)
    assert mask.broadcast_to(4, 4, 4, 4).shape == (4, 4, 4, 4)  # PyTorch alone would take it
    with pytest.raises(ValueError, match="mask must broadcast axis by axis to the scores"):
        form(x, x, x, mask)
    with pytest.raises(ValueError, match="mask must broadcast axis by axis to the scores"):
        MultiHeadAttention(8, 4)(x[0], x[0], x[0], mask)


@pytest.mark.parametrize("form", FORMS)
def test_large_queries_and_keys_do_not_overflow_in_float16(form):
    query, value = torch.full((1, 1, 3, 64), 40.0), heads(1, 1, 2, 64).detach()
    key = torch.stack((query[:, :, 0], query[:, :, 0] / 2), dim=2)
    assert (query @ key.transpose(-2, -1)).max() > torch.finfo(torch.float16).max
    context, _ = form(query.half(), key.half(), value.half())
    torch.testing.assert_close(
        context.float(), value[:, :, :1].expand(1, 1, 3, 64), atol=1e-3, rtol=1e-3
    )


def test_auto_is_fused_but_for_short_bfloat16_on_a_cpu():
    short, x = torch.zeros(1, dtype=torch.bfloat16), torch.zeros(1)
    assert fastest_attention(x, 10) is attention_fused
    assert fastest_attention(short, 10) is attention_matmul
    assert fastest_attention(short, 1023) is attention_matmul
    assert fastest_attention(short, 1024) is attention_fused
    assert fastest_attention(short.to("meta"), 10) is attention_fused


def test_split_heads_gives_each_head_its_own_slice():
    x = torch.randn(2, 3, 8)
    for h in range(4):
        assert torch.equal(split_heads(x, 4)[:, h], x[:, :, 2 * h : 2 * h + 2])


@pytest.mark.parametrize("x", [torch.randn(2, 3, 8), torch.randn(8, 3, 2).transpose(0, 2)])
def test_merge_heads_undoes_split_heads_whatever_the_memory_order(x):
    assert torch.equal(merge_heads(split_heads(x, 4)), x)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 8), (3, 8)])
def test_split_heads_refuses_what_cannot_be_split(shape):
    with pytest.raises(ValueError, match=r"n_heads=4 · d_head\), got .*multiple of n_heads"):
        split_heads(torch.zeros(shape), 4)


@settings(deadline=None, max_examples=10)
@given(
    d_head=st.sampled_from([None, 1, 3, 16]), bias=st.booleans(), length=st.sampled_from([1, 2, 5])
)
def test_all_forms_of_multi_head_attention_agree(d_head, bias, length):
    torch.manual_seed(0)
    outputs, x, memory = [], torch.randn(2, 2, 6), torch.randn(2, length, 6)
    reference = MultiHeadAttention(6, 2, d_head=d_head, bias=bias)
    for form in ATTENTION.values():
        module = MultiHeadAttention(6, 2, d_head=d_head, bias=bias, attention=form)
        module.load_state_dict(reference.state_dict())
        outputs.append(module(x, memory, memory))
    for output in outputs[1:]:
        torch.testing.assert_close(output, outputs[0], atol=1e-6, rtol=1e-5)


@pytest.mark.usefixtures("own_messages")
def test_the_name_of_a_form_is_refused_where_its_function_is_expected():
    with pytest.raises(TypeError, match="a function such as attention_matmul, got 'einsum'"):
        MultiHeadAttention(6, 2, attention="einsum")


def test_score_is_divided_by_the_root_of_d_head_and_not_of_d_model():
    torch.manual_seed(0)
    query, key = torch.randn(4, 8, 50, 64), torch.randn(4, 8, 50, 64)
    _, weights = attention_matmul(query, key, key)
    # ln softmax differs from the scores by a constant in each row.
    std = weights.log().std(dim=-1).mean().item()
    assert std == pytest.approx(1.0, abs=0.05)
    assert math.sqrt(64 / 512) == pytest.approx(0.35, abs=0.01)  # what √d_model would give


def test_multi_head_attention_drops_out_while_training_only():
    module, x = MultiHeadAttention(8, 2, dropout=0.5), torch.randn(2, 5, 8)
    assert not torch.equal(module(x, x, x), module(x, x, x))
    module.eval()
    assert torch.equal(module(x, x, x), module(x, x, x))


@pytest.mark.usefixtures("own_messages")
def test_multi_head_attention_explains_what_it_refuses():
    with pytest.raises(ValueError, match="got d_model=8 and n_heads=3: choose other sizes or give"):
        MultiHeadAttention(8, 3)
    for n_heads in (0, -2, 2.0, True):
        message = f"n_heads must be a positive whole number, got {n_heads}"
        with pytest.raises(ValueError, match=message):
            MultiHeadAttention(8, n_heads)
    with pytest.raises(ValueError, match="d_head must be a positive whole number, got 0"):
        MultiHeadAttention(8, 2, d_head=0)
    for dropout in (-0.1, 1.0, math.nan):
        message = rf"dropout is a probability and must lie in \[0, 1\), got {dropout}"
        with pytest.raises(ValueError, match=message):
            MultiHeadAttention(8, 2, dropout=dropout)
    module, good = MultiHeadAttention(8, 2), torch.zeros(2, 3, 8)
    for name, bad in (("query", torch.zeros(2, 3, 7)), ("key", torch.zeros(3, 8))):
        arguments = {"query": good, "key": good, "value": good, name: bad}
        expected = rf"{name} must have shape \(batch, length, d_model=8\), got \("
        with pytest.raises(ValueError, match=expected):
            module(**arguments)
    with pytest.raises(ValueError, match="query and key must agree in batch"):
        module(good, good[:1], good[:1])


def test_d_head_need_not_divide_d_model():
    module = MultiHeadAttention(8, 3, d_head=5)
    assert module.q_proj.weight.shape == (15, 8)
    query, memory = torch.zeros(1, 2, 8), torch.zeros(1, 4, 8)
    assert module(query, memory, memory).shape == (1, 2, 8)


def test_cross_attention_with_a_complete_cache_needs_no_memory():
    torch.manual_seed(0)
    module, cache = MultiHeadAttention(8, 2).eval(), AttentionCache(grows=False)
    x, memory = torch.randn(1, 2, 8), torch.randn(1, 3, 8)
    mask = torch.tensor([True, True, False])[None, None, None, :]
    first = module(x, memory, memory, mask, cache=cache)
    assert torch.equal(module(x, mask=mask, cache=cache), first)


def test_key_and_value_are_refused_with_a_complete_cache_which_would_ignore_them():
    module, cache = MultiHeadAttention(8, 2), AttentionCache(grows=False)
    x, memory = torch.randn(1, 2, 8), torch.randn(1, 3, 8)
    module(x, memory, memory, cache=cache)
    for key, value in ((memory, memory), (memory, None), (None, memory)):
        with pytest.raises(
            ValueError, match="must be left out with a complete cache, .* new cache"
        ):
            module(x, key, value, cache=cache)


@pytest.mark.parametrize("cache", [None, AttentionCache(grows=True), AttentionCache(grows=False)])
def test_key_and_value_are_required_without_a_complete_cache(cache):
    module, x = MultiHeadAttention(8, 2), torch.randn(1, 2, 8)
    for key, value in ((None, None), (x, None), (None, x)):
        with pytest.raises(ValueError, match="left out only with a complete cache, got None: for"):
            module(x, key, value, cache=cache)
    assert cache is None or cache.keys is None


def test_several_tokens_at_once_with_a_cache_get_what_a_full_pass_gives_them():
    torch.manual_seed(0)
    module, cache = MultiHeadAttention(8, 2).eval(), AttentionCache(grows=True)
    x = torch.randn(2, 5, 8)
    module(x[:, :3], x[:, :3], x[:, :3], causal_mask(3), cache=cache)
    last = module(x[:, 3:], x[:, 3:], x[:, 3:], causal_mask(2, 5), cache=cache)
    torch.testing.assert_close(last, module(x, x, x, causal_mask(5))[:, 3:], atol=1e-6, rtol=1e-5)
