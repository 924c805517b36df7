"""The seed decides the answers: those to the public test inputs earn nothing with a secret one."""

import pytest

from course_lib.checks import load_items
from course_lib.checks.diagnosis.diagnose import SEED
from course_lib.checks.diagnosis.trial import compare_answers, expected_answers
from course_lib.checks.engine.call import Answer, Failure
from course_lib.checks.engine.compare import answers_differ, first_difference
from course_lib.checks.table import TOPICS

ITEMS = [item for number in TOPICS for item in load_items(number).values()]
SECRETS = (31_337, 271_828, 141_421)
UNKNOWN = Answer(failure=Failure("KeyError", "not among the stored answers"))


def asked(item, seed):
    """Per probe: the probe, its calls, and the reference's answers."""
    return [
        (probe, *expected_answers(probe, item, seed=seed + i))
        for i, probe in enumerate(item.probes)
    ]


def stored_answer(stored, call):
    """The stored answer to the same arguments."""
    for known, answer in stored:
        same = first_difference(known.args, call.args) is None
        if same and first_difference(dict(known.kwargs), dict(call.kwargs)) is None:
            return answer
    return UNKNOWN


def passes(item, secret, answer_to):
    """Whether answers pass all probes: of a function of a call's number and the call."""
    passed, number = True, 0
    for probe, calls, expected in asked(item, secret):
        answers = [answer_to(number + i, call) for i, call in enumerate(calls)]
        number += len(calls)
        compared = {"calls": calls, "expected": expected, "answers": answers}
        passed &= compare_answers(probe, item, **compared) is None
    return passed


@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_stored_answers_to_the_public_inputs_pass_no_secret_ones(item):
    public = asked(item, SEED)
    stored = [pair for _, calls, expected in public for pair in zip(calls, expected, strict=True)]
    for secret in SECRETS:
        assert not passes(item, secret, lambda number, call: stored_answer(stored, call))
        assert not passes(item, secret, lambda number, call: stored[number][1])


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_a_quarter_of_the_answers_and_two_at_least_depend_on_the_seed(item):
    public, secret = (
        [answer for _, _, expected in asked(item, seed) for answer in expected]
        for seed in (SEED, SECRETS[0])
    )
    different = [
        answers_differ(a, b, tolerance=item.tolerance) for a, b in zip(public, secret, strict=True)
    ]
    assert sum(map(bool, different)) >= max(2, len(different) / 4)
