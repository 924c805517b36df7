"""An exception is told in plain words, with the shapes on the learner's line."""

import math
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from course_lib.checks.diagnosis.error_causes import find_error_cause
from course_lib.checks.engine.call import Call, Failure, ask


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


def goes_back_twice(x):
    loss = nn.Parameter(x).square().sum()
    loss.backward()
    loss.backward()


def waits(x):
    return input()


def registers_what_is_assigned(x):
    module = nn.Module()
    module.table = x
    module.register_buffer("table", x)


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
        (lambda x: x if x > 0 else -x, "tensor_as_condition", "One truth value"),
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
        (lambda x: 1 / 0, "division_by_zero", "of the first step"),
        (lambda x: torch.tensor([[1], [1, 2]]), "rows_of_different_lengths", "padding"),
        (lambda x: x.long() @ x.transpose(1, 2), "type_does_not_fit", "precision"),
        (lambda x: x.long().softmax(-1), "type_does_not_fit", "integers"),
        (lambda x: (x > 0).softmax(-1), "type_does_not_fit", "truth values"),
        (lambda: 1, "other_arguments", "names and the order"),
        (takes_apart, "another_number_of_values", "as many as the tensor has axes"),
        (lambda x: x.transposed(), "no_such_attribute", "misspelt"),
        (lambda x: "a" - x, "operator_does_not_fit", "`**`"),
        (lambda x: x.reshape(2, len(x) / 2), "float_as_size", "12 // 3"),
        (lambda x: range(len(x) / 2), "float_as_size", "12 // 3"),
        (lambda x: nn.Embedding(len(x) / 2, 3), "float_as_size", "12 // 3"),
        (lambda x: x.split(len(x) / 2), "float_as_size", "12 // 3"),
        (lambda x: x(), "value_of_another_kind", "print(type"),
        (lambda x: F.relu(F.relu), "value_of_another_kind", "print(type"),
        (raises, "own_error", "`raise` of your own"),
        (asserts, "own_assertion", "`assert` of your own"),
        (recurses, "endless_recursion", "without end"),
        (lambda x: misspelt, "unknown_name", "misspelt"),  # noqa: F821
        (lambda x: {}["key"], "no_such_key", "no entry"),
        (lambda x: x.cuda(), "no_such_device", "`device=x.device`"),
        (lambda x: torch.ones(2, device="cuda"), "no_such_device", "that isn't there"),
        (lambda x: x + torch.ones(4, device="meta"), "no_data", "no numbers"),
        (lambda x: torch.ones(4, device="meta").tolist(), "no_data", "no numbers"),
        (lambda x: x.numpy().unsqueeze(0), "array_for_tensor", "torch.from_numpy"),
        (lambda x: F.relu(x.numpy()), "array_for_tensor", "A NumPy array"),
        (lambda x: x.astype(float), "tensor_for_array", "`astype` is `to`"),
        (lambda x: nn.Parameter(x).numpy(), "numpy_and_gradients", "nothing of gradients"),
        (lambda x: x.expand(2, 3, 5), "size_of_target_does_not_fit", "`expand`"),
        (lambda x: torch.cat([x, x[:, :2]]), "parts_do_not_fit", "For `cat`"),
        (lambda x: torch.stack([x, x[:1]]), "parts_do_not_fit", "for `stack` none"),
        (lambda x: nn.LayerNorm(8)(x), "norm_does_not_fit", "last axis"),
        (lambda x: nn.Linear(8, 2)(x), "product_of_matrices_does_not_fit", "`in_features`"),
        (lambda x: F.cross_entropy(x, x[..., 0].long()), "targets_do_not_fit", "axis 1"),
        (lambda x: F.cross_entropy(x[0], torch.full((3,), 9)), "no_such_class", "index of a class"),
        (lambda x: x.view(-1, -1), "two_sizes_left_open", "one size, -1"),
        (lambda x: x.permute(0, 1), "permute_does_not_fit", "each axis"),
        (lambda x: x.index_select(0, torch.tensor([9])), "no_such_row", "`index_select`"),
        (lambda x: nn.ModuleList([nn.ReLU()])(x), "list_of_modules_called", "in a loop"),
        (lambda x: [1, 2][x[0, 0]], "index_of_wrong_type", "index of a list"),
        (lambda x: math.sqrt(x), "tensor_as_number", "One plain number"),
        (lambda x: len(x.sum()), "no_axes", "is one number"),
        (lambda x: x.masked_fill(x.long(), 0.0), "mask_of_numbers", "`.bool()`"),
        (lambda x: x.half().masked_fill(x > 0, -1e9), "too_large_for_the_dtype", "65504"),
        (
            lambda x: np.array([300]).astype(float) + np.uint8(300),
            "too_large_for_the_dtype",
            "or too large",
        ),
        (lambda x: math.log(0), "outside_the_domain", "above zero"),
        (lambda x: x.tolist() * 0.5, "operator_does_not_fit", "join and repeat a list"),
        (lambda x: nn.Parameter(x).backward(), "backward_of_many_numbers", "one number"),
        (goes_back_twice, "backward_twice", "called twice"),
        (lambda x: torch.zeros(1 << 50), "too_much_memory", "more memory"),
        (lambda x: __import__("no_such_package"), "unknown_module", "misspelt"),
        (lambda x: Path("/no/such/file").read_text(), "no_such_file", "as arguments"),
        (lambda x: sys.exit(), "program_ended", "`return`"),
        (lambda x: torch.zeros(2, dytpe=1), "other_arguments", "don't fit"),
        (lambda x: assert_close(x, -x), "assertion", "what this line calls"),
        (lambda x: nn.MultiheadAttention(5, 2), "assertion", "what this line calls"),
        (waits, "waits_for_typing", "during a check nobody does"),
        (lambda x: torch.einsum("b?->b", x), "equation_does_not_fit", "one letter for each axis"),
        (lambda x: max(x, x + 1), "tensor_as_condition", "which compare"),
        (lambda x: [].pop(), "nothing_there", "empty list"),
        (lambda x: isinstance(x, NoneType), "unknown_name", "misspelt"),  # noqa: F821
        (lambda x: {}["dynamo"], "no_such_key", "no entry"),
        (lambda x: __import__("dynamo"), "unknown_module", "misspelt"),
        (lambda x: Path("/no/Inductor").read_text(), "no_such_file", "as arguments"),
        (lambda x: set().pop(), "nothing_there", "no element"),
        (lambda x: {}.popitem(), "nothing_there", "no element"),
        (registers_what_is_assigned, "name_is_taken", "assigned as `self.…` before"),
        (lambda x: nn.ModuleDict({"keys": nn.ReLU()}), "name_is_taken", "every module has"),
        (lambda x: nn.ModuleDict({"a.b": nn.ReLU()}), "name_is_not_possible", "no dot"),
        (
            lambda x: x.long().masked_fill(x > 0, -math.inf),
            "too_large_for_the_dtype",
            "no infinity",
        ),
        (lambda x: f"{x[0, 0, :1]:.3f}", "tensor_as_number", "has axes"),
        (
            lambda x: torch.autograd.grad((x * nn.Parameter(x)).sum(), x),
            "input_without_gradient",
            "`requires_grad_()`",
        ),
        (lambda x: x[x[:, :2, 0] > 0], "mask_as_index_does_not_fit", "of the first axes"),
        (lambda x: np.array([]).append(1), "array_for_tensor", "Is a tensor needed"),
        (lambda x: range(x.mean()), "index_of_wrong_type", "`range`"),
        (lambda x: x[0, 0] @ x[0, 0, :2], "product_of_matrices_does_not_fit", "of a vector"),
        (lambda x: nn.LayerNorm((3, 5))(x), "norm_does_not_fit", "several of the last ones"),
        (lambda x: int(math.inf), "too_large_for_the_dtype", "is infinite"),
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


def test_an_argument_s_name_is_no_variable_of_the_line():
    def sums(x):
        dim = 4
        return torch.zeros(dim).softmax(dim=0) if x is None else x.view(5, 5).sum(dim=-1)

    def names_only_the_argument(x):
        dim = 4
        assert dim == 4
        return x.view(5, 5).sum(dim=-1)

    call = Call((torch.ones(2),))
    assert ask(sums, call).failure.variables == "dim 4, x (2,)"
    assert ask(names_only_the_argument, call).failure.variables == "x (2,)"


def test_a_line_is_the_learners_only_if_it_stands_in_their_own_code(tmp_path, monkeypatch):
    package = tmp_path / "other" / "lib" / "site-packages" / "installed.py"
    package.parent.mkdir(parents=True)
    package.write_text("def fails(x):\n    return x.nothing\n")
    beside = tmp_path / "helpers.py"
    beside.write_text("def fails_too(x):\n    return x.nothing\n")
    for folder in (package.parent, tmp_path):
        monkeypatch.syspath_prepend(str(folder))
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("zipped.py", "def fails(x):\n    return x.nothing\n")
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    compiled = {"__name__": "zmq.backend"}
    code = compile("def fails(x):\n    return x.nothing", "zmq/backend/_zmq.py", "exec")
    exec(code, compiled)

    def uses_a_package(x):
        import installed

        return installed.fails(x)

    def uses_an_archive(x):
        import zipped

        return zipped.fails(x)

    def uses_compiled_code(x):
        return compiled["fails"](x)

    def uses_own_file(x):
        import helpers

        return helpers.fails_too(x)

    call = Call((torch.ones(1),))
    assert "return installed.fails(x)" in ask(uses_a_package, call).failure.line
    assert "return zipped.fails(x)" in ask(uses_an_archive, call).failure.line
    assert 'return compiled["fails"](x)' in ask(uses_compiled_code, call).failure.line
    assert "of fails_too: return x.nothing" in ask(uses_own_file, call).failure.line


def test_the_course_s_own_errors_get_no_other_cause():
    failure = Failure("CourseError", "expected a mask, got NoneType", line="line 1 of f: g(x)")
    assert find_error_cause(failure) == ("", "")
