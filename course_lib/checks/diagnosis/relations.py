"""What a wrong result has to do with the right one, where no misconception of the item fits.

"The right numbers, each times 2", "shifted by one along axis 1": a relation is named only if it
holds for every wrong answer, so it is a fact about the learner's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.diagnosis.observation import (
    INPUT_MODIFIED,
    NOTHING_RETURNED,
    WHAT_CUTS_IT,
    Observation,
)
from course_lib.checks.diagnosis.tensor_relations import Pair, equal, find_tensor_relation
from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import answers_differ


def find_relation(trials: Sequence[Trial]) -> Observation | None:
    """The relation that holds between each wrong answer and the right one, or None."""
    wrong = [
        (right, received)
        for trial in trials
        if trial.difference and trial.probe.compare is None
        for right, received in zip(trial.expected, trial.answers, strict=True)
        if answers_differ(right, received, tolerance=trial.item.tolerance)
    ]
    failed = [trial for trial in trials if trial.difference]
    if not wrong or any(trial.probe.compare is not None for trial in failed):
        return None
    if found := _find_answer_relation(wrong):
        return found
    plain = [(a.value, b.value) for a, b in wrong if not _has_gradients(a)]
    if any(b.failure for _, b in wrong) or not plain:
        return None
    if found := _find_container_relation(plain):
        return found
    parts = [_tensors(a, b) for a, b in plain]
    if None in parts:
        return None
    tolerance = failed[0].item.tolerance
    pairs = [part or [] for part in parts]
    wrong_entries = [
        [i for i, pair in enumerate(part) if not equal(*pair, tolerance=tolerance)]
        for part in pairs
    ]
    different = [
        part[i] for part, entries in zip(pairs, wrong_entries, strict=True) for i in entries
    ]
    found = find_tensor_relation(different, tolerance) if different else None
    right = [
        expected
        for part, entries in zip(pairs, wrong_entries, strict=True)
        for i, (expected, _) in enumerate(part)
        if i not in entries
    ]
    if found is None or not any(x.any() for x in right):  # zero times anything is right
        return found
    return _restrict_to_entry(found, wrong_entries, result=plain[0][0], size=len(pairs[0]))


def _restrict_to_entry(
    found: Observation, wrong_entries: Sequence[list[int]], *, result: Any, size: int
) -> Observation | None:
    """A relation of the only entry of a result that is wrong; None if it isn't always the same."""
    entries = wrong_entries[0]
    if len(entries) != 1 or any(each != entries for each in wrong_entries):
        return None
    which = "one of the tensors in your result"
    if isinstance(result, dict) and len(result) == size:
        which = f"`{list(result)[entries[0]]}`"
    elif isinstance(result, (list, tuple)) and len(result) == size:
        which = f"entry {entries[0]} of your result (entries count from 0)"
    sentence = f"Only {which} is wrong. There: {found.sentence[0].lower()}{found.sentence[1:]}"
    return replace(found, sentence=sentence)


def _find_answer_relation(wrong: Sequence[tuple[Answer, Answer]]) -> Observation | None:
    if any(b.failure for _, b in wrong):
        return None
    if all(b.value is None for _, b in wrong):
        return Observation("nothing_returned", NOTHING_RETURNED)
    if all(b.changed_inputs and not a.changed_inputs for a, b in wrong):
        return Observation("input_modified", INPUT_MODIFIED)
    if all(_has_gradients(a) and _lost_gradients(a, b) for a, b in wrong):
        return Observation(
            "gradient_cut",
            "The values are right, but a gradient is missing: a path from the result back to an "
            f"input or a parameter is cut somewhere. {WHAT_CUTS_IT}",
        )
    return None


def _find_container_relation(plain: Sequence[tuple[Any, Any]]) -> Observation | None:
    """A result that holds too few, too many or exchanged entries."""
    if all(isinstance(a, tuple) and isinstance(b, (tuple, list)) for a, b in plain) and all(
        len(a) == len(b) and _same(a, b[::-1]) for a, b in plain
    ):
        return Observation("entries_reversed", "The right results, in the opposite order.")
    if all(isinstance(a, tuple) and a and _same(a[0], b) for a, b in plain):
        return Observation("first_result_only", "Only the first of the results is returned.")
    if all(isinstance(b, (tuple, list)) and b and _same(a, b[0]) for a, b in plain):
        return Observation(
            "more_than_asked_for", "The right result comes first, but more is returned with it."
        )
    if all(isinstance(a, Tensor) and isinstance(b, list) and _same_list(a, b) for a, b in plain):
        return Observation("list_for_tensor", "The right numbers, as a list and not as a tensor.")
    return None


def _tensors(expected: Any, got: Any) -> list[Pair] | None:
    """The tensors of two results of the same structure, plain numbers included; None if they differ
    in anything else.
    """
    if isinstance(expected, dict) and isinstance(got, dict) and list(expected) == list(got):
        if any(type(x) is int and x != got[name] for name, x in expected.items()):
            return None  # a dict comes from the check itself; what it counts is no result
        return _tensors(list(expected.values()), list(got.values()))
    if isinstance(expected, (tuple, list)) and isinstance(got, (tuple, list)):
        parts = [_tensors(a, b) for a, b in zip(expected, got, strict=False)]
        if len(expected) != len(got) or None in parts:
            return None
        return [pair for part in parts for pair in part or []]
    if type(expected) in (int, float) and type(got) in (int, float):
        try:
            numbers = [torch.tensor(x, dtype=torch.float64) for x in (expected, got)]
        except OverflowError:  # an integer too large for a float
            return None
        return [(numbers[0], numbers[1])]
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        return [(expected, got)]
    return [] if _same(expected, got) else None


def _has_gradients(answer: Answer) -> bool:
    return isinstance(answer.value, dict) and "gradients" in answer.value


def _lost_gradients(right: Answer, received: Answer) -> bool:
    """Whether the answers differ in gradients alone, and some or all of these are None."""
    a, b = right.value, received.value
    if not isinstance(b, dict) or list(a) != list(b):
        return False
    others = [name for name in a if name != "gradients"]
    kept = all(_same(a[name], b[name]) for name in others)
    return kept and any(
        theirs is None and right is not None
        for right, theirs in zip(
            *map(_list_gradients, (a["gradients"], b["gradients"])), strict=False
        )
    )


def _list_gradients(gradients: Any) -> list[Any]:
    return list(gradients.values() if isinstance(gradients, dict) else gradients)


def _same(a: Any, b: Any) -> bool:
    return answers_differ(Answer(a), Answer(b)) is None


def _same_list(a: Tensor, b: list[Any]) -> bool:
    try:
        return equal(a, torch.as_tensor(b, dtype=a.dtype))
    except (TypeError, ValueError, RuntimeError, OverflowError):  # ragged, not of numbers, huge
        return False
