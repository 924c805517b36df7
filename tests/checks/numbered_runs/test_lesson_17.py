"""Runs of lesson 17: what a run has in it tells the bug of its reader, and no other."""

import pytest
import torch

from course_lib.checks import _module, make_run
from course_lib.checks.items.todays_block.conclude import BUGS, LENGTH
from course_lib.checks.items.todays_block.reader import CONFIG, STAGES, draw_weights, read
from course_lib.modern import DecoderOnly

RUN = _module("17.conclude").run
NUMBERS = range(100, 160)
ROUNDING = 1e-3


def what_is_seen(shown):
    """Which sentence the vectors of a run bear out, by the hints of the exercise."""
    wrong = (shown["reader"] - shown["published"]).abs().amax(-1)
    moved = (shown["later"] - shown["reader"]).abs().amax(-1)
    if wrong.max() < ROUNDING:
        return "from_one"
    if wrong[0].max() > ROUNDING:
        return "scaled"
    if wrong[1].max() < ROUNDING:
        return "both_activated"
    if wrong[1, 0] > ROUNDING:
        return "dealt_out"
    if moved.max() > ROUNDING:
        return "values_turned" if moved[1, 0] > ROUNDING else "keys_not_turned"
    return "base" if wrong[1, 1] < 0.15 * wrong[1].max() else "layout"


@pytest.mark.parametrize("number", NUMBERS)
def test_what_a_run_has_in_it_leaves_one_sentence(number):
    made, shown = RUN.run(number), make_run("17.conclude", number=number)
    assert what_is_seen(shown) == made.bug
    last = (shown["reader"] - shown["published"])[-1].abs().amax(-1)
    assert made.worst == (-1 if made.bug == "from_one" else int(last.argmax()))


@pytest.mark.parametrize("number", NUMBERS)
def test_no_difference_is_nearly_rounding(number):
    shown = make_run("17.conclude", number=number)
    wrong = (shown["reader"] - shown["published"]).abs().amax(-1)
    assert not ((wrong > ROUNDING / 10) & (wrong < ROUNDING)).any()


@pytest.mark.parametrize("number", NUMBERS)
def test_the_most_probable_token_tells_next_to_nothing(number):
    assert RUN.run(number).same_words > 0.8 * LENGTH


def test_without_a_bug_the_reader_is_the_course_s_own_model():
    torch.manual_seed(3)
    weights, tokens = draw_weights(), torch.randint(CONFIG.vocab, (LENGTH,))
    model = DecoderOnly(CONFIG)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {"final_norm.weight", "output.weight"}
    model.final_norm = torch.nn.Identity()
    with torch.no_grad():
        torch.testing.assert_close(model.hidden(tokens[None])[0], read(weights, tokens)[-1])


def test_each_bug_changes_something_or_is_told_to_change_nothing():
    torch.manual_seed(4)
    weights, tokens = draw_weights(), torch.randint(CONFIG.vocab, (LENGTH,))
    right = read(weights, tokens)
    assert right.shape == (len(STAGES), LENGTH, CONFIG.d_model)
    same = {
        name for name in BUGS if torch.allclose(read(weights, tokens, bug=name), right, atol=1e-4)
    }
    assert same == {"from_one"}


def test_what_is_told_of_a_run_has_its_numbers():
    for number in NUMBERS:
        made = RUN.run(number)
        told = RUN.says(made)
        if made.bug == "from_one":
            assert told.startswith("No vector differs")
            continue
        assert f"At {made.same_words} of {LENGTH} positions" in told
        at_0 = made.by_stage[:, 0] > ROUNDING
        stage = STAGES[int(at_0.int().argmax())] if at_0.any() else ""
        assert (f"from stage “{stage}” on" in told) == bool(at_0.any())
