"""Call a learner's code in isolation, and record what it returned or raised.

A learner's code may fail in any way. Whatever it does, ``ask`` returns an `Answer`: plain data that
can be compared, shown or sent elsewhere.
"""

from __future__ import annotations

import copy
import io
import linecache
import signal
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

SECONDS = 10.0  # time limit of one call; the course's own code takes milliseconds
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


@dataclass(frozen=True)
class Answer:
    """The result of a call: a value or a failure, and whether inputs were modified in place."""

    value: Any = None
    failure: Failure | None = None
    changed_inputs: bool = False


class TookTooLong(BaseException):
    """Not an Exception, so that a learner's `except Exception` does not swallow it."""


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
    before = [x.clone() for x in inputs]
    try:
        with _isolated(), _alarm(SECONDS if seconds is None else seconds):
            torch.default_generator.manual_seed(0)  # so that dropout is the same for everyone
            if call.gradients:
                value = _with_gradients(use, subject, args, kwargs, inputs)
            else:
                value = use(subject, *args, **kwargs)
    except KeyboardInterrupt as error:
        return Answer(failure=Failure("Interrupted", "you stopped it", _learners_line(error)))
    except BaseException as error:  # whatever it is, the learner's code raised it
        return Answer(failure=Failure(type(error).__name__, str(error), _learners_line(error)))
    changed = any(
        x.shape != old.shape or not torch.equal(x.nan_to_num(), old.nan_to_num())
        for x, old in zip(inputs, before, strict=True)
    )
    return Answer(_detached(value), changed_inputs=changed)


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


def _detached(value: Any) -> Any:
    return tree.tree_map(lambda x: x.detach().clone() if isinstance(x, Tensor) else x, value)


@contextmanager
def _isolated() -> Iterator[None]:
    """Undo what the learner's code sets, and hide what it prints and warns about."""
    dtype, learning = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.enable_grad(),
            redirect_stdout(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(learning)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in the block once the time is up."""
    can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not can:
        yield
        return

    before = signal.signal(signal.SIGALRM, partial(_ring, seconds))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(seconds: float, signum: int, frame: FrameType | None) -> None:
    raise TookTooLong(f"still running after {seconds:g} seconds")


def _learners_line(error: BaseException) -> str:
    """Where in the learner's own code it happened, as "line 3: return x @ y"; "" if outside it."""
    if isinstance(error, SyntaxError) and error.text:
        return f"line {error.lineno}: {error.text.strip()}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not str(Path(frame.filename).resolve()).startswith(_NOT_THE_LEARNERS):
            line = frame.line or linecache.getline(frame.filename, frame.lineno or 0)
            return f"line {frame.lineno}: {line.strip()}"
    return ""
