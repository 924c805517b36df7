"""An answer with several errors is told one that it has, and never one that it hasn't."""

import random
from dataclasses import replace

import pytest
import torch

from course_lib.checks import load_item
from course_lib.checks.diagnosis import known_answers, several
from course_lib.checks.diagnosis.diagnose import SEED, diagnose
from course_lib.checks.diagnosis.evidence import bits, bits_together
from course_lib.checks.diagnosis.trial import try_probe
from course_lib.checks.report.feedback import Report

QUICK = ("06.padding_mask", "06.causal_mask", "14.align", "11.inverse_sqrt_lr")


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


@pytest.mark.slow
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
    assert "code with this error and 2 others does" in text


def every_other_column(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, ::2]


def test_an_unknown_error_is_given_no_name():
    diagnosis = diagnose(load_item("06.padding_mask"), every_other_column)
    assert diagnosis.misconceptions == ()


@pytest.mark.slow
def test_the_dtype_is_named_beside_an_unknown_error_and_does_not_explain_the_other_tests():
    item = load_item("06.padding_mask")
    diagnosis = diagnose(item, lambda tokens, pad_id: every_other_column(tokens, pad_id).float())
    assert [m.name for m in diagnosis.misconceptions] == ["numbers_instead_of_booleans"]
    text = str(Report(diagnosis))
    assert "expected shape" in text and "only this one explains a part of your results" in text
    assert "fail, too, perhaps for the same reason" in text


@pytest.mark.slow
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
    text = str(Report(diagnosis))
    assert "What it may be: Your result still starts" in text and "doesn't explain all" in text


def norm_with_its_own_eps(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = (x**2).mean(-1, keepdim=True) - mean**2
    return (x - mean) / torch.sqrt(variance + 1e-6) * weight + bias


def test_no_error_is_named_by_a_part_that_a_spelling_of_another_one_gives_as_well():
    item = load_item("03.layer_norm")
    trials = [
        try_probe(probe, item, subject=norm_with_its_own_eps, draw_seed=SEED + i)
        for i, probe in enumerate(item.probes)
    ]
    search = several._Search(item, trials)
    search.end = float("inf")
    search.answer_singles()
    step = search.partly_explained()  # another_default has eps 1e-6, and so has eps_fixed_lower
    assert step is None or step.misconception.name == "eps_fixed"


def test_numbers_are_evidence_and_a_single_truth_value_is_little():
    right, wrong = torch.zeros(3), torch.tensor([0.0, 0.25, 0.5])
    assert bits(wrong, right) == 20.0
    assert bits(torch.tensor([True]), torch.tensor([False])) == 1.0
    assert bits(wrong[None], right) == 2.0


def several_at_once(item, *names):
    known = {m.name: m for m in item.misconceptions}
    return item.together(*(known[name] for name in names))


def test_a_search_without_time_names_nothing(monkeypatch):
    monkeypatch.setattr(several, "SEVERAL_SECONDS", 0.0)
    item = load_item("06.causal_mask")
    subject = several_at_once(item, "diagonal_hidden", "to_be_added", "two_axes_short")
    diagnosis = diagnose(item, subject)
    assert diagnosis.first_step is None and diagnosis.observation is not None


def test_where_time_runs_out_after_all_errors_are_found_no_part_is_explained(monkeypatch):
    def out_of_time(search, together):
        raise several._OutOfTime

    partly = []
    monkeypatch.setattr(several._Search, "first_step", out_of_time)
    monkeypatch.setattr(several._Search, "partly_explained", lambda search: partly.append(search))
    diagnosis = diagnose(load_item("06.padding_mask"), rows_inverted_for_zero)
    assert diagnosis.first_step is None and partly == []


def test_no_error_is_named_only_because_all_larger_sets_that_were_tried_have_it(monkeypatch):
    def until_time_is_out(search):
        for name in search.known:
            search.score(frozenset({"per_sentence", "even_shares", name}))
        raise several._OutOfTime
        yield

    monkeypatch.setattr(several, "MOST_IN_SAMPLE", 20)  # all calls
    monkeypatch.setattr(several._Search, "explanations", until_time_is_out)
    item = load_item("10.target_only_entropy")
    there = ("even_shares", "mean_over_prefixes", "not_divided")
    diagnosis = diagnose(item, several_at_once(item, *there))
    assert diagnosis.misconceptions == ()


def test_in_the_time_of_a_check_no_error_is_named_that_is_not_there(monkeypatch):
    monkeypatch.setattr(several, "SEVERAL_SECONDS", 1.0)
    item = load_item("10.target_only_entropy")
    there = ("even_shares", "mean_over_prefixes", "not_divided")
    diagnosis = diagnose(item, several_at_once(item, *there))
    assert {m.name for m in diagnosis.misconceptions} <= set(there)


def test_equal_lone_numbers_are_evidence_only_once():
    assert bits_together([(0.25, 0.0), (0.25, 0.5)]) == 10.0
    assert bits_together([(0.25, 0.0), (0.125, 0.0)]) == 20.0


def test_the_order_of_quick_calls_does_not_depend_on_how_long_they_took():
    item = load_item("06.causal_mask")
    trials = [
        try_probe(probe, item, subject=item.reference, draw_seed=SEED + i)
        for i, probe in enumerate(item.probes)
    ]

    def order(seconds):
        timed = [
            replace(t, expected=[replace(a, seconds=next(seconds)) for a in t.expected])
            for t in trials
        ]
        return [trial.calls[i].args for trial, i in several._Search(item, timed).calls]

    assert order(iter(range(1, 1000))) != order(iter(range(1000, 1, -1)))
    few = 1e-7
    assert order(few * i for i in range(1, 1000)) == order(few * i for i in range(1000, 1, -1))


def test_answers_of_more_than_two_errors_at_once_are_forgotten_after_the_search():
    item = load_item("06.padding_mask")
    before = {id(key[0]) for key in known_answers._answers}  # of a variant with the same id
    assert diagnose(item, rows_inverted_for_zero).first_step.of == 3
    assert all(len(names) <= 2 for _, _, names in known_answers._combined)
    kept = {id(subject) for subject in known_answers._combined.values()}
    kept |= {id(subject) for m in item.misconceptions for subject in (m.subject, *m.spellings)}
    assert {id(key[0]) for key in known_answers._answers if key[1] == item.id} <= kept | before


def test_one_other_error_is_counted_in_words():
    misconception = load_item("06.padding_mask").misconceptions[0]
    assert "this error and one other does" in several.FirstStep(misconception, of=2).how_known
