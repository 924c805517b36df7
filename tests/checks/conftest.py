"""Tests of the checks make millions of small calls of the model."""

import sys

import pytest

from course_lib.checks.diagnosis import dependence, known_answers, naming, repetition, several
from course_lib.checks.engine.call import ask, call_plainly

_answers = {}


@pytest.fixture(autouse=True)
def _shapes_unchecked(own_messages):
    """Leave out the check of every shape, which the tests of the model make."""


@pytest.fixture(autouse=True)
def _errors_in_searches_are_seen(monkeypatch):
    module = sys.modules["course_lib.checks.diagnosis.diagnose"]  # the package has its function
    monkeypatch.setattr(module, "ERRORS_END_A_SEARCH", False)


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch):
    """What a search finds must not depend on how busy the machine is."""
    monkeypatch.setattr(several, "SEVERAL_SECONDS", 5.0)
    monkeypatch.setattr(naming, "PAIR_SECONDS", 60.0)
    monkeypatch.setattr(dependence, "SECONDS", 30.0)
    monkeypatch.setattr(repetition, "SECONDS", 30.0)


@pytest.fixture
def ask_once(monkeypatch):
    """Like `ask`, and also for what naming asks: no answer of a misconception is computed twice."""

    def ask_learner(subject, call, use=call_plainly, **limits):
        key = id(subject), id(call)
        if key not in _answers:  # with both, so that their ids stay theirs
            _answers[key] = ask(subject, call, use, **limits), subject, call
        return _answers[key][0]

    monkeypatch.setattr(known_answers, "ask", ask_learner)
    return ask_learner
