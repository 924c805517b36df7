"""Run an item's probes on a learner's code, and match its errors with known misconceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from course_lib.checks.call import Answer, Call, Use, ask
from course_lib.checks.compare import Difference, answers_differ
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Misconception, Probe

Status = Literal["passed", "not yet", "not started"]
SEED = 2017  # of the test inputs; grading uses others


@dataclass(frozen=True)
class Trial:
    """A probe, its calls, the answers, and the first difference."""

    probe: Probe
    seed: int
    calls: Sequence[Call]
    expected: Sequence[Answer]
    answers: Sequence[Answer]
    difference: Difference | None

    @property
    def first_wrong(self) -> Call:
        """The call that shows the difference."""
        for call, a, b in zip(self.calls, self.expected, self.answers, strict=True):
            if answers_differ(a, b):
                return call
        return self.calls[0]


@dataclass(frozen=True)
class Diagnosis:
    """The result of all probes of an item on a learner's code."""

    item: Item
    status: Status
    trials: Sequence[Trial]
    misconception: Misconception | None = None
    line: Answer | None = None  # spot the bug: which line the learner names

    @property
    def line_found(self) -> bool:
        """Whether the learner named the wrong line; always True for other kinds of items."""
        if self.item.bug is None:
            return True
        return self.line is not None and self.line.value == self.item.bug.line

    @property
    def failed(self) -> list[Trial]:
        """The trials that did not pass."""
        return [trial for trial in self.trials if trial.difference]


def try_probe(probe: Probe, item: Item, subject: Any, draw_seed: int) -> Trial:
    """Make a probe's calls on the reference and on the learner's code, and compare."""
    calls, expected = _expected(probe, item, draw_seed)
    answers = answer_all(subject, calls, item.use)
    difference = _compared(probe, item, calls, expected, answers)
    return Trial(probe, draw_seed, calls, expected, answers, difference)


def _expected(probe: Probe, item: Item, seed: int) -> tuple[list[Call], list[Answer]]:
    """The calls and the reference's answers, computed once for all checks of the item."""
    key = (item.id, probe, seed)  # items may share a probe, as post-norm and pre-norm do
    if key not in _asked:
        with torch.random.fork_rng(devices=[]):  # creating a module uses the global generator
            calls = probe.calls(Draw(seed))
        _asked[key] = calls, answer_all(item.reference, calls, item.use)
    return _asked[key]


_asked: dict[tuple[str, Probe, int], tuple[list[Call], list[Answer]]] = {}


def answer_all(subject: Any, calls: Sequence[Call], use: Use) -> list[Answer]:
    """One answer for each call; after one that had to be stopped, the others are not made."""
    answers: list[Answer] = []
    for call in calls:
        stopped = answers and answers[-1].failure and answers[-1].failure.kind in STOPPED
        answers.append(answers[-1] if stopped else ask(subject, call, use))
    return answers


STOPPED = ("TookTooLong", "Interrupted")


def _compared(
    probe: Probe,
    item: Item,
    calls: Sequence[Call],
    expected: Sequence[Answer],
    answers: Sequence[Answer],
) -> Difference | None:
    compare = probe.compare
    if compare is not None and not any(answer.failure for answer in answers):
        return compare(calls, expected, answers)
    for a, b in zip(expected, answers, strict=True):
        if difference := answers_differ(a, b, tolerance=item.tolerance):
            return difference
    return None


def diagnose(
    item: Item, subject: Any, line: Callable[[], int] | None = None, *, seed: int = SEED
) -> Diagnosis:
    """Run all probes; if one fails, find the misconception that gives the same answers.

    Args:
        item: the task.
        subject: the learner's function or class.
        line: for a spot-the-bug item, the learner's function that returns the wrong line's number.
        seed: of the random test inputs.
    """
    named_line = ask(line, Call(())) if item.bug else None
    trials: list[Trial] = []
    for i, probe in enumerate(item.probes):
        trials.append(try_probe(probe, item, subject, seed + i))
        failures = [answer.failure.kind for answer in trials[-1].answers if answer.failure]
        if i == 0 and failures and set(failures) == {"NotImplementedError"}:
            return Diagnosis(item, "not started", trials)
        if set(failures) & set(STOPPED):
            return Diagnosis(item, "not yet", trials, line=named_line)
    misconception = _named(item, trials) if any(trial.difference for trial in trials) else None
    diagnosis = Diagnosis(item, "passed", trials, misconception, named_line)
    if diagnosis.failed or not diagnosis.line_found:
        return replace(diagnosis, status="not yet")
    return diagnosis


def _named(item: Item, trials: Sequence[Trial]) -> Misconception | None:
    """The first misconception that gives the same answer to every call, right ones included."""
    return next((m for m in item.misconceptions if _explains(m, item, trials)), None)


def _explains(misconception: Misconception, item: Item, trials: Sequence[Trial]) -> bool:
    for trial in trials:
        theirs = _answers_of(misconception, item, trial)
        if trial.probe.compare is None:
            differ = (
                answers_differ(a, b, tolerance=item.tolerance)
                for a, b in zip(theirs, trial.answers, strict=True)
            )
            if any(differ):
                return False
        else:  # random answers differ even if they are wrong in the same way
            difference = _compared(trial.probe, item, trial.calls, trial.expected, theirs)
            kinds = [d and (d.kind, d.where) for d in (difference, trial.difference)]
            if kinds[0] != kinds[1]:
                return False
    return True


def _answers_of(misconception: Misconception, item: Item, trial: Trial) -> list[Answer]:
    """A misconception's answers, computed once for all checks of the item."""
    key = (misconception, trial.seed)
    if key not in _known:
        _known[key] = answer_all(misconception.subject, trial.calls, item.use)
    return _known[key]


_known: dict[tuple[Misconception, int], list[Answer]] = {}
