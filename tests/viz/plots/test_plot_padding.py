import pytest
import torch
from matplotlib.patches import Rectangle

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.plots.plot_padding import padding_share, plot_padding

RAGGED = torch.tensor([[5, 6, 7, 8], [5, 0, 0, 0]])
FULL = [torch.tensor([[5]]), torch.tensor([[5, 6, 7, 8]])]


def blocks(ax):
    return [p.get_bbox().bounds for p in ax.patches if isinstance(p, Rectangle) and p.get_hatch()]


def test_the_share_is_over_all_tokens_of_all_batches():
    assert padding_share([RAGGED], 0) == 3 / 8
    assert padding_share([RAGGED, *FULL], 0) == 3 / 13
    assert padding_share(FULL, 0) == 0


def test_tokens_and_pads_are_drawn_where_they_are_in_the_batch():
    ax = plot_padding({"as they come": [RAGGED]}, 0).axes[0]
    assert blocks(ax) == [(0, 0, 4, 2)]
    tokens = ax.images[0].get_array()
    assert tokens.mask.tolist() == (RAGGED == 0).tolist()
    assert tokens.shape == (2, 4) and ax.images[0].get_extent() == [0, 4, 2, 0]
    assert ax.images[0].zorder > ax.patches[0].zorder


def test_left_padding_is_drawn_on_the_left():
    left = torch.tensor([[0, 0, 5], [5, 6, 7]])
    tokens = plot_padding({"left": [left]}, 0).axes[0].images[0].get_array()
    assert tokens.mask.tolist() == [[True, True, False], [False] * 3]


def test_batches_follow_each_other_with_a_gap_on_the_same_scale():
    figure = plot_padding({"as they come": [RAGGED], "bucketed": FULL}, 0)
    before, after = figure.axes
    assert blocks(after) == [(0, 0, 1, 1), (0, 3, 4, 1)]
    assert before.get_xlim() == after.get_xlim() == (0, 4)
    assert before.get_ylim() == after.get_ylim() == (4, 0)


def test_the_titles_give_the_share_of_padding():
    figure = plot_padding({"as they come": [RAGGED], "bucketed": FULL}, 0)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["as they come\n8 tokens, 37.5% padding", "bucketed\n5 tokens, 0.0% padding"]
    assert (
        "Share of the tokens that is padding: 37.5% (as they come), 0.0% (bucketed)."
        in describe(figure)
    )
    assert to_png(figure)


def test_no_batches_are_refused():
    with pytest.raises(ValueError, match="at least one way to batch, got none: pass {name: batch"):
        plot_padding({}, 0)
    with pytest.raises(ValueError, match="at least one batch, got none: did an iterator run out?"):
        plot_padding({"empty": []}, 0)


def test_an_array_that_is_not_a_batch_is_refused():
    with pytest.raises(ValueError, match=r"shape \(batch, length\), got \(4,\): pass a list of"):
        plot_padding({"one": [RAGGED[0]]}, 0)
