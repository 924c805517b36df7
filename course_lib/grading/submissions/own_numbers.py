"""Whose numbers an answer about numbered runs has: its own, the public solution's, or others' too.

The numbers decide the runs, so who has the same two numbers has the same right answer, for which
somebody has to have looked only once. One number in common is often chance: many choose 1 or 42.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.grading.results import ItemResult, SubmissionResult, list_names
from course_lib.grading.submissions.exercise import solution_file
from course_lib.grading.submissions.submission import SubmissionError, read_submission
from course_lib.home import COURSE
from course_lib.run_options import HANDED_IN
from course_lib.training.runs.handed_in_run import digest_of_weights

_IN_PUBLIC = "as in the public solution"
PUBLIC_RUN = f"the weights in {HANDED_IN} are those of the public solution's run"


def numbers_of(answer: Any) -> tuple[int, ...]:
    """The numbers of the runs that an answer is about, sorted; () if it is no such answer."""
    if not isinstance(answer, (list, tuple)):
        return ()
    numbers = [each.get("number") for each in answer if isinstance(each, dict)]
    return tuple(sorted(number for number in numbers if type(number) is int))


@cache
def public_numbers(exercise: Path, item_id: str) -> tuple[int, ...]:
    """The numbers in the public solution of an item, sorted; () if there are none.

    Args:
        exercise: the released notebook, or that of a variant, which has no solution of its own.
        item_id: such as "04.predict".
    """
    if (solution := _solution(exercise)) is None:
        return ()
    answer = f"{item_id.replace('.', '-')}-answer"
    try:
        cells = read_submission(solution).cells
    except SubmissionError:
        return ()
    source = "".join(cell.source for cell in cells if cell.id == answer)
    return tuple(sorted(map(int, re.findall(r'"number": (\d+)', source))))


def flags_of_public(item_id: str, numbers: Sequence[int], *, exercise: Path) -> list[str]:
    """The flag of an answer with the numbers of the public solution."""
    if not numbers or tuple(numbers) != public_numbers(exercise, item_id):
        return []
    return [f"{_same(numbers)} {_IN_PUBLIC}"]


def flags_of_public_run(handed_in: Path, exercise: Path) -> list[str]:
    """The flag of a run, in the folder of a student, that is the public solution's."""
    weights, solution = digest_of_weights(handed_in), _solution(exercise)
    if not weights or solution is None or weights != digest_of_weights(solution.parent):
        return []
    return [PUBLIC_RUN]


def _solution(exercise: Path) -> Path | None:
    here = COURSE / "exercises" / exercise.parent.name / exercise.name
    return solution_file(exercise) or solution_file(here)


def flag_same_numbers(results: Sequence[SubmissionResult]) -> list[SubmissionResult]:
    """The results of a class in an assignment, with a flag at each right answer whose numbers
    others have, too, unless they are those of the public solution, which has its own flag.
    """
    who: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for result in results:
        for item in result.items:
            if item.numbers:
                who[item.id, item.numbers].append(result.student)

    def flagged(item: ItemResult, student: str) -> ItemResult:
        others = [name for name in who.get((item.id, item.numbers), []) if name != student]
        if not others or f"{_same(item.numbers)} {_IN_PUBLIC}" in item.flags:
            return item
        flag = f"{_same(item.numbers)} as {list_names(others)}"
        return replace(item, flags=(*item.flags, flag))

    return [
        replace(each, items=tuple(flagged(item, each.student) for item in each.items))
        for each in results
    ]


def _same(numbers: Sequence[int]) -> str:
    return f"the same numbers, {' and '.join(map(str, numbers))},"
