"""How many operations on tensors an answer that passes makes, beside the course's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.engine.call import ask
from course_lib.checks.engine.isolation import usual_defaults

SECONDS = 2.0
MANY = 3  # times as many as the course's: a loop, mostly


class _Counter(TorchFunctionMode):
    """Counts the functions of PyTorch that are called and return a tensor; what these call
    themselves isn't counted.
    """

    made = 0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        value = func(*args, **(kwargs or {}))
        self.made += isinstance(value, Tensor) and func.__name__ != "__get__"  # an attribute
        return value


@usual_defaults()
def compare_operations(diagnosis: Diagnosis) -> str:
    """A sentence on a function that passes; "" on a class, and without tensors or a difference."""
    item, subject = diagnosis.item, diagnosis.subject
    if not (inspect.isfunction(subject) and inspect.isfunction(item.reference)):
        return ""
    counted = []
    for function in (subject, item.reference):
        counter = _Counter()

        def use(subject: Any, *args: Any, counter: _Counter = counter, **kwargs: Any) -> Any:
            with counter:
                return item.use(subject, *args, **kwargs)

        answer = ask(function, diagnosis.trials[0].calls[0], use, seconds=SECONDS)
        counted.append(0 if answer.failure else counter.made)
    theirs, ours = counted
    if not theirs or not ours or theirs == ours:
        return ""
    made = f"{theirs} operation{'s' * (theirs > 1)} on tensors"
    sentence = f"In the first test your code makes {made}, and the course's {ours}."
    if theirs > MANY * ours:
        sentence += " Which loop could one operation on whole tensors replace?"
    return sentence
