"""Compare an answer in words with a model answer, and mark it oneself.

The answer is read from the notebook's file, since a kernel does not know the text of its cells, and
kept beside the progress file: each attempt is a text file that nothing overwrites.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from course_lib.atomic import write_atomically
from course_lib.checks.progress import load_own_marks, note_own_mark, progress_file, under_nbgrader
from course_lib.checks.table import TABLE, TOPICS, Entry, cell_id
from course_lib.errors import CourseError
from course_lib.home import COURSE

FEWEST_WORDS = 12
MOST_CHARACTERS = 20_000
STUB = "*Your answer here.*"
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)\n### END SOLUTION", re.DOTALL)
_PARTS = ("A model answer", "Rubric", "Worth half")


class Comparison:
    """An answer in words beside a model answer, its rubric, and an answer that is worth half."""

    def __init__(self, title: str, sections: dict[str, str], after: str) -> None:
        self.title, self.sections, self.after = title, sections, after

    def __repr__(self) -> str:
        parts = [self.title, *(f"{name}\n{text}" for name, text in self.sections.items())]
        return "\n\n".join([*parts, self.after])

    def _repr_markdown_(self) -> str:
        """JupyterLab, VS Code and Colab make HTML of it, without what could run."""
        parts = [f"**{self.title}**"]
        for name, text in self.sections.items():
            quoted = text.replace("\n", "\n> ")
            parts.append(f"*{name}*\n\n> {quoted}")
        return "\n\n".join([*parts, self.after])


def compare_answer(
    item_id: str, answer: str | None = None, *, points: float | None = None
) -> Comparison:
    """Show a model answer to a question in words, once there is an answer of your own.

    Args:
        item_id: lesson and name, "04.why_the_root".
        answer: your answer; by default what the saved notebook says below the task.
        points: what your answer is worth, by the rubric, once you have compared.

    Raises:
        CourseError: the item is not answered in words, such points cannot be given, or the answer
            is too long or cannot be kept.
    """
    entry = _written_item(item_id)
    if under_nbgrader():
        return Comparison(_named(entry), {}, "A model answer is shown to its author alone.")
    text = (_saved_answer(entry) if answer is None else answer).strip().removeprefix(STUB).strip()
    words = 0 if "### BEGIN SOLUTION" in text else len(text.split())
    if 0 < words < FEWEST_WORDS:
        found = (
            f"Your answer has {words} words. A model answer is shown from {FEWEST_WORDS} words on."
        )
        return Comparison(f"○ {_named(entry)}: not yet", {}, found)
    if not words:
        return Comparison(
            f"○ {_named(entry)}: not started",
            {},
            "Write your answer in the cell above, save the notebook, and run this cell again: it "
            "then shows a model answer beside yours, and what an answer is worth. Where the "
            "notebook's file isn't in this folder, as on Colab, pass your answer: "
            f'`compare_answer("{entry.id}", """your answer""")`.',
        )
    kept = _keep(entry, text)
    if points is not None:
        _mark(entry, points)
    sections = {f"Your answer, kept in {kept}": text} | _model(entry)
    return Comparison(_named(entry), sections, _after(entry))


def _written_item(item_id: str) -> Entry:
    entry = TABLE.get(item_id)
    if entry is None or entry.kind != "written":
        known = ", ".join(each.id for each in TABLE.values() if each.kind == "written")
        raise CourseError(
            f"expected an item that is answered in words ({known}), got {item_id!r}"
            f"{': check() judges this one' if entry else ': is it misspelt?'}"
        )
    return entry


def _named(entry: Entry) -> str:
    return f"{entry.id} · {entry.title}"


def _saved_answer(entry: Entry) -> str:
    """What the newest notebook of this folder has in the cell for the answer; "" without one."""
    wanted = cell_id(entry.id, "written")
    notebooks = sorted(Path().glob("*.ipynb"), key=lambda path: -path.stat().st_mtime)
    for path in notebooks:
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            source = next(cell["source"] for cell in cells if cell.get("id") == wanted)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
            continue
        return "".join(source)
    return ""


def _keep(entry: Entry, text: str) -> Path:
    """The file that keeps an attempt; a new one unless the last one says the same.

    Raises:
        CourseError: the answer is too long, or cannot be kept.
    """
    if len(text) > MOST_CHARACTERS:
        raise CourseError(
            f"expected an answer of at most {MOST_CHARACTERS:,} characters, got {len(text):,}: "
            "four or five sentences are enough"
        )
    folder = progress_file().parent / "answers"
    attempts = sorted(folder.glob(f"{entry.id}-*.md"), key=lambda path: (len(path.name), path.name))
    try:
        if attempts and attempts[-1].read_text(encoding="utf-8") == f"{text}\n":
            return attempts[-1]
        file = folder / f"{entry.id}-{len(attempts) + 1}.md"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, f"{text}\n")
    except (OSError, ValueError) as error:
        raise CourseError(
            f"expected to keep your answer in {folder}, which failed ({error}): name another path "
            "with the environment variable COURSE_PROGRESS"
        ) from error
    return file


def _mark(entry: Entry, points: float) -> None:
    halves = [n / 2 for n in range(2 * entry.points + 1)]
    if type(points) not in (int, float) or points not in halves:
        raise CourseError(
            f"expected points in halves from 0 to {entry.points}, got {points!r}: the rubric says "
            "what a part of the answer is worth"
        )
    note_own_mark(entry.id, points)


def _model(entry: Entry) -> dict[str, str]:
    """The model answer, the rubric, and an answer worth half, as the solution has them.

    Raises:
        CourseError: the solutions are not there.
    """
    lesson = entry.id[:2]
    file = COURSE / "solutions" / f"{lesson}_{TOPICS[lesson]}" / f"{TOPICS[lesson]}.ipynb"
    try:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    except OSError as error:
        raise CourseError(
            f"expected the course's solution in {file}, found none: install the course again"
        ) from error
    wanted = cell_id(entry.id, "written")
    source = next("".join(cell["source"]) for cell in cells if cell["id"] == wanted)
    return dict(_parted(SOLUTION.findall(source)[0]))


def _parted(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a solution in words; all but the first begin with their names in bold."""
    parts = re.split(r"\n\n(?=\*\*(?:Rubric|Worth half)\*\*)", text)
    for name, part in zip(_PARTS, parts, strict=True):
        yield name, re.sub(r"^\*\*(?:Rubric|Worth half)\*\*\s*", "", part)


def _after(entry: Entry) -> str:
    marked = load_own_marks().get(entry.id)
    how = f'compare_answer("{entry.id}", points=...)'
    if marked is None:
        return (
            "What does your answer say that the rubric asks for, and what is missing? When you "
            f"have decided, mark it in a cell of your own: `{how}`, in halves up to "
            f"{entry.points}. Your progress counts it as your own mark."
        )
    return f"By your own mark: {marked:g} of {entry.points} points. To change it: `{how}`."
