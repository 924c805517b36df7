"""An experiment as an answer, in grading: calls that show the error earn its points."""

import json
from dataclasses import replace

import pytest

from course_lib.grading.submissions.exercise import load_exercise
from tests.grading.notebooks_to_hand_in import ROOT, answered, points
from tests.item_points import in_full

RIGHT = """\
def right():
    reference = "The cat sleeps on the old mat today .".split()
    longer = "The cat sleeps on the old mat now today .".split()
    short = "The dog eats".split()
    calls = [([longer], [reference]), ([reference, short], [reference, short])]
    return {"number": 3, "error": "b", "calls": calls, "gave": [70.71, 50.0]}

OTHER = right() | {"number": 0, "error": "d", "gave": [71.86, 100.0]}

def two(first):
    return [first, OTHER]

box = black_box("12.experiment", number=1)
turn = []

class Any(str):
    def __eq__(self, other):
        return True
    def __hash__(self):
        return hash("a")
"""
RETURNED = {
    "another error": "two(right() | {'error': 'c'})",
    "another number": "two(right() | {'number': 2})",
    "one call": "two(right() | {'calls': right()['calls'][:1], 'gave': [70.71]})",
    "four calls": "two(right() | {'calls': 2 * right()['calls'], 'gave': 2 * [70.71, 50.0]})",
    "without what the box gave": "two({k: v for k, v in right().items() if k != 'gave'})",
    "what another box gave": "two(right() | {'gave': OTHER['gave']})",
    "no calls": "two(right() | {'calls': [], 'gave': []})",
    "what the box gives": "two(right() | {'calls': [box(['a'], ['a'])], 'gave': [0.0]})",
    "every letter": "two(right() | {'error': 'abcdefghi'})",
    "a letter like any": "two(right() | {'error': Any('c')})",
    "a number without end": "two(right() | {'number': 10**5000})",
    "words without end": "two(right() | {'calls': [([['a'] * 10**6], [['a']])], 'gave': [0.0]})",
    "a word without end": "two(right() | {'calls': [([['a' * 10**8]], [['a']])], 'gave': [0.0]})",
    "another error each time": "two(right() | {'error': 'bcdefghia'[turn.append(1) or len(turn)]})",
    "a text": "'number 3, error b'",
    "one number alone": "right()",
    "one number twice": "[right(), right()]",
}


@pytest.fixture(scope="module")
def only_experiment():
    exercise = load_exercise(ROOT / "exercises", "12_honest_numbers")
    tasks = tuple(task for task in exercise.tasks if task.entry.id == "12.experiment")
    return replace(exercise, tasks=tasks)


@pytest.fixture(scope="module")
def notebook_of_12():
    path = ROOT / "exercises" / "12_honest_numbers" / "honest_numbers.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def with_experiment(notebook, returned):
    source = f"{RIGHT}\ndef experiment():\n    return {returned}\n"
    return answered(notebook, {"12-experiment-answer": source})


@pytest.mark.slow
def test_an_experiment_that_shows_the_error_earns_its_points(
    graded, notebook_of_12, only_experiment
):
    result = graded(with_experiment(notebook_of_12, "two(right())"), only_experiment)
    assert points(result) == in_full("12.experiment")


@pytest.mark.slow
@pytest.mark.parametrize("name", RETURNED)
def test_a_trick_earns_nothing(name, graded, notebook_of_12, only_experiment):
    result = graded(with_experiment(notebook_of_12, RETURNED[name]), only_experiment)
    assert points(result) == {}
    assert result.items
