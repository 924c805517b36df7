"""Questions as people ask them: an answer leads to a section whose outputs hold its numbers."""

import re
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import unquote

import pytest

from tools import ROOT
from tools.claims.prose_numbers import agrees, computed, constants, facts, numbers, prose_numbers
from tools.notebooks.notebook_normal_form import read

PAGE = ROOT / "docs" / "questions.md"
ASKED = "Also asked: "
LINK = re.compile(r"\]\(\.\./notebooks/(\w+)\.ipynb#([^)\s]+)\)")
HEADING = re.compile(r"^(#+) (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    question: str
    asked: list[str]
    answer: str

    @property
    def links(self):
        return LINK.findall(self.answer)


def entries():
    parts = re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    for part in parts:
        question, *paragraphs = re.split(r"\n\n+", re.split(r"^## ", part, flags=re.MULTILINE)[0])
        asked = [text for text in paragraphs if text.startswith(ASKED)]
        answer = "\n\n".join(text for text in paragraphs if not text.startswith(ASKED))
        wordings = [w for text in asked for w in text.removeprefix(ASKED).rstrip(".").split(" · ")]
        yield Entry(question.strip(), wordings, answer)


ENTRIES = [*entries()]


def anchor(heading):
    """The anchor that JupyterLab and the site give a heading: its words with hyphens."""
    return re.sub(r"[`*]", "", heading).replace(" ", "-")


@cache
def lesson_cells(lesson):
    return read(ROOT / "notebooks" / f"{lesson}.ipynb").cells


def section(lesson, wanted):
    """The cells below a heading, up to the next of its level or above it."""
    level, found = 0, []
    for cell in lesson_cells(lesson):
        headings = HEADING.findall(cell.source) if cell.cell_type == "markdown" else []
        if level and any(len(marks) <= level for marks, _ in headings):
            break
        level = level or next(
            (len(marks) for marks, title in headings if anchor(title) == unquote(wanted)), 0
        )
        if level:
            found.append(cell)
    return found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.question[:60])
def test_an_answer_leads_to_a_run_that_gives_its_numbers(entry):
    assert len(entry.asked) >= 2, f"expected other wordings after {ASKED!r}, got {entry.asked}"
    assert entry.links, "expected a link to a section of a lesson"
    known = []
    for lesson, heading in entry.links:
        cells = section(lesson, heading)
        assert cells, f"{lesson}.ipynb has no heading {heading}"
        for cell in cells:
            if cell.cell_type == "code":
                known += [(number, True) for number in computed(cell)]
                known += [(number, False) for number in constants(cell.source)]
        cited = [fact.number for fact in facts() if lesson[:2] in fact.lessons]
        known += [(number, False) for text in cited for number in numbers(text)]
    told = [number for number in prose_numbers(entry.answer) if not number.counts]
    assert told, "expected a number from the run"
    for number in told:
        spellings = (number, replace(number, percent=False))  # "pads (%) = 91.6" is 91.6 % as well
        assert any(
            agrees(spelt, one, rounded=rounded) for spelt in spellings for one, rounded in known
        ), f"{number.text} is not among the outputs of {entry.links}"


def test_no_question_and_no_wording_is_there_twice():
    texts = [text.lower() for entry in ENTRIES for text in (entry.question, *entry.asked)]
    assert sorted({*texts}) == sorted(texts)


def test_there_are_questions_enough_to_look_something_up():
    assert len(ENTRIES) >= 60
