"""Runs of lessons 01 and 02: whoever reads the numbers carefully finds the right answer."""

import pytest
import torch

from course_lib.checks import _module, check, make_run

NUMBERS = range(500, 520)


def ruler(shown):
    """The conclusion about dot products, from the numbers alone."""
    dots, last = shown["products"], shown["last_seen"]
    row = dots[0] / dots[0, 0]
    rises = row.diff() > 0
    if dots.std(0).max() > 0.02 * dots[0, 0]:
        return "position"
    if not rises.any():
        return "steady"
    first_rise = int(rises.nonzero()[0])
    assert not (dots.mean(0)[last + 1 :] < dots.mean(0)[last]).all()  # the conclusion fails
    if row[first_rise:].max() >= 0.95:
        return "returns"
    assert row[first_rise:].max() < 0.8
    return "wobbles" if first_rise >= 5 else "same"


def start(shown):
    """Where the loss at initialisation comes from, from the numbers alone."""
    logits, read = shown["logits"], shown["read"]
    best = logits.argmax(-1)
    if logits.std(-1).mean() < 0.5:
        return "close"
    if (best == read).float().mean() > 0.9:
        return "not_shifted" if torch.equal(read, shown["labels"]) else "copies"
    return "favourites" if len(best.unique()) < 10 else "random"


def balance(shown):
    """What dominates in a sum, from the numbers alone."""
    tokens, positions = shown["tokens"], shown["positions"]
    norms = tokens.norm(dim=1).mean() / positions.norm(dim=1).mean()
    changes = torch.pdist(tokens).mean() / torch.pdist(positions).mean()
    norms_alike = 0.4 < norms < 2.5
    if changes > 3.5:
        return "positions_alike" if norms_alike else "token"
    if changes < 0.28:
        return "tokens_alike" if norms_alike else "position"
    assert norms_alike and 0.5 < changes < 2
    return "alike"


@pytest.mark.parametrize(
    ("item_id", "read", "answer"),
    [
        ("01.conclude", ruler, "shows"),
        ("02.predict", start, "why"),
        ("02.conclude", balance, "shows"),
    ],
)
def test_the_numbers_that_are_shown_bear_out_the_answer(item_id, read, answer):
    run = _module(item_id).run
    for number in NUMBERS:
        right = getattr(run.run(number), answer)
        assert read(make_run(item_id, number=number)) == right, number


def test_what_the_friend_looked_at_falls_in_every_run():
    run = _module("01.conclude").run
    for number in NUMBERS:
        made = run.run(number)
        assert (made.products[0, made.seen].diff() < 0).all(), number


def test_the_first_product_does_not_tell_how_many_pairs_a_table_has():
    for number in NUMBERS:
        assert make_run("01.conclude", number=number)["products"][0, 0] == 1


def test_what_is_shown_of_the_first_prediction_has_no_label():
    for number in NUMBERS:
        shown = make_run("02.predict", number=number)
        assert (
            "label" not in shown.text and str(shown["labels"][0].item()) not in shown.text.split()
        )


def test_a_loss_that_rounds_to_ln_v_is_reported_without_a_sign_that_misleads():
    run = _module("02.predict").run
    told = [run.says(run.run(number)) for number in NUMBERS]
    assert not any("− 0.00" in each for each in told)
    assert all(each.startswith("The loss is ") and " which is ln V " in each for each in told)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_distance_of_a_row_from_itself_does_not_count(number):
    run = _module("02.conclude").run
    made, question = run.run(number), run.questions["ratio"]
    parts = (made.tokens, made.positions)
    tokens, positions = (torch.cdist(x, x).mean().item() for x in parts)
    if len(made.tokens) != len(made.positions):  # else the two means are too small by one factor
        assert question.wrong(made, tokens / positions)
    assert not question.wrong(made, round(made.changes, 3))
    assert "a norm says how long" in question.wrong(made, made.norms)


def test_a_table_with_a_tiny_frequency_differs_from_one_with_a_small_one():
    """1e-8 and 1e-4 are seen to differ: for "a", four columns are enough."""
    box = _module("01.experiment").box
    first, second = [n for n in range(100) if box.error_of(n) == "width_left_out"][:2]
    answers = [{"number": n, "error": "a", "calls": [(2, 4)]} for n in (first, second)]
    assert check("01.experiment", lambda: answers).passed


def test_only_two_shapes_of_a_table_tell_all_its_errors_apart():
    box = _module("01.experiment").box

    def tells_all_apart(shape):
        answers = [box.answer(name, shape) for name in ("", *box.wrong)]
        pairs = ((a, b) for i, a in enumerate(answers) for b in answers[:i])
        return all(box.differ(a, b) for a, b in pairs)

    shapes = [(length, width) for length in range(1, 9) for width in range(2, 17, 2)]
    allowed = [shape for shape in shapes if not box.problem_of(shape)]
    assert [shape for shape in allowed if tells_all_apart(shape)] == [(2, 6), (2, 8)]
