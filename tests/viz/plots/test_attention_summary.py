import math

import numpy as np
import torch

from course_lib.viz.plots.attention_summary import describe_attention, entropy, top_keys

WEIGHTS = torch.tensor([[0.1, 0.7, 0.2], [1.0, 0.0, 0.0]])


def test_entropy_is_zero_for_one_key_and_ln_n_for_uniform():
    rows = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.0] * 4])
    assert np.allclose(entropy(rows), [0, math.log(4), 0])
    assert not np.signbit(entropy(rows)).any()


def test_entropy_is_taken_over_the_keys():
    assert entropy(torch.full((2, 3, 5, 4), 0.25)).shape == (2, 3, 5)


def test_top_keys_are_sorted_by_weight():
    assert top_keys(WEIGHTS[0], ["der", "Hund", "."], count=2) == "'Hund' 0.70, '.' 0.20"


def test_equal_keys_keep_the_order_of_the_sentence():
    row = torch.tensor([0.2, 0.399999, 0.400001])
    assert top_keys(row, ["a", "b", "c"]) == "'b' 0.40, 'c' 0.40, 'a' 0.20"
    many = torch.tensor([0.01, 0.03] * 25)
    assert top_keys(many, [str(i) for i in range(50)]) == "'1' 0.03, '3' 0.03, '5' 0.03"


def test_the_alt_text_names_size_entropy_and_largest_weight():
    words = describe_attention(WEIGHTS, ["the", "dog"], ["der", "Hund", "."])
    assert words == (
        "Heatmap of 2 queries by 3 keys, mean entropy 0.40 nats. "
        "The largest weight is 1.00: 'dog' attends to 'der'."
    )


def test_weights_that_are_not_finite_are_counted_and_left_out_of_entropy_and_largest_weight():
    nan, inf = math.nan, math.inf
    tokens = ["the", "dog"], ["der", "Hund", "."]
    words = describe_attention(torch.tensor([[nan, nan, nan], [0.1, 0.7, 0.2]]), *tokens)
    assert words == (
        "Heatmap of 2 queries by 3 keys, mean entropy 0.80 nats. "
        "The largest weight is 0.70: 'dog' attends to 'Hund'. 3 cells are not finite."
    )
    words = describe_attention(torch.tensor([[0.5, 0.5, -inf], [inf, 0.2, 0.8]]), *tokens)
    assert words == (
        "Heatmap of 2 queries by 3 keys, no row of finite weights. "
        "The largest weight is 0.80: 'dog' attends to '.'. 2 cells are not finite."
    )
    nothing = describe_attention(torch.full((2, 3), nan), *tokens)
    assert nothing.endswith("No weight is finite. 6 cells are not finite.")
