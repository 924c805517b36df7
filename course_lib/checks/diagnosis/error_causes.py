"""What an exception of Python or PyTorch means, in plain words: `cause_of` a failure."""

from __future__ import annotations

import re

from course_lib.checks.engine.call import Failure

# Message of the exception, name of the cause, what it means. The first that fits is taken. Each
# meaning has to be true whenever its pattern fits, also where a function that the line calls raised
# the exception: what is only likely stands as a question.
_CAUSES = [
    (
        r"Torch not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs are available|"
        r"PyTorch is not linked with support for mps|MPS backend is (supported|not)|"
        r"Attempting to deserialize object on a CUDA device|Cannot access accelerator device",
        "no_such_device",
        "Your code asks for a device that isn't there, by `.cuda()`, `.to(…)` or `device=…`, or by "
        "`torch.load` without `map_location`. An answer works on any machine if what it makes is "
        "made where its input is: `device=x.device`.",
    ),
    (
        r"[Mm]eta tensor|device meta|and meta\b|\bmeta and (cpu|cuda)",
        "no_data",
        "A tensor on the device `meta` has a shape and no numbers, so nothing can be computed from "
        "it together with others. Where does your code ask for that device?",
    ),
    (
        r"Expected all tensors to be on the same device|is not on the expected device",
        "devices_differ",
        "Tensors on this line are on different devices. What your code makes has to be made where "
        "its input is: `device=x.device`.",
    ),
    (
        r"[Dd]ynamo|[Ii]nductor|backend='|C\+\+ compiler|working triton|torch\.compile",
        "not_compiled",
        "`torch.compile` can't compile your code here; often a compiler is missing. The task needs "
        "none: leave it out.",
    ),
    (
        r"EOF when reading a line|raw_input was called|reading from stdin",
        "waits_for_typing",
        "`input` waits for somebody to type, and during a check nobody does. What your code needs "
        "comes as arguments.",
    ),
    (
        r"numpy\(\) on Tensor that requires grad|on Tensor that requires grad\. Use",
        "numpy_and_gradients",
        "NumPy knows nothing of gradients, so a tensor that needs them can't become an array. Do "
        "the same with PyTorch.",
    ),
    (
        r"numpy\.ndarray' object has no attribute|not (numpy\.)?ndarray|"
        r"'numpy\.ndarray' and 'Tensor'|'Tensor' and 'numpy\.ndarray'|"
        r"got <class 'numpy\.ndarray'>",
        "array_for_tensor",
        "A NumPy array is used on this line. Is a tensor needed in its place? Do it all with "
        "PyTorch, or turn the array into a tensor with `torch.from_numpy`; watch its dtype.",
    ),
    (
        r"'Tensor' object has no attribute '(astype|copy|tobytes|flat)'",
        "tensor_for_array",
        "That is a name of NumPy's arrays. Of a tensor, `astype` is `to`, and `copy` is `clone`.",
    ),
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
        "A boolean tensor in square brackets has to have the sizes of the first axes of the tensor "
        "that it indexes: it isn't broadcast. `masked_fill` and `torch.where` broadcast.",
    ),
    (
        r"must match the existing size|shape mismatch: (value|indexing)",
        "size_of_target_does_not_fit",
        "`expand` and assignments to `x[…]` repeat an axis of size 1 and no other: compared from "
        "the right, each size has to be 1 or the one that is needed. Several indices in one pair "
        "of brackets have to fit one another, too.",
    ),
    (
        r"[Ss]izes of tensors must match|stack expects each tensor|"
        r"all input array dimensions|all input arrays must have",
        "parts_do_not_fit",
        "Only tensors of equal shapes can be joined. For `cat` the axis along which it joins may "
        "differ in size, for `stack` none.",
    ),
    (
        r"Given normalized_shape|[Ee]xpected input with shape \[\*",
        "norm_does_not_fit",
        "A LayerNorm normalises the last axis, or several of the last ones, and was made for other "
        "sizes of them than the input has.",
    ),
    (
        r"Expected target size|to match target batch_size|"
        r"[Ee]xpected floating point type for target with class prob",
        "targets_do_not_fit",
        "`cross_entropy` takes scores (N, classes) and N targets: the classes are axis 1, also of "
        "scores with more axes, and each score vector has one target, an integer. Which axes do "
        "yours have?",
    ),
    (
        r"Target -?\d+ is out of bounds",
        "no_such_class",
        "A target is no index of a class: there are as many classes as the scores have numbers "
        "for one token. Is it an id to be ignored, or do the classes stand on another axis?",
    ),
    (
        r"size of tensor a .* must match|doesn't match the broadcast|not broadcastable|"
        r"could not be broadcast together",
        "shapes_do_not_fit",
        "Where numbers are combined one by one, or the matrices of a batch, the shapes are "
        "compared axis by axis from the right: two sizes have to be equal, or one of them 1 or "
        "absent. `unsqueeze` and `keepdim=True` make an axis of size 1; an operation in place "
        "can't enlarge its tensor.",
    ),
    (
        r"mat1 and mat2 shapes|two dimensions of batch2|size mismatch, got|inconsistent tensor|"
        r"mismatch in its core dimension",
        "product_of_matrices_does_not_fit",
        "In a product of matrices, the last axis of the first has to be as long as the last axis "
        "but one of the second, or as the only axis of a vector, and all axes before them have to "
        "fit. An `nn.Linear` is such a product: the last axis of its input has to be `in_features` "
        "long.",
    ),
    (
        r"is invalid for input of size",
        "another_number_of_numbers",
        "`view` and `reshape` keep all numbers: the sizes asked for have to multiply to as many as "
        "the tensor holds. Take the sizes from the tensor in hand, not from another one, and write "
        "no fixed number.",
    ),
    (
        r"only one dimension can be inferred",
        "two_sizes_left_open",
        "`view` and `reshape` can work out one size, -1, and not two.",
    ),
    (
        r"permute.*number of dimensions|number of dims don't match in permute|"
        r"[Rr]epeated dim in permute|permute.*duplicate",
        "permute_does_not_fit",
        "`permute` needs each axis of the tensor, and each of them once.",
    ),
    (
        r"view size is not compatible",
        "not_contiguous",
        "`view` needs numbers that lie in memory in the order of the axes. After `transpose` or "
        "`permute`, and for some inputs, they don't; `reshape` copies them where it has to.",
    ),
    (
        r"Boolean value of Tensor with|truth value of an (empty )?array",
        "tensor_as_condition",
        "One truth value is asked of a tensor or an array, which holds several or none: by `if`, "
        "`and`, `or` or `not`, or by `in`, `max` or `sorted`, which compare. Tensors are combined "
        "with `&`, `|`, `~` or `torch.where`; whether a mask was given is `is None`.",
    ),
    (
        r"einsum\(\).*has size .* does not broadcast",
        "letter_for_two_sizes",
        "One letter of your einsum equation stands for axes of two different sizes.",
    ),
    (
        r"einsum\(\)",
        "equation_does_not_fit",
        "An einsum equation has one letter for each axis of each tensor, a comma between two "
        "tensors, and behind the `->` only letters that stand before it, each once.",
    ),
    (
        r"NoneType",
        "none_is_used",
        "Something that this line uses is None: an argument that may be left out, or the result "
        "of a function without `return`?",
    ),
    (
        r"before Module.__init__\(\) call|has no attribute '_(modules|parameters|buffers|"
        r"(forward|backward)(_pre)?_hooks)'",
        "super_init_missing",
        "A module has to call `super().__init__()` before its first layer is assigned.",
    ),
    (
        r"Module \[(ModuleList|ModuleDict)\] is missing the required .forward. function",
        "list_of_modules_called",
        "A `ModuleList` or `ModuleDict` only holds modules: call each of them, in a loop.",
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
        "Only an `nn.Parameter` can take the place of a parameter: a plain tensor would not be "
        "trained.",
    ),
    (
        r"differentiated Tensors does not require grad",
        "input_without_gradient",
        "A gradient with respect to a tensor is asked for that keeps none: an input needs "
        "`requires_grad_()` before anything is computed from it.",
    ),
    (
        r"element 0 of tensors",
        "no_gradient",
        "Gradients are asked of a value that has no path to a parameter: was it computed under "
        "`torch.no_grad`, detached, or made from plain numbers?",
    ),
    (
        r"implicitly created only for scalar",
        "backward_of_many_numbers",
        "`backward` starts from one number, such as a mean; yours starts from several.",
    ),
    (
        r"backward through the graph a second time",
        "backward_twice",
        "`backward` uses up what was kept for it. Is it called twice for one loss, or does a value "
        "of the step before take part?",
    ),
    (
        r"modified by an inplace operation|leaf Variable that requires grad",
        "edits_what_gradients_need",
        "A tensor is changed in place, although gradients need it as it was.",
    ),
    (
        r"index out of range in self",
        "no_such_row",
        "A row is asked for that isn't there, by an embedding or by `index_select`: an id is too "
        "large or negative. Are these really ids of its vocabulary?",
    ),
    (
        r"selected index k out of range",
        "too_many_asked_for",
        "`topk` is asked for more numbers than the axis holds: take `min(k, x.size(dim))`.",
    ),
    (
        r"out of bounds (for|with) (dimension|axis|size)|index -?\d+ is out|is out of bounds for|"
        r"[Ii]ndex out of range|Dimension out of range|too many indices|"
        r"exceeds dimension size",
        "index_out_of_range",
        "An index or an axis lies outside what is there, for this input at least: count from 0, "
        "and think of the smallest and the largest input.",
    ),
    (
        r"tensors used as indices must be",
        "index_of_wrong_type",
        "Only whole numbers (such as int64) or truth values can index a tensor.",
    ),
    (
        r"indices must be integers|can be converted to an index|"
        r"only integers, slices .* are valid indices",
        "index_of_wrong_type",
        "Something else stands where a whole number is needed, such as in `range` or as the index "
        "of a list. A tensor can be indexed by several numbers at once, a list by one or a slice.",
    ),
    (
        r"converted to (Python )?[Ss]calars?|unsupported format string passed to Tensor|"
        r"only (length-1|0-dimensional|size-1) arrays",
        "tensor_as_number",
        "One plain number is asked for here, and the tensor or array has axes. Functions of `math` "
        "take single numbers; `torch` has the same ones for tensors.",
    ),
    (
        r"0-d tensor|0-dim tensor|tensor has no dimensions",
        "no_axes",
        "A tensor without axes is one number: it has no length, no entries and no axis.",
    ),
    (
        r"only supports boolean masks|condition to be a boolean tensor",
        "mask_of_numbers",
        "The mask holds numbers, where truth values are needed: a comparison gives them, and so "
        "does `.bool()`.",
    ),
    (
        r"bool tensors? is not supported|numpy boolean (subtract|negative)",
        "arithmetic_with_a_mask",
        "Truth values can't be subtracted. `~mask` turns a boolean mask round.",
    ),
    (
        r"cannot be converted to type .* without overflow",
        "too_large_for_the_dtype",
        "The number doesn't fit into the dtype of the tensor: float16 ends at 65504, and whole "
        "numbers have no infinity. `torch.finfo(x.dtype).min` is the lowest of a float dtype.",
    ),
    (
        r"non-empty (TensorList|list of Tensors)|empty sequence|iterable argument is empty|"
        r"no elements|zero.size array|numel\(\) == 0|pop from (an )?empty|dictionary is empty",
        "nothing_there",
        "There is nothing to work on in this call: think of an empty list, or of no element that "
        "counts.",
    ),
    (
        r"(division|modulo) by zero|0\.0 cannot be raised",
        "division_by_zero",
        "A division by zero: think of the first step, of empty input, and of no element that "
        "counts.",
    ),
    (
        r"attribute .* already exists",
        "name_is_taken",
        "The module has something of this name already: was it assigned as `self.…` before, or is "
        "it a name that every module has?",
    ),
    (
        r"name can.{1,2}t (contain|be empty)",
        "name_is_not_possible",
        "The name of a parameter, a buffer or a part of a module holds no dot, and isn't empty.",
    ),
    (
        r"math domain error|expected a (positive|nonnegative|non-negative) input",
        "outside_the_domain",
        "The function has no value for this number: a logarithm needs one above zero, a square "
        "root none below. Think of the first step, and of empty input.",
    ),
    (
        r"expected sequence of length|inhomogeneous shape",
        "rows_of_different_lengths",
        "Rows of different lengths can't become one tensor: the shorter ones need padding first.",
    ),
    (
        r"same dtype|expected scalar type|expected m1 and m2|not implemented for '\w+'|"
        r"floating point (or complex )?(dtype|type)|[Ff]loating point and complex|can't be cast|"
        r"one of the following scalar types|input to have scalar type|"
        r"not supported for the input types",
        "type_does_not_fit",
        "An operation gets numbers of a type that it doesn't take, such as integers, truth values "
        "or another precision.",
    ),
    (
        r"missing \d+ required|unexpected keyword|positional arguments? but|"
        r"takes no (keyword )?arguments|multiple values for argument|"
        r"invalid combination of arguments|positional-only arguments passed as keyword",
        "other_arguments",
        "The arguments of the call and those of the function don't fit. If it is the check that "
        "calls your code here, keep the names and the order that the task gives.",
    ),
    (
        r"values to unpack",
        "another_number_of_values",
        "Another number of values is taken apart than there are, on this line or in what it calls: "
        "a shape has as many as the tensor has axes, a function returns as many as it likes.",
    ),
    (
        r"has no attribute",
        "no_such_attribute",
        "There is nothing of this name in that object: misspelt, or is it another object than you "
        "think?",
    ),
    (
        r"must be (tuple of ints|int)\b.*\bfloat|'float' object cannot be interpreted as an int",
        "float_as_size",
        "A whole number is needed here, and this is a float, perhaps from `/`: 12 / 3 is 4.0, "
        "12 // 3 is 4.",
    ),
    (
        r"unsupported operand|bad operand type|can only concatenate|can't multiply sequence|"
        r"not supported between instances",
        "operator_does_not_fit",
        "An operator doesn't take such values (a power is `**`, a product of matrices is `@`; `+` "
        "and `*` join and repeat a list).",
    ),
    (
        r"is not subscriptable|is not iterable|is not callable|does not support item assignment|"
        r"has no len|failed to unpack|cannot be interpreted|argument '\w+'.* must be .*, not |"
        r"must be Tensor, not|expected Tensor as element|[Cc]ould not infer dtype|"
        r"unhashable type|cannot unpack non-iterable",
        "value_of_another_kind",
        "A value that this line uses is of another kind than is needed: look at what it is with "
        "`print(type(...))`.",
    ),
    (
        r"[Nn]ot enough memory|can't allocate memory|Unable to allocate",
        "too_much_memory",
        "This line asks for more memory than there is. Are sizes multiplied that should not be?",
    ),
]
_KINDS = {
    "AssertionError": (
        "assertion",
        "A condition is false that is tested by what this line calls, or on the line itself.",
    ),
    "ModuleNotFoundError": (
        "unknown_module",
        "No package of this name is installed here: misspelt? The task needs only what its "
        "notebook imports.",
    ),
    "ImportError": ("unknown_module", "What is to be imported isn't there: misspelt?"),
    "FileNotFoundError": (
        "no_such_file",
        "There is no such file. What an answer needs comes as arguments.",
    ),
    "SystemExit": ("program_ended", "Your code ends the program. A function ends with `return`."),
    "OverflowError": (
        "too_large_for_the_dtype",
        "A number is infinite, or too large for its type.",
    ),
    "MemoryError": (
        "too_much_memory",
        "This line asks for more memory than there is. Are sizes multiplied that should not be?",
    ),
    "NameError": (
        "unknown_name",
        "Nothing has this name here: misspelt, not imported, or in a cell not run?",
    ),
    "UnboundLocalError": (
        "unknown_name",
        "The variable has no value yet on the way that this input takes through your code.",
    ),
    "KeyError": ("no_such_key", "There is no entry for this key: print which keys there are."),
    "RecursionError": (
        "endless_recursion",
        "Calls are nested too deeply. Does a function call itself without end, perhaps where "
        "another one of the same name was meant?",
    ),
    "StopIteration": ("nothing_there", "There is no element left to take."),
}
# Their messages hold names and keys of the learner's own, which say nothing of the cause; but for
# these, of sets and modules.
_KINDS_FIRST = (
    *("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError"),
    *("FileNotFoundError", "KeyError"),
)
_KEY_ERRORS_WITH_A_CAUSE = (
    r"^.(pop from an empty set|popitem\(\): dictionary is empty|attribute '.*' already exists|"
    r"(module|parameter|buffer) name can.{1,2}t )"
)
_WITHOUT_A_LINE = ("other_arguments", "forward_missing")  # the check's own call leads to them


def find_error_cause(failure: Failure) -> tuple[str, str]:
    """A name for what this exception means, and the meaning with the variables on the line that
    raised it; "" for both if unknown.

    Without a line of the learner's own, only that their code could not be called as asked, or has
    no ``forward``.
    """
    if failure.raised_on_purpose:
        return "own_error", "A `raise` of your own; the task asks for a result here."
    variables = f"On that line: {failure.variables}." if failure.variables else ""
    if failure.kind == "AssertionError" and re.search(r": assert\b", failure.line):
        return "own_assertion", f"An `assert` of your own is false for this input. {variables}"
    if failure.kind == "CourseError":  # its message says what to do
        return "", variables
    message = failure.message
    if re.search(r"@|matmul|bmm", failure.line):  # the same message for both kinds of operations
        message = message.replace("size of tensor a", "axes of matrices or numbers")
    by_kind = failure.kind in _KINDS_FIRST and not re.search(_KEY_ERRORS_WITH_A_CAUSE, message)
    causes = [] if by_kind else _CAUSES
    known = (cause for pattern, *cause in causes if re.search(pattern, message))
    name, meaning = next(known, _KINDS.get(failure.kind, ("", "")))
    if not name or not (failure.line or name in _WITHOUT_A_LINE):
        return "", variables
    return name, f"{meaning} {variables}".strip()
