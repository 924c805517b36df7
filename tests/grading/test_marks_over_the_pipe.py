"""What crosses the pipe to the jail is enough: marks are those that a check gives at home."""

import pytest

from course_lib.checks import load_item, load_items
from course_lib.checks.call import ask
from course_lib.checks.table import TOPICS
from course_lib.checks.trial import try_probe
from course_lib.grading.wire import HEADER, decode, encode, sizes
from tests.checks.test_items import alternatives

SEED = 5
ITEMS = [
    pytest.param(item, id=item.id) for number in TOPICS for item in load_items(number).values()
]


def sent(value, *, strides):
    frame = encode(value)
    text, tensors = sizes(frame[: HEADER.size])
    body = frame[HEADER.size :]
    assert len(body) == text + tensors
    return decode(body[:text], body[text:], strides=strides)


def asked_through_the_pipe(subject, call, use, *, seconds):
    """As the grader and its worker do it, in one process."""
    answer = ask(subject, sent(call, strides=True), use, seconds=seconds)
    return sent(answer, strides=False)


def passes(item, subject):
    """Whether all tests are passed; no test is made after one that is not."""
    return not any(
        try_probe(probe, item, subject, SEED + i, asked=asked_through_the_pipe).difference
        for i, probe in enumerate(item.probes)
    )


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("item", ITEMS)
def test_every_misconception_loses_its_marks(item):
    assert [m.name for m in item.misconceptions if passes(item, m.subject)] == []


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("number", TOPICS)
def test_every_right_answer_keeps_its_marks(number):
    for item_id, subjects in alternatives(TOPICS[number]).items():
        item = load_item(item_id)
        wrong = [s.__name__ for s in subjects if not passes(item, s)]
        assert wrong == [], item_id
