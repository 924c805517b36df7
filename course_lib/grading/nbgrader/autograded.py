"""The notebook that nbgrader's formgrader and feedback show: answers and results, and no HTML.

formgrader renders it inside the instructor's own server, so that a script in it could do all that
the instructor can. It is our fresh copy of the exercise: of what was handed in there is only text,
as Python source, as printed output or in a Markdown code block, which are all escaped when shown.
"""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from course_lib.checks import load_item
from course_lib.checks.engine.call import truncated
from course_lib.checks.table import TABLE
from course_lib.errors import CourseError
from course_lib.grading.results import ItemResult, SubmissionResult, shown_points
from course_lib.grading.submissions.exercise import Exercise, ReleasedCell
from course_lib.grading.submissions.transplant import Transplant

INSTRUCTOR = "instructor-only"  # the tag of cells that are left out of feedback
_LINE = 100  # characters of an answer in words, which the page would not wrap
_MOST_TEXT = 50_000  # characters of a cell
_UNREADABLE = (
    "**What was handed in could not be read.** Below is the notebook as it was released; it has no "
    "points yet, until a person has seen to it."
)
_SIGNS = {"passed": "✓", "not yet": "✗", "not started": "○", "not run": "?"}


def autograded_notebook(
    released: NotebookNode,
    exercise: Exercise,
    *,
    answers: Transplant | None,
    result: SubmissionResult,
    rubrics: Mapping[str, str],
) -> NotebookNode:
    """The released notebook with a learner's answers, and what their checks found as output.

    Args:
        released: the exercise as a notebook.
        exercise: the same, with what each cell is for.
        answers: None if nothing could be read.
        result: of the same submission.
        rubrics: for items that are answered in words, what a full answer says, in Markdown.
    """
    items = {item.id: item for item in result.items}
    abouts = {cell.id: cell for cell in exercise.cells}
    theirs = _own_cells(answers, known=abouts.keys())
    cells = [] if result.readable else [new_markdown_cell(_UNREADABLE)]
    cells += _instructor_cells(_remarks(result))
    for cell in copy.deepcopy(released.cells):
        about = abouts[cell.id]
        item = items.get(about.item)
        own = theirs.pop(cell.id, [])
        _fill_in(cell, about, item, own if about.role == "answer" else [])
        cells.append(cell)
        if about.role == "check" and item is not None:
            cells += _instructor_cells(item.flags)
        if about.role == "written" and about.item in rubrics:
            cells += _verbatim_instructor_cells(rubrics[about.item])
        changed = own if about.role != "answer" else []  # a locked cell
        cells += [
            new_code_cell(_cut(each)) for each in changed + theirs.pop(f"after {cell.id}", [])
        ]
    cells += [new_code_cell(_cut(each)) for rest in theirs.values() for each in rest]
    for number, cell in enumerate(cells):
        if cell.id not in abouts:
            cell.id = f"added-{number}"  # the same each time
    notebook = copy.deepcopy(released)
    notebook.cells = cells
    return notebook


def _fill_in(
    cell: NotebookNode, about: ReleasedCell, item: ItemResult | None, own: list[str]
) -> None:
    """Put the learner's answer and the item's result into a released cell."""
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if own:
        cell.source = _cut("\n\n".join(source.strip("\n") for source in own))
    if item is not None and about.role == "check":
        cell.outputs = [new_output("stream", name="stdout", text=summary(item))]
    if item is not None and about.role == "written" and item.text:
        cell.source = as_plain_block(item.text)


def _own_cells(answers: Transplant | None, *, known: Collection[str]) -> dict[str, list[str]]:
    """The learner's code by the cell where it is shown: its own, or "after" it for helpers."""
    found: dict[str, list[str]] = {}
    key = "after imports"
    for cell in answers.cells if answers else ():
        if not cell.ours:
            is_known = cell.name in known
            found.setdefault(cell.name if is_known else key, []).append(cell.source)
            key = f"after {cell.name}" if is_known else key
    return found


def summary(item: ItemResult) -> str:
    """The result of an item as text: status, points, tests, and what it shows about the answer."""
    worth = f"{shown_points(item.points)} of {shown_points(item.most)} points"
    lines = [f"{_SIGNS.get(item.status, '·')} {item.id} · {item.title}: {item.status} · {worth}"]
    if item.status == "not run":
        lines.append(f"    It could not be run, so a person decides: {item.reason}")
    for test in item.tests:
        lines.append(f"    {'✗' if test.difference else '✓'} {test.property}")
        if test.difference:
            lines.append(f"        {test.difference}")
    if item.line_found is not None and item.status != "not started":
        lines.append(f"    The wrong line was {'' if item.line_found else 'not '}named.")
    return "\n".join([*lines, *_misconceptions(item)]) + "\n"


def _misconceptions(item: ItemResult) -> Iterator[str]:
    known = {}
    if item.misconceptions and item.id in TABLE:
        with suppress(CourseError):  # conventions of an older course
            known = {m.name: m for m in load_item(item.id, item.conventions).misconceptions}
    for name in item.misconceptions:
        yield f"  Recognised: {name}"
        if name in known:
            told = known[name]
            yield _indented(f"What I see: {told.symptom}")
            if told.why:
                yield _indented(f"Why it matters: {told.why}")
            if told.hint:
                yield _indented(f"Where to look: {told.hint}")
        elif item.seen:
            yield _indented(f"What I see: {item.seen}")


def _indented(sentence: str) -> str:
    return textwrap.fill(sentence, _LINE, initial_indent=" " * 4, subsequent_indent=" " * 6)


def as_plain_block(text: str) -> str:
    """Markdown that shows a text as it is, whatever is in it: a code block that it can't close."""
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in text.expandtabs(4))
    lines = (textwrap.wrap(line, _LINE, replace_whitespace=False) for line in plain.split("\n"))
    wrapped = "\n".join("\n".join(parts) for parts in lines)
    longest = max(map(len, re.findall("`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{wrapped}\n{fence}"


def _cut(source: str) -> str:
    return truncated(source, _MOST_TEXT)


def _remarks(result: SubmissionResult) -> tuple[str, ...]:
    if result.readable:
        return result.notes
    return ("No points yet, which is not 0. Why it could not be read:", *result.notes)


def _instructor_cells(lines: tuple[str, ...]) -> list[NotebookNode]:
    """A cell that the learner does not get to see, with text from anywhere; none for no lines."""
    if not lines:
        return []
    return _verbatim_instructor_cells(as_plain_block("\n".join(lines)))


def _verbatim_instructor_cells(text: str) -> list[NotebookNode]:
    head = "**For you, and not in the feedback**"
    return [new_markdown_cell(f"{head}\n\n{text}", metadata={"tags": [INSTRUCTOR]})]
