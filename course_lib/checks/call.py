"""Call a learner's code in isolation, and record what it returned or raised.

A learner's code may fail in any way. Whatever it does, ``ask`` returns an `Answer`: plain data that
can be compared, shown or sent elsewhere.
"""

from __future__ import annotations

import copy
import linecache
import sysconfig
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.isolation import isolated, within

SECONDS = 10.0  # time limit of one call; the course's own code takes milliseconds
MOST_CHARACTERS = 500  # of an exception's message
Use = Callable[..., Any]  # use(subject, *args, **kwargs): how the learner's code is called
_NOT_THE_LEARNERS = tuple(
    str(Path(path).resolve())
    for path in (
        Path(__file__).parents[1],
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    )
)


@dataclass(frozen=True)
class Call:
    """The arguments of one call.

    Attributes:
        args, kwargs: passed to the item's ``use`` as copies.
        about: what is special about them, in a few words.
        gradients: also compute the gradient of a fixed weighted sum of the outputs with respect to
            each input.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    gradients: bool = False


@dataclass(frozen=True)
class Failure:
    """An exception: its type, its message, and the line of the learner's code that led to it."""

    kind: str
    message: str
    line: str = ""

    @property
    def sentence(self) -> str:
        """The message as a sentence of its own."""
        return f"{self.message[:1].upper()}{self.message[1:].rstrip('.')}."


@dataclass(frozen=True)
class Answer:
    """The result of a call: a value or a failure, whether inputs were modified in place, and the
    seconds that it took.
    """

    value: Any = None
    failure: Failure | None = None
    changed_inputs: bool = False
    seconds: float = field(default=0.0, compare=False)


class UnreadableResult(Exception):
    """A result that cannot be read without an error."""


@dataclass(frozen=True)
class Unusual:
    """What stands for a tensor without ordinary numbers, such as a sparse one."""

    description: str


def call_plainly(subject: Any, *args: Any, **kwargs: Any) -> Any:
    """The usual ``use``: call it."""
    return subject(*args, **kwargs)


def ask(
    subject: Any, call: Call, use: Use = call_plainly, *, seconds: float | None = None
) -> Answer:
    """Make one call of the learner's code.

    Args:
        subject: their function, class or value.
        call: its arguments.
        use: how it is called.
        seconds: time limit, by default ``SECONDS``. It works only in a program's main thread and
            where the system has alarms (elsewhere the learner interrupts the kernel).
    """
    args, kwargs = copy.deepcopy((call.args, dict(call.kwargs)))
    inputs = [x for x in tree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    before, data = [x.clone() for x in inputs], _data((args, kwargs))

    def answer() -> Any:
        torch.default_generator.manual_seed(0)  # so that dropout is the same for everyone
        if call.gradients:
            return _plain(_with_gradients(use, subject, args, kwargs, inputs))
        return _plain(use(subject, *args, **kwargs))

    start = time.perf_counter()
    try:
        with isolated():
            value = within(SECONDS if seconds is None else seconds, answer)
    except KeyboardInterrupt as error:
        return Answer(failure=Failure("Interrupted", "you stopped it", _learners_line(error)))
    except BaseException as error:  # whatever it is, the learner's code raised it
        return Answer(failure=failure_of(error))
    changed = any(_changed(x, old) for x, old in zip(inputs, before, strict=True))
    changed = changed or _data((args, kwargs)) != data
    return Answer(value, changed_inputs=changed, seconds=time.perf_counter() - start)


def failure_of(error: BaseException) -> Failure:
    """What is recorded of an exception that a learner's code raised."""
    return Failure(type(error).__name__, _text(error), _learners_line(error))


def _text(error: BaseException) -> str:
    """An exception's message on one line, truncated if it is long."""
    try:
        text = " ".join(str(error).split())
    except Exception as second:  # a learner's own __str__
        text = f"its message can't be read, __str__ raises {type(second).__name__}"
    return truncated(text, MOST_CHARACTERS)


def truncated(text: str, most: int) -> str:
    """The text in so many characters, with … where some are left out."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _data(inputs: Any) -> Any:
    """The lists and dicts of the inputs with their numbers and words, without tensors, objects."""
    leaves, structure = tree.tree_flatten(inputs)
    return structure, [x for x in leaves if isinstance(x, (bool, int, float, str))]


def _changed(x: Tensor, old: Tensor) -> bool:
    if x.shape != old.shape or x.dtype != old.dtype or x.device != old.device:
        return True
    return not torch.equal(x.nan_to_num(), old.nan_to_num())


def _with_gradients(
    use: Use, subject: Any, args: Any, kwargs: Any, inputs: list[Tensor]
) -> dict[str, Any]:
    """The value, and the gradient of Σ cos(i) · outputᵢ with respect to each float input."""
    real = [x.requires_grad_() for x in inputs if x.is_floating_point()]
    value = use(subject, *args, **kwargs)
    outputs = [x for x in tree.tree_leaves(value) if isinstance(x, Tensor) and x.requires_grad]
    total = sum(weighted_sum(x) for x in outputs)
    gradients: tuple[Tensor | None, ...] = (None,) * len(real)
    if isinstance(total, Tensor):
        gradients = torch.autograd.grad(total, real, allow_unused=True)
    return {"value": value, "gradients": list(gradients)}


def weighted_sum(x: Tensor) -> Tensor:
    """Σ cos(i) · xᵢ: a number whose gradient is different for every element of x."""
    return (torch.cos(torch.arange(x.numel(), dtype=x.dtype)).view(x.shape) * x).sum()


def _plain(value: Any) -> Any:
    """The value as data that can be compared without running the learner's code again.

    Raises:
        UnreadableResult: reading it raises an error.
    """
    try:
        return tree.tree_map(_plain_leaf, value)
    except Exception as error:
        raise UnreadableResult(
            f"reading the {type(value).__name__} that you return raises {type(error).__name__}: "
            f"{_text(error)}"
        ) from None


def _plain_leaf(x: Any) -> Any:
    if isinstance(x, Tensor):
        return _plain_tensor(x)
    for kind in (int, float, str):  # a subclass may compare as it likes
        if isinstance(x, kind) and not isinstance(x, bool):
            return getattr(kind, f"__{kind.__name__}__")(x)
    if isinstance(x, Mapping):
        return {key: _plain(entry) for key, entry in x.items()}
    if isinstance(x, Sequence) and not isinstance(x, (bytes, bytearray)):
        return [_plain(entry) for entry in x]
    return x


def _plain_tensor(x: Tensor) -> Tensor | Unusual:
    with torch._C.DisableTorchFunctionSubclass():  # a subclass may do what it likes
        if x.is_meta:
            return Unusual("a tensor without data, on the device 'meta'")
        if x.is_nested:
            return Unusual("a nested tensor")
        if x.layout != torch.strided:
            return Unusual(f"a sparse tensor ({x.layout})")
        if x.is_quantized:
            return Unusual(f"a quantised tensor ({x.dtype})")
        return x.detach().clone().as_subclass(Tensor)


def _learners_line(error: BaseException) -> str:
    """Where in the learner's own code it happened, as "line 3 of f: return x @ y"; "" if outside
    it.
    """
    if isinstance(error, SyntaxError) and error.text:
        return f"line {error.lineno}: {error.text.strip()}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<frozen"):
            continue
        if not str(Path(frame.filename).resolve()).startswith(_NOT_THE_LEARNERS):
            line = frame.line or linecache.getline(frame.filename, frame.lineno or 0)
            function = "" if frame.name.startswith("<") else f" of {frame.name}"
            return f"line {frame.lineno}{function}: {line.strip()}"
    return ""
