"""Runs of lessons 01 and 02: whoever reads the numbers carefully finds the right answer."""

import pytest
import torch

from course_lib.checks import _module, make_run

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
    return "same" if row[1] < 0.5 else "wobbles"


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


def test_only_two_shapes_of_a_table_tell_all_its_errors_apart():
    box = _module("01.experiment").box

    def tells_all_apart(shape):
        answers = [box.answer(name, shape) for name in ("", *box.wrong)]
        pairs = ((a, b) for i, a in enumerate(answers) for b in answers[:i])
        return all(box.differ(a, b) for a, b in pairs)

    shapes = [(length, width) for length in range(1, 9) for width in range(2, 17, 2)]
    allowed = [shape for shape in shapes if not box.problem_of(shape)]
    assert [shape for shape in allowed if tells_all_apart(shape)] == [(2, 6), (2, 8)]
