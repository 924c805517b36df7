"""The questions of a class as one page to print, and as the rows of a table.

Names, code and answers may come from anybody: Jinja2 escapes every text, no line is long, control
characters are gone, and the page's content security policy allows no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from course_lib.grading.oral.candidates import Kind, Question
from course_lib.grading.results import shown_text
from course_lib.grading.safe_csv import Rows
from course_lib.viz.drawings.colours import forced_variables, variables

PAGE = Path(__file__).parents[2] / "assets" / "oral_questions.html"
KINDS: dict[Kind, str] = {
    "line": "a line of this student's",
    "answer": "this student's answer",
    "failed": "what failed",
    "corrected": "what was corrected",
    "run": "the student's own run",
    "words": "the student's own words",
    "misconception": "an error of somebody else's",
}
_HEADER = "student number item about question lines expected follow_up mark notes"


class StudentQuestions(NamedTuple):
    """The questions for a student, and a note, which says why if there are none."""

    student: str
    questions: tuple[Question, ...]
    note: str = ""


def oral_page(assignment: str, drawn: Sequence[StudentQuestions]) -> str:
    """The page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"shown": shown_text, "spoken": _spoken}
    return environment.from_string(PAGE.read_text(encoding="utf-8")).render(
        colours=Markup(variables() + forced_variables()),
        assignment=assignment,
        asked=[each for each in drawn if each.questions],
        others=[each for each in drawn if not each.questions],
        kinds=KINDS,
    )


def _spoken(text: str) -> Markup:
    """A question in which what stands between backticks is code; all of it is escaped."""
    parts = text.split("`")
    marked = (
        Markup("<code>{}</code>").format(part) if number % 2 else Markup.escape(part)
        for number, part in enumerate(parts)
    )
    return Markup("").join(marked)


def oral_rows(drawn: Sequence[StudentQuestions]) -> Rows:
    """The rows of the table: one for each question, and one for each student without any."""
    rows: Rows = [[*_HEADER.split()]]
    for student, questions, note in drawn:
        for number, each in enumerate(questions, 1):
            code = "\n".join(f"{line.number:3} {line.text}" for line in each.lines)
            about = KINDS[each.kind]
            expected = "\n".join((*each.expects, *filter(None, [each.note])))
            shown = each.item, about, each.asks, code, expected, each.then
            rows.append([student, number, *shown, None, None])
        if not questions:
            rows.append([student, None, *[""] * 6, None, shown_text(note, 500)])
    return rows
