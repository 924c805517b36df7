"""An object, a class or a function is passed to the check, and another of these is asked for."""

import pytest
from torch import nn

from course_lib.checks import check
from course_lib.checks.engine.isolation import isolated
from course_lib.model import FeedForward


class padding_mask:
    def __init__(self, tokens, pad_id):
        self.mask = tokens != pad_id


def feed_forward(x):
    return x


def makes_a_network(d_model, d_ff, dropout=0.1):
    return FeedForward(d_model, d_ff, dropout)


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize(
    "item, subject, words",
    [
        (
            "03.feed_forward",
            FeedForward(4, 8),
            "You passed an object of the class FeedForward; this task asks for the class itself, "
            "FeedForward, without brackets.",
        ),
        (
            "03.feed_forward",
            feed_forward,
            "You passed the function feed_forward; this task asks for a class.",
        ),
        (
            "03.feed_forward",
            nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)),
            "You passed an object of the class Sequential; this task asks for a class of your own.",
        ),
        (
            "06.padding_mask",
            padding_mask,
            "You passed the class padding_mask; this task asks for a function, padding_mask.",
        ),
    ],
)
def test_what_was_passed_and_what_is_asked_for_is_told(item, subject, words):
    report = check(item, subject)
    assert report.misconception == "wrong_kind" and words in str(report)
    assert report.example is None


def test_a_function_that_makes_modules_counts_as_a_class():
    with isolated():
        report = check("03.feed_forward", makes_a_network)
    assert report.misconception is None


def makes_a_network_misspelt(d_model, d_ff, dropout=0.1):
    return FeedForwad(d_model, d_ff, dropout)  # noqa: F821


@pytest.mark.slow
def test_a_function_that_makes_modules_and_fails_is_told_its_own_error():
    report = check("03.feed_forward", makes_a_network_misspelt)
    assert report.misconception == "unknown_name" and "FeedForwad" in str(report)
