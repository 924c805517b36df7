"""The item about one's own run: right and wrong numbers, judged by the solution's own files."""

import json
import shutil

import pytest
from safetensors.torch import load_file, save_file

from course_lib.checks import check, load_item
from course_lib.checks.items.training.own_run import KINDS, kind_of_error
from course_lib.run_options import HANDED_IN
from course_lib.training.runs.handed_in_run import (
    LOG,
    WEIGHTS,
    exact,
    handed_in_with,
    read_handed_in_run,
    sentences,
)
from tools import ROOT

ITEM = "11.own_run"
RUN = ROOT / "solutions" / "11_training" / HANDED_IN


@pytest.fixture(scope="module")
def run():
    return read_handed_in_run(RUN)


@pytest.fixture(scope="module")
def right(run):
    """The right numbers, found as the task describes them."""
    most = max(row["valid_exact"] for row in run.rows)
    is_exact = exact(run.translations)
    example = is_exact.index(False)
    return {
        "kept_step": min(run.rows, key=lambda row: row["valid_loss"])["step"],
        "nine_tenths": next(r["step"] for r in run.rows if r["valid_exact"] >= 0.9 * most),
        "exact": sum(is_exact),
        "example": example,
        "kind": kind_of_error(run.translations[example], sentences()[example].target_text),
    }


def report_on(answer, folder=RUN.parent):
    with handed_in_with(folder):
        return check(ITEM, lambda: answer)


def failed(report):
    tests = [probe.property for probe in load_item(ITEM).probes]
    return [tests.index(trial.probe.property) for trial in report.diagnosis.failed]


@pytest.mark.slow
def test_the_right_numbers_pass_as_whole_numbers_or_floats_or_tensors(right):
    assert report_on(right).passed
    assert report_on({name: float(value) for name, value in right.items()}).passed


def test_any_error_of_the_model_will_do(run, right):
    for number, is_right in enumerate(exact(run.translations)):
        if not is_right:
            pair = sentences()[number]
            kind = kind_of_error(run.translations[number], pair.target_text)
            assert report_on(right | {"example": number, "kind": kind}).passed


@pytest.mark.parametrize(
    ("change", "test"),
    [
        ({"kept_step": 1}, 1),
        ({"nine_tenths": 2}, 2),
        ({"exact": 100}, 3),
        ({"exact": 0.9}, 3),
        ({"exact": -1}, 3),
        ({"example": 0}, 4),
        ({"example": 100}, 4),
        ({"example": -1, "kind": 0}, 4),
        ({"kind": 0}, 4),
        ({"kind": 5}, 4),
    ],
)
def test_a_wrong_number_is_found_and_told(change, test, right):
    report = report_on(right | change)
    assert failed(report) == [test]
    [got] = [str(value) for name, value in change.items()][:1]
    assert report.points == 0 and got in str(report)


@pytest.mark.parametrize("answer", [None, 5, {}, {"kept_step": 1}, [1, 2, 3, 4, 5], "all right"])
def test_an_answer_of_another_form_is_told(answer):
    report = report_on(answer)
    assert not report.passed and report.diagnosis.observation


@pytest.mark.parametrize("name", ["kept_step", "nine_tenths", "exact", "example", "kind"])
@pytest.mark.parametrize("value", ["5", None, [5], float("nan"), float("inf"), True, 2**80])
def test_what_is_no_number_earns_nothing(name, value, right):
    if (name, value) != ("kind", True):  # 1 == True
        assert not report_on(right | {name: value}).passed


def test_without_a_run_the_report_says_where_it_is_looked_for(right, tmp_path):
    report = report_on(right, tmp_path)
    assert failed(report) == [0, 1, 2, 3, 4]
    assert "own_run beside the notebook" in str(report) and "hand_in_run" in str(report)


def test_an_answer_not_written_is_not_started():
    def own_run():
        raise NotImplementedError

    with handed_in_with(RUN.parent):
        assert check(ITEM, own_run).diagnosis.status == "not started"


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(RUN, tmp_path / HANDED_IN)
    return tmp_path / HANDED_IN


@pytest.mark.slow
def test_a_log_that_does_not_fit_the_weights_fails(copied, right):
    rows = [json.loads(line) for line in (copied / LOG).read_text("utf-8").splitlines()]
    for row in rows:
        row["valid_loss"] *= 0.8
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (copied / LOG).write_text(text, encoding="utf-8")
    report = report_on(right, copied.parent)
    assert 0 in failed(report) and "are not of one run" in str(report)


@pytest.mark.slow
def test_weights_that_translate_nothing_are_no_run(copied, right):
    tensors = load_file(copied / WEIGHTS)
    save_file({name: tensor * 0 for name, tensor in tensors.items()}, copied / WEIGHTS)
    assert 0 in failed(report_on(right, copied.parent))


def test_every_kind_of_error_is_told_apart():
    reference = "a b c ."
    translations = ("a b d .", "a b b c .", "a b .", "b a c .")
    assert [kind_of_error(each, reference) for each in translations] == list(KINDS)
    assert kind_of_error("a b c d.", "a b c.") == 2  # the mark is a word of its own
