"""An answer about a run of one's own number, in grading: what the run shows earns its points."""

import json
from dataclasses import replace

import pytest

from course_lib.grading.submissions.exercise import load_exercise
from tests.checks.numbered_runs.test_own_number import right
from tests.grading.notebooks_to_hand_in import ROOT, answered, points, with_cell

ITEM = "04.predict"
NUMBER = 5
RIGHT = """\
import os, sys
import torch
from course_lib.checks import make_run

KEYS, WHY = {keys!r}, {why!r}
OTHER = {other!r}
turn = []

def right():
    return {{"number": {number}, "keys": KEYS, "why": WHY}}

def two(first):
    return [first, OTHER]

class Letter(str):
    def __eq__(self, other):
        return True
    def __hash__(self):
        return hash(WHY)

class Near(float):
    def __sub__(self, other):
        return 0.0
    __rsub__ = __sub__
    def __eq__(self, other):
        return True
    __le__ = __ge__ = __lt__ = __gt__ = __eq__
    def __abs__(self):
        return 0.0

class Number(int):
    def __eq__(self, other):
        return True
    def __hash__(self):
        return {number}

class Long(list):
    def __iter__(self):
        return iter([right(), OTHER])
    def __getitem__(self, index):
        return [right(), OTHER][index]

class Answer(dict):
    def __getitem__(self, key):
        return right()[key]
    def __contains__(self, key):
        return True
"""
RETURNED = {
    "no number": "two({'keys': KEYS, 'why': WHY})",
    "another number": "two(right() | {'number': 6})",
    "a number with a point": "two(right() | {'number': 5.0})",
    "a number below zero": "two(right() | {'number': -1})",
    "a number without end": "two(right() | {'number': 10**5000})",
    "true as a number": "two(right() | {'number': True})",
    "all letters": "two(right() | {'why': 'abcd'})",
    "a list of letters": "two(right() | {'why': list('abcd')})",
    "no letter": "two(right() | {'why': ''})",
    "a letter in capitals": "two(right() | {'why': WHY.upper()})",
    "the sentence": "two(right() | {'why': 'the scores were not divided'})",
    "a letter equal to all": "two(right() | {'why': Letter('z')})",
    "a number equal to all": "two(right() | {'keys': Near(99.0)})",
    "a number of one's own equal to all": "two(right() | {'number': Number(6)})",
    "no measurement": "two(right() | {'keys': float('nan')})",
    "an endless measurement": "two(right() | {'keys': float('inf')})",
    "a measurement of another": "two(right() | {'keys': KEYS + 0.5})",
    "a measurement in words": "two(right() | {'keys': str(KEYS)})",
    "a tensor of measurements": "two(right() | {'keys': torch.linspace(1, 16, 1000)})",
    "a tensor that is true of all": "two(right() | {'keys': torch.tensor(float('nan'))})",
    "a complex measurement": "two(right() | {'keys': complex(KEYS, 1)})",
    "true as a measurement": "two(right() | {'keys': True})",
    "a dict that has everything": "two(Answer())",
    "two dicts that have everything": "[Answer(), Answer()]",
    "one number alone": "[right()]",
    "one number twice": "[right(), right()]",
    "three numbers": "[right(), OTHER, right() | {'number': 7}]",
    "a dict for both": "right()",
    "a list that is longer than it says": "Long([right(), OTHER | {'why': 'z'}])",
    "a list in a list": "[two(right())]",
    "a text": "str(two(right()))",
    "a function": "right",
    "nothing": "None",
    "more keys": "two(right() | {'passed': True, 'points': 5})",
    "a prediction alone": "two({'number': 5, 'predicted': KEYS})",
    "another letter each time": "two(right() | {'why': 'dcba'[turn.append(1) or len(turn) - 1]})",
    "the run itself": "two(right() | {'keys': make_run('04.predict', number=5)['d_head']})",
    "what the run shows": "make_run('04.predict', number=5)",
    "the module of the item": "__import__('course_lib.checks.items.attention_matmul.predict')",
    "the question's own answer": "sys.modules['course_lib.checks'].load_item('04.predict')",
    "another check": "setattr(sys.modules['course_lib.checks'], 'check', lambda *a: 1) or {}",
    "an end of the process": "os._exit(0)",
    "an exit": "sys.exit(0)",
    "a loop without end": "[None for _ in iter(int, 1)]",
    "a list in itself": "turn.append(turn) or turn",
    "a deep list": "two(right() | {'why': eval('[' * 90 + ']' * 90)})",
}


@pytest.fixture(scope="module")
def only_predict():
    exercise = load_exercise(ROOT / "exercises", "04_attention_matmul")
    tasks = tuple(task for task in exercise.tasks if task.entry.id == ITEM)
    return replace(exercise, tasks=tasks)


@pytest.fixture(scope="module")
def notebook_of_04():
    path = ROOT / "exercises" / "04_attention_matmul" / "attention_matmul.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def returning(notebook, returned):
    first, other = (right(ITEM, number) for number in (NUMBER, NUMBER + 1))
    head = RIGHT.format(number=NUMBER, keys=first["keys"], why=first["why"], other=other)
    source = f"{head}\ndef predict():\n    return {returned}\n"
    return answered(notebook, {"04-predict-answer": source})


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", " | {'predicted': 3}", " | {'predicted': 'many'}"])
def test_what_the_run_shows_earns_its_points_whatever_was_predicted(
    more, graded, notebook_of_04, only_predict
):
    result = graded(returning(notebook_of_04, f"two(right(){more})"), only_predict)
    assert points(result) == {ITEM: float(only_predict.tasks[0].entry.points)}


@pytest.mark.slow
def test_a_cell_that_makes_the_run_costs_nothing(graded, notebook_of_04, only_predict):
    notebook = returning(notebook_of_04, "two(right())")
    looking = 'run = make_run("04.predict", number=5)\ndeviation = run["weights"].std()'
    notebook = with_cell(notebook, "print(deviation)", after="04-predict-import", id="own-2")
    notebook = with_cell(notebook, looking, after="04-predict-import")
    result = graded(notebook, only_predict)
    assert points(result) and result.notes == ()
    with_error = with_cell(notebook, "print(deviaton)", after="own-2", id="own-3")
    [note] = graded(with_error, only_predict).notes
    assert "raised NameError: name 'deviaton' is not defined" in note


@pytest.mark.slow
def test_an_answer_that_makes_a_run_is_told_what_grading_does_not_do(
    graded, notebook_of_04, only_predict
):
    notebook = returning(notebook_of_04, "make_run('04.predict', number=5)['weights']")
    [item] = graded(notebook, only_predict).items
    assert item.misconceptions == ("not_data",)
    assert "makes a run or calls a version or a box, which grading does not do" in item.seen


@pytest.mark.slow
@pytest.mark.parametrize("name", RETURNED)
def test_a_trick_earns_nothing(name, graded, notebook_of_04, only_predict):
    result = graded(returning(notebook_of_04, RETURNED[name]), only_predict)
    assert points(result) == {}
    assert result.items
