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


def test_the_count_of_larger_products_does_not_turn_on_rounding():
    """Means by NumPy or PyTorch, of one column or of all: the same count."""
    run = _module("01.conclude").run
    for number in range(200, 320):
        made, last = run.run(number), run.run(number).seen[-1]
        mean = made.products.mean(0)
        by_column = made.products.numpy()[:, last].mean()
        all_of_numpy = made.products.numpy().mean(0)
        counts = {
            int((mean > mean[last] + 1e-3).sum()),
            int((mean > made.products[:, last].mean() + 1e-3).sum()),
            int((all_of_numpy > by_column + 1e-3).sum()),
            int((mean.double() > float(by_column) + 1e-3).sum()),
        }
        assert counts == {made.larger}, number
        assert int(((mean - mean[last]).abs() < 1.9e-3).sum()) == 1  # itself
        assert (made.larger == last) == (made.shows == "steady")


def test_one_row_gives_another_count_where_the_position_matters():
    run = _module("01.conclude").run
    made = [run.run(number) for number in range(200, 320)]
    position = [each for each in made if each.shows == "position"]
    assert len(position) > 10
    for each in position:
        assert run.questions["larger"].wrong(each, each.larger_at_0)
    assert sum(each.shows == "steady" for each in made) < 0.2 * len(made)  # it can be guessed


def test_one_distance_is_told_in_the_singular():
    run = _module("01.conclude").run
    runs = (run.run(number) for number in range(200))
    one = next(each for each in runs if each.shows == "wobbles" and each.farther == 1)
    assert "At 1 distance beyond" in run.says(one)


@pytest.mark.parametrize(("item_id", "key"), [("01.conclude", "shows"), ("02.predict", "why")])
def test_of_runs_that_can_be_guessed_an_answer_has_one(item_id, key):
    run = _module(item_id).run
    answers = [
        {"number": number}
        | {
            name: each.letter(run.run(number))
            if name == key
            else round(each.right(run.run(number)), 2)
            for name, each in run.questions.items()
        }
        for number in range(100)
    ]
    easy, other = (
        [a for a in answers if bool(run.easy(run.run(a["number"]))) is b] for b in (True, False)
    )
    report = check(item_id, lambda: easy[:2])
    assert not report.passed
    text = " ".join(str(report).split())
    assert "Both answers are right, and in both runs" in text
    assert f"Instead of {easy[1]['number']}, take a number" in text
    assert check(item_id, lambda: [easy[0], other[0]]).passed
    wrong = [easy[0], easy[1] | {key: "c"}]  # that both are of one kind, it tells only then
    assert f"Number {easy[1]['number']}, {key}: it isn't c" in str(check(item_id, lambda: wrong))


def test_a_refusal_of_large_logits_is_untrue_where_they_are_close():
    run = _module("02.predict").run
    look = run.questions["why"].look
    opening = "Then the logits of a position would have a standard deviation of 1 or more, and "
    assert look["favourites"].startswith(opening) and look["random"].startswith(opening)
    for number in range(200, 320):
        made = run.run(number)
        of_each = made.logits.std(-1)
        if made.why in ("favourites", "random"):
            assert of_each.min() > 1
        if made.why == "close":
            assert of_each.max() < 0.5


@pytest.mark.parametrize("number", NUMBERS)
def test_the_distance_of_a_row_from_itself_does_not_count(number):
    run = _module("02.conclude").run
    made, question = run.run(number), run.questions["ratio"]
    parts = (made.tokens, made.positions)
    tokens, positions = (torch.cdist(x, x).mean().item() for x in parts)
    assert len(made.tokens) != len(made.positions)  # else both means are too small by one factor
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
