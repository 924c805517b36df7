"""The pages for teachers: their plans count what there is, and name only what there is."""

import re
from functools import cache

import pytest

from course_lib.checks.table import OWN_NUMBER, TABLE, TOPICS
from course_lib.cli import VERBS
from tools import ROOT
from tools.notebooks.course_map import lesson_rows, read_map
from tools.notebooks.notebook_normal_form import read

TEXT = (ROOT / "docs" / "teaching.md").read_text("utf-8")
WEEKS = [re.findall(r"\d+", row) for row in re.findall(r"^\| \d+ \|.*", TEXT, re.MULTILINE)]
HOURS = (ROOT / "docs" / "class_hours.md").read_text("utf-8")
LESSONS = dict(re.findall(r"^## (\d\d) · .+\n((?:(?!## ).*\n)*)", HOURS, re.MULTILINE))
READING = {row.number: sum(row.minutes) for row in lesson_rows(read_map())}
ITEMS = list(TABLE.values())
TERM_WEEKS = 12  # those after them come on top
TERM = [item for item in ITEMS if item.id < "16"]


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week[0])
def test_a_week_has_the_minutes_and_points_of_its_lessons(week):
    _, *lessons, reading, working, points = week
    items = [item for item in ITEMS if item.id.partition(".")[0] in lessons]
    assert int(reading) == sum(READING[lesson] for lesson in lessons)
    assert int(working) == sum(item.minutes for item in items)
    assert int(points) == sum(item.points for item in items)


def test_the_weeks_take_every_lesson_once_in_order():
    assert [int(week[0]) for week in WEEKS] == list(range(1, len(WEEKS) + 1))
    assert [lesson for week in WEEKS for lesson in week[1:-3]] == ["00", *TOPICS]


def test_each_assignment_has_one_answer_in_words():
    written = [item.id.partition(".")[0] for item in ITEMS if item.kind == "written"]
    assert {written.count(lesson) for lesson in TOPICS} == {1}


def test_the_last_row_counts_all_weeks_of_the_term():
    [row] = re.findall(r"^\| all \| 00 to 15 \| (\d+) \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)
    weeks = WEEKS[:TERM_WEEKS]
    assert [sum(int(week[i]) for week in weeks) for i in (-3, -2, -1)] == [int(n) for n in row]


def test_the_hours_of_a_term_follow_from_the_minutes_and_add_up():
    rows = dict(re.findall(r"^\| ([^|]+) \| \**(\d+)\** \|$", TEXT, re.MULTILINE))
    hours = {name: int(number) for name, number in rows.items()}
    total = hours.pop("**in all**")
    assert sum(hours.values()) == total and 125 <= total <= 150
    reading = next(n for name, n in hours.items() if name.startswith("lessons, read"))
    working = next(n for name, n in hours.items() if name.startswith("assignments"))
    assert abs(reading - sum(READING[n] for n in READING if n < "16") / 60) < 1
    assert abs(working - sum(item.minutes for item in TERM) / 60) < 1


def test_the_example_of_marks_is_worked_out_right():
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| [^|]+ \| [^|]+ \|$", TEXT, re.MULTILINE)
    weights = [int(weight) for _, weight in rows]
    most = [int(re.search(r"\((\d+) points\)", part)[1]) for part, _ in rows]
    assert sum(weights) == 100
    students = re.findall(r"^\| (?:Mia|Ben|Ali)[^|]* \|((?: \d+ \|){7})$", TEXT, re.MULTILINE)
    assert len(students) == 3
    for row in students:
        *earned, mark = map(int, re.findall(r"\d+", row))
        shares = [weight * e / m for weight, e, m in zip(weights, earned, most, strict=True)]
        assert round(sum(shares)) == mark


def test_the_exam_has_twelve_questions_whose_points_add_up():
    exam = TEXT.partition("\n## An exam\n")[2].partition("**More of them.**")[0]
    questions = re.split(r"^- ", exam, flags=re.MULTILINE)[1:]
    points = [sum(map(int, re.findall(r": (\d)[.)]", question))) for question in questions]
    assert points == [5] * 12


def test_points_by_kind_are_those_of_the_items_of_a_term():
    kinds = {kind: sum(item.points for item in TERM if item.kind == kind) for kind in KINDS}
    code = sum(kinds[kind] for kind in ("code", "bug", "cases"))
    runs = sum(kinds[kind] for kind in ("experiment", *OWN_NUMBER))
    assert f"code and tests ({code} points)" in TEXT
    assert f"what a run shows ({runs} points)" in TEXT
    assert f"words ({kinds['written']} points)" in TEXT
    assert f"`11.own_run` ({kinds['run']})" in TEXT
    assert f"Of the {sum(kinds.values())} points of lessons 01 to 15" in TEXT


@pytest.mark.parametrize("lesson", TOPICS)
def test_more_than_half_of_the_points_of_each_assignment_need_a_run(lesson):
    items = [item for item in ITEMS if item.id.startswith(lesson)]
    runs = [item.points for item in items if item.kind in ("run", "experiment", *OWN_NUMBER)]
    assert len({item.kind for item in items} & {"run", "experiment", "cases", *OWN_NUMBER}) >= 2
    assert 2 * sum(runs) > sum(item.points for item in items)


KINDS = {item.kind for item in ITEMS}


@pytest.mark.parametrize("name", ["teaching", "class_hours", "grading"])
def test_every_item_and_command_that_a_page_names_is_there(name):
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    for item in re.findall(r"`(\d\d\.\w+)`", text):
        assert item in TABLE, item
    for verb in re.findall(r"`course ([a-z]+)", text):
        assert verb in VERBS, verb


def test_each_lesson_has_a_class_hour_of_five_parts():
    assert list(LESSONS) == list(TOPICS)
    for text in LESSONS.values():
        parts = re.findall(r"^- \*\*(.+?)\.\*\*", text, re.MULTILINE)
        assert parts == ["Open", "Predict", "In pairs", "Provoke", "Close"]


@cache
def everything_in(lesson):
    """All that a lesson says and prints, without the signs of Markdown and HTML."""
    [path] = ROOT.glob(f"notebooks/{lesson}_*.ipynb")
    parts = []
    for cell in read(path).cells:
        parts.append(cell.source)
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            parts += [output.get("text", ""), data.get("text/plain", "")]
            parts.append(re.sub(r"<[^>]*>", " ", data.get("text/html", "")))
    return plain("\n".join(parts))


def plain(text):
    return " ".join(re.sub(r"[*`$]", "", text).replace("−", "-").split())


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_class_hour_names_only_what_its_lesson_has(lesson):
    text, whole = LESSONS[lesson], everything_in(lesson)
    for question in re.findall(r"\bQ\d+[a-z]\b", text):
        assert question.startswith(f"Q{int(lesson)}") and f"{question}. " in whole, question
    for phrase in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", text):
        assert plain(phrase).lower() in whole.lower(), phrase
    for code in re.findall(r"`([^`]+)`", text):
        assert plain(code) in whole, code


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_number_of_a_class_hour_with_a_decimal_point_is_in_its_lesson(lesson):
    for number in re.findall(r"(?<![\w.])-?\d+\.\d+", plain(LESSONS[lesson])):
        assert number in everything_in(lesson), number


def test_the_first_hour_has_the_numbers_and_questions_of_lesson_00_and_45_minutes():
    hour = TEXT.partition("\n## The first hour\n")[2].partition("\n## ")[0]
    for number in re.findall(r"\d+\.\d+", hour):
        assert number in everything_in("00"), number
    for question in re.findall(r"Q\d+[a-z]", hour):
        assert f"{question}. " in everything_in("00"), question
    assert sum(map(int, re.findall(r"\*\*(\d+) minutes", hour))) == 45


def test_every_question_of_an_agenda_is_in_its_lesson():
    agendas = TEXT.partition("\n## One day, or three\n")[2].partition("\n## ")[0]
    questions = set(re.findall(r"\bQ(\d+)[a-z]\b", agendas))
    assert len(questions) > 8
    for number, letter in re.findall(r"\bQ(\d+)([a-z])\b", agendas):
        assert f"Q{number}{letter}. " in everything_in(f"{int(number):02}"), f"Q{number}{letter}"
