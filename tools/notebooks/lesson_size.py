"""How long is each lesson? Words, visible lines of code, figures, and the minutes that they take.

    python -m tools.notebooks.lesson_size            # a table of all lessons
    python -m tools.notebooks.lesson_size notebooks/06_masks.ipynb
    python -m tools.notebooks.lesson_size --write    # also into the lessons and the map

Counted is the core path: everything up to the heading *Deeper*. A reader is assumed to read 200
words and 20 lines of code a minute, to look at a figure for half a minute, to spend two minutes on
a widget, and one on a question of the quiz.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.notebook_normal_form import COLLAPSED, read

MAP = ROOT / "docs" / "map.md"
MOST_WORDS, MOST_LINES, MOST_MINUTES = 3100, 350, 50
DEEPER = re.compile(r"^## Deeper\b", re.MULTILINE)
NOT_READ = re.compile(r"\]\([^)\s]*\)|</?[a-z][^<>]*>")  # targets of links, tags
WIDGET = re.compile(r"^(?:viz\.)?(?:interact|\w+_widget|explore_\w+|type_a_\w+)\(", re.MULTILINE)
QUIZ = re.compile(r"^(?:viz\.)?(?:quiz|predict_shape)\(", re.MULTILINE)
TIME = re.compile(r"\*\*Time\*\* about (\d+) minutes\b")
HEADINGS = ("What goes wrong", "Check yourself", "What next", "Deeper")  # in this order, at the end
BARE = re.compile(r"(?:^|[\s:=])(?:True|False)\s*$")


@dataclass(frozen=True)
class Size:
    """What a reader of a lesson's core path meets; the last two are of the whole lesson.

    Attributes:
        words: of prose.
        lines: of code that is not folded away, without blank ones.
        figures: pictures that are no widgets.
        widgets: figures that move.
        questions: of the quiz.
        deeper: words in the part that is collapsed.
        bare: lines of output that end in True or False.
    """

    words: int = 0
    lines: int = 0
    figures: int = 0
    widgets: int = 0
    questions: int = 0
    deeper: int = 0
    bare: int = 0

    @property
    def minutes(self) -> int:
        """The time that the core path takes, to the next five minutes."""
        reading = self.words / 200 + self.lines / 20
        looking = self.figures / 2 + 2 * self.widgets + self.questions
        return max(5, 5 * round((reading + looking) / 5))

    @property
    def too_long(self) -> list[str]:
        """What is longer than a lesson may be."""
        limits = (("words", MOST_WORDS), ("lines", MOST_LINES), ("minutes", MOST_MINUTES))
        return [
            f"{value} {name}, at most {most}: move something to Deeper, or cut it"
            for name, most in limits
            if (value := getattr(self, name)) > most
        ]


def size_of(notebook: NotebookNode) -> Size:
    """The size of a lesson."""
    counts = dict.fromkeys(Size.__dataclass_fields__, 0)
    core = True
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            core = core and not DEEPER.search(cell.source)
            counts["words" if core else "deeper"] += len(NOT_READ.sub(" ", cell.source).split())
            continue
        counts["bare"] += _bare_lines(cell)
        if core:
            folded = cell.metadata.get("jupyter", {}).get("source_hidden")
            code = [line for line in cell.source.splitlines() if line.strip()]
            counts["lines"] += 0 if folded else len(code)
            widgets = len(WIDGET.findall(cell.source))
            counts["widgets"] += widgets
            counts["figures"] += 0 if widgets else _pictures(cell)
            counts["questions"] += len(QUIZ.findall(cell.source))
    return Size(**counts)


def form_problems(notebook: NotebookNode) -> list[str]:
    """Where a lesson departs from the form that all have."""
    size = size_of(notebook)
    problems = size.too_long
    if size.bare:
        problems.append(f"{size.bare} lines of output end in True or False: print the number")
    told = next((time for cell in notebook.cells if (time := TIME.search(cell.source))), None)
    if told is None or int(told[1]) != size.minutes:
        problems.append(f"expected '**Time** about {size.minutes} minutes' below the first picture")
    found = [
        line.removeprefix("## ")
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.removeprefix("## ") in HEADINGS
    ]
    if found != [heading for heading in HEADINGS if heading in found] or "What next" not in found:
        problems.append(f"expected the headings {', '.join(HEADINGS)} in this order, got {found}")
    for cell in notebook.cells:
        if DEEPER.search(cell.source) and not cell.metadata.get(COLLAPSED):
            problems.append(f"cell {cell.id!r}: the section Deeper is not folded")
    return problems


def _pictures(cell: NotebookNode) -> int:
    shown = [output.get("data", {}) for output in cell.outputs]
    return sum(
        "<img" in data.get("text/html", "") or "<svg" in data.get("text/html", "") for data in shown
    )


def _bare_lines(cell: NotebookNode) -> int:
    """Lines that say True or False where a number would say more."""
    texts = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    ]
    return sum(bool(BARE.search(line)) for text in texts for line in text.splitlines())


def lessons() -> list[Path]:
    """The stored lessons, in order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def write_times() -> None:
    """Write each lesson's minutes below its first picture and into the map, with their sum."""
    page, total = MAP.read_text("utf-8"), 0
    for path in lessons():
        minutes = size_of(read(path)).minutes
        total += minutes
        text = path.read_text("utf-8")
        path.write_text(TIME.sub(f"**Time** about {minutes} minutes", text, count=1), "utf-8")
        row = re.compile(rf"(\(\.\./notebooks/{re.escape(path.name)}\) \| )[\d–]+( \|)")
        page = row.sub(rf"\g<1>{minutes}\g<2>", page)
    page = re.sub(r"about \d+ hours without", f"about {round(total / 60)} hours without", page)
    MAP.write_text(page, "utf-8")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; by default all lessons")
    parser.add_argument("--write", action="store_true", help="write the minutes where they stand")
    options = parser.parse_args()
    if options.write:
        write_times()
    paths = options.paths or lessons()
    columns = [*Size.__dataclass_fields__, "minutes"]
    print(f"{'':24}" + "".join(f"{name:>10}" for name in columns))
    long = 0
    for path in paths:
        size = size_of(read(path))
        print(f"{path.stem:24}" + "".join(f"{getattr(size, name):>10}" for name in columns))
        long += bool(size.too_long)
    print(f"at most {MOST_WORDS} words, {MOST_LINES} lines, {MOST_MINUTES} minutes; longer: {long}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
