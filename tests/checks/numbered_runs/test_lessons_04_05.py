"""Lessons 04 and 05: known wrong formulas do not pass, and what is printed does not answer."""

import pytest
import torch

from course_lib.checks import _module, check, make_run

PREDICT_04, PREDICT_05 = (_module(item_id).run for item_id in ("04.predict", "05.predict"))


def runs_with(run, key, letters, numbers=range(60)):
    """The numbers whose answer is one of these letters, each with its run."""
    found = {number: run.run(number) for number in numbers}
    letter = run.questions[key].letter
    return [(number, each) for number, each in found.items() if letter(each) in letters]


def test_the_mean_of_exp_is_another_number_than_exp_of_the_mean():
    question = PREDICT_04.questions["keys"]
    for number, run in runs_with(PREDICT_04, "why", "abcd", range(120)):
        entropies = torch.special.entr(run.weights).sum(-1)
        right, other = entropies.mean().exp().item(), entropies.exp().mean().item()
        visible = round(right, 3) != round(other, 3) and other - right > 0.0006
        assert bool(question.wrong(run, other)) == visible, number
        assert visible or run.why == "twice", number
        assert not question.wrong(run, round(right, 3))


def test_each_number_of_a_key_is_standard_normal_also_where_keys_are_alike():
    for _, run in runs_with(PREDICT_04, "why", "d", range(120)):
        root = run.d_head**0.5
        assert run.scores.std().item() == pytest.approx(root, rel=0.2)
    deviations = [
        (run.scores.std() / run.d_head**0.5).item()
        for _, run in runs_with(PREDICT_04, "why", "d", range(400))
    ]
    assert sum(deviations) / len(deviations) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("letter", "guess"), [*zip("abcd", (10.6, 1.3, 15.96, 16), strict=True)])
def test_no_number_of_keys_goes_with_a_letter(letter, guess):
    runs = runs_with(PREDICT_04, "why", letter, range(120))
    right = [not PREDICT_04.questions["keys"].wrong(run, guess) for _, run in runs]
    assert sum(right) / len(right) < 0.4


def test_standard_deviations_tell_the_letter_with_a_clear_margin():
    for number, run in runs_with(PREDICT_04, "why", "abcd", range(120)):
        root, over_all, in_a_row = run.d_head**0.5, run.scores.std(), run.within_a_row
        expected = {
            "divided": (1, 1),
            "not": (root, root),
            "twice": (1 / root, 1 / root),
            "alike": (root, 0.45),
        }[run.why]
        assert over_all == pytest.approx(expected[0], rel=0.25), number
        assert in_a_row == pytest.approx(expected[1], rel=0.45 if run.why == "alike" else 0.1)


def test_the_sizes_alone_are_printed():
    assert repr(make_run("04.predict", number=3)).endswith("d_head = 202")


def test_the_ratio_of_the_last_two_rows_is_not_the_factor_beyond_them():
    question = PREDICT_05.questions["times"]
    for number, run in runs_with(PREDICT_05, "how", "acdef", range(200)):
        *_, before, last = map(run.multiplications, run.lengths)
        assert question.wrong(run, last / before) and question.wrong(run, round(last / before, 2))
        assert not question.wrong(run, round(run.times, 2)), number


def test_of_layers_that_grow_twofold_an_answer_has_one(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    numbers = [number for number, _ in runs_with(PREDICT_05, "how", "b")]
    answers = [{"number": number, "times": 2.0, "how": "b"} for number in numbers[:2]]
    text = " ".join(str(check("05.predict", lambda: answers)).split())
    assert "in both runs twice as many words take exactly twice as many multiplications" in text
    number, run = runs_with(PREDICT_05, "how", "f")[0]
    other = {"number": number, "times": run.times, "how": "f"}
    assert check("05.predict", lambda: [answers[0], other]).passed


def test_a_part_without_the_length_is_to_be_taken_away_first():
    """The last hint, followed: a straight line with rest = 0, or with D ** 3 in c."""
    for number, run in runs_with(PREDICT_05, "how", "abcdef"):
        shown = make_run("05.predict", number=number)
        n, s = shown["multiplications"], shown["lengths"]
        rest = shown["D"] ** 3 if run.how == "matrices_first" else 0
        per_word = [(x - rest) / shown["B"] / y for x, y in zip(n, s, strict=True)]
        c = (per_word[3] - per_word[2]) / (s[3] - s[2])
        a = per_word[3] - c * s[3]
        assert per_word == pytest.approx([a + c * length for length in s])
        assert (rest + shown["B"] * 2 * s[3] * (a + c * 2 * s[3])) / n[3] == pytest.approx(
            run.times
        )


def test_a_report_puts_what_was_predicted_beside_the_same_number():
    for _, run in runs_with(PREDICT_05, "how", "bcdef", range(20)):
        assert "Q5b's six einsums would take" in PREDICT_05.says(run)
    for _, run in runs_with(PREDICT_04, "why", "abcd", range(4)):
        assert "if the scores are divided by the root of d_head" in PREDICT_04.says(run)
