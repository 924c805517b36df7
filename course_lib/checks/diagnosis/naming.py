"""Recognise misconceptions by what they do: the same answers to every call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.diagnosis.known_answers import known_answer, made_together
from course_lib.checks.diagnosis.parts import parts_of
from course_lib.checks.diagnosis.trial import Trial, compare_answers
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.item import Item, Misconception

PAIR_SECONDS = 1.0  # for trying two at once; most pairs are refuted by one call


def the_one_in(item: Item, trials: Sequence[Trial]) -> tuple[Misconception, ...]:
    """The misconception that gives equal answers to every call, right ones included, or none."""
    for m in item.misconceptions:
        if any(explains(subject, item, trials=trials) for subject in (m.subject, *m.spellings)):
            return (m,)
    return ()


def misconceptions_in(item: Item, trials: Sequence[Trial]) -> tuple[Misconception, ...]:
    """Where no single one gives equal answers: two that do together, then one whose answers are
    alike (see ``are_alike``), or none.
    """
    end = time.process_time() + PAIR_SECONDS
    for a, b in combinations(item.misconceptions, 2):
        both = made_together(item, (a, b))
        if both is not None and explains(both, item, trials=trials):
            return (a, b)
        if time.process_time() > end:
            break
    for m in item.misconceptions:
        for subject in (m.subject, *m.spellings):
            if explains(subject, item, trials=trials, loosely=True):
                return (m,)
    return ()


def explains(subject: Any, item: Item, *, trials: Sequence[Trial], loosely: bool = False) -> bool:
    """Whether this code answers every call like the learner's; ``loosely``, see ``are_alike``."""
    evidence = False  # a wrong value that is alike; errors alone can have many causes
    plain = [trial for trial in trials if trial.probe.compare is None]
    for trial, i in sorted(list_calls(plain), key=lambda each: _refutes_soon(*each)):
        right, received = trial.expected[i], trial.answers[i]
        theirs = known_answer(subject, item, trial=trial, i=i)
        equal = answers_differ(theirs, received, tolerance=item.tolerance) is None
        if not equal and not (
            loosely and are_alike(theirs, received, right=right, tolerance=item.tolerance)
        ):
            return False
        if received.failure is None and answers_differ(right, received, tolerance=item.tolerance):
            evidence = True
    random = [trial for trial in trials if trial.probe.compare is not None]
    return (evidence or not loosely) and all(_fails_alike(subject, item, t) for t in random)


def other_dtype(
    item: Item, misconceptions: Sequence[Misconception], *, trials: Sequence[Trial]
) -> str:
    """The first wrong dtype that no implementation of these misconceptions has, "expected
    torch.int64, got torch.float32"; "" if there is none. ``are_alike`` doesn't compare it.
    """
    subjects = [subject for m in misconceptions for subject in (m.subject, *m.spellings)]
    plain = [trial for trial in trials if trial.probe.compare is None]
    for trial, i in list_calls(plain):
        wanted, received = _dtypes(trial.expected[i]), _dtypes(trial.answers[i])
        for where in wanted.keys() & received.keys():
            right, wrong = wanted[where], received[where]
            if right == wrong:
                continue
            theirs = (_dtypes(known_answer(s, item, trial=trial, i=i)) for s in subjects)
            if all(each.get(where) == right for each in theirs):
                return f"expected {right}, got {wrong}"
    return ""


def _dtypes(answer: Answer) -> dict[str, torch.dtype]:
    return {where: x.dtype for where, x in parts_of(answer).items() if isinstance(x, Tensor)}


def list_calls(trials: Sequence[Trial]) -> list[tuple[Trial, int]]:
    """All calls, each as a trial and the number of its call."""
    return [(trial, i) for trial in trials for i in range(len(trial.calls))]


def _refutes_soon(trial: Trial, i: int) -> tuple[bool, float]:
    """Calls that the learner's code fails come first, quick ones before slow ones."""
    return trial.difference is None, trial.expected[i].seconds


def _fails_alike(subject: Any, item: Item, trial: Trial) -> bool:
    """Random answers differ even if they are wrong in the same way: they are described alike."""
    theirs = [known_answer(subject, item, trial=trial, i=i) for i in range(len(trial.calls))]
    difference = compare_answers(
        trial.probe, item, calls=trial.calls, expected=trial.expected, answers=theirs
    )
    described = [d and (d.kind, d.where) for d in (difference, trial.difference)]
    return described[0] == described[1]


def are_alike(theirs: Answer, received: Answer, *, right: Answer, tolerance: float) -> bool:
    """Two wrong answers that differ in the words of an error, or in the dtype alone."""
    if theirs.failure or received.failure:
        kinds = [answer.failure and answer.failure.kind for answer in (theirs, received)]
        wanted = received.failure is not None and ": raise" in received.failure.line  # on purpose
        return right.failure is None and kinds[0] == kinds[1] and not wanted
    if theirs.changed_inputs != received.changed_inputs:
        return False
    if any(
        answers_differ(right, wrong, tolerance=tolerance) is None for wrong in (theirs, received)
    ):
        return False
    if _shapes(theirs) != _shapes(received):  # an answer of any size is not copied
        return False
    return answers_differ(_to_double(theirs), _to_double(received), tolerance=tolerance) is None


def _shapes(answer: Answer) -> list[tuple[int, ...]]:
    """Of an answer's tensors, in no order, as a dict has none; one without axes is a number."""
    leaves = tree.tree_leaves(answer.value)
    return sorted(tuple(x.shape) for x in leaves if isinstance(x, Tensor) and x.ndim)


def _to_double(answer: Answer) -> Answer:
    def double(x: Any) -> Any:
        return x.to(torch.float64) if isinstance(x, Tensor) and not x.is_complex() else x

    return Answer(tree.tree_map(double, answer.value), changed_inputs=answer.changed_inputs)
