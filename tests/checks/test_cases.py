"""Test cases as an answer: who has found every wrong version, and who has not, and why."""

import math
import re

import pytest
import torch

from course_lib.checks import TABLE, check, load_item, versions
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.engine.compare import first_difference
from course_lib.checks.items.hidden import hide
from course_lib.errors import CourseError

LN3 = math.log(3)
ITEMS = [entry.id for entry in TABLE.values() if entry.kind == "cases"]
PARTLY = (
    (torch.tensor([[0, LN3, 5], [1, 1, 1]]), torch.tensor([[True, True, False], [False] * 3])),
    torch.tensor([[0.25, 0.75, 0], [0, 0, 0]]),
)
LOW = (
    (torch.tensor([[-1e6, -1e6, 0]]), torch.tensor([[True, True, False]])),
    torch.tensor([[0.5, 0.5, 0]]),
)
NO_MASK = (torch.tensor([[0, LN3]]), None), torch.tensor([[0.25, 0.75]])


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def found(item_id, cases):
    """The letters of the wrong versions that these cases find."""
    _, trial = diagnose(load_item(item_id), lambda: cases).trials
    left = set(re.findall(r"(?m)^([a-f]): ", str(trial.difference) if trial.difference else ""))
    wrong = {letter for letter, name in letters(item_id).items() if name}
    return wrong - left


def letters(item_id):
    return module(item_id).versions.letters


def module(item_id):
    from course_lib.checks import _module

    return _module(item_id)


def names(item_id, cases):
    return {letters(item_id)[letter] for letter in found(item_id, cases)}


@pytest.mark.parametrize("item_id", ITEMS)
def test_six_versions_of_which_one_is_right_and_each_has_a_question(item_id):
    here = module(item_id).versions
    assert sorted(here.letters) == ["a", "b", "c", "d", "e", "f"]
    assert [*here.letters.values()].count("") == 1
    known = {misconception.name for misconception in here.of.misconceptions}
    assert set(here.wrong) <= known
    assert all(question.endswith("?") and question[0].islower() for question in here.wrong.values())


@pytest.mark.parametrize("item_id", ITEMS)
def test_a_learner_may_call_the_versions_and_sees_no_names(item_id):
    six = versions(item_id)
    names = module(item_id).versions.wrong
    for letter, version in six.items():
        shown = repr(version)
        assert shown.startswith(f"<version {letter} of ") and len(shown) <= 80
        assert not any(name in shown for name in names)


@pytest.mark.parametrize("letter", "abcdef")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 2), "a tensor of floats"),
        ((), "missing a required argument"),
        ((PARTLY[0][0], 1), "mask"),
    ],
)
def test_a_version_refuses_other_arguments_alike_whichever_it_is(letter, arguments, message):
    with pytest.raises(CourseError, match=message):
        versions("06.cases")[letter](*arguments)


def test_an_error_inside_a_version_shows_none_of_its_code():
    def with_a_secret():
        raise ValueError("no value")

    with pytest.raises(ValueError, match="no value") as raised:
        hide(with_a_secret, instead="cases", says=str)()
    assert "with_a_secret" not in [entry.name for entry in raised.traceback]


def test_the_right_version_is_right_and_the_others_differ_somewhere():
    six = versions("06.cases")
    right = {
        letter
        for letter, version in six.items()
        for (arguments, expected), (low, half) in [(PARTLY, LOW)]
        if not first_difference(expected, version(*arguments), tolerance=1e-3)
        and not first_difference(half, version(*low), tolerance=1e-3)
    }
    assert right == {letter for letter, name in letters("06.cases").items() if not name}


@pytest.mark.parametrize("item_id", [i for i in TABLE if i not in ITEMS][:3])
def test_other_items_have_no_versions(item_id):
    with pytest.raises(CourseError, match="asks for test cases"):
        versions(item_id)


@pytest.mark.parametrize(
    "cases", [[PARTLY, LOW], [LOW, PARTLY], (PARTLY, LOW), [[*PARTLY], [*LOW]]]
)
def test_cases_that_find_all_five_pass_in_any_order_as_lists_or_tuples(cases):
    assert check("06.cases", lambda: cases).passed


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ([PARTLY], {"over_the_queries", "nothing_left_is_uniform", "hidden_scores_are_zero"}),
        ([NO_MASK], {"over_the_queries"}),
        ([LOW, NO_MASK], {"renormalised", "a_fixed_number_not_low_enough"}),
    ],
)
def test_a_version_that_no_case_finds_is_named_with_its_question(cases, expected):
    assert expected <= names("06.cases", cases)
    report = check("06.cases", lambda: cases)
    assert not report.passed
    missed = set(module("06.cases").versions.wrong) - names("06.cases", cases)
    for letter, name in letters("06.cases").items():
        if name in missed:
            assert f"\n    {letter}: {module('06.cases').versions.wrong[name]}" in str(report)


def test_a_case_that_a_right_version_fails_finds_nothing_and_is_told():
    wrong = PARTLY[0], torch.tensor([[0.75, 0.25, 0], [0, 0, 0]])
    report = check("06.cases", lambda: [wrong, LOW])
    assert not report.passed
    told = "Case 1 expects 0.75 at element [0, 0], and a right version gives something else."
    assert told in str(report) and "0.25" not in str(report)
    assert names("06.cases", [wrong, LOW]).isdisjoint({"nothing_left_is_uniform"})


def test_another_answer_each_time_gains_no_further_case():
    """Only cases that are given together, and that a right version passes, find a version."""
    turns = iter(range(10**6))

    def cases():
        return [[PARTLY], [LOW]][next(turns) % 2]

    assert diagnose(load_item("06.cases"), cases).status == "not yet"


SCORES, WEIGHTS = torch.tensor([[0.0, 1]]), torch.tensor([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (None, "return"),
        ([], "a list of cases"),
        (3, "a list of cases"),
        ({"scores": 1}, "a list of cases"),
        (PARTLY[0][0], "a list of cases"),
        ([PARTLY[0]], "the arguments of case 1 as a tuple"),
        ([SCORES], "as case 1"),
        ([PARTLY, (SCORES, None, WEIGHTS)], "as case 2"),
        ([PARTLY, LOW, NO_MASK], "at most 2 cases, got 3"),
        ([((torch.zeros(1, 100), None), WEIGHTS)], "at most 24 numbers or words"),
        ([((torch.zeros(1, 2, dtype=torch.long), None), WEIGHTS)], "a tensor of floats"),
        ([((torch.zeros(2), None), WEIGHTS)], "the axes"),
        ([(([[0.0, 1.0]], None), WEIGHTS)], "a tensor of floats"),
        ([((SCORES, torch.ones(1, 2)), WEIGHTS)], "boolean tensor as the mask"),
        ([((SCORES, torch.ones(3, 2, dtype=torch.bool)), WEIGHTS)], "broadcasts to the scores"),
        ([((SCORES, torch.ones(1, 3, dtype=torch.bool)), WEIGHTS)], "broadcasts to the scores"),
        ([((SCORES, None, 1), WEIGHTS)], "the arguments of masked_softmax"),
        ([((), WEIGHTS)], "the arguments of masked_softmax"),
        ([((SCORES, None), "half")], "Case 1 expects"),
        ([((SCORES, None), None)], "Case 1 expects"),
        ([((SCORES, None), object())], "Case 1 expects"),
        ([((SCORES, None), torch.full((1, 2), float("nan")))], "Case 1 expects"),
    ],
)
def test_what_is_no_case_is_told_in_a_sentence(cases, message):
    report = check("06.cases", lambda: cases)
    assert not report.passed
    assert message in str(report)


BAD = {
    "04.cases": ((torch.zeros(1, 1, 2), torch.zeros(1, 1, 2), torch.zeros(1, 1, 2)), 0),
    "09.cases": ((torch.zeros(2, 3), 0), 0),
    "10.cases": ((torch.zeros(1, 2, 3), torch.full((1, 2), 7), 0), 0),
}


@pytest.mark.parametrize("item_id", BAD)
def test_arguments_that_the_function_does_not_take_are_told(item_id):
    assert "expected" in str(report := check(item_id, lambda: [BAD[item_id]]))
    assert not report.passed


def test_cases_call_no_version_while_they_are_asked_for():
    six = versions("06.cases")

    def cases():
        return [(PARTLY[0], six["a"](*PARTLY[0]))]

    report = check("06.cases", cases)
    assert not report.passed
    assert "when it is graded" in str(report)
    six["a"](*PARTLY[0])  # elsewhere they may be called


def test_an_untouched_answer_is_not_started():
    def cases():
        raise NotImplementedError

    assert check("06.cases", cases).diagnosis.status == "not started"
