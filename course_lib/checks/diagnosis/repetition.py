"""Results that change although nothing that is given has changed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.trial import Trial, not_interrupted
from course_lib.checks.engine.call import ask
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.item import Item

SECONDS = 0.5  # in which calls are made again


def find_change(item: Item, subject: Any, *, trials: Sequence[Trial]) -> Observation | None:
    """Whether a call that is made again, with other random numbers, gives another result; None if
    the right answer may do so, too.
    """

    def use(code: Any, *args: Any, **kwargs: Any) -> Any:
        torch.default_generator.manual_seed(1)
        return item.use(code, *args, **kwargs)

    end = time.monotonic() + SECONDS
    for trial in trials if not any(trial.stop for trial in trials) else ():
        if trial.probe.compare is not None:
            continue
        for call, right, received in zip(trial.calls, trial.expected, trial.answers, strict=True):
            if time.monotonic() > end:
                return None
            again = ask(subject, call, use)
            if received.failure and again.failure:  # two messages may hold two addresses
                continue
            try:
                changed = answers_differ(received, again, tolerance=item.tolerance)
            except Exception:  # a result of a strange type
                continue
            if changed is None:
                continue
            right_again = not_interrupted(ask(item.reference, call, use))
            if answers_differ(right, right_again, tolerance=item.tolerance) is None:
                return Observation(
                    "another_result",
                    "The same call gives another result when it's made again.",
                    meaning="Your code uses random numbers, as dropout does, or it keeps something "
                    "from earlier calls: in a variable outside of it, in an attribute, or in a "
                    "default argument that it changes, such as `found=[]`.",
                )
    return None
