"""A copy of the course with answers in its exercises, and a library of the solutions' answers."""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from course_lib.checks import TABLE
from course_lib.checks.table import TOPICS
from course_lib.grading.submissions.exercise import load_exercise
from course_lib.grading.submissions.submission import read_submission
from course_lib.mine.library import Library
from course_lib.mine.parts import PARTS
from course_lib.mine.statements import as_module, read_statements, select
from tools import ROOT


def notebook_of(folder, lesson):
    topic = TOPICS[lesson]
    return folder / f"{lesson}_{topic}" / f"{topic}.ipynb"


class Work:
    """A learner's copy of the course."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / ".course").mkdir()

    def notebook(self, lesson):
        path = notebook_of(self.folder / "exercises", lesson)
        if not path.exists():
            path.parent.mkdir(parents=True)
            shutil.copy(notebook_of(ROOT / "exercises", lesson), path)
        return path

    def answer(self, item, source):
        """Put an answer into its cell."""
        lesson, name = item.split(".")
        path = self.notebook(lesson)
        notebook = json.loads(path.read_text())
        wanted = f"{lesson}-{name.replace('_', '-')}-answer"
        (cell,) = (cell for cell in notebook["cells"] if cell["id"] == wanted)
        cell["source"] = source
        path.write_text(json.dumps(notebook))

    def solve(self, *lessons):
        """Hand in the solutions of these lessons."""
        for lesson in lessons:
            shutil.copy(notebook_of(ROOT / "solutions", lesson), self.notebook(lesson))


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path)


@cache
def sources_of_solutions():
    sources = {}
    for lesson, topic in TOPICS.items():
        exercise = load_exercise(ROOT / "exercises", f"{lesson}_{topic}")
        names = [t.subject for t in exercise.tasks if TABLE[t.entry.id].kind == "code"]
        cells = read_submission(notebook_of(ROOT / "solutions", lesson)).cells
        statements = read_statements([cell.source for cell in cells if cell.is_code])
        sources[lesson] = as_module("Answers.", select(statements, names))
    return sources


@pytest.fixture
def solved():
    """A library in which every part is the solution's."""
    return Library(sources_of_solutions(), PARTS)


@pytest.fixture
def solved_but():
    """The same with other sources for some lessons."""

    def make(**sources):
        changed = {name.removeprefix("lesson_"): text for name, text in sources.items()}
        return Library(sources_of_solutions() | changed, PARTS)

    return make
