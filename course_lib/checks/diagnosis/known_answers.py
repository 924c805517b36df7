"""What the course's wrong implementations answer to the calls of a check, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course_lib.checks.diagnosis.trial import STOPPED, Trial, not_interrupted
from course_lib.checks.engine.call import Answer, ask
from course_lib.checks.engine.item import Item, Misconception


def known_answer(subject: Any, item: Item, *, trial: Trial, i: int) -> Answer:
    """A wrong implementation's answer to a call, computed once for all checks of the item.

    Raises:
        KeyboardInterrupt: it was stopped before it was complete.
    """
    key = (subject, item.id, trial.probe, trial.seed, i)
    if key in _answers:
        return _answers[key]
    answer = not_interrupted(ask(subject, trial.calls[i], item.use))
    if answer.failure is None or answer.failure.kind not in STOPPED:
        _answers[key] = answer
    return answer


def made_together(item: Item, misconceptions: Sequence[Misconception]) -> Any:
    """An implementation with all of these misconceptions, made once; None if there can be none."""
    if len(misconceptions) == 1:
        return misconceptions[0].subject
    key = (item.id, item.conventions, tuple(sorted(m.name for m in misconceptions)))
    if key not in _combined:
        _combined[key] = item.together(*misconceptions)
    return _combined[key]


def forget_larger_sets() -> None:
    """Forget the answers of more than two misconceptions at once: each search tries hundreds of
    such sets, and others than the one before. Pairs are few, and each check tries all of them.
    """
    larger = [key for key in _combined if len(key[2]) > 2]
    subjects = {id(_combined.pop(key)) for key in larger}
    for answered in [key for key in _answers if id(key[0]) in subjects]:
        del _answers[answered]


_answers: dict[tuple[Any, ...], Answer] = {}
_combined: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Any] = {}
