import numpy as np
import pytest
import torch

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.plots.plot_sum import plot_sum

TOKENS = ["the", "dog"]
TOKEN = torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 5.0]])
POSITION = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def test_the_parts_and_their_sum_are_drawn_on_the_same_scale():
    strips = plot_sum(TOKENS, TOKEN, POSITION).axes[:3]
    drawn = [np.asarray(ax.images[0].get_array()) for ax in strips]
    for matrix, expected in zip(drawn, (TOKEN, POSITION, TOKEN + POSITION), strict=True):
        assert np.array_equal(matrix, expected.numpy())
    assert {ax.images[0].get_clim() for ax in strips} == {(-5.0, 5.0)}
    assert [label.get_text() for label in strips[0].get_yticklabels()] == TOKENS


def test_bars_show_the_norms_of_the_vectors():
    bars = plot_sum(TOKENS, TOKEN, POSITION).axes[3]
    assert [bar.get_width() for bar in bars.patches] == [5, 5, 1, 1]
    middles = [bar.get_y() + bar.get_height() / 2 for bar in bars.patches]
    assert np.round(middles).tolist() == [0, 1, 0, 1]


def test_the_norms_are_in_the_alt_text_and_the_legend_covers_nothing():
    figure = plot_sum(TOKENS, TOKEN, POSITION)
    assert describe(figure).endswith("vector is 5 on average, that of a position's 1.")
    to_png(figure)
    legend = figure.legends[0].get_window_extent()
    assert legend.y0 >= figure.axes[3].get_tightbbox().y1
    assert legend.x0 >= figure._suptitle.get_window_extent().x1


@pytest.mark.parametrize(
    ("tokens", "token", "position"),
    [(TOKENS, TOKEN, POSITION[:1]), (["the"], TOKEN, POSITION), (TOKENS, TOKEN[:, :2], POSITION)],
)
def test_parts_that_do_not_fit_are_refused(tokens, token, position):
    with pytest.raises(
        ValueError, match=r"a row for each token, got \(.*\) and \(.*\): is a batch"
    ):
        plot_sum(tokens, token, position)
