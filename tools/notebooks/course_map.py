"""The minutes that lessons, docs/map.md and the plan of a term tell, and the map's short ways.

    python -m tools.notebooks.course_map            # each stop of the short ways
    python -m tools.notebooks.course_map --run      # with the seconds that it takes to run
    python -m tools.notebooks.course_map --write    # write all minutes where they stand

A stop is a lesson and some of its questions. Its minutes are those that `lesson_size` counts, its
seconds those of a fresh kernel and of all cells up to the end of the last of these questions.
"""

import argparse
import re
import sys
import time
from dataclasses import dataclass
from functools import cache

from nbformat import NotebookNode

from course_lib.checks import TABLE
from tools import ROOT
from tools.notebooks import released
from tools.notebooks.build_notebooks import execute
from tools.notebooks.lesson_size import (
    SECTION,
    TIME,
    Section,
    evenings,
    in_short,
    label,
    lessons,
    listed,
    sections,
)
from tools.notebooks.notebook_normal_form import NotebookError, read, to_bytes

MAP = ROOT / "docs" / "map.md"
PLAN = ROOT / "docs" / "teaching.md"  # of a term
WEEK = re.compile(r"^\| (\d+|all) \| ([\d, ]+|\d\d to \d\d) \| \d+ \| \d+ \| \d+ \|$", re.MULTILINE)
LESSON = re.compile(
    r"^\| (\d\d) \| \[(.+?)\]\(\.\./(notebooks/\w+)\.ipynb\) \| ([\d +]+) \| (.+?) \|", re.MULTILINE
)
WAY = re.compile(r"^## (If you .+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
STOP = re.compile(
    r"^\| (\d+) \| \[lesson \d\d\]\(\.\./notebooks/(\w+)\.ipynb\), (.+?) \|", re.MULTILINE
)
SUM = re.compile(r"^\| \*\*(\d+)\*\* \| in all", re.MULTILINE)
OPENING = "its opening"  # what stands above the first question


@dataclass(frozen=True)
class LessonRow:
    """What the map says of a lesson.

    Attributes:
        number: such as "06".
        title: of the lesson.
        page: its path without the ending, "notebooks/06_masks".
        minutes: of its only evening, or of both.
        line: what it is about, in one sentence.
    """

    number: str
    title: str
    page: str
    minutes: tuple[int, ...]
    line: str


@dataclass(frozen=True)
class Stop:
    """A part of a short way.

    Attributes:
        lesson: the stem of its file, "06_masks".
        parts: questions, such as "Q6a", or ``OPENING``.
        minutes: that the map gives for reading them.
    """

    lesson: str
    parts: tuple[str, ...]
    minutes: int


def lesson_rows(text: str) -> list[LessonRow]:
    """The rows of the map's table of lessons."""
    return [
        LessonRow(number, title, page, tuple(map(int, minutes.split(" + "))), line)
        for number, title, page, minutes, line in LESSON.findall(text)
    ]


def read_map() -> str:
    """The text of docs/map.md."""
    return MAP.read_text("utf-8")


def short_ways(text: str) -> dict[str, list[Stop]]:
    """The stops of each way, by the heading above them."""
    return {
        heading: [
            Stop(lesson, tuple(parts.split(", ")), int(minutes))
            for minutes, lesson, parts in STOP.findall(body)
        ]
        for heading, body in WAY.findall(text)
    }


def with_minutes(text: str) -> str:
    """The map with the minutes of each stop, and of each way, as the lessons have them."""

    @cache
    def parts_of(lesson: str) -> list[Section]:
        return sections(read(ROOT / "notebooks" / f"{lesson}.ipynb"))

    def stop(found: re.Match[str]) -> str:
        every = parts_of(found[2])
        minutes = sum(_part(every, part, found[2]).size.minutes for part in found[3].split(", "))
        return found[0].replace(found[1], str(minutes), 1)

    def way(found: re.Match[str]) -> str:
        body = STOP.sub(stop, found[0])
        total = sum(int(minutes) for minutes, _, _ in STOP.findall(body))
        return SUM.sub(f"| **{total}** | in all", body)

    return WAY.sub(way, text)


def plan(text: str, rows: list[LessonRow]) -> str:
    """The plan of a term with the minutes and points that there are."""
    reading = {row.number: sum(row.minutes) for row in rows}

    def week(found: re.Match[str]) -> str:
        first, to, last = found[2].partition(" to ")
        term = [number for number in reading if first <= number <= last]
        numbers = term if to else found[2].split(", ")
        items = [entry for entry in TABLE.values() if entry.id[:2] in numbers]
        sums = (
            sum(reading[number] for number in numbers),
            sum(entry.minutes for entry in items),
            sum(entry.points for entry in items),
        )
        return f"| {' | '.join([found[1], found[2], *map(str, sums)])} |"

    return WEEK.sub(week, text)


def write_times() -> None:
    """Write the minutes into each lesson, below its first picture, into map and plan."""
    page, total = read_map(), 0
    for path in lessons():
        notebook = read(path)
        parts = sections(notebook)
        total += sum(evenings(parts))
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = listed(TIME.sub(label(parts), cell.source), parts)
        path.write_bytes(to_bytes(notebook))
        row = re.compile(rf"(\(\.\./notebooks/{re.escape(path.name)}\) \| )[\d+ ]+( \|)")
        page = row.sub(rf"\g<1>{in_short(parts)}\g<2>", page)
    released.note(lessons()[-1])  # once: the list has all of them
    page = re.sub(r"about \d+ hours without", f"about {round(total / 60)} hours without", page)
    MAP.write_text(with_minutes(page), "utf-8")
    PLAN.write_text(plan(PLAN.read_text("utf-8"), lesson_rows(page)), "utf-8")


def up_to(notebook: NotebookNode, parts: tuple[str, ...]) -> NotebookNode:
    """The lesson without what follows the last of these parts.

    Raises:
        NotebookError: it has no such part.
    """
    last, inside, end = parts[-1], False, 0
    for i, cell in enumerate(notebook.cells):
        heading = SECTION.search(cell.source) if cell.cell_type == "markdown" else None
        if heading or i == 0:
            inside = heading[1].startswith(f"{last}.") if heading else last == OPENING
        end = i + 1 if inside else end
    if not end:
        raise NotebookError(f"expected a part {last!r} in the lesson, got none")
    notebook.cells = notebook.cells[:end]
    return notebook


def run(stop: Stop) -> float:
    """Run a lesson up to the end of a stop, and say how many seconds it took.

    Raises:
        NotebookError: there is no such part, or a cell fails.
    """
    path = ROOT / "notebooks" / f"{stop.lesson}.ipynb"
    notebook, start = up_to(read(path), stop.parts), time.monotonic()
    execute(notebook, path)
    return time.monotonic() - start


def _part(every: list[Section], part: str, lesson: str) -> Section:
    if part == OPENING:
        return every[0]
    found = [each for each in every if each.heading.startswith(f"{part}.")]
    if not found:
        raise NotebookError(f"expected a part {part!r} in {lesson}, got none")
    return found[0]


def main() -> int:
    """Print the ways."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks.course_map",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", action="store_true", help="run each stop in a fresh kernel")
    parser.add_argument("--write", action="store_true", help="write all minutes where they stand")
    options = parser.parse_args()
    if options.write:
        write_times()
    for heading, stops in short_ways(read_map()).items():
        print(heading)
        for stop in stops:
            seconds = f"{run(stop):5.0f} s" if options.run else ""
            print(f"{stop.minutes:5} min{seconds}  {stop.lesson}: {', '.join(stop.parts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
