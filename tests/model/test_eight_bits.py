"""Weights in 8 bits: what changes, by how much, and what does not."""

import pytest
import torch

from course_lib.model import Transformer, preset
from course_lib.model.eight_bits import (
    dequantize,
    quantize,
    read_from_eight_bits,
    stored_in_eight_bits,
)


def test_rows_are_rounded_as_by_hand():
    numbers, scale = quantize(torch.tensor([[254.0, -3.0, 0.9], [0.0, 0.0, 0.0]]))
    assert scale.tolist() == [2.0, 1.0] and scale.dtype == torch.float32
    assert numbers.tolist() == [[127, -2, 0], [0, 0, 0]] and numbers.dtype == torch.int8
    assert dequantize(numbers, scale).tolist() == [[254.0, -4.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 1e30])
def test_an_entry_changes_by_at_most_half_a_scale_and_the_largest_by_nearly_nothing(size):
    torch.manual_seed(0)
    matrix = torch.randn(200, 64) * size
    numbers, scale = quantize(matrix)
    change = (dequantize(numbers, scale) - matrix).abs()
    assert (change <= 0.5001 * scale[:, None]).all()
    largest = matrix.abs().argmax(dim=1, keepdim=True)
    assert (change.gather(1, largest) <= 1e-6 * matrix.abs().gather(1, largest)).all()
    assert numbers.abs().amax(dim=1).eq(127).all()


def test_quantizing_the_result_again_gives_the_same_whole_numbers():
    torch.manual_seed(1)
    for size in (1e-20, 0.02, 3.0):
        numbers, scale = quantize(torch.randn(500, 100) * size)
        again, scale_again = quantize(dequantize(numbers, scale))
        assert torch.equal(again, numbers)
        torch.testing.assert_close(scale_again, scale)


def test_a_row_too_small_for_a_scale_becomes_zeros():
    numbers, scale = quantize(torch.full((1, 3), 1e-45))
    assert dequantize(numbers, scale).tolist() == [[0.0] * 3]


def test_matrices_are_stored_in_eight_bits_and_vectors_in_sixteen():
    torch.manual_seed(2)
    model = Transformer(preset("small", source_vocab=9, target_vocab=9, d_model=16, d_ff=32))
    weights = dict(model.named_parameters())
    stored, scales = stored_in_eight_bits(weights)
    for name, value in weights.items():
        expected = torch.int8 if value.dim() == 2 else torch.float16
        assert stored[name].dtype == expected
        assert (name in scales) == (value.dim() == 2)
    read = read_from_eight_bits(stored, scales)
    for name, value in weights.items():
        torch.testing.assert_close(read[name].float(), value, atol=0.01, rtol=0.01)


@pytest.mark.parametrize(
    ("stored", "scales"),
    [
        ({"w": torch.zeros(2, 3, dtype=torch.int8)}, {}),
        ({"w": torch.zeros(2, 3, dtype=torch.int8)}, {"w": torch.ones(3)}),
        ({"v": torch.zeros(2)}, {"w": torch.ones(2)}),
    ],
    ids=["no scale", "a scale for each column", "no matrix"],
)
def test_a_matrix_without_a_scale_for_each_row_is_refused(stored, scales):
    with pytest.raises(ValueError, match="w should be 8-bit numbers with a scale for each row"):
        read_from_eight_bits(stored, scales)
