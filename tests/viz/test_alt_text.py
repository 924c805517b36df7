import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course_lib.viz import (
    describe,
    plot_attention,
    plot_bars,
    plot_curves,
    plot_heads,
    plot_heatmap,
    plot_loss,
    plot_runs,
    show_figure,
)
from course_lib.viz.alt_text import (
    alt_sentence,
    extremes,
    line_sentence,
    set_alt_text,
    short_number,
    titled,
    value_range,
)
from course_lib.viz.style import new_axes

WEIGHTS = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
WORDS = ["the", "dog"]
CURVE = {"x_label": "step", "y_label": "loss", "title": "Two runs"}


def test_curves_give_their_first_and_last_value():
    ax = plot_curves({"a": [1.0, 2.0], "b": [float("nan"), 0.125]}, **CURVE)
    assert describe(ax) == "Two runs. Loss against step: a from 1 to 2; b at 0.125."


def test_a_curve_gives_how_far_it_goes_beyond_its_ends_unless_nobody_would_see_it():
    assert value_range(np.array([0.0, 4.8, -2.0, 3.0])) == "from 0 to 3 (at least -2, at most 4.8)"
    assert value_range(np.array([0.0, 3.01, 3.0])) == "from 0 to 3"


def test_a_single_line_needs_no_name():
    words = describe(plot_curves({"w": [0.0, 3.0]}, **CURVE))
    assert words == "Two runs. Loss against step: from 0 to 3."


def test_of_many_lines_only_the_ends_are_given():
    lines = {f"seed {i}": np.array([6.0 + i, i / 10, np.nan]) for i in range(5)}
    words = line_sentence(lines | {"empty": np.array([np.nan])}, x_label="s", y_label="x", title="")
    assert words == (
        "x against s: 6 lines, which start between 6 and 10 and end between 0 (seed 0) and "
        "0.4 (seed 4)."
    )
    nothing = {str(i): np.array([np.nan]) for i in range(5)}
    words = line_sentence(nothing, x_label="s", y_label="x", title="")
    assert words == "x against s: 5 lines without a value."


def test_the_extremes_are_named_and_what_looks_alike_is_counted_once():
    assert extremes({"a": 1.0, "b": 0.04, "c": -0.04}, 1) == (
        "smallest 0.0 (b and 1 more), largest 1.0 (a)"
    )
    assert extremes({"a": 1.0, "b": 1.01}, 1) == "1.0 everywhere"


@pytest.mark.parametrize(
    ("sentence", "written"),
    [("loss: 1.", "T. Loss: 1."), ("d_model: 1.", "T. d_model: 1."), ("x by y.", "T. x by y.")],
)
def test_a_sentence_starts_with_a_capital_and_a_name_in_code_does_not(sentence, written):
    assert titled("T", sentence) == written


def test_a_curve_without_a_finite_value_says_so():
    assert value_range(np.array([np.nan])) == "without a value"


def test_a_loss_gives_its_floor():
    assert describe(plot_loss([3.0, 2.0], floor=0.1155)) == (
        "Training loss. Loss (nats per token) against epoch: from 3 to 2. The dotted line, floor, "
        "is at 0.1155."
    )


def test_bars_and_heatmaps_give_their_numbers():
    bars = plot_bars({"a": 99.04}, title="Right", value="%", group="split")
    assert describe(bars) == "Right. % by split: 99.0 (a)."
    three = {"beam 1": 25.2, "no smoothing": 24.1, "smoothing": 26.0}
    bars = plot_bars(three, title="Two recipes", value="test BLEU", group="run")
    words = "Two recipes. Test BLEU by run: smallest 24.1 (no smoothing), largest 26.0 (smoothing)."
    assert describe(bars) == words
    grid = plot_heatmap(WEIGHTS, rows="row", columns="column", title="Grid")
    words = "Grid. Value by row (2 rows) and column (2 columns): from 0 to 1."
    assert describe(grid) == words


def test_masked_values_are_left_out():
    mask = torch.tensor([[True, False], [True, False]])
    ax = plot_heatmap(WEIGHTS, rows="a", columns="b", title="c", mask=mask)
    assert "from 0.25 to 1" in describe(ax)
    ax = plot_heatmap(WEIGHTS, rows="a", columns="b", title="c", mask=~mask & mask, limits=(0, 1))
    assert "without a value" in describe(ax)


def test_attention_names_the_strongest_pair_and_heads_their_entropy():
    assert "'the' attends to 'the'" in describe(plot_attention(WEIGHTS, WORDS, WORDS))
    figure = plot_heads(WEIGHTS[None], WORDS, WORDS, title="Layer 2")
    assert describe(figure) == "Layer 2. Mean entropy in nats by head, of 1: 0.28 (head 0)."


def test_runs_give_the_end_of_each_curve(make_run):
    words = describe(plot_runs([make_run("first"), make_run("second")]))
    assert words.startswith(
        "2 training runs compared. Curves against steps: first, loss (training)"
    )
    assert "second" in words


def test_a_figure_joins_the_alt_texts_of_its_axes_and_leaves_out_the_colour_bar():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    plot_attention(WEIGHTS, WORDS, WORDS, ax=left)
    set_alt_text(right, "A second picture with 3 bars.")
    assert describe(figure) == f"{describe(left)} A second picture with 3 bars."
    assert "<colorbar>" not in describe(figure)


def test_a_picture_is_shown_with_its_own_alt_text(capsys):
    ax = plot_bars({"a": 1.0}, title="Right", value="%", group="split")
    show_figure(ax)
    show_figure(ax, "Mine, with 1 number.")
    assert capsys.readouterr().out == "Right. % by split: 1.0 (a).\nMine, with 1 number.\n"


@pytest.mark.parametrize("draw", [describe, show_figure])
def test_a_picture_drawn_by_hand_needs_an_alt_text(draw):
    with pytest.raises(
        ValueError, match="a picture needs an alt text, got one without: did you draw"
    ):
        draw(new_axes())


def test_of_many_parts_the_first_and_last_are_described():
    words = alt_sentence("Many", "Lines", {f"line {i}": "up" for i in range(12)})
    assert "line 3 up; 4 more in between; line 8 up" in words and "line 5" not in words


def test_a_heading_keeps_its_own_stop_and_loses_its_line_breaks():
    assert alt_sentence("Why\nnot?", "Bars", {"a": "1"}) == "Why not? Bars: a 1."
    assert alt_sentence("", "Bars", {"a": "1"}) == "Bars: a 1."


@pytest.mark.parametrize(
    ("value", "text"), [(4000.0, "4,000"), (0.11551, "0.116"), (-0.0, "0"), (7e-4, "0.0007")]
)
def test_numbers_are_short(value, text):
    assert short_number(value) == text
