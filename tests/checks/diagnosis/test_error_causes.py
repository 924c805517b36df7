"""An exception is told in plain words, with the shapes on the learner's line."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.checks.diagnosis.error_causes import find_error_cause
from course_lib.checks.engine.call import Call, ask


def keeps_no_axis(x):
    mean = x.mean(-1)
    return x - mean


def takes_apart(x):
    batch, words, width, more = x.shape
    return batch * words * width * more


def without_return(x):
    def inner():
        pass

    return inner() @ x


class NoForward(nn.Module):
    def foward(self, x):
        return x


class NoSuper(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)


def assigns_a_tensor(x):
    layer = nn.Linear(2, 2)
    layer.weight = torch.zeros(2, 2)


def changes_a_leaf(x):
    weight = torch.zeros(2, requires_grad=True)
    weight += 1


def backward_of_a_constant(x):
    x.sum().backward()


def raises(x):
    raise ValueError("not me")


def asserts(x):
    assert x.ndim == 7


def recurses(x):
    return recurses(x)


@pytest.mark.parametrize(
    "subject, name, words",
    [
        (keeps_no_axis, "shapes_do_not_fit", "On that line: x (2, 3, 4), mean (2, 3)."),
        (lambda x: x[x[..., :1] > 0], "mask_as_index_does_not_fit", "`masked_fill`"),
        (lambda x: x @ x, "product_of_matrices_does_not_fit", "x (2, 3, 4)"),
        (lambda x: x.flatten(0, 1) @ x[0], "product_of_matrices_does_not_fit", "last axis"),
        (lambda x: x.T @ x, "shapes_do_not_fit", "in a product of matrices"),
        (lambda x: x.view(5, 5), "another_number_of_numbers", "keep all numbers"),
        (lambda x: x.transpose(0, 2).view(24), "not_contiguous", "`reshape` copies"),
        (lambda x: x if x > 0 else -x, "tensor_as_condition", "one truth value"),
        (lambda x: torch.einsum("bse,bes->b", x, x), "letter_for_two_sizes", "two different"),
        (lambda x: torch.einsum("be->b", x), "equation_does_not_fit", "einsum"),
        (without_return, "none_is_used", "is None"),
        (lambda x: NoSuper(), "super_init_missing", "super().__init__()"),
        (lambda x: NoForward()(x), "forward_missing", "misspelt"),
        (NoForward(), "forward_missing", "not indented like"),
        (assigns_a_tensor, "not_a_parameter", "not be trained"),
        (backward_of_a_constant, "no_gradient", "no_grad"),
        (changes_a_leaf, "edits_what_gradients_need", "in place"),
        (lambda x: F.embedding(torch.tensor([9]), x[0]), "no_such_row", "too large"),
        (lambda x: x[7], "index_out_of_range", "count from 0"),
        (lambda x: x.sum(5), "index_out_of_range", "an axis"),
        (lambda x: x[x], "index_of_wrong_type", "int64"),
        (lambda x: 1 - (x > 0), "arithmetic_with_a_mask", "~mask"),
        (lambda x: torch.stack([]), "nothing_there", "empty list"),
        (lambda x: max([]), "nothing_there", "empty list"),
        (lambda x: 1 / 0, "division_by_zero", "zero"),
        (lambda x: torch.tensor([[1], [1, 2]]), "rows_of_different_lengths", "padding"),
        (lambda x: x.long() @ x.transpose(1, 2), "type_does_not_fit", "precision"),
        (lambda x: x.long().softmax(-1), "type_does_not_fit", "integers"),
        (lambda x: (x > 0).softmax(-1), "type_does_not_fit", "truth values"),
        (lambda: 1, "other_arguments", "names and the order"),
        (takes_apart, "another_number_of_values", "as many as the tensor has axes"),
        (lambda x: x.transposed(), "no_such_attribute", "misspelt"),
        (lambda x: "a" - x, "operator_does_not_fit", "`**`"),
        (lambda x: x(), "value_of_another_kind", "print(type"),
        (lambda x: F.relu(F.relu), "value_of_another_kind", "print(type"),
        (raises, "own_error", "`raise` of your own"),
        (asserts, "own_assertion", "`assert` of your own"),
        (recurses, "endless_recursion", "without end"),
        (lambda x: misspelt, "unknown_name", "misspelt"),  # noqa: F821
        (lambda x: {}["key"], "no_such_key", "no entry"),
    ],
)
def test_the_cause_of_an_exception_is_named(subject, name, words):
    answer = ask(subject, Call((torch.ones(2, 3, 4),)))
    found, meaning = find_error_cause(answer.failure)
    assert found == name and words in meaning


def test_an_exception_without_a_known_cause_has_none_and_its_shapes_are_kept():
    def strange(x):
        return torch.linalg.cholesky(-x[:2, :2])

    answer = ask(strange, Call((torch.eye(2, 3),)))
    assert find_error_cause(answer.failure) == ("", "On that line: x (2, 3).")
