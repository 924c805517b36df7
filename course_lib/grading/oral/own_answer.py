"""What a student wrote for an item, apart from what the exercise gave: text, never executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course_lib.grading.oral.patterns import MOST_SOURCE, find_lines, parse_untrusted
from course_lib.grading.results import shown_text
from course_lib.grading.submissions.exercise import Exercise
from course_lib.grading.submissions.transplant import Transplant

MOST_LINE = 120  # characters of a line that is shown
_AROUND, _MOST_LINES = 5, 16  # lines shown before and after one, and in all
_NUMBER = re.compile(r"^ ?\d+ {2}")  # of a line, where a task shows code


@dataclass(frozen=True, kw_only=True)
class CodeLine:
    """A line to be shown: its number in its cell, its text, and whether it is asked about."""

    number: int
    text: str
    marked: bool = False


@dataclass(frozen=True, kw_only=True)
class OwnAnswer:
    """The cell with a student's answer to an item.

    Attributes:
        name: of the function or class that the item asks for.
        source: of the cell.
        own: the numbers of its lines, from 1, that are neither empty nor given by the exercise.
        tree: None if it doesn't parse.
    """

    name: str
    source: str
    own: tuple[int, ...]
    tree: ast.Module | None

    def find(self, patterns: Sequence[str]) -> int | None:
        """The first line of the student's own that fits one of the patterns; None without one."""
        found = find_lines(self.tree, patterns) if self.tree else []
        return next((line for line in found if line in self.own), None)

    def line(self, number: int) -> str:
        """A line as it is quoted: without a comment, and without what moves the reader's text."""
        return shown_text(without_comment(self.source.split("\n")[number - 1]), MOST_LINE)

    def excerpt(self, about: int | None = None) -> tuple[CodeLine, ...]:
        """The lines around one, or those from the first of the student's own."""
        lines = self.source.split("\n")
        first = (about - _AROUND if about else min(self.own, default=1)) - 1
        last = about + _AROUND if about else first + _MOST_LINES
        shown = range(max(0, first), min(last, len(lines)))
        return tuple(
            CodeLine(
                number=number + 1,
                text=shown_text(lines[number].expandtabs(4).rstrip(), MOST_LINE),
                marked=number + 1 == about,
            )
            for number in shown
        )


def own_answers(transplanted: Transplant, exercise: Exercise) -> Mapping[str, OwnAnswer]:
    """By item, the answers in code in which there is something of the student's own."""
    found = {}
    for task in exercise.tasks:
        item = task.entry.id
        if item not in transplanted.answered or not task.subject:
            continue
        cells = [c.source for c in transplanted.cells if c.item == item and not c.ours]
        # Of several, the last that defines what is asked for counts in grading, too.
        defining = [each for each in cells if re.search(rf"\b{task.subject}\b", each)]
        if not (sources := defining or cells):
            continue
        source, given = sources[-1], {"", *_given(exercise, item)}
        lines = source[:MOST_SOURCE].split("\n")
        own = tuple(n for n, line in enumerate(lines, 1) if _bare(line) not in given)
        if own:
            tree = parse_untrusted(source)
            found[item] = OwnAnswer(name=task.subject, source=source, own=own, tree=tree)
    return found


def _given(exercise: Exercise, item: str) -> frozenset[str]:
    """The lines of code that the exercise gives for an item: the stub, and code with a bug."""
    return frozenset(
        _bare(_NUMBER.sub("", line))
        for cell in exercise.cells
        if cell.item == item and cell.role in ("answer", "code")
        for line in cell.source.split("\n")
    )


def without_comment(line: str) -> str:
    """A line without the space around it and without a comment after two spaces."""
    return line.strip().partition("  #")[0]


def _bare(line: str) -> str:
    """A line for comparing it with others: without space around it, and nothing from a # on."""
    return line.partition("#")[0].strip()
