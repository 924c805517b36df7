"""Every stored lesson keeps every rule; running them is the business of nbval."""

from pathlib import Path

import pytest

from tools import ROOT
from tools.claims.prose_numbers import prose_numbers_have_a_source
from tools.notebooks.lesson_size import form_problems, in_short, sections
from tools.notebooks.notebook_normal_form import read
from tools.notebooks.notebook_rules import RULES, Rule, set_up

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_stored_lesson_keeps_the_rule(path: Path, rule: Rule) -> None:
    assert rule(path, read(path)) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_number_in_the_prose_has_a_source(path: Path) -> None:
    assert prose_numbers_have_a_source(path, read(path)) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_set_up_cell_is_that_of_all_lessons(path: Path) -> None:
    source = set_up(read(path))
    assert source is not None, f"{path.name} has no code cell with the id 'set-up'"
    assert source == set_up(read(LESSONS[0]))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_as_short_as_it_says_and_has_the_form_of_all(path: Path) -> None:
    assert form_problems(read(path)) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_map_tells_how_long_a_lesson_takes(path: Path) -> None:
    page = (ROOT / "docs" / "map.md").read_text("utf-8")
    [row] = [line for line in page.splitlines() if f"(../notebooks/{path.name}) | " in line]
    assert f" | {in_short(sections(read(path)))} | " in row, (
        "python -m tools.notebooks.course_map --write"
    )
