"""An answer with several errors is told one that it has, and never one that it hasn't."""

import random

import pytest
import torch

from course_lib.checks import load_item
from course_lib.checks.diagnosis import several
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.diagnosis.evidence import bits
from course_lib.checks.report.feedback import Report

QUICK = ("06.padding_mask", "06.causal_mask", "11.masked_accuracy", "11.inverse_sqrt_lr")


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch):
    monkeypatch.setattr(several, "SEVERAL_SECONDS", 5.0)  # also on a slow machine


def triples():
    """Forty answers with three known errors each, and the names of these."""
    drawn = random.Random(7)
    for each in QUICK:
        item = load_item(each)
        found = []
        while len(found) < 10:
            three = drawn.sample(item.misconceptions, 3)
            if (subject := item.together(*three)) is not None:
                found.append((item, subject, {m.name for m in three}))
        yield from found


def test_of_three_errors_most_often_one_is_named_and_it_is_there():
    right, wrong = 0, []
    for item, subject, there in triples():
        diagnosis = diagnose(item, subject)
        named = {m.name for m in diagnosis.misconceptions}
        right += bool(named) and named <= there
        if diagnosis.first_step and not named <= there:  # two may do the same as these three
            wrong.append((item.id, sorted(there), sorted(named)))
    assert wrong == []
    assert right >= 28


def rows_inverted_for_zero(tokens, pad_id):
    return (tokens == 0)[:, None, :, None]


def test_the_shape_comes_first_and_the_report_says_that_there_is_more():
    diagnosis = diagnose(load_item("06.padding_mask"), rows_inverted_for_zero)
    assert [m.name for m in diagnosis.misconceptions] == ["rows_instead_of_columns"]
    assert diagnosis.first_step.of == 3
    text = str(Report(diagnosis))
    assert "one of several errors" in text
    assert "2 others that I know" in text


def every_other_column(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, ::2]


def test_an_unknown_error_is_given_no_name():
    diagnosis = diagnose(load_item("06.padding_mask"), every_other_column)
    assert diagnosis.misconceptions == ()


def test_the_dtype_is_named_beside_an_unknown_error():
    item = load_item("06.padding_mask")
    diagnosis = diagnose(item, lambda tokens, pad_id: every_other_column(tokens, pad_id).float())
    assert [m.name for m in diagnosis.misconceptions] == ["numbers_instead_of_booleans"]


def test_a_part_that_only_one_error_explains_names_it_beside_an_unknown_one():
    def decode(model, source, bos_id, eos_id, max_len):
        model.eval()
        with torch.no_grad():
            memory = model.encode(source)
            out = torch.full((source.size(0), 1), bos_id)
            while out.size(1) < max_len:
                token = model.decode(out, memory, source)[:, -1].argmax(-1)
                out = torch.cat([out, token[:, None]], dim=1)
                if (token == eos_id).all():
                    break
        return out

    diagnosis = diagnose(load_item("13.greedy_decode"), decode)
    assert [m.name for m in diagnosis.misconceptions] == ["begin_kept"]
    assert "doesn't explain all" in str(Report(diagnosis))


def test_numbers_are_evidence_and_a_single_truth_value_is_little():
    right, wrong = torch.zeros(3), torch.tensor([0.0, 0.25, 0.5])
    assert bits(wrong, right) == 20.0
    assert bits(torch.tensor([True]), torch.tensor([False])) == 1.0
    assert bits(wrong[None], right) == 2.0


def test_a_search_without_time_names_nothing(monkeypatch):
    monkeypatch.setattr(several, "SEVERAL_SECONDS", 0.0)
    item = load_item("06.causal_mask")
    known = {m.name: m for m in item.misconceptions}
    three = [known[n] for n in ("diagonal_hidden", "to_be_added", "two_axes_short")]
    diagnosis = diagnose(item, item.together(*three))
    assert diagnosis.first_step is None and diagnosis.observation is not None
