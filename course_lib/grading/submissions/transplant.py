"""Put a learner's source into a fresh copy of the exercise. Nothing is executed.

The copy starts with our own cells: set-up, imports and the unfinished definitions, as released.
Then come the learner's cells in their order: answers, helper functions, and locked cells that they
changed. Python's own rule then decides what counts: the last definition of a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

from course_lib.grading.results import shown_text
from course_lib.grading.submissions.exercise import Exercise, ReleasedCell, defined_names
from course_lib.grading.submissions.submission import Cell, Submission, SubmissionError

# The cells of an item in any exercise, such as 06-bug-answer.
_ITEM_CELL = re.compile(r"\d\d-.+-(task|hints|code|answer|check|written)")
_NEAR = 2  # cells above or below those of an answer in words, where a part of it may stand
_MOST_SHOWN = 300  # characters of such a text


class AnotherExercise(SubmissionError):
    """A notebook whose cells are those of another exercise."""


@dataclass(frozen=True)
class CodeCell:
    """A cell to be run; ``item`` is the one that it answers, ``ours`` whether it is as released."""

    name: str
    source: str
    _: KW_ONLY
    item: str = ""
    ours: bool = False


@dataclass(frozen=True, kw_only=True)
class Transplant:
    """What a learner wrote, in a fresh copy of the exercise.

    Attributes:
        cells: the code, in the order in which it runs.
        written: answers in words, by item.
        answered: the items with something of the learner's own.
        notes: what an instructor should know about how the cells were found.
    """

    cells: tuple[CodeCell, ...]
    written: dict[str, str]
    answered: frozenset[str]
    notes: tuple[str, ...]


def transplant(submission: Submission, exercise: Exercise) -> Transplant:
    """The learner's answers in a fresh copy of the exercise.

    Cells are recognised by their grade_id, then by their id, then by their source if it is as
    released, then by what they define.

    Raises:
        AnotherExercise: its cells are those of another exercise.
        SubmissionError: it has no cell of this exercise.
    """
    if _is_another(submission, exercise):
        raise AnotherExercise(
            f"expected cells of the exercise {exercise.assignment} in {submission.name}, got those "
            "of another exercise: was the wrong notebook handed in?"
        )
    matched = list(_matched(submission, exercise))
    if not any(target is not None and target.item for _, target in matched):
        raise SubmissionError(
            f"expected cells of the exercise {exercise.assignment} in {submission.name}, got none "
            f"among {len(matched)}: was another notebook handed in?"
        )
    ours = [
        CodeCell(cell.id, cell.source, ours=True)
        for cell in exercise.cells
        if cell.is_code and cell.role != "check"
    ]
    theirs = [
        CodeCell(target.id if target else f"cell {number}", cell.source, item=_item(target))
        for number, (cell, target) in enumerate(matched, 1)
        if cell.kind == "code" and _is_own_work(cell, target)
    ]
    written = _written(matched, exercise)
    answered = {cell.item for cell in theirs} | written.keys()
    return Transplant(
        cells=(*ours, *theirs),
        written=written,
        answered=frozenset(answered - {""}),
        notes=tuple(_notes(matched, exercise, written)),
    )


Match = tuple[Cell, ReleasedCell | None]


def _is_another(submission: Submission, exercise: Exercise) -> bool:
    """Whether it has cells of another exercise's items, and none of this one's.

    Names don't tell: every exercise asks for a function ``wrong_line``.
    """
    ids = {name for cell in submission.cells for name in (cell.grade_id, cell.id)}
    own = {cell.id for cell in exercise.cells if cell.item}
    return not ids & own and any(map(_ITEM_CELL.fullmatch, ids))


def _matched(submission: Submission, exercise: Exercise) -> Iterator[Match]:
    by_id = {cell.id: cell for cell in exercise.cells}
    by_source = {(cell.is_code, *_lines(cell.source)): cell for cell in exercise.cells}
    answers = [cell for cell in exercise.cells if cell.role == "answer"]
    for cell in submission.cells:
        target = by_id.get(cell.grade_id) or by_id.get(cell.id)
        if target is not None and target.is_code != (cell.kind == "code"):
            target = None  # a text cell that was turned into code, or the other way round
        if target is None:
            target = by_source.get((cell.kind == "code", *_lines(cell.source)))
        if target is None and cell.kind == "code":
            names = defined_names(cell.source)
            target = next((answer for answer in answers if answer.defines & names), None)
        yield cell, target


def _item(target: ReleasedCell | None) -> str:
    return target.item if target and target.role in ("answer", "written") else ""


def _is_own_work(cell: Cell, target: ReleasedCell | None) -> bool:
    """Whether the learner wrote something in the cell."""
    return bool(cell.source.strip()) and (target is None or not _same(cell, target))


def _same(cell: Cell, target: ReleasedCell) -> bool:
    return _lines(cell.source) == _lines(target.source)


def _lines(source: str) -> list[str]:
    """The lines without space at their ends, and without empty lines at the end."""
    return [line.rstrip() for line in source.strip("\n").rstrip().split("\n")]


def _written(matched: list[Match], exercise: Exercise) -> dict[str, str]:
    """The answers in words: the cells for them, if changed, and text cells of the learner's beside.

    Where there are none, it is what the learner added to the locked text of the item, which some
    editors let everybody change. An older text of the exercise looks like that, too; a person will
    tell them apart.
    """
    found: dict[str, list[str]] = {}
    added: dict[str, list[str]] = {}
    wanted = _written_items(exercise)
    item = ""
    for cell, target in matched:
        if target is not None:
            item = target.item
        if item not in wanted or cell.kind == "code" or not _is_own_work(cell, target):
            continue
        if target is None or target.role == "written":
            found.setdefault(item, []).append(cell.source)
        elif own := _added(cell, target):
            added.setdefault(item, []).append(own)
    return {each: "\n\n".join(dict.fromkeys(parts)) for each, parts in (added | found).items()}


def _written_items(exercise: Exercise) -> set[str]:
    return {cell.item for cell in exercise.cells if cell.role == "written"}


def _added(cell: Cell, target: ReleasedCell) -> str:
    """The lines that are not as released."""
    released = set(_lines(target.source))
    return "\n".join(line for line in _lines(cell.source) if line not in released).strip()


def _notes(matched: list[Match], exercise: Exercise, written: dict[str, str]) -> Iterator[str]:
    times = Counter(target.id for _, target in matched if target is not None)
    for cell in exercise.cells:
        if cell.role in ("answer", "written"):
            if not times[cell.id] and cell.item not in written:
                yield f"The cell {cell.id} is missing; it counts as unanswered."
            elif times[cell.id] > 1 and cell.role == "written":
                yield f"The cell {cell.id} is there {times[cell.id]} times; all of its texts count."
            elif times[cell.id] > 1:
                yield (
                    f"The cell {cell.id} is there {times[cell.id]} times; of what it defines "
                    "twice, the last answered one counts."
                )
    changed = [
        target.id
        for cell, target in matched
        if target is not None and target.locked and target.is_code and _is_own_work(cell, target)
    ]
    for name in dict.fromkeys(changed):
        yield f"The locked cell {name} was changed; it runs after our own."
    yield from _texts_near(matched, exercise, written)


def _texts_near(matched: list[Match], exercise: Exercise, written: dict[str, str]) -> Iterator[str]:
    """Notes about text that may belong to an answer in words, for a person to look at."""
    wanted = _written_items(exercise)
    item = ""
    for number, (cell, target) in enumerate(matched):
        if target is not None:
            item = target.item
        if cell.kind == "code" or not _is_own_work(cell, target):
            continue
        if item in wanted:  # it is the answer, or a part of it, unless it is locked
            if target is not None and target.locked and (own := _added(cell, target)):
                counts = own in written.get(item, "")
                what = "counts as" if counts else "does not count as part of"
                yield f"The locked text {target.id} was changed; it {what} the answer to {item}."
            continue
        around = matched[max(0, number - _NEAR) : number + _NEAR + 1]
        near = [other.item for _, other in around if other is not None and other.item in wanted]
        if near:
            yield (
                f"Text near {near[0]} does not count as part of its answer; read it (cell "
                f"{number + 1}): {shown_text(cell.source, _MOST_SHOWN)}"
            )
