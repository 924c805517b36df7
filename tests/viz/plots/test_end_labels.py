import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_lib.viz.display import to_png
from course_lib.viz.plots.curves import plot_curves, plot_loss
from course_lib.viz.plots.end_labels import EndLabels, moved_apart
from course_lib.viz.style import ACCENT, new_axes

NAMES = {"x_label": "step", "y_label": "loss", "title": "Lines"}


def boxes(ax):
    to_png(ax)
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    return [text.get_window_extent(renderer) for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([5, 1, 9], [5, 1, 9]),  # far enough apart
        ([5, 5], [4, 6]),  # both give way
        ([5, 5, 5], [3, 5, 7]),
        ([0, 0, 8], [0, 2, 8]),  # not below the lowest
        ([10, 10], [8, 10]),
        ([4, 5, 5.5, 6], [2.125, 4.125, 6.125, 8.125]),
        ([], []),
    ],
)
def test_positions_move_apart_as_little_as_possible(wanted, expected):
    assert moved_apart(wanted, gap=2, low=0, high=10) == pytest.approx(expected)


def test_positions_that_have_no_room_are_centred_and_stay_apart():
    assert moved_apart([1, 1, 1, 1], gap=4, low=0, high=6) == pytest.approx([-3, 1, 5, 9])


@pytest.mark.parametrize("count", [2, 5, 12])
def test_names_never_overlap_and_stand_outside_the_axes(count):
    values = np.random.default_rng(0).normal(0, 0.01, (count, 5))
    ax = plot_curves({f"line {i}": line for i, line in enumerate(values)}, **NAMES)
    found = boxes(ax)
    assert len(found) == count
    assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2))
    assert all(ax.bbox.x1 < box.x0 and box.x1 <= ax.figure.bbox.x1 for box in found)


def test_a_name_stands_at_the_height_of_its_lines_end():
    ax = plot_curves({"low": [3.0, 1.0], "high": [1.0, 3.0]}, **NAMES)
    low, high = boxes(ax)
    for box, end in ((low, 1.0), (high, 3.0)):
        height = ax.transData.transform((1, end))[1]
        assert box.y0 - 2 < height < box.y1 + 2


def test_of_lines_that_meet_at_their_ends_the_upper_one_is_named_above():
    curves = {"upper": [3.0, 3.0, 1.0], "lower": [0.0, 0.0, 1.0], "middle": [2.0, 2.0, 1.0]}
    ax = plot_curves(curves, **NAMES)
    heights = dict(zip(curves, (box.y0 for box in boxes(ax)), strict=True))
    assert sorted(heights, key=heights.__getitem__) == ["lower", "middle", "upper"]


def test_the_end_is_the_last_point_that_is_seen():
    ax = plot_curves({"a": [1.0, 2.0, np.nan], "b": [0.0, 0.0, 5.0]}, **NAMES)
    ax.set_xlim(0, 1)
    a, b = boxes(ax)
    assert ax.transData.inverted().transform((0, (a.y0 + a.y1) / 2))[1] == pytest.approx(2, abs=0.1)
    assert ax.transData.inverted().transform((0, (b.y0 + b.y1) / 2))[1] == pytest.approx(0, abs=0.1)


def test_a_single_line_has_no_name_until_another_comes():
    ax = plot_curves({"a": [1.0, 2.0]}, **NAMES)
    assert ax.get_legend().get_texts() == []
    ax.axhline(1.5, label="chance")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "chance"]


def test_a_band_is_named_at_its_middle():
    ax = plot_loss([3.0, 2.0], band=([2.5, 1.0], [3.5, 2.0]), band_label="seeds")
    _, band = boxes(ax)
    middle = ax.transData.inverted().transform((0, (band.y0 + band.y1) / 2))[1]
    assert middle == pytest.approx(1.5, abs=0.2)


def test_a_legend_that_is_asked_for_replaces_the_names():
    ax = plot_curves({"a": [1.0, 2.0], "b": [2.0, 1.0]}, **NAMES)
    assert isinstance(ax.get_legend(), EndLabels)
    ax.legend(loc="upper left")
    assert not isinstance(ax.get_legend(), EndLabels)


def test_points_are_named_beside_one_point_and_lines_beside_a_line_without_any():
    ax = plot_curves({"line": [1.0, 2.0]}, **NAMES)
    ax.lines[0].set_marker("o")
    ax.plot([0, 1], [0.0, 0.0], "o", label="points")
    (_, line, _), (text, points, _) = ax.get_legend()._placed()
    assert (line.get_marker(), len(line.get_xdata())) == ("", 2)
    assert (points.get_marker(), len(points.get_xdata())) == ("o", 1)
    assert points.get_xdata()[0] + 6 < text.get_position()[0]


def test_the_names_can_be_removed():
    ax = plot_curves({"a": [1.0, 2.0], "b": [2.0, 1.0]}, **NAMES)
    ax.get_legend().remove()
    assert ax.get_legend() is None
    assert to_png(ax)


def test_a_name_has_the_colour_of_its_line_if_that_can_be_read():
    ax = new_axes()
    plot_curves({"a": [1.0, 2.0], "b": [2.0, 1.0]}, ax=ax, accent="a", **NAMES)
    ax.lines[1].set_color("#eeeeee")
    first, second = ax.get_legend().get_texts()
    assert first.get_color() == pytest.approx((168 / 255, 21 / 255, 125 / 255)), ACCENT
    assert second.get_color() != "#eeeeee"
