"""What a report shows: what the code printed, which test the ✗ stands at, and no internal name."""

import time

import numpy as np
import pytest
import torch

from course_lib.checks import check
from course_lib.checks.engine import time_limit
from course_lib.checks.engine.call import Failure, Unusual
from course_lib.checks.report import example
from course_lib.errors import CourseError


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def right(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]


def inverted(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :]


def prints(result):
    def mask(tokens, pad_id):
        print("shape:", tuple(tokens.shape), "<b>", "\x1b[31m", "a\tb")
        for i in range(30):
            print(i, end=" \n\n" if i == 29 else "\n")
        return result(tokens, pad_id)

    return mask


def fails(tokens, pad_id):
    raise ValueError(tokens)


@pytest.mark.parametrize("result", [right, inverted, fails])
def test_what_an_answer_prints_is_shown_whatever_becomes_of_it(result, capsys):
    report = check("06.padding_mask", prints(result))
    shown = str(report).split("What your code printed, in the first call that prints:\n")[1]
    lines = [line[6:] for line in shown.splitlines()]
    assert lines[0] == r"shape: (3, 5) <b> \x1b[31m a       b"
    assert lines[1:] == [*map(str, range(9)), "…"]
    assert "&lt;b&gt;" in report._repr_html_() and "\x1b" not in report._repr_html_()
    assert capsys.readouterr().out == ""


def test_nothing_is_told_of_printing_where_nothing_is_printed():
    assert "printed" not in str(check("06.padding_mask", inverted))


def test_a_flood_of_prints_costs_little_and_what_is_closed_is_no_error():
    def floods(tokens, pad_id):
        for _ in range(10_000):
            print("word " * 100)
        return right(tokens, pad_id)

    def closes(tokens, pad_id):
        import sys

        sys.stdout.close()
        return right(tokens, pad_id)

    assert check("06.padding_mask", floods).passed
    assert check("06.padding_mask", closes).passed


def test_a_named_error_has_one_cross_and_a_call_to_try():
    report = check("06.padding_mask", inverted)
    text = str(report)
    assert text.count("✗") == 3  # the headline's, the test's, and the one that a sentence names
    assert "Those with – fail, too, for the same reason as the ✗." in text
    assert "inverted(tokens, pad_id)" in text and "# expected: " in text


@pytest.mark.parametrize(
    "wrong",
    [
        lambda tokens, pad_id: np.asarray(tokens != pad_id)[:, None, None, :],
        lambda tokens, pad_id: (row for row in tokens),
        lambda tokens, pad_id: [iter(()), {(1, 2): object()}],
    ],
)
def test_no_report_shows_an_internal_name(wrong):
    report = check("06.padding_mask", wrong)
    shown = f"{report}{report._repr_html_()}{report.example!r}{report.example.received}"
    assert "Unusual" not in shown and "object at" not in shown


def test_an_error_and_an_unusual_value_are_shown_as_words():
    assert repr(Failure("ValueError", "no")) == "ValueError: no"
    assert repr([Unusual("a nested tensor")]) == "[a nested tensor]"


def test_a_call_that_is_tried_again_is_stopped_like_the_check(monkeypatch):
    monkeypatch.setattr(example, "SECONDS", 0.2)

    def endless(tokens, pad_id):
        while True:
            tokens.sum()

    found = check("06.padding_mask", inverted).example
    start = time.monotonic()
    with pytest.raises(CourseError, match=r"still running, in line .* of endless: .*does every"):
        found.run(endless)
    assert time.monotonic() - start < 5 and time_limit.TookTooLong.__name__ not in repr(found)
    assert isinstance(found.run(inverted), torch.Tensor)
