"""What crosses the pipe to the jail is enough: marks are those that a check gives at home."""

import pytest

from course_lib.checks import load_item, load_items
from course_lib.checks.engine.call import ask
from course_lib.checks.table import TOPICS
from tests.checks.first_failure import first_failure
from tests.checks.test_items import alternatives
from tests.grading.jail.test_wire import crossed

SEED = 5
ITEMS = [
    pytest.param(item, id=item.id) for number in TOPICS for item in load_items(number).values()
]


def asked_through_the_pipe(subject, call, use, *, seconds):
    """As the grader and its worker do it, in one process."""
    return crossed(ask(subject, crossed(call, strides=True), use, seconds=seconds))


def passes(item, subject):
    return first_failure(item, subject, seed=SEED, ask_learner=asked_through_the_pipe) is None


@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS)
def test_every_misconception_loses_its_marks(item):
    assert [m.name for m in item.misconceptions if passes(item, m.subject)] == []


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("number", TOPICS)
def test_every_right_answer_keeps_its_marks(number):
    for item_id, subjects in alternatives(TOPICS[number]).items():
        item = load_item(item_id)
        wrong = [s.__name__ for s in subjects if not passes(item, s)]
        assert wrong == [], item_id
