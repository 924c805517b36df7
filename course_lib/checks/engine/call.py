"""Call a learner's code in isolation, and record what it returned or raised.

A learner's code may fail in any way. Whatever it does, ``ask`` returns an `Answer`: plain data that
can be compared, shown or sent elsewhere.
"""

from __future__ import annotations

import copy
import io
import linecache
import re
import sys
import sysconfig
import tokenize
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.engine.isolation import Printed, isolated
from course_lib.checks.engine.time_limit import REAL_TIME, Timer, TookTooLong, within

SECONDS = 10.0  # time limit of one call; the course's own code takes milliseconds
SECONDS_IN_ALL = 60.0  # time limit of all calls of a check together
MOST_CHARACTERS = 500  # of an exception's message
MOST_OF_A_LINE, MOST_OF_A_NAME = 200, 80
MOST_ENTRIES = 100_000  # of a result
Use = Callable[..., Any]  # use(subject, *args, **kwargs): how the learner's code is called
_NOT_THE_LEARNERS = tuple(
    str(Path(path).resolve())
    for path in (
        Path(__file__).parents[2],
        Path(torch.__file__).parents[1],
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    )
)
_PACKAGES = {"site-packages", "dist-packages"}  # of any environment
_ARCHIVES = {".zip", ".whl", ".egg", ".pyz"}  # from which Python can import


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
    _: KW_ONLY
    about: str = ""
    gradients: bool = False


@dataclass(frozen=True)
class Failure:
    """An exception: its type, its message, the line of the learner's code that led to it, and the
    variables named there, tensors as shapes.
    """

    kind: str
    message: str
    _: KW_ONLY
    line: str = ""
    variables: str = ""

    def __repr__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind

    @property
    def function(self) -> str:
        """The function or method of the learner's in which it happened, "FeedForward.forward"; ""
        outside of any that has a name.
        """
        found = re.match(r"line \d+ of (\S+?):", self.line)
        return found[1] if found else ""

    @property
    def location(self) -> str:
        """The line as the start of a sentence, "Line 3 of your code, in f: return x @ y"."""
        return re.sub(
            r"^line (\d+)( of )?",
            lambda found: f"Line {found[1]} of your code{', in ' if found[2] else ''}",
            self.line,
        )

    @property
    def sentence(self) -> str:
        """The message as a sentence of its own."""
        stop = "" if self.message.endswith(("?", "!")) else "."
        return f"{self.message[:1].upper()}{self.message[1:].rstrip('.')}{stop}"

    @property
    def raised_on_purpose(self) -> bool:
        """Whether it is a `raise` of the learner's own."""
        return re.search(r": raise\b", self.line) is not None

    @property
    def not_written(self) -> bool:
        """Whether the learner's own `raise NotImplementedError` led to it: PyTorch raises this
        error, too, for an operation that doesn't take a type and for a module without `forward`.
        """
        bare = self.line.endswith(": ") and not self.message  # in code without a known source
        return self.kind == "NotImplementedError" and (self.raised_on_purpose or bare)


@dataclass(frozen=True)
class Answer:
    """The result of a call: a value or a failure, whether inputs were modified in place, the
    seconds that it took, and the start of what it printed.
    """

    value: Any = None
    _: KW_ONLY
    failure: Failure | None = None
    changed_inputs: bool = False
    seconds: float = field(default=0.0, compare=False)
    printed: str = field(default="", compare=False)


class UnreadableResult(Exception):
    """A result that cannot be read without an error."""


@dataclass(frozen=True)
class Unusual:
    """What stands for a tensor without ordinary numbers, or for an object of any other kind."""

    description: str

    def __repr__(self) -> str:
        return self.description


_COMPARED_AS_THEY_ARE = (torch.dtype, torch.device, Unusual)


def call_plainly(subject: Any, *args: Any, **kwargs: Any) -> Any:
    """The usual ``use``: call it."""
    return subject(*args, **kwargs)


def value_of(subject: Any) -> Any:
    """The ``use`` for an answer that may be a value, or a function that returns it."""
    return subject() if callable(subject) else subject


def ask(
    subject: Any,
    call: Call,
    use: Use = call_plainly,
    *,
    seconds: float | None = None,
    timer: Timer = REAL_TIME,
) -> Answer:
    """Make one call of the learner's code.

    Args:
        subject: their function, class or value.
        call: its arguments.
        use: how it is called.
        seconds: time limit, by default ``SECONDS``. It works only in a program's main thread and
            where the system has alarms (elsewhere the learner interrupts the kernel).
        timer: what the seconds are measured by.
    """
    # The learner's code gets copies: what it modifies would be another input for the next one.
    args, kwargs = copy.deepcopy((call.args, dict(call.kwargs)))
    inputs = [x for x in tree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    before, data = [x.clone() for x in inputs], _data((args, kwargs))

    def answer() -> tuple[Any, bool]:
        torch.default_generator.manual_seed(0)  # so that dropout is the same for everyone
        value = _plain(make_call(subject, replace(call, args=args, kwargs=kwargs), use))
        changed = any(_changed(x, old) for x, old in zip(inputs, before, strict=True))
        return value, changed or _data((args, kwargs)) != data

    start, output = timer.now(), Printed()
    try:
        with isolated() as output:
            value, changed = within(SECONDS if seconds is None else seconds, answer, timer)
    except BaseException as error:  # whatever it is, the learner's code raised it
        took = timer.now() - start
        return Answer(failure=describe_exception(error), seconds=took, printed=output.text)
    took = timer.now() - start
    return Answer(value, changed_inputs=changed, seconds=took, printed=output.text)


def describe_exception(error: BaseException) -> Failure:
    """An exception as plain text. Its class and its message may be the learner's own code."""

    def described() -> Failure:
        line, variables = _learners_line(error)
        if isinstance(error, KeyboardInterrupt):
            return Failure("Interrupted", "you stopped it", line=line, variables=variables)
        told = _stop_behind(error) or error
        kind = truncated(_printable(str(type(told).__name__)), MOST_OF_A_NAME)
        return Failure(kind, _text(told), line=line, variables=variables)

    try:
        with isolated():
            return within(1.0, described)
    except BaseException:  # even describing it fails
        return Failure("Exception", "it can't be described")


def _stop_behind(error: BaseException) -> TookTooLong | None:
    """The end of the time limit, where it came first and the error while the code was left.

    A `with` that is entered only in part raises an error of its own when it ends.
    """
    earlier: BaseException | None = error
    for _ in range(20):
        if earlier is None or isinstance(earlier, TookTooLong):
            return earlier
        earlier = earlier.__context__
    return None


def _text(error: BaseException) -> str:
    """An exception's message on one line, truncated if it is long."""
    try:
        text = str(error)
    except Exception as second:  # a learner's own __str__
        text = f"its message can't be read, __str__ raises {type(second).__name__}"
    return truncated(_printable(text), MOST_CHARACTERS)


def _printable(text: str) -> str:
    """Text on one line that any terminal can take."""
    few = str.__str__(text)[: 20 * MOST_CHARACTERS]
    text = " ".join(few.encode("utf-8", "backslashreplace").decode().split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printed_lines(text: str) -> list[str]:
    """What was printed, as lines that any terminal can take: spaces stay as they are."""
    whole = text.encode("utf-8", "backslashreplace").decode().expandtabs()
    lines = ["".join(c if c.isprintable() else repr(c)[1:-1] for c in x) for x in whole.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    return [truncated(line.rstrip(), MOST_OF_A_LINE) for line in lines]


def truncated(text: str, most: int) -> str:
    """The text in so many characters, with … where some are left out."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _data(inputs: Any) -> Any:
    """The lists and dicts of the inputs with their numbers and words, without tensors, objects."""
    leaves, structure = tree.tree_flatten(inputs)
    return structure, [x for x in leaves if isinstance(x, (bool, int, float, str))]


def _changed(x: Tensor, old: Tensor) -> bool:
    if type(x) is not type(old) or (x.numel() and x.untyped_storage().nbytes() == 0):
        return True
    if x.shape != old.shape or x.dtype != old.dtype or x.device != old.device:
        return True
    return not torch.equal(x.nan_to_num(), old.nan_to_num())


def make_call(subject: Any, call: Call, use: Use) -> Any:
    """The value; with the gradient of Σ cos(i) · outputᵢ with respect to each float input, if the
    call asks for it. What the call holds may be changed.
    """
    inputs = [x for x in tree.tree_leaves((call.args, call.kwargs)) if isinstance(x, Tensor)]
    # These tensors themselves stand in args and kwargs, so the call below records them.
    real = [x.requires_grad_() for x in inputs if call.gradients and x.is_floating_point()]
    value = use(subject, *call.args, **call.kwargs)
    if not call.gradients:
        return value
    outputs = [x for x in tree.tree_leaves(value) if isinstance(x, Tensor) and x.requires_grad]
    total = sum(weighted_sum(x) for x in outputs)  # the plain number 0 without any output
    gradients: tuple[Tensor | None, ...] = (None,) * len(real)
    if isinstance(total, Tensor):
        gradients = torch.autograd.grad(total, real, allow_unused=True)
    return {"value": value, "gradients": list(gradients)}


def weighted_sum(x: Tensor) -> Tensor:
    """Σ cos(i) · xᵢ: a number whose gradient is different for every element of x."""
    # A plain sum has the gradient 1 everywhere, even if elements are in the wrong order, and after
    # a softmax or a LayerNorm it is a constant: its gradient would show nothing.
    return (torch.cos(torch.arange(x.numel(), dtype=x.dtype)).view(x.shape) * x).sum()


def _plain(value: Any) -> Any:
    """The value as data that can be compared without running the learner's code again.

    Raises:
        UnreadableResult: reading it raises an error, or it has too many entries.
    """
    left = MOST_ENTRIES

    def leaf(x: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError(f"more than {MOST_ENTRIES:,} entries")
        return _plain_leaf(x, read)

    def read(x: Any) -> Any:
        return tree.tree_map(leaf, x, is_leaf=lambda part: isinstance(part, dict))

    try:
        return read(value)
    except Exception as error:
        raise UnreadableResult(
            f"reading the {type(value).__name__} that you return raises {type(error).__name__}: "
            f"{_text(error)}"
        ) from None


def _plain_leaf(x: Any, read: Callable[[Any], Any]) -> Any:
    """Judged by its type and not by what it says of itself (``__class__``)."""
    kind = type(x)
    if issubclass(kind, Tensor):
        return _plain_tensor(x)
    for plain in (bool, int, float, str):  # a subclass may compare as it likes
        if issubclass(kind, plain):
            return x if kind is plain else getattr(plain, f"__{plain.__name__}__")(x)
    if x is None or kind in _COMPARED_AS_THEY_ARE:
        return x
    if kind.__module__ == "numpy" and hasattr(x, "item") and not hasattr(x, "__len__"):
        return read(x.item())  # a number of NumPy's
    if issubclass(kind, Mapping):
        return {
            key if type(key) in (int, str) else Unusual("a key"): read(entry)
            for key, entry in x.items()
        }
    if issubclass(kind, Sequence) and not issubclass(kind, (bytes, bytearray)):
        return [read(entry) for entry in x]
    return Unusual(truncated(f"a value of type {_printable(kind.__name__)}", MOST_OF_A_NAME))


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
        if x.numel() and x.untyped_storage().nbytes() == 0:
            return Unusual("a tensor whose memory has been freed")
        copied = x.detach().clone().as_subclass(Tensor)
    return copied if type(copied) is Tensor else Unusual(f"a {type(x).__name__}")


def _learners_line(error: BaseException) -> tuple[str, str]:
    """Where in the learner's own code it happened, as "line 3 of f: return x @ y", and the
    variables that this line names; "" for both if outside it.
    """
    if isinstance(error, SyntaxError) and isinstance(error.text, str):
        return f"line {error.lineno}: {_source(error.text)}", ""
    sourceless = ""
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file, name = frame.f_code.co_filename, frame.f_code.co_qualname.split("<locals>.")[-1]
        if not is_learners(frame):
            continue
        known = file in linecache.cache or Path(file).is_file()  # and no pipe or device
        line = _source(linecache.getline(file, number)) if known else ""
        function = "" if name.startswith("<") else f" of {truncated(name, MOST_OF_A_NAME)}"
        if line:
            return f"line {number}{function}: {line}", _values(line, frame.f_locals)
        sourceless = sourceless or f"line {number}{function}: "
    return sourceless, ""


def is_learners(frame: FrameType) -> bool:
    """Whether a frame runs code of a cell, or of a file that belongs to no installed package."""
    file = frame.f_code.co_filename
    if file.startswith("<"):  # a cell in the jail, or code that a function has written
        module = sys.modules.get(str(frame.f_globals.get("__name__")))
        origin = getattr(module, "__file__", None)
        return not file.startswith("<frozen") and (origin is None or _is_own_file(str(origin)))
    # A compiled module's frames name a file that is not there; a cell's is kept in this cache.
    known = file in linecache.cache or Path(file).exists()
    return (known or frame.f_globals.get("__name__") == "__main__") and _is_own_file(file)


def _is_own_file(file: str) -> bool:
    path = Path(file)
    if _PACKAGES & set(path.parts) or _ARCHIVES & {parent.suffix for parent in path.parents}:
        return False
    return not str(path.resolve()).startswith(_NOT_THE_LEARNERS)


def _source(line: str) -> str:
    return truncated(_printable(line), MOST_OF_A_LINE)


def _names(line: str) -> Iterator[str]:
    """The names of variables on a line, which may be a part of a statement: no attribute, no name
    of an argument, as in `dim=-1`, nor one that only gets its value here.
    """
    before, name = "", ""
    with suppress(tokenize.TokenError, SyntaxError):  # the statement doesn't end on this line
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if name and token.string != "=":
                yield name
            name = token.string if token.type == tokenize.NAME and before != "." else ""
            before = token.string


def _values(line: str, variables: Mapping[str, Any]) -> str:
    """The variables that a line names, "x (2, 3), mask None": tensors as shapes, numbers, None."""
    found = []
    for name in dict.fromkeys(_names(line)):
        value = variables.get(name, ...)
        if type(value) is Tensor:
            found.append(f"{name} {tuple(value.shape)}")
        elif (
            value is None
            or type(value) in (bool, float)
            or (type(value) is int and abs(value) < 10**9)
        ):
            found.append(f"{name} {value}")
    return ", ".join(found)
