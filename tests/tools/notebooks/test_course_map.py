"""The minutes that the map tells, and its short ways.

Each stop of a way is the first part of a lesson, so it runs where the lesson does.
"""

import re
from itertools import pairwise

import pytest

from course_lib.checks import TABLE
from tests.tools.notebooks.sample_notebooks import code, markdown, notebook
from tools.notebooks import course_map
from tools.notebooks.course_map import (
    OPENING,
    LessonRow,
    Stop,
    lesson_rows,
    plan,
    read_map,
    run,
    short_ways,
    up_to,
    with_minutes,
)
from tools.notebooks.lesson_size import MOST_FIRST, form_problems
from tools.notebooks.notebook_normal_form import NotebookError, read, to_bytes

WAYS = short_ways(read_map())
HOUR, EVENING, TOPIC = (
    "If you only have an hour",
    "If you have one evening",
    "If you want one topic tonight",
)
MOST = {HOUR: 65, EVENING: 180}  # minutes; a topic has ``MOST_FIRST``
PAGE = """\
Sixteen lessons, about 9 hours without.
| 01 | [x](../notebooks/01_x.ipynb) | 1 | in a line | - |

## If you have a day

| 7 | [lesson 01](../notebooks/01_x.ipynb), Q1a, Q1b | much |
| 8 | [lesson 01](../notebooks/01_x.ipynb), its opening | more |
| **9** | in all | |

## Else
"""
PLAN = "| week | lessons |\n| 4 | 05, 06 | 1 | 2 | 3 |\nOther text | 1 |\n"


def small_lesson():
    made = notebook(
        code("first", "x = 1\n" * 20),
        markdown("a", "## Q1a. Why?"),
        code("of-a", "y = x\n" * 140),
        markdown("rest", "That is all."),
        markdown("b", "## Q1b. How?"),
        code("of-b", "1 / 0\n" * 100),
        markdown("next", "## What next"),
    )
    made.cells[0].source += "\n\n**Time** about 0 minutes, plus the exercise."
    return made


@pytest.fixture
def small_map(tmp_path, monkeypatch):
    """A course of one lesson, its map and its plan."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_x.ipynb").write_bytes(to_bytes(small_lesson()))
    (tmp_path / "map.md").write_text(PAGE)
    (tmp_path / "teaching.md").write_text("| 1 | 01 | 1 | 2 | 3 |\n")
    monkeypatch.setattr(course_map, "ROOT", tmp_path)
    monkeypatch.setattr(course_map, "MAP", tmp_path / "map.md")
    monkeypatch.setattr(course_map, "PLAN", tmp_path / "teaching.md")
    lessons = [tmp_path / "notebooks" / "01_x.ipynb"]
    monkeypatch.setattr(course_map, "lessons", lambda: lessons)
    return tmp_path


def test_the_command_writes_all_minutes_and_is_then_content(small_map, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["course_map", "--write"])
    assert course_map.main() == 0
    assert form_problems(read(small_map / "notebooks" / "01_x.ipynb")) == []
    page = read_map()
    assert page.startswith("Sixteen lessons, about 0 hours without.\n| 01 | [x]")
    assert "01_x.ipynb) | 16 + 10 | in" in page
    assert "| 24 | [lesson 01]" in page and "| 2 | [lesson 01]" in page
    assert "| **26** | in all" in page
    assert (small_map / "teaching.md").read_text().startswith("| 1 | 01 | 26 |")
    assert "24 min  01_x: Q1a, Q1b" in capsys.readouterr().out
    assert with_minutes(page) == page


@pytest.mark.slow
def test_a_lesson_is_run_up_to_the_end_of_a_stop_and_no_further(small_map):
    assert [cell.id for cell in up_to(small_lesson(), ("Q1a",)).cells][-1] == "rest"
    assert [cell.id for cell in up_to(small_lesson(), (OPENING,)).cells][-1] == "first"
    assert run(Stop("01_x", (OPENING, "Q1a"), 1)) > 0
    with pytest.raises(NotebookError, match="ZeroDivisionError"):
        run(Stop("01_x", ("Q1b",), 1))


def test_a_part_that_no_lesson_has_is_refused(small_map):
    with pytest.raises(NotebookError, match=r"expected a part \'Q1c\' in the lesson"):
        up_to(small_lesson(), ("Q1c",))
    with pytest.raises(NotebookError, match=r"expected a part \'Q1c\' in 01_x"):
        with_minutes(PAGE.replace("Q1b", "Q1c"))


def test_the_plan_of_a_term_adds_up_minutes_and_points():
    rows = [LessonRow("05", "", "", (35,), ""), LessonRow("06", "", "", (30, 10), "")]
    items = [entry for entry in TABLE.values() if entry.id[:2] in ("05", "06")]
    assert plan(PLAN, rows) == PLAN.replace(
        "1 | 2 | 3 |", f"75 | {sum(i.minutes for i in items)} | {sum(i.points for i in items)} |"
    )


def test_every_lesson_has_its_row():
    assert [row.number for row in lesson_rows(read_map())] == [f"{i:02}" for i in range(19)]


def test_the_short_ways_take_as_long_as_they_say():
    assert with_minutes(read_map()) == read_map(), "python -m tools.notebooks.course_map --write"
    assert WAYS.keys() == {*MOST, TOPIC}
    for heading, most in MOST.items():
        assert 0 < sum(stop.minutes for stop in WAYS[heading]) <= most
    for stops in WAYS.values():
        assert [stop.lesson for stop in stops] == sorted({stop.lesson for stop in stops})


def test_a_topic_takes_one_evening():
    rows = re.findall(r"^\| (\d+) \| \[lesson .* \| (.*) \|$", read_map(), re.MULTILINE)
    topics = rows[-len(WAYS[TOPIC]) :]
    assert len(topics) == 16 and sum(name.startswith("… ") for _, name in topics) == 3
    for (minutes, name), (more, after) in pairwise([*topics, ("0", "")]):
        together = int(minutes) + (int(more) if after.startswith("… ") else 0)
        assert together <= MOST_FIRST, f"{name}: {together} minutes"
