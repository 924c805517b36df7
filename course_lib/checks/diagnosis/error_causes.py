"""What an exception of Python or PyTorch means, in plain words: `cause_of` a failure."""

from __future__ import annotations

import re

from course_lib.checks.engine.call import Failure

# Message of the exception, name of the cause, what it means. The first that fits is taken.
_CAUSES = [
    (
        r"axes of matrices or numbers",
        "shapes_do_not_fit",
        "Two shapes on this line don't fit at the axis that is named. Where numbers are combined "
        "one by one, the shapes are compared axis by axis from the right; in a product of "
        "matrices, the axes before the last two are. Both sizes have to be equal, or one of them 1 "
        "or absent.",
    ),
    (
        r"shape of the mask .* does not match",
        "mask_as_index_does_not_fit",
        "A boolean tensor in square brackets has to have the shape of the tensor that it indexes: "
        "it isn't broadcast. `masked_fill` and `torch.where` broadcast.",
    ),
    (
        r"size of tensor a .* must match|must match the existing size|doesn't match the broadcast|"
        r"not broadcastable|shape mismatch",
        "shapes_do_not_fit",
        "Numbers are combined one by one, so the shapes are compared axis by axis from the right: "
        "two sizes have to be equal, or one of them 1 or absent. `unsqueeze` and `keepdim=True` "
        "make an axis of size 1; an operation in place can't enlarge its tensor.",
    ),
    (
        r"mat1 and mat2 shapes|two dimensions of batch2|size mismatch, got|inconsistent tensor",
        "product_of_matrices_does_not_fit",
        "In a product of matrices, the last axis of the first has to be as long as the last axis "
        "but one of the second, and all axes before them have to fit.",
    ),
    (
        r"is invalid for input of size",
        "another_number_of_numbers",
        "`view` and `reshape` keep all numbers: the sizes asked for have to multiply to as many as "
        "the tensor holds. Take the sizes from the tensor in hand, not from another one, and write "
        "no fixed number.",
    ),
    (
        r"view size is not compatible",
        "not_contiguous",
        "`view` needs numbers that lie in memory in the order of the axes. After `transpose` or "
        "`permute`, and for some inputs, they don't; `reshape` copies them where it has to.",
    ),
    (
        r"Boolean value of Tensor with more than one|truth value of an array",
        "tensor_as_condition",
        "`if`, `and`, `or` and `not` need one truth value, but a tensor holds many. Numbers are "
        "combined with `&`, `|`, `~` or `torch.where`; whether a mask was given is `is None`.",
    ),
    (
        r"einsum\(\).*has size .* does not broadcast",
        "letter_for_two_sizes",
        "One letter of your einsum equation stands for axes of two different sizes.",
    ),
    (
        r"einsum\(\)",
        "equation_does_not_fit",
        "The letters of your einsum equation don't fit the axes of the tensors given to it.",
    ),
    (
        r"NoneType",
        "none_is_used",
        "A value on this line is None: an argument that may be left out, or the result of a "
        "function without `return`.",
    ),
    (
        r"before Module.__init__\(\) call",
        "super_init_missing",
        "A module has to call `super().__init__()` before its first layer is assigned.",
    ),
    (
        r"missing the required .forward. function",
        "forward_missing",
        "A module is called through its method `forward`, and yours has none of that name: "
        "misspelt, or not indented like `__init__`?",
    ),
    (
        r"cannot assign .* as parameter",
        "not_a_parameter",
        "A plain tensor can't take the place of a parameter: it would not be trained.",
    ),
    (
        r"does not require grad|element 0 of tensors",
        "no_gradient",
        "`backward` finds nothing to follow: the value was computed under `torch.no_grad`, "
        "detached, or made from plain numbers.",
    ),
    (
        r"modified by an inplace operation|leaf Variable that requires grad",
        "edits_what_gradients_need",
        "A tensor is changed in place, although gradients still need its old numbers.",
    ),
    (
        r"index out of range in self",
        "no_such_row",
        "An embedding is asked for a row that it doesn't have: an id is too large or negative. "
        "Are these really ids of its vocabulary?",
    ),
    (
        r"out of bounds|[Ii]ndex out of range|Dimension out of range|index k out of range|"
        r"too many indices|index -?\d+ is out|IndexError",
        "index_out_of_range",
        "An index or an axis lies outside what is there, for this input at least: count from 0, "
        "and think of the smallest and the largest input.",
    ),
    (
        r"tensors used as indices must be",
        "index_of_wrong_type",
        "Only whole numbers (int64) or truth values can index a tensor.",
    ),
    (
        r"bool tensor is not supported",
        "arithmetic_with_a_mask",
        "Truth values can't be subtracted. `~mask` turns a boolean mask round.",
    ),
    (
        r"non-empty TensorList|empty sequence|iterable argument is empty|no elements|"
        r"zero.size|numel\(\) == 0",
        "nothing_there",
        "There is nothing to work on in this call: think of an empty list, or of no element that "
        "counts.",
    ),
    (
        r"division by zero|0\.0 cannot be raised|math domain error",
        "division_by_zero",
        "A division by zero, or a logarithm of zero: think of the first step, of empty input, and "
        "of no element that counts.",
    ),
    (
        r"expected sequence of length",
        "rows_of_different_lengths",
        "Rows of different lengths can't become one tensor: the shorter ones need padding first.",
    ),
    (
        r"same dtype|must have the same dtype|expected scalar type|expected m1 and m2|"
        r"not implemented for '(Long|Bool|Int)|floating point|can't be cast",
        "type_does_not_fit",
        "An operation gets numbers of a type that it doesn't take, such as integers, truth values "
        "or another precision.",
    ),
    (
        r"missing \d+ required|unexpected keyword|positional arguments? but|takes no arguments|"
        r"multiple values for argument",
        "other_arguments",
        "The arguments of the call and those of the function don't fit. If it is the check that "
        "calls your code here, keep the names and the order that the task gives.",
    ),
    (
        r"values to unpack",
        "another_number_of_values",
        "Your line takes apart another number of values than there are: a shape has as many as the "
        "tensor has axes, a function returns as many as it likes.",
    ),
    (
        r"has no attribute",
        "no_such_attribute",
        "There is nothing of this name in that object: misspelt, or is it another object than you "
        "think?",
    ),
    (
        r"unsupported operand|bad operand type",
        "operator_does_not_fit",
        "This operator doesn't take such values (a power is `**`, a product of matrices is `@`).",
    ),
    (
        r"is not subscriptable|is not iterable|is not callable|does not support item assignment|"
        r"has no len|failed to unpack|cannot be interpreted|must be Tensor, not",
        "value_of_another_kind",
        "A value on this line is of another kind than the line expects: look at what it is with "
        "`print(type(...))`.",
    ),
]
_KINDS = {
    "AssertionError": ("own_assertion", "An `assert` of your own is false for this input."),
    "NameError": (
        "unknown_name",
        "Nothing has this name here: misspelt, not imported, or in a cell not run?",
    ),
    "UnboundLocalError": (
        "unknown_name",
        "The variable has no value yet on the way that this input takes through your code.",
    ),
    "KeyError": ("no_such_key", "The dictionary has no entry for this key."),
    "RecursionError": ("endless_recursion", "Your function calls itself without end."),
    "StopIteration": ("nothing_there", "There is no element left to take."),
}
_WITHOUT_A_LINE = ("other_arguments", "forward_missing")  # the check's own call leads to them


def find_error_cause(failure: Failure) -> tuple[str, str]:
    """A name for what this exception means, and the meaning with the variables on the line that
    raised it; "" for both if unknown.

    Without a line of the learner's own, only that their code could not be called as asked, or has
    no ``forward``.
    """
    if ": raise" in failure.line:
        return "own_error", "A `raise` of your own; the task asks for a result here."
    message = failure.message
    if re.search(r"@|matmul|bmm", failure.line):  # the same message for both kinds of operations
        message = message.replace("size of tensor a", "axes of matrices or numbers")
    known = (cause for pattern, *cause in _CAUSES if re.search(pattern, message))
    name, meaning = next(known, _KINDS.get(failure.kind, ("", "")))
    variables = f"On that line: {failure.variables}." if failure.variables else ""
    if not name or not (failure.line or name in _WITHOUT_A_LINE):
        return "", variables
    return name, f"{meaning} {variables}".strip()
