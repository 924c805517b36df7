"""A class where a function is asked for, a function where a class is, or an object of a class."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from torch import nn

from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.call import Unusual
from course_lib.checks.engine.item import Item

WRONG_KIND = "wrong_kind"  # the observation's name


def find_wrong_kind(item: Item, subject: Any, *, trial: Trial) -> Observation | None:
    """What was passed to the check and what should be, if they are of different kinds and no call
    of a test gives a result: a function that makes modules is a class as far as tests can see.
    """
    if any(not answer.failure and type(answer.value) is not Unusual for answer in trial.answers):
        return None
    wants_class = isinstance(item.reference, type)
    name = "" if item.bug else item.id.split(".")[1]
    if wants_class and isinstance(subject, nn.Module):
        name = type(subject).__name__
        # Of a class of PyTorch's, such as `nn.Sequential`, the class itself would be no answer.
        own = type(subject).__module__.partition(".")[0] != "torch"
        passed = f"an object of the class {name}"
        wanted = f"the class itself, {name}, without brackets" if own else "a class of your own"
        reason = "The check makes its own objects, with sizes that it chooses."
    elif wants_class and type(subject) is FunctionType:
        if any(answer.failure and answer.failure.line for answer in trial.answers):
            return None  # it may make modules, and its own error says more
        passed, wanted = f"the function {subject.__name__}", "a class"
        reason = "The check makes objects of it and calls them."
    elif not wants_class and isinstance(subject, type):
        passed, wanted = f"the class {subject.__name__}", f"a function{name and f', {name}'}"
        reason = "The check calls it with the arguments of the task."
    else:
        return None
    return Observation(
        WRONG_KIND, f"You passed {passed}; this task asks for {wanted}.", meaning=reason
    )
