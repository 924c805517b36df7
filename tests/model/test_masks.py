"""Masks: boolean, True = may attend, and nothing else is let in."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.model import (
    causal_mask,
    decoder_mask,
    masked_softmax,
    padding_mask,
    to_pytorch_mask,
)

TOKENS = torch.tensor([[5, 6, 0], [7, 0, 0]])


def test_padding_mask_hides_key_columns_for_every_query():
    mask = padding_mask(TOKENS, 0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


def test_padding_mask_uses_the_pad_id_it_is_given():
    assert padding_mask(torch.tensor([[0, 1]]), 1)[0, 0, 0].tolist() == [True, False]


@pytest.mark.usefixtures("own_messages")
def test_padding_mask_needs_a_batch():
    with pytest.raises(ValueError, match=r"tokens must have shape \(batch, length\), got \(3,\): "):
        padding_mask(TOKENS[0], 0)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_causal_mask_lets_query_t_read_keys_up_to_t(size):
    mask = causal_mask(size)
    assert mask.shape == (1, 1, size, size)
    assert mask.dtype == torch.bool
    assert all(mask[0, 0, t, k] == (k <= t) for t in range(size) for k in range(size))


@pytest.mark.parametrize(("queries", "keys"), [(0, 3), (1, 1), (1, 4), (2, 5), (4, 4)])
def test_causal_mask_of_the_last_queries_is_the_last_rows_of_the_square(queries, keys):
    mask = causal_mask(queries, keys)
    assert mask.shape == (1, 1, queries, keys)
    assert torch.equal(mask, causal_mask(keys)[:, :, keys - queries :])


def test_causal_mask_with_more_queries_than_keys_is_refused():
    with pytest.raises(
        ValueError, match="at least query_length=3, got 2: each query is also a key"
    ):
        causal_mask(3, 2)


def test_causal_mask_is_made_where_it_is_needed():
    assert causal_mask(2, device="meta").device.type == "meta"


def test_decoder_mask_is_neither_only_causal_nor_only_padding():
    mask = decoder_mask(TOKENS, 0)
    assert mask.shape == (2, 1, 3, 3)
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
    assert mask[1, 0].tolist() == [[True, False, False]] * 3


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_decoder_mask_of_the_last_queries_is_the_last_rows_of_the_whole(queries):
    last = decoder_mask(TOKENS, 0, query_length=queries)
    assert torch.equal(last, decoder_mask(TOKENS, 0)[:, :, -queries:])


def test_pytorch_mask_means_the_opposite():
    assert to_pytorch_mask(torch.tensor([True, False])).tolist() == [False, True]


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_masked_softmax_is_softmax_over_the_visible_keys_alone(data):
    queries, keys = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 1000)))
    scores = torch.randn(queries, keys, generator=generator, dtype=torch.float64) * 5
    mask = torch.rand(queries, keys, generator=generator) < data.draw(st.sampled_from([0.2, 0.7]))
    weights = masked_softmax(scores, mask)
    assert (weights[~mask] == 0).all()
    for row in range(queries):
        visible = mask[row]
        if visible.any():
            torch.testing.assert_close(weights[row, visible], scores[row, visible].softmax(0))


def test_masked_softmax_without_mask_is_softmax():
    scores = torch.randn(2, 3, 4)
    assert torch.equal(masked_softmax(scores), scores.softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_fully_masked_row_is_zero_with_zero_gradient_in_every_precision(dtype):
    scores = torch.randn(2, 3).to(dtype).requires_grad_()
    mask = torch.tensor([[False, False, False], [True, False, True]])
    with torch.autograd.set_detect_anomaly(True):  # not even a step in between may be NaN
        weights = masked_softmax(scores, mask)
        weights.square().sum().backward()
    assert weights[0].tolist() == [0, 0, 0]
    assert scores.grad[0].tolist() == [0, 0, 0]
    assert scores.grad.isfinite().all()
    assert scores.grad[1].abs().sum() > 0


def test_what_is_hidden_may_be_anything_even_nan():
    scores = torch.tensor([[1.0, float("nan"), 2.0, float("inf")]], requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[True, False, True, False]]))
    weights.square().sum().backward()
    torch.testing.assert_close(weights[0, [0, 2]], torch.tensor([1.0, 2.0]).softmax(0))
    assert scores.grad.isfinite().all()


def test_hugely_negative_scores_are_still_preferred_to_hidden_ones():
    scores = torch.full((1, 2), -1e38)
    assert masked_softmax(scores, torch.tensor([[True, False]])).tolist() == [[1.0, 0.0]]


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("mask", [torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.uint8)])
def test_mask_of_another_dtype_is_refused(mask):
    with pytest.raises(TypeError, match="mask must be boolean with True = may attend, got torch"):
        masked_softmax(torch.randn(2, 3), mask)


# Scores of these sizes tell every axis from every other.
SIZES = (2, 3, 7, 4)
PADDING = "if it is (batch, key), for padding: mask[:, None, None, :]"
CAUSAL = "(query, key), causal: mask[None, None, :, :]"


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((4,), "if it is (key,): mask[None, None, None, :]"),
        ((2, 4), PADDING),
        ((7, 4), f"if it is {CAUSAL}"),
        ((1, 4), f"{PADDING} or if it is {CAUSAL}"),
        ((2, 7, 4), "if it is (batch, query, key): mask[:, None, :, :]"),
        ((3, 7, 4), "if it is (heads, query, key): mask[None, :, :, :]"),
        ((), "was it made for other tokens?"),
        ((5,), "was it made for other tokens?"),
        ((5, 4), "was it made for other tokens?"),
        ((7, 7), "was it made for other tokens?"),
        ((7, 2, 4), "was it made for other tokens?"),
        ((2, 3, 4, 7), "was it made for other tokens?"),
        ((1, 1, 1, 1, 4), "it has too many axes, remove them as in mask[0]"),
    ],
)
def test_mask_that_does_not_fit_the_scores_is_refused_with_the_right_advice(shape, hint):
    message = f"to the scores, (batch, heads, query, key) = {SIZES}, got {shape}: {hint}"
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        masked_softmax(torch.randn(SIZES), torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize(
    ("sizes", "shape", "hints"),
    [
        ((5, 2, 5, 4), (5, 4), [PADDING, CAUSAL]),  # batch = query
        (
            (3, 3, 7, 4),  # batch = heads
            (3, 7, 4),
            [
                "(batch, query, key): mask[:, None, :, :]",
                "(heads, query, key): mask[None, :, :, :]",
            ],
        ),
    ],
)
def test_mask_with_missing_axes_is_refused_even_if_sizes_coincide(sizes, shape, hints):
    mask = torch.ones(shape, dtype=torch.bool)
    assert mask.broadcast_to(sizes).shape == sizes  # PyTorch alone would take it
    with pytest.raises(ValueError, match="mask must broadcast axis by axis") as error:
        masked_softmax(torch.randn(sizes), mask)
    assert all(hint in str(error.value) for hint in hints)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("sizes", [(4,), (3, 4), (2, 3, 4), (2, 2, 2, 3, 4)])
def test_scores_of_any_rank_need_a_mask_of_the_same_rank(sizes):
    scores, mask = torch.randn(2, *sizes), torch.ones(sizes, dtype=torch.bool)
    assert torch.equal(masked_softmax(scores, mask[None]), scores.softmax(-1))
    with pytest.raises(ValueError, match="mask must broadcast axis by axis to the scores"):
        masked_softmax(scores, mask)


@pytest.mark.usefixtures("own_messages")
def test_advice_for_a_mask_makes_it_fit():
    mask = torch.tensor([[True, True, False, True], [True, False, False, False]])
    scores = torch.randn(SIZES)
    with pytest.raises(ValueError, match=re.escape(PADDING)):
        masked_softmax(scores, mask)
    assert (masked_softmax(scores, mask[:, None, None, :])[1, ..., 1:] == 0).all()


@pytest.mark.usefixtures("own_messages")
def test_mask_that_would_enlarge_the_scores_is_refused():
    with pytest.raises(ValueError, match=re.escape("to the scores, (1, 4), got (3, 4): was it")):
        masked_softmax(torch.randn(1, 4), torch.ones(3, 4, dtype=torch.bool))
