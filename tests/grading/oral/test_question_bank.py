"""Every checked item has questions, for right answers written in any way."""

import importlib.util
import inspect
import json
import re
import textwrap

import pytest

from course_lib.checks.table import TABLE, TOPICS
from course_lib.errors import CourseError
from course_lib.grading.oral.candidates import HandedIn, candidates
from course_lib.grading.oral.own_answer import own_answers
from course_lib.grading.oral.question_bank import BANK, load_bank
from course_lib.grading.submissions.exercise import load_exercise
from course_lib.grading.submissions.submission import read_submission
from course_lib.grading.submissions.transplant import transplant
from tests.grading.notebooks_to_hand_in import ROOT

ASSIGNMENTS = [f"{number}_{topic}" for number, topic in TOPICS.items()]
BUILT = ASSIGNMENTS[:14]  # the lessons that build; the last one is about bugs of others


def handed_in(file, exercise):
    made = transplant(read_submission(file), exercise)
    return HandedIn(answers=own_answers(made, exercise), written=made.written, results={})


def by_item(found):
    items = {}
    for question in found:
        items.setdefault(question.item, []).append(question)
    return items


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_each_item_of_the_solution_has_a_question_of_its_own_and_a_checked_one_has_two(assignment):
    exercise = load_exercise(ROOT / "exercises", assignment)
    solution = ROOT / "solutions" / assignment / exercise.file.name
    found = by_item(candidates(handed_in(solution, exercise), load_bank(assignment)))
    lacking = []
    for task in exercise.tasks:
        questions = found.get(task.entry.id, [])
        own = [each for each in questions if each.kind != "misconception"]
        if not own or (task.entry.kind != "written" and len(questions) < 2):
            lacking.append(task.entry.id)
    assert lacking == []


def alternatives(topic):
    path = ROOT / "tests" / "checks" / "alternatives" / f"{topic}.py"
    source = path.read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location(topic, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for item, subjects in module.ALTERNATIVES.items():
        for subject in subjects:
            if inspect.isfunction(subject):
                code = inspect.getsource(subject)
            else:
                start = source.index(f"class {subject.__name__}(")
                code = re.split(r"\n(?=\S)", source[start:])[0]
            yield item, subject.__name__, textwrap.dedent(code)


@pytest.mark.parametrize("assignment", BUILT)
def test_every_right_answer_written_in_another_way_has_two_questions(assignment, tmp_path):
    exercise = load_exercise(ROOT / "exercises", assignment)
    released = json.loads(exercise.file.read_text(encoding="utf-8"))
    subjects = {task.entry.id: task.subject for task in exercise.tasks}
    lacking = []
    for item, name, code in alternatives(assignment[3:]):
        cell_id = f"{item.replace('.', '-', 1).replace('_', '-')}-answer"
        for cell in released["cells"]:
            if cell["id"] == cell_id:
                before, cell["source"] = cell["source"], code.replace(name, subjects[item])
        file = tmp_path / "handed_in.ipynb"
        file.write_text(json.dumps(released), encoding="utf-8")
        for cell in released["cells"]:
            cell["source"] = before if cell["id"] == cell_id else cell["source"]
        found = by_item(candidates(handed_in(file, exercise), load_bank(assignment)))
        if len(found.get(item, [])) < 2 or found.keys() != {item}:
            lacking.append((item, name, found.keys()))
    assert lacking == []


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_every_question_is_about_the_lesson_and_reads_as_sentences(assignment):
    for question in load_bank(assignment):
        assert question.item.startswith(f"{assignment[:2]}."), question.asks
        assert question.asks[-1] in "?.", question.asks
        assert question.then[-1] in "?.", question.then
        assert question.asks.count("`") % 2 == 0
        assert all(point[-1] in ".!" and len(point) < 260 for point in question.expects), (
            question.asks
        )


def test_the_bank_has_a_file_for_each_lesson_and_no_other():
    assert sorted(file.stem for file in BANK.glob("*")) == ASSIGNMENTS
    written = {entry.id for entry in TABLE.values() if entry.kind == "written"}
    asked = {question.item for name in ASSIGNMENTS for question in load_bank(name)}
    assert written <= asked


RIGHT = """
[[question]]
item = "06.causal_mask"
asks = "Why?"
expects = ["a.", "b."]
then = "And?"
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (RIGHT.replace("then", "than"), "has than, which no question has"),
        (RIGHT.replace('then = "And?"', ""), "lacks then"),
        (RIGHT.replace("causal", "casual"), "'06.casual_mask', which is no item"),
        (RIGHT.replace(', "b."', ""), "two or three expected points"),
        (RIGHT + 'lines = ["f("]', "a bracket missing"),
        (RIGHT + "lines =", "compare the entry with its neighbours"),
        ("question = 3", "compare the entry with its neighbours"),
        ("question = [3]", "compare the entry with its neighbours"),
    ],
)
def test_an_entry_that_is_not_one_is_refused_with_the_reason(tmp_path, text, says):
    (tmp_path / "06_masks.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=re.escape(says)):
        load_bank("06_masks", tmp_path)


def test_an_assignment_without_a_file_has_no_questions(tmp_path):
    assert load_bank("06_masks", tmp_path) == ()
    (tmp_path / "05_x.toml").write_text(RIGHT, encoding="utf-8")
    assert load_bank("05_x", tmp_path)[0].lines == ()
