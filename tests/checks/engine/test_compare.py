import numpy as np
import pytest
import torch

from course_lib.checks.engine.call import Answer, Failure
from course_lib.checks.engine.compare import answers_differ, first_difference, short

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "expected, got",
    [
        (X, X + 1e-7),
        (X.bool(), X.bool()),
        ((X, None), [X, None]),
        ({"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (2, torch.tensor(2)),
        (0.5, torch.tensor(0.5)),
        ("text", "text"),
        (True, torch.tensor(True)),
        (torch.tensor(float("nan")), torch.tensor(float("nan"))),
        (float("nan"), torch.tensor(float("nan"))),
    ],
)
def test_equal_values_do_not_differ(expected, got):
    assert first_difference(expected, got) is None


@pytest.mark.parametrize(
    "expected, got, kind, words",
    [
        (X, None, "type", "expected a tensor of shape (2, 2), got None"),
        (X, np.ones((2, 2)), "type", "got a value of type ndarray"),
        ([[1, 2]], [[torch.tensor(1), 2]], "type", "a list of integers, got a list in which"),
        (1.5, torch.tensor(True), "type", "got a tensor of shape (), torch.bool"),
        (X, X[0], "shape", "expected shape (2, 2), got shape (2,)"),
        (X, X.double(), "dtype", "expected torch.float32, got torch.float64"),
        (X, X + torch.tensor([[0, 0], [1, 0]]), "value", "element [1, 0]: expected 3, got 4"),
        (X, X / torch.tensor([[1, 0], [1, 1]]) * 0, "value", "element [0, 0]: expected 1, got 0"),
        (torch.tensor(1.0), torch.tensor(float("nan")), "nan", "the number: expected 1, got nan"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "value", "element [1]: expected 2, got 3"),
        ((1, 2), (1, 3), "value", "expected [1, 2], got [1, 3]"),
        ([[0], [1]], [[1], [1]], "value", "expected [[0], [1]], got [[1], [1]]"),
        (
            {"links": [[1, 0]]},
            {"links": [[0, 1]]},
            "value",
            "links: expected [[1, 0]], got [[0, 1]]",
        ),
        (([4, 2], -1.20001), ([4, 2], -1.20501), "value", "[[4, 2], -1.2], got [[4, 2], -1.205]"),
        ((1, 2), (1,), "shape", "expected [1, 2], got [1]"),
        (list(range(99)), [0, 2], "shape", "expected 99 entries, got 2: [0, 2]"),
        (list(range(99)), [0] * 99, "value", "entry 1: expected 1, got 0"),
        ((X, 2), (X, 3), "value", "entry 1: expected 2, got 3"),
        ((1, 2), 1, "type", "expected a tuple of 2, got a value of type int"),
        ({"a": X}, {"a": X + 1}, "value", "a, element [0, 0]: expected 1, got 2"),
        ({"a": 1}, {"b": 1}, "type", "expected a dict with a, got a dict with b"),
        (1, True, "type", "expected a number, got a value of type bool"),
        (0.5, torch.tensor([0.5]), "type", "expected a number, got a tensor of shape (1,)"),
        (1.0, float("nan"), "nan", "expected 1, got nan"),
        (1.0, 1.1, "value", "expected 1, got 1.1"),
        ("a", "b", "value", "expected 'a', got 'b'"),
        (None, 1, "type", "expected None, got a value of type int"),
    ],
)
def test_the_first_difference_is_named(expected, got, kind, words):
    difference = first_difference(expected, got)
    assert difference.kind == kind and words in str(difference)


def test_integers_too_large_for_a_float_are_compared():
    assert first_difference(10**400, 10**400) is None
    assert "expected 0.5, got 1000" in str(first_difference(0.5, 10**400))
    assert "got <repr failed: ValueError>" in str(first_difference(3, 10**5000))


def test_shapes_that_differ_are_kept_for_the_report():
    difference = first_difference(X, X[None])
    assert (difference.expected_shape, difference.got_shape) == ((2, 2), (1, 2, 2))


@pytest.mark.parametrize(
    "expected, got, words",
    [
        (Answer(1), Answer(failure=Failure("TypeError", "no")), "a value, got TypeError: no"),
        (Answer(failure=Failure("ValueError", "a")), Answer(1), "ValueError, got no error"),
        (
            Answer(failure=Failure("ValueError", "a")),
            Answer(failure=Failure("ValueError", "b")),
            "ValueError, got ValueError: b",
        ),
        (Answer(1), Answer(1, changed_inputs=True), "got an input modified in place"),
    ],
)
def test_failures_and_modified_inputs_are_differences(expected, got, words):
    assert words in str(answers_differ(expected, got))
    assert answers_differ(got, got) is None


class Nameless:
    def __repr__(self):
        raise RuntimeError


def test_a_long_or_broken_repr_does_not_spoil_the_message():
    assert short("x" * 200).endswith("…") and len(short("x" * 200)) == 60
    assert "RuntimeError" in short(Nameless())


def test_a_result_that_would_take_long_to_write_out_is_described():
    large = torch.zeros((6,) * 9, dtype=torch.bool)  # its repr takes minutes
    assert short([large, 1]) == "[a tensor of shape (6, 6, 6, 6, 6, 6, 6, 6, 6), 1]"
    assert short({"a": (3,), "b": [None]}) == "{'a': (3,), 'b': [None]}"
    assert short([0] * 10**6) == repr([0] * 60)[:59] + "…"
    assert first_difference([1], [large, large])


@pytest.mark.parametrize(
    "wrong, extent",
    [
        (X + 1, "4 of 4 numbers are wrong"),
        (X + torch.tensor([[0.0, 0.0], [1.0, 0.0]]), "1 of 4 numbers is wrong"),
        (X + torch.tensor([[0.0], [1.0]]), "2 of 4 numbers are wrong, all at index 1 of axis 0"),
        (X + torch.tensor([0.0, 1.0]), "2 of 4 numbers are wrong, all at index 1 of axis 1"),
        (torch.cat([X[:1], X[1:] + 1]), "2 of 4 numbers are wrong, all at index 1 of axis 0"),
    ],
)
def test_which_indices_are_wrong_is_told_by_axis(wrong, extent):
    assert first_difference(X, wrong).extent == extent


def test_few_right_indices_are_listed_rather_than_many_wrong_ones():
    right = torch.zeros(2, 5, 3)
    wrong = right + torch.tensor([0.0, 1.0, 1.0, 1.0, 1.0])[:, None]
    extent = "24 of 30 numbers are wrong, none at index 0 of axis 1"
    assert first_difference(right, wrong).extent == extent


def test_a_dict_whose_keys_all_have_one_hash_is_not_compared_key_by_key():
    compared = []

    class Alike(int):
        def __hash__(self):
            return 0

        def __eq__(self, other):
            compared.append(other)
            return self is other

    got = {Alike(number): None for number in range(100)}
    compared.clear()
    assert first_difference({"a": 1, "b": 2}, got).kind == "type"
    assert compared == []
