"""Draw the questions for one student: the same ones for the same submission and seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

from course_lib.grading.oral.candidates import Kind, Question

QUESTIONS = 2  # for each student
# How often a kind is drawn, beside others of an item with as many points. What is the student's
# own comes first; misconceptions of others can be asked about any right answer.
_WEIGHTS: dict[Kind, float] = {
    "failed": 16,
    "corrected": 16,
    "run": 6,
    "line": 6,
    "answer": 4,
    "words": 3,
    "misconception": 2,
}


def draw_questions(found: Sequence[Question], key: str) -> list[Question]:
    """At most ``QUESTIONS`` of them: of different items and kinds as far as there are any.

    Args:
        found: those that fit the submission.
        key: decides the draw.
    """
    source = random.Random(key)
    chosen: list[Question] = []
    left = list(found)
    while left and len(chosen) < QUESTIONS:
        drawn = _weighted(_most_different(left, chosen), source)
        chosen.append(drawn)
        left.remove(drawn)
    return chosen


def _most_different(left: Sequence[Question], chosen: Sequence[Question]) -> Sequence[Question]:
    """Those with another item and another kind than what was chosen; else with another item, else
    with another kind, else all.
    """
    items, kinds = ({getattr(q, name) for q in chosen} for name in ("item", "kind"))
    wanted: list[Callable[[Question], bool]] = [
        lambda q: q.item not in items and q.kind not in kinds,
        lambda q: q.item not in items,
        lambda q: q.kind not in kinds,
    ]
    groups = ([q for q in left if fits(q)] for fits in wanted)
    return next((group for group in groups if group), left)


def _weighted(pool: Sequence[Question], source: random.Random) -> Question:
    """One of them. An item counts by its points, however many questions there are about it."""
    many = Counter((q.item, q.kind) for q in pool)
    weights = [q.entry.points * _WEIGHTS[q.kind] / many[q.item, q.kind] for q in pool]
    return source.choices(pool, weights)[0]
