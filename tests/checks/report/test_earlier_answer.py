"""An answer that uses an earlier one is told to check that one first, if that is where it fails."""

import time
from dataclasses import replace

import pytest
import torch

from course_lib.checks import check, load_item
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.diagnosis.several import FirstStep
from course_lib.checks.report import earlier_answer
from course_lib.errors import CourseError


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


NOTEBOOK = """
def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]

def causal_mask(size):
    {causal}

def helper(size):
    return causal_mask(size)

def decoder_mask(tokens, pad_id):
    return padding_mask(tokens, pad_id) {operator} {name}(tokens.size(1))
"""
WRONG = "return torch.ones(1, 1, size, size, dtype=torch.bool).triu()"
RIGHT = "return torch.ones(1, 1, size, size, dtype=torch.bool).tril()"


def run(causal, name="causal_mask", operator="&"):
    cells = {"torch": torch, "__name__": "__main__"}
    exec(NOTEBOOK.format(causal=causal, name=name, operator=operator), cells)
    return cells


def checked(causal, name="causal_mask", operator="&", **options):
    return check("06.decoder_mask", run(causal, name, operator)["decoder_mask"], **options)


@pytest.mark.parametrize("name", ["causal_mask", "helper"])
def test_a_wrong_earlier_answer_is_named_instead_of_what_follows_from_it(name):
    report = checked(WRONG, name)
    assert report.misconception == "earlier_answer"
    assert (
        "Your causal_mask (06.causal_mask) isn't right yet, and decoder_mask uses it: check that "
        "one first." in str(report)
    )
    assert "triangle" not in str(report)


def test_an_unwritten_earlier_answer_is_named():
    report = checked("raise NotImplementedError")
    assert report.diagnosis.status == "not yet"
    assert "Your causal_mask (06.causal_mask) isn't written yet" in str(report)


def test_a_right_earlier_answer_is_not_blamed():
    assert checked(RIGHT).passed
    assert checked(RIGHT, operator="|").misconception == "either_will_do"


def test_an_earlier_answer_is_told_instead_of_one_of_several_errors():
    item = load_item("06.decoder_mask")
    diagnosis = diagnose(item, run(WRONG)["decoder_mask"])
    misconception = item.misconceptions[0]
    one = FirstStep(misconception, of=3)
    diagnosis = replace(diagnosis, misconceptions=(misconception,), first_step=one)
    blamed = earlier_answer.blame_earlier_answer(diagnosis, load_item)
    assert blamed.observation.name == "earlier_answer" and blamed.first_step is None


def test_an_earlier_answer_is_not_judged_by_conventions_that_are_unknown():
    inverted = RIGHT.replace("return ", "return ~")
    report = checked(inverted, operator="&", conventions=["true_hides"])
    assert not report.passed and report.misconception != "earlier_answer"


def slow_causal_mask(calls):
    def causal_mask(size):
        calls.append(size)
        time.sleep(0.1)
        return torch.ones(1, 1, size, size, dtype=torch.bool).tril()

    causal_mask.__module__ = "__main__"
    return causal_mask


def test_all_earlier_answers_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(earlier_answer, "SECONDS_IN_ALL", 0.25)
    cells, calls = run(RIGHT, operator="|"), []
    diagnosis = diagnose(load_item("06.decoder_mask"), cells["decoder_mask"])
    cells["causal_mask"] = slow_causal_mask(calls)
    assert earlier_answer.blame_earlier_answer(diagnosis, load_item) is diagnosis
    assert 1 <= len(calls) <= 4


def test_a_course_that_is_too_slow_to_judge_an_earlier_answer_is_no_error(monkeypatch):
    seen = []

    def busy(*args, **options):
        seen.append(torch.get_default_dtype())
        raise CourseError("this machine is very busy")

    monkeypatch.setattr(earlier_answer, "try_probe", busy)
    diagnosis = diagnose(load_item("06.decoder_mask"), run(WRONG)["decoder_mask"])
    torch.set_default_dtype(torch.float64)
    try:
        assert earlier_answer.blame_earlier_answer(diagnosis, load_item) is diagnosis
    finally:
        torch.set_default_dtype(torch.float32)
    assert seen and set(seen) == {torch.float32}
