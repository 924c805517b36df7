"""What holds for every result of an answer that has hardly begun: one number, the identity, or an
argument as it came. No error of several is sought behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.diagnosis.arguments import known_parameters, method_of, positional_names
from course_lib.checks.diagnosis.dependence import drop_gradients, numbers_of
from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.call import Answer, Call
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.item import Item


def find_placeholder(
    item: Item, subject: Any, *, trials: Sequence[Trial], where: str = "In every call"
) -> Observation | None:
    """The fact that holds in all calls; None if there is none, or if something else comes first: an
    exception, another type or, but for an argument, another shape.

    A result that depends on no parameter has no gradient: a call that asks for one says no more.
    """
    made = [
        (call, right, received)
        for trial in trials
        for call, right, received in zip(trial.calls, trial.expected, trial.answers, strict=True)
        if received.failure is None or not _asks_for_gradients(call)
    ]
    kinds = {
        trial.difference.kind
        for trial in trials
        if trial.difference and not any(map(_asks_for_gradients, trial.calls))
    }
    rights, answers = [right for _, right, _ in made], [received for _, _, received in made]
    if not kinds or not kinds <= {"value", "shape"}:
        return None
    if any(answer.failure for answer in (*rights, *answers)):
        return None
    if kinds == {"value"} and not _one_number(rights):  # else it is only another number
        if fact := _one_number(answers):
            return Observation("one_number", f"{where}, {fact}.")
        if all(map(_is_diagonal, answers)):
            what = "has ones on the diagonal and zeros elsewhere, as the identity matrix has"
            return Observation("ones_on_the_diagonal", f"{where}, your result {what}.")
    names = set.intersection(*(_returned(item, subject, call, x) for call, _, x in made))
    if names:
        what = f"{where}, your result is `{min(names)}`, unchanged."
        return Observation("argument_returned", what)
    return None


def _asks_for_gradients(call: Call) -> bool:
    return call.gradients or bool(call.kwargs.get("learns"))


def _result(answer: Answer) -> Any:
    """What is returned, without the gradients that the check adds."""
    result = drop_gradients(answer)
    return result[0] if isinstance(result, list) and len(result) == 1 else result


def _one_number(answers: Sequence[Answer]) -> str:
    """What all results have in common if they hold one number alone, several times."""
    results = [numbers_of(answer) for answer in answers]
    numbers = [x.flatten().double() for result in results for x in result]
    if not all(results) or sum(map(len, numbers)) < 2:
        return ""
    together = torch.cat(numbers)
    if (together != together[0]).any():
        return ""
    truth = all(x.dtype == torch.bool for result in results for x in result)
    number = str(bool(together[0])) if truth else f"{together[0].item() + 0.0:.4g}"
    if len(together) == len(results):  # two lone numbers may agree by chance
        return f"your result is {number}" if len(together) > 2 else ""
    return f"all {'values' if truth else 'numbers'} of your result are {number}"


def _is_diagonal(answer: Answer) -> bool:
    x = _result(answer)
    if not isinstance(x, Tensor) or x.ndim < 2 or not x.numel():
        return False
    return bool((x == torch.eye(*x.shape[-2:]).to(x)).all())


def _returned(item: Item, subject: Any, call: Call, received: Answer) -> set[str]:
    """The names of the arguments that are the result."""
    method = method_of(call)
    names = positional_names(item, subject, method=method)
    known = known_parameters(item.reference, method=method)
    given = {names.get(i, ""): x for i, x in enumerate(call.args)} | dict(call.kwargs)
    result = _result(received)
    return {
        item.shown.get(name, name)
        for name, x in given.items()
        if name in known or name in names.values()
        if name and isinstance(x, Tensor) and answers_differ(Answer(x), Answer(result)) is None
    }
