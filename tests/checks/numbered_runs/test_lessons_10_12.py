"""Runs of lessons 10 to 12: whoever reads the numbers carefully finds the right answers."""

import pytest
import sacrebleu
import torch

from course_lib.checks import _module, make_run
from course_lib.training import target_only_entropy

NUMBERS = range(500, 510)


def baseline(shown):
    return target_only_entropy([pair.target for pair in shown["pairs"]])


def error_in_log(log, other, base):
    """What is wrong with one of two logs, or nothing."""
    loss, last = log["loss"], log["loss"][-1]
    costs_nothing = [s - x < 0.03 * base for x, s in zip(loss, log["shuffled"], strict=True)]
    if last > 1.1 * base:
        return "no_zero_grad" if loss[1] == pytest.approx(other["loss"][1]) else "rate_too_high"
    if all(costs_nothing):
        if last > base:
            return "source_not_read"
        return "control_keeps_the_source" if log["right"][-1] else "not_shifted"
    too_low = [x < 0.9 * base and c for x, c in zip(loss, costs_nothing, strict=True)]
    return "pads_counted" if any(too_low) else None


def two_logs(shown):
    base = baseline(shown)
    errors = [error_in_log(shown[a], shown[b], base) for a, b in ("AB", "BA")]
    assert errors.count(None) == 1
    honest = "AB"[errors.index(None)]
    rows = zip(shown["steps"], shown[honest]["loss"], strict=True)
    step = next(step for step, loss in rows if loss < base)
    return {"honest": honest, "error": next(filter(None, errors)), "step": step}


def small_language(shown):
    base, loss = baseline(shown), shown["loss"]
    right, of = shown.text.split()[-3::2]
    if loss > base:
        conclusion = "early" if loss > 1.2 * base else "blind"
    elif shown["shuffled"] < base:
        conclusion = "sees_the_label"
    else:
        conclusion = "translates" if int(right) > int(of) / 2 else "memorised"
    return {"baseline": base, "conclusion": conclusion}


def error_in_curve(log, other, peak, warmup):
    """What is wrong with one of two learning curves, or nothing."""
    steps = range(5, 5 * len(log["rate"]) + 1, 5)
    recipe = [peak * min(step / warmup, (warmup / step) ** 0.5) for step in steps]
    if log["rate"] != pytest.approx(recipe):
        return "no_warmup" if log["rate"][0] == peak else "stepped_per_epoch"
    if not any(log["again"] == pytest.approx(loss) for loss in log["valid"]):
        return "dropout_left_on"
    if log["again"] != pytest.approx(min(log["valid"])):
        return "kept_by_training"
    if min(log["valid"]) < min(other["valid"]) - 0.25 and log["train"] != other["train"]:
        return "trained_on_validation"
    higher = all(x > y for x, y in zip(log["valid"], other["valid"], strict=True))
    if higher and log["right"] == other["right"]:
        return "validation_smoothed"
    return None


def two_curves(shown):
    recipe = shown["peak"], shown["warmup"]
    errors = [error_in_curve(shown[a], shown[b], *recipe) for a, b in ("AB", "BA")]
    # Beside a run that is worse for another reason, an honest one may look as if it had seen more.
    named = [e for e in errors if e and e != "trained_on_validation"] or [*filter(None, errors)]
    honest = "BA"[errors.index(named[0])]
    valid = shown[honest]["valid"]
    return {"honest": honest, "error": named[0], "epoch": 1 + valid.index(min(valid))}


def two_systems(shown):
    gain = shown["scores_b"] - shown["scores_a"]
    drawn = torch.randint(40, (10_000, 40), generator=torch.Generator().manual_seed(1))
    a_wins = float((gain[drawn].mean(dim=1) < 0).double().mean())
    seen = torch.tensor([text in shown["training"] for text in shown["references"]])
    scores = [
        sacrebleu.sentence_bleu(b.lower(), [r.lower()]).score
        - sacrebleu.sentence_bleu(a.lower(), [r.lower()]).score
        for a, b, r in zip(shown["a"], shown["b"], shown["references"], strict=True)
    ]
    lowered = torch.tensor(scores)
    behind = {
        "one_sentence": gain.sort().values[:-1].mean() < 0,
        "in_case": lowered.mean() < 0,
        "seen": gain[~seen].mean() < 0,
    }
    causes = [name for name, is_behind in behind.items() if is_behind]
    assert gain.mean() > 0 and len(causes) <= 1
    conclusion = (*causes, "shown" if a_wins < 0.05 else "chance")[0]
    return {"a_wins": a_wins, "lead": float(lowered[~seen].mean()), "conclusion": conclusion}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_a_lead_without_lower_case_or_on_all_sentences_is_refused(number):
    run = _module("12.conclude").run
    made, lead = run.run(number), run.questions["lead"]
    unseen = ~made.seen
    assert not lead.wrong(made, round(made.leads_in_lower_case[unseen].mean().item(), 2))
    for wrong in (made.leads[unseen], made.leads_in_lower_case, made.leads):
        assert lead.wrong(made, round(wrong.mean().item(), 2))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_both_systems_write_a_few_capital_letters_within_sentences(number):
    shown = make_run("12.conclude", number=number)
    for name, least, most in (("references", 0, 0), ("a", 1, 12), ("b", 1, 12)):
        assert least <= sum(text[1:] != text[1:].lower() for text in shown[name]) <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("item_id", "read"),
    [
        ("10.compare", two_logs),
        ("10.conclude", small_language),
        ("11.compare", two_curves),
        ("12.conclude", two_systems),
    ],
)
def test_the_numbers_that_are_shown_bear_out_the_answers(item_id, read):
    run = _module(item_id).run
    for number in NUMBERS:
        answers = read(make_run(item_id, number=number))
        for key, question in run.questions.items():
            answer = answers[key]
            if isinstance(answer, str):
                letters = {name: letter for letter, name in question.names.items()}
                answer = letters[answer]
            assert not question.wrong(run.run(number), answer), (number, key, answers)
