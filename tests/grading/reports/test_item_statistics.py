"""How a class did on each item."""

from dataclasses import replace

import numpy as np
import pytest

from course_lib.grading.marks.class_marks import mark_assignment
from course_lib.grading.reports.item_statistics import (
    correlation_with_rest,
    count_confusions,
    item_statistics,
    wilson_interval,
)
from tests.grading.made_results import item_result, submission_result


def submission(student, *points, misconceptions=(), line=None, notebook="n"):
    items = [item_result(f"06.{n}", p) for n, p in enumerate(points)]
    if items:
        items[0] = replace(items[0], misconceptions=misconceptions, line_found=line)
    return submission_result(student, *items, notebook=notebook)


def class_results(*submissions):
    return mark_assignment("06_masks", submissions)


def test_the_share_is_of_those_whose_points_are_known():
    first, second = item_statistics(class_results(submission("a", 2, 0), submission("b", None, 0)))
    assert (first.passed, first.known, first.share) == (1, 1, 1.0)
    assert (second.passed, second.known, second.share) == (0, 2, 0.0)
    assert [first.nobody, second.nobody] == [False, True]


def test_an_item_that_nobody_was_marked_for_has_no_share_and_is_not_unsolved():
    (item,) = item_statistics(class_results(submission("a", None)))
    assert (item.share, item.nobody, item.low, item.high) == (None, False, 0.0, 1.0)


def test_while_answers_wait_for_their_marks_nobody_says_that_nobody_solved_it():
    (item,) = item_statistics(class_results(submission("a", 0), submission("b", None)))
    assert (item.passed, item.known, item.waiting, item.nobody) == (0, 1, 1, False)


def test_wilsons_interval_equals_known_values():
    # Brown, Cai & DasGupta (2001), and statsmodels' proportion_confint(..., method="wilson")
    assert wilson_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(290, 300) == pytest.approx((0.9397, 0.9818), abs=1e-4)


def test_discrimination_is_the_correlation_with_the_rest_without_the_item_itself():
    source = np.random.default_rng(0)
    rest = source.integers(0, 10, 50).astype(float)
    item = (rest + source.normal(0, 2, 50) > 5) * 2.0
    found, undefined = correlation_with_rest(list(zip(item, item + rest, strict=True)))
    ones, zeros = rest[item > 0], rest[item == 0]
    p = len(ones) / 50
    point_biserial = (ones.mean() - zeros.mean()) / rest.std() * np.sqrt(p * (1 - p))
    assert found == pytest.approx(point_biserial)
    assert undefined == ""


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([(2.0, 4.0)] * 19, "needs 20 students with all points known, there are 19"),
        ([(2.0, float(n)) for n in range(20)], "all have the same points for it"),
        ([(float(n), n + 3.0) for n in range(20)], "all have the same points for the rest"),
        ([(0.0, 0.2), (1.0, 1.2)] * 10, "all have the same points for the rest"),
    ],
)
def test_where_discrimination_is_not_defined_it_says_why(points, words):
    assert correlation_with_rest(points) == (None, words)


def test_misconceptions_are_counted_with_who_has_them_the_most_frequent_first():
    found = count_confusions(
        class_results(
            submission("a", 0, misconceptions=("rare", "usual")),
            submission("b", 0, misconceptions=("usual",)),
            submission("c", 2),
        )
    )
    assert [(each.misconception, each.students) for each in found] == [
        ("usual", ("a", "b")),
        ("rare", ("a",)),
    ]


def test_named_lines_are_counted_for_spot_the_bug_items_only():
    lines = [submission("a", 2, 0, line=True), submission("b", 2, 0, line=False)]
    bug, other = item_statistics(class_results(*lines))
    assert (bug.lines_found, bug.lines_missed) == (1, 1)
    assert (other.lines_found, other.lines_missed) == (0, 0)
