"""The sine and cosine code is the formula of section 3.5, and its shifts are rotations."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.model import (
    PositionalEncoding,
    shift_matrix,
    sinusoidal_positions,
    token_positions,
)


@settings(deadline=None, max_examples=30)
@given(
    position=st.integers(0, 4999),
    pair=st.integers(0, 255),
    pairs=st.sampled_from([1, 32, 256]),
)
def test_every_entry_is_the_formula_of_the_paper(position, pair, pairs):
    pair %= pairs
    table = sinusoidal_positions(position + 1, 2 * pairs)
    angle = position / 10_000 ** (2 * pair / (2 * pairs))
    assert table[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert table[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_layouts_hold_the_same_columns_in_another_order():
    interleaved = sinusoidal_positions(20, 10)
    concatenated = sinusoidal_positions(20, 10, layout="concatenated")
    assert torch.equal(concatenated, torch.cat((interleaved[:, ::2], interleaved[:, 1::2]), dim=1))


def test_most_columns_vary_over_a_hundred_positions():
    # Without the division by d_model only 2 of 512 columns do.
    std = sinusoidal_positions(100, 512).std(dim=0)
    assert (std > 0.1).sum() > 250


def test_table_takes_the_default_dtype():
    assert sinusoidal_positions(3, 4).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoidal_positions(3, 4).dtype == torch.float64
        assert shift_matrix(4, 1).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@settings(deadline=None, max_examples=15)
@given(offset=st.integers(-5, 40), d_model=st.sampled_from([2, 6, 64]))
def test_shift_matrix_moves_every_position_by_the_same_offset(offset, d_model):
    code = sinusoidal_positions(60, d_model)
    start = max(0, -offset)
    there = torch.arange(start, min(60, 60 - offset))
    moved = code[there] @ shift_matrix(d_model, offset).T
    torch.testing.assert_close(moved, code[there + offset], atol=1e-5, rtol=0)


def test_shift_matrix_is_a_rotation():
    matrix = shift_matrix(8, 3)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(8))


@pytest.mark.parametrize("d_model", [0, 1, 7, -2])
def test_odd_d_model_is_refused(d_model):
    message = rf"need an even d_model, got {d_model}: each frequency fills one sine and one cosine"
    with pytest.raises(ValueError, match=message):
        sinusoidal_positions(4, d_model)
    with pytest.raises(ValueError, match=message):
        shift_matrix(d_model, 1)


@pytest.mark.usefixtures("own_messages")
def test_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="layout must be one of 'interleaved', .* got 'mixed'"):
        sinusoidal_positions(4, 4, layout="mixed")


def test_token_positions_count_real_tokens_on_either_side_of_the_pads():
    tokens = torch.tensor([[7, 8, 9, 0, 0], [0, 0, 7, 8, 9], [0, 0, 0, 0, 0]])
    positions = token_positions(tokens, 0)
    assert positions[0, :3].tolist() == positions[1, 2:].tolist() == [0, 1, 2]
    assert positions.min() == 0


def test_encoding_adds_the_table_from_position_zero():
    encoding = PositionalEncoding(6, dropout=0.0, max_len=9)
    x = torch.randn(2, 4, 6)
    assert torch.equal(encoding(x), x + sinusoidal_positions(9, 6)[:4])


def test_encoding_adds_the_positions_it_is_given():
    encoding = PositionalEncoding(6, dropout=0.0, max_len=9)
    x, positions = torch.randn(2, 2, 6), torch.tensor([[3, 8], [0, 1]])
    assert torch.equal(encoding(x, positions), x + encoding.table[positions])


def test_encoding_uses_the_layout_it_is_given():
    encoding = PositionalEncoding(6, max_len=9, layout="concatenated")
    assert torch.equal(encoding.table, sinusoidal_positions(9, 6, layout="concatenated"))


def test_dropout_acts_while_training_only():
    encoding, x = PositionalEncoding(64, dropout=0.5, max_len=9), torch.randn(1, 9, 64)
    assert 0.3 < (encoding(x) == 0).float().mean() < 0.7
    encoding.eval()
    assert torch.equal(encoding(x), x + encoding.table)


def test_learned_table_is_a_parameter_and_is_saved():
    encoding = PositionalEncoding(7, max_len=5, learned=True)
    assert [name for name, _ in encoding.named_parameters()] == ["table"]
    assert list(encoding.state_dict()) == ["table"]


def test_sinusoidal_table_is_neither_trained_nor_saved():
    encoding = PositionalEncoding(6, max_len=5)
    assert not list(encoding.parameters())
    assert not encoding.state_dict()


@pytest.mark.parametrize("learned", [False, True])
def test_table_moves_with_the_module(learned):
    encoding = PositionalEncoding(6, max_len=5, learned=learned)
    assert encoding.double().table.dtype == torch.float64
    assert encoding.to("meta").table.device.type == "meta"


def test_max_len_is_the_last_length_that_fits():
    encoding = PositionalEncoding(6, dropout=0.0, max_len=5)
    assert encoding(torch.zeros(1, 5, 6)).shape == (1, 5, 6)
    with pytest.raises(ValueError, match="at most max_len=5 tokens, got 6: shorten it or build"):
        encoding(torch.zeros(1, 6, 6))


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("shape", [(2, 4, 5), (1, 6), (6,)])
def test_vectors_of_another_shape_are_refused(shape):
    encoding = PositionalEncoding(6, max_len=5)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, length, d_model=6\), got"):
        encoding(torch.zeros(shape))
