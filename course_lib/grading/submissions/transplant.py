"""Put a learner's source into a fresh copy of the exercise. Nothing is executed.

The copy starts with our own cells: set-up, imports and the unfinished definitions, as released.
Then come the learner's cells in their order: answers, helper functions, and locked cells that they
changed. Python's own rule then decides what counts: the last definition of a name. If that fails,
what the learner's own check saw counts, which a cell further down may have overwritten: for that,
it is noted how many cells had run before each check.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace

from course_lib.checks.progress import REMOVED_IDS
from course_lib.grading.results import quoted, shown_text
from course_lib.grading.submissions.exercise import (
    Exercise,
    ReleasedCell,
    bound_names,
    defined_names,
    lesson_code,
)
from course_lib.grading.submissions.magics import without_commands
from course_lib.grading.submissions.prose import MOST_OF_A_CELL, words_in
from course_lib.grading.submissions.submission import Cell, Submission, SubmissionError

# The cells of an item in any exercise, such as 06-bug-answer.
_ITEM_CELL = re.compile(r"\d\d-.+-(task|hints|code|answer|check|written)")
# In a cell of the learner's own: the item, what is checked, and the wrong line if it is a number.
_CHECKED = re.compile(
    r"""\bcheck\(\s*["'](\d\d\.\w+)["']\s*,\s*([\w.]+)"""
    r"""(?:\s*,\s*(?:line\s*=\s*)?(\d{1,4})\s*[,)])?"""
)
_NO_CODE = re.compile(r"""\"{3}.*?\"{3}|'{3}.*?'{3}|#[^\n]*""", re.DOTALL)
_STUB = re.compile(
    r"^[ \t]*(?:(?:async +)?def\b|\))[^\n]*:\s*raise\s+NotImplementedError\b", re.MULTILINE
)
_BLOCKS = re.compile(r"^(?:async +def|def|class) +(\w+)", re.MULTILINE)
_NEAR = 2  # cells above or below those of an answer in words, where a part of it may stand
_MOST_SHOWN = 300  # characters of such a text
_MOST_NAME = 80
_MOST_LOOKED_AT = 200_000  # characters of all code cells in which words may be


_LESSON = (
    "This is the lesson, not the exercise: the lesson's own code is left out, and only what was "
    "added counts; ask for the exercise if anything is missing."
)


class AnotherExercise(SubmissionError):
    """A notebook whose cells are those of another exercise, or the lesson's."""


class NoCells(SubmissionError):
    """A notebook without cells of any exercise."""


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
        checked: of the cells, how many the item's check comes after; not for items of which the
            learner has written nothing above it.
        answered: the items with something of the learner's own, and not only in comments.
        notes: what an instructor should know about how the cells were found.
    """

    cells: tuple[CodeCell, ...]
    written: dict[str, str]
    checked: dict[str, int]
    answered: frozenset[str]
    notes: tuple[str, ...]


def transplant(submission: Submission, exercise: Exercise) -> Transplant:
    """The learner's answers in a fresh copy of the exercise.

    Cells are recognised by their grade_id, then by their id, then by their source if it is as
    released, then by what they define.

    Raises:
        AnotherExercise: its cells are those of another exercise, or all are the lesson's.
        NoCells: it has no cell of this exercise.
    """
    if _is_another(submission, exercise):
        raise AnotherExercise(
            f"expected cells of the exercise {exercise.assignment} in {quoted(submission.name)}, "
            "got those of another exercise: was the wrong notebook handed in?"
        )
    submission, is_lesson = _without_lesson(submission, exercise)
    matched = list(_matched(submission, exercise))
    if not any(target is not None and target.item for _, target in matched):
        if is_lesson:
            raise AnotherExercise(
                f"expected the exercise {exercise.assignment} in {quoted(submission.name)}, got "
                "the lesson with no answer in it: this is the lesson, not the exercise; ask for "
                "the exercise"
            )
        raise NoCells(
            f"expected cells of the exercise {exercise.assignment} in {quoted(submission.name)}, "
            f"got none among {len(matched)}: was another notebook handed in?"
        )
    ours = [
        CodeCell(cell.id, cell.source, ours=True)
        for cell in exercise.cells
        if cell.is_code and cell.role != "check"
    ]
    theirs, checked = _code(matched, exercise)
    written = _written(matched, exercise)
    answered = {*_answers(matched, exercise), *written}
    return Transplant(
        cells=(*ours, *theirs),
        written=written,
        checked={item: len(ours) + number for item, number in checked.items()},
        answered=frozenset(answered),
        notes=(*([_LESSON] if is_lesson else []), *_notes(matched, exercise, written)),
    )


Match = tuple[Cell, ReleasedCell | None]


def _is_another(submission: Submission, exercise: Exercise) -> bool:
    """Whether it has cells of another exercise's items, and none of this one's.

    Names don't tell: every exercise asks for a function ``wrong_line``.
    """
    ids = {name for cell in submission.cells for name in (cell.grade_id, cell.id)}
    own = {cell.id for cell in exercise.cells if cell.item}
    return not ids & own and any(map(_ITEM_CELL.fullmatch, ids))


def _without_lesson(submission: Submission, exercise: Exercise) -> tuple[Submission, bool]:
    """The notebook without the lesson's own code, if it is the lesson; and whether it is.

    A lesson defines, with the same names, much of what its exercise asks for. A cell of it that
    somebody has put into the exercise counts there, as a solution does.
    """
    lesson = lesson_code(exercise.assignment)
    of_lesson = [c.is_code and c.source.strip() in lesson for c in submission.cells]
    if not lesson or 2 * sum(of_lesson) < len(lesson):
        return submission, False
    own = [cell for cell, is_there in zip(submission.cells, of_lesson, strict=True) if not is_there]
    return replace(submission, cells=tuple(own)), True


def _code(matched: list[Match], exercise: Exercise) -> tuple[list[CodeCell], dict[str, int]]:
    """The learner's code, and how many of these cells come before each item's last check; where
    the answer is not above it, those up to the last cell that defines what the item asks for.
    """
    theirs: list[CodeCell] = []
    checked: dict[str, int] = {}
    defined: dict[str, int] = {}
    asked_for = _subjects(exercise)
    named_last = {
        item: cell.number
        for cell, target in matched
        if cell.is_code and _is_own_work(cell, target)
        for item in _lines_named(cell.source, exercise)
    }
    for cell, target in matched:
        if cell.kind != "code":
            continue
        if target is not None and target.role == "check":
            checked[target.item] = len(theirs)
        if _is_own_work(cell, target):
            name = target.id if target else str(cell.number)
            theirs.append(CodeCell(name, without_commands(cell.source), item=_item(target)))
            for item, line in _lines_named(cell.source, exercise).items():
                if named_last[item] == cell.number:
                    theirs.append(CodeCell(name, line, item=item))
                    checked[item] = len(theirs)
        if target is None or target.role != "check":
            own = {
                item
                for item, name, _ in _CHECKED.findall(cell.source)
                if name == asked_for.get(item)
            }
            checked |= dict.fromkeys(own, len(theirs))
        defines = target is not None and target.defines.intersection(_BLOCKS.findall(cell.source))
        if target is not None and defines and _is_written(cell, target):
            defined[target.item] = len(theirs)
    begun = {cell.item: number for number, cell in reversed(list(enumerate(theirs)))}
    found = {item: (checked.get(item, 0), defined.get(item, 0)) for item in begun}
    first = {item: next((n for n in found[item] if n > begun[item]), 0) for item in begun}
    return theirs, {item: number for item, number in first.items() if number}


def _lines_named(source: str, exercise: Exercise) -> dict[str, str]:
    """By item, for the last check that names its wrong line as a number: code that does so if the
    function for it is not written.
    """
    names = {task.entry.id: task.line for task in exercise.tasks if task.line}
    return {
        item: f"try:\n    {names[item]}()\n"
        f"except (NotImplementedError, NameError):\n    {names[item]} = {int(line)}\n"
        "except Exception:\n    pass\n"
        for item, _, line in _CHECKED.findall(_NO_CODE.sub("", source))
        if line and item in names
    }


def _subjects(exercise: Exercise) -> dict[str, str]:
    """By item, the name of what is checked."""
    return {task.entry.id: task.subject for task in exercise.tasks if task.subject}


def _matched(submission: Submission, exercise: Exercise) -> Iterator[Match]:
    """Each cell with the released one that it is. Words in a code cell where an answer in words is
    asked for are a text cell of their own; if there is code beside them, that stays a code cell.
    """
    find = _Finder(exercise)
    item, wanted, left = "", _written_items(exercise), _MOST_LOOKED_AT
    for number, handed_in in enumerate(submission.cells, 1):
        cell = replace(handed_in, number=number)
        target = find.by_id(cell) or find.by_content(cell)
        words, has_code = "", True
        if target is not None:
            item = target.item
        if cell.kind == "code" and item in wanted:
            words, has_code = words_in(cell.source) if left > 0 else ("", True)
            left -= min(len(cell.source), MOST_OF_A_CELL)
            if target is not None and target.role == "written":
                words = words or cell.source
            elif target is not None:
                words = ""
        if words:
            yield replace(cell, kind="text", source=words), target
        if has_code or not words:
            yield cell, find.by_content(cell) if words else target


class _Finder:
    """Finds the released cell that a learner's cell is."""

    def __init__(self, exercise: Exercise) -> None:
        self.ids = {cell.id: cell for cell in exercise.cells}
        self.sources = {(cell.is_code, *_lines(cell.source)): cell for cell in exercise.cells}
        self.answers = [cell for cell in exercise.cells if cell.role == "answer"]

    def by_id(self, cell: Cell) -> ReleasedCell | None:
        """The one with its grade_id or id; an answer in words may have become code."""
        found = self.ids.get(cell.grade_id) or self.ids.get(cell.id)
        if found is not None and found.role != "written" and found.is_code != cell.is_code:
            return None  # text was turned into code, or the other way round
        return found

    def by_content(self, cell: Cell) -> ReleasedCell | None:
        """The one with its source, or the answer that defines one of its names."""
        found = self.sources.get((cell.is_code, *_lines(cell.source)))
        if found is None and cell.is_code:
            names = defined_names(cell.source)
            found = next((answer for answer in self.answers if answer.defines & names), None)
        return found


def _item(target: ReleasedCell | None) -> str:
    return target.item if target and target.role in ("answer", "written") else ""


def _is_own_work(cell: Cell, target: ReleasedCell | None) -> bool:
    """Whether the learner wrote something in the cell."""
    return bool(cell.source.strip()) and (target is None or not _same(cell, target))


def _answers(matched: list[Match], exercise: Exercise) -> Iterator[str]:
    """The items whose functions a learner's code defines, wherever it stands."""
    answers = [cell for cell in exercise.cells if cell.role == "answer"]
    for cell, target in matched:
        if cell.is_code and _is_own_work(cell, target) and _is_written(cell, target):
            names = defined_names(cell.source)
            yield from (each.item for each in answers if each is target or each.defines & names)


def _is_written(cell: Cell, target: ReleasedCell | None) -> bool:
    """Whether a cell has more code than the released one, or less that is still to be written."""
    released = target.source if target is not None and target.role == "answer" else ""
    code, before = (_NO_CODE.sub("", source) for source in (cell.source, released))
    if code.split() == before.split():
        return False
    stubs, to_write = len(_STUB.findall(code)), len(_STUB.findall(before))
    functions, given = (len(re.findall(r"\bdef\b|\blambda\b", each)) for each in (code, before))
    return stubs < to_write or functions - given > stubs - to_write or not stubs


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
    own = [cell.source for cell, target in matched if cell.is_code and _is_own_work(cell, target)]
    elsewhere = frozenset[str]().union(*map(bound_names, own))
    present = {target.item for _, target in matched if target is not None}
    later = [task.entry.id for task in exercise.tasks if task.entry.id not in present]
    gone = {item for cell, _ in matched for item, _, _ in _CHECKED.findall(cell.source)}
    if later and (gone := gone & REMOVED_IDS):
        yield (
            f"The notebook is of an earlier version of the exercise, which asked for "
            f"{', '.join(sorted(gone))} and not for {', '.join(later)}: ask for an answer in the "
            "present one, or leave out what it did not ask for."
        )
    for cell in exercise.cells:
        if cell.role in ("answer", "written"):
            if not times[cell.id]:
                if cell.item not in written and not cell.defines & elsewhere:
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
    asked_for = _subjects(exercise)
    others = dict.fromkeys(each for source in own for each in _CHECKED.findall(source))
    for item, name, _ in others:
        if name != asked_for.get(item, name):
            shown = shown_text(name, _MOST_NAME)
            yield f"A check of {item} is of `{shown}`, and only `{asked_for[item]}` is graded."
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
                f"{cell.number}): {shown_text(cell.source, _MOST_SHOWN)}"
            )
