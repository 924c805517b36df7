"""How long is each lesson? Words, visible lines of code, figures, and the minutes that they take.

    python -m tools.notebooks.lesson_size            # a table of all lessons
    python -m tools.notebooks.lesson_size notebooks/06_masks.ipynb    # section by section

Counted is the core path: everything up to the heading *Deeper*. Assumed is a reader for whom all of
it is new: 110 words and ten lines of code a minute, a minute for a figure and for a question to
think about first, two for a widget, one and a half for a question of the quiz. Nobody was timed. A
cell with the id ``rest`` ends the first of two evenings.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.notebook_normal_form import COLLAPSED, read

MOST_FIRST, MOST_SECTION = 50, 18  # minutes of a first evening; of a question
REST = "rest"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
NOT_READ = re.compile(r"\]\([^)\s]*\)|</?[a-z][^<>]*>")  # targets of links, tags
WIDGET = re.compile(r"^(?:viz\.)?(?:interact|\w+_widget|explore_\w+|type_a_\w+)\(", re.MULTILINE)
QUIZ = re.compile(r"^(?:viz\.)?(?:quiz|predict_shape)\(", re.MULTILINE)
TIME = re.compile(r"\*\*Time\*\* about \d+ minutes(?:: a first evening of \d+, a second of \d+)?")
LISTED = re.compile(r"^( *- \[(Q\d+[a-z]\..+?)\]\(#[^ \n]*\))(?: · \d+ min)?", re.MULTILINE)
MINUTES = re.compile(r" · \d+ min$", re.MULTILINE)
HEADINGS = ("What goes wrong", "Check yourself", "What next", "Deeper")  # in this order, at the end
BARE = re.compile(r"(?:^|[\s:=])(?:True|False)\s*$")


@dataclass(frozen=True)
class Size:
    """What a reader meets in a part of a lesson's core path.

    Attributes:
        words: of prose.
        lines: of code that is not folded away, without blank ones.
        figures: pictures that are no widgets.
        widgets: figures that move.
        quiz: questions of the quiz.
        think: questions to think about before the answer.
    """

    words: int = 0
    lines: int = 0
    figures: int = 0
    widgets: int = 0
    quiz: int = 0
    think: int = 0

    def __add__(self, other: "Size") -> "Size":
        names = [field.name for field in fields(Size)]
        return Size(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def minutes(self) -> int:
        """The time that this takes."""
        reading = self.words / 110 + self.lines / 10 + self.think
        return round(reading + self.figures + 2 * self.widgets + 1.5 * self.quiz)


@dataclass(frozen=True)
class Section:
    """What stands below a heading of the second level, or above the first of them.

    Attributes:
        heading: without the mark; "" above the first.
        size: of what stands there.
        evening: 1, or 2 after the cell that ends the first evening.
    """

    heading: str
    size: Size
    evening: int


def sections(notebook: NotebookNode) -> list[Section]:
    """The core path of a lesson, section by section."""
    found = [Section("", Size(), 1)]
    for cell in notebook.cells:
        heading = SECTION.search(cell.source) if cell.cell_type == "markdown" else None
        if heading and heading[1].startswith("Deeper"):
            break
        last = found[-1]
        if heading:
            found.append(Section(heading[1], _size(cell), last.evening))
        else:
            found[-1] = Section(last.heading, last.size + _size(cell), last.evening)
        if cell.id == REST:
            found.append(Section("", Size(), 2))
    return [part for part in found if part.size != Size()]


def size_of(parts: Iterable[Section]) -> Size:
    """Of sections together."""
    return sum((part.size for part in parts), Size())


def evenings(parts: list[Section]) -> tuple[int, ...]:
    """The minutes of the only evening, or of both."""
    first = size_of(part for part in parts if part.evening == 1).minutes
    second = size_of(part for part in parts if part.evening == 2).minutes
    return (first, second) if second else (first,)


def in_short(parts: list[Section]) -> str:
    """The minutes as tables give them: 45, or 38 + 20 for two evenings."""
    return " + ".join(map(str, evenings(parts)))


def label(parts: list[Section]) -> str:
    """What a lesson says about its time."""
    minutes = evenings(parts)
    both = ": a first evening of {}, a second of {}".format(*minutes) if len(minutes) == 2 else ""
    return f"**Time** about {sum(minutes)} minutes{both}"


def listed(text: str, parts: list[Section]) -> str:
    """A lesson's list of questions, each with its minutes."""
    minutes = {part.heading: part.size.minutes for part in parts}

    def row(match: re.Match[str]) -> str:
        return f"{match[1]} · {minutes[match[2]]} min" if match[2] in minutes else match[1]

    return LISTED.sub(row, text)


def form_problems(notebook: NotebookNode) -> list[str]:
    """Where a lesson departs from the form that all have."""
    parts = sections(notebook)
    problems = []
    if (first := evenings(parts)[0]) > MOST_FIRST:
        problems.append(
            f"the first evening has {first} minutes, at most {MOST_FIRST}: end it earlier with a "
            f"cell {REST!r}, or move an idea to Deeper"
        )
    for part in parts:
        if part.heading.startswith("Q") and part.size.minutes > MOST_SECTION:
            problems.append(
                f"{part.heading!r} has {part.size.minutes} minutes, at most {MOST_SECTION}: "
                "make it two questions, or move an idea to Deeper"
            )
    if bare := sum(map(_bare_lines, notebook.cells)):
        problems.append(f"{bare} lines of output end in True or False: print the number")
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    told = next((time[0] for text in texts if (time := TIME.search(text))), None)
    if told != label(parts) or any(listed(text, parts) != text for text in texts):
        problems.append(
            f"expected {label(parts)!r}, and minutes at the questions: "
            "python -m tools.notebooks.course_map --write"
        )
    found = [
        line.removeprefix("## ")
        for text in texts
        for line in text.splitlines()
        if line.removeprefix("## ") in HEADINGS
    ]
    if found != [heading for heading in HEADINGS if heading in found] or "What next" not in found:
        problems.append(f"expected the headings {', '.join(HEADINGS)} in this order, got {found}")
    for cell in notebook.cells:
        if re.search(r"^## Deeper\b", cell.source, re.MULTILINE) and not cell.metadata.get(
            COLLAPSED
        ):
            problems.append(f"cell {cell.id!r}: the section Deeper is not folded")
    return problems


def _size(cell: NotebookNode) -> Size:
    if cell.cell_type == "markdown":
        text = MINUTES.sub("", TIME.sub("", cell.source))  # or they would change themselves
        words = len(NOT_READ.sub(" ", text).split())
        return Size(words=words, think=cell.source.count("<summary>Think first"))
    folded = cell.metadata.get("jupyter", {}).get("source_hidden")
    lines = [line for line in cell.source.splitlines() if line.strip()]
    widgets = len(WIDGET.findall(cell.source))
    return Size(
        lines=0 if folded else len(lines),
        figures=0 if widgets else _pictures(cell),
        widgets=widgets,
        quiz=len(QUIZ.findall(cell.source)),
    )


def _pictures(cell: NotebookNode) -> int:
    shown = [output.get("data", {}).get("text/html", "") for output in cell.outputs]
    return sum("<img" in html or "<svg" in html for html in shown)


def _bare_lines(cell: NotebookNode) -> int:
    """Lines that say True or False where a number would say more."""
    if cell.cell_type == "markdown":
        return 0
    texts = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    ]
    return sum(bool(BARE.search(line)) for text in texts for line in text.splitlines())


def lessons() -> list[Path]:
    """The stored lessons, in order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; by default all lessons")
    options = parser.parse_args()
    columns = [field.name for field in fields(Size)]
    print(f"{'':64}" + "".join(f"{name:>8}" for name in (*columns, "minutes")))
    for path in options.paths or lessons():
        parts = sections(read(path))
        if options.paths:
            for part in parts:
                _print_row(("  " if part.evening == 2 else "") + part.heading[:60], part.size)
        _print_row(f"{path.stem}: {in_short(parts)}", size_of(parts))
    return 0


def _print_row(name: str, size: Size) -> None:
    numbers = (*(getattr(size, field.name) for field in fields(Size)), size.minutes)
    print(f"{name:64}" + "".join(f"{number:>8}" for number in numbers))


if __name__ == "__main__":
    sys.exit(main())
