"""The plan of a term counts what the lessons and the table of items say."""

import re

import pytest

from course_lib.checks.table import TABLE, TOPICS
from tools import ROOT
from tools.notebooks.course_map import lesson_rows, read_map

TEXT = (ROOT / "docs" / "teaching.md").read_text("utf-8")
WEEKS = [re.findall(r"\d+", row) for row in re.findall(r"^\| \d+ \|.*", TEXT, re.MULTILINE)]
READING = {row.number: sum(row.minutes) for row in lesson_rows(read_map())}
ITEMS = list(TABLE.values())


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week[0])
def test_a_week_has_the_minutes_and_points_of_its_lessons(week):
    _, *lessons, reading, working, points = week
    items = [item for item in ITEMS if item.id.partition(".")[0] in lessons]
    assert int(reading) == sum(READING[lesson] for lesson in lessons)
    assert int(working) == sum(item.minutes for item in items)
    assert int(points) == sum(item.points for item in items)


def test_the_weeks_take_every_lesson_once_in_order():
    assert [int(week[0]) for week in WEEKS] == list(range(1, 13))
    assert [lesson for week in WEEKS for lesson in week[1:-3]] == ["00", *TOPICS]


def test_each_assignment_has_one_answer_in_words():
    written = [item.id.partition(".")[0] for item in ITEMS if item.kind == "written"]
    assert {written.count(lesson) for lesson in TOPICS} == {1}
