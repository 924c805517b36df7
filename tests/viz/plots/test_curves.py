import itertools

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.plots.curves import plot_bars, plot_curves, plot_entropy_by_d_head, plot_loss
from course_lib.viz.style import ACCENT, INK, LINE, SOFT, new_axes

NAMES = {"x_label": "position", "y_label": "encoding", "title": "Waves"}


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lines_carry_their_values_and_names():
    ax = plot_curves({"a": torch.tensor([1.0, 2.0]), "b": [3.0, 4.0]}, x=[10, 20], **NAMES)
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1, 2], [3, 4]]
    assert ax.lines[1].get_xdata().tolist() == [10, 20]
    assert legend_of(ax) == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position", "encoding")
    assert ax.get_title(loc="left") == "Waves"


def test_a_single_line_needs_no_name():
    assert legend_of(plot_curves({"a": [1.0, 2.0]}, **NAMES)) == []


@pytest.mark.parametrize(("accent", "expected"), [(None, []), ("b", ["b"])])
def test_only_the_line_that_is_spoken_of_has_the_accent_colour(accent, expected):
    curves = {name: [1.0, 2.0] for name in "abc"}
    ax = plot_curves(curves, accent=accent, **NAMES)
    colours = {line.get_label(): line.get_color() for line in ax.lines}
    assert [name for name, colour in colours.items() if colour == ACCENT] == expected
    assert {*colours.values()} - {ACCENT} <= {INK, SOFT, LINE}


def test_many_lines_are_a_series_of_one_colour_unless_one_is_spoken_of():
    curves = {str(i): [0.0, i] for i in range(6)}
    opacity = [to_rgba(line.get_color())[3] for line in plot_curves(curves, **NAMES).lines]
    assert opacity == sorted(opacity) and opacity[0] >= 0.4
    spoken_of = plot_curves(curves, accent="3", **NAMES).lines
    assert [line.get_color() == ACCENT for line in spoken_of] == [i == 3 for i in range(6)]


@pytest.mark.parametrize("draw", ["curves", "bars"])
def test_an_accent_on_nothing_is_refused(draw):
    with pytest.raises(ValueError, match="accent must be one of 'a', got 'b': it names what"):
        if draw == "curves":
            plot_curves({"a": [1.0]}, accent="b", **NAMES)
        else:
            plot_bars({"a": 1.0}, accent="b", title="t", value="v", group="g")


@pytest.mark.parametrize(("accent", "expected"), [((), ""), ("b", "b"), (["a", "c"], "ac")])
def test_bars_are_grey_unless_they_are_spoken_of(accent, expected):
    ax = plot_bars(dict.fromkeys("abc", 1.0), accent=accent, title="t", value="v", group="g")
    coloured = [to_hex(bar.get_facecolor()) == ACCENT for bar in ax.patches]
    assert coloured == [name in expected for name in "abc"]
    assert [text.get_weight() == "bold" for text in ax.texts] == coloured


@pytest.mark.parametrize("accent", [None, "1"])
@pytest.mark.parametrize("count", [2, 4, 8, 12])
def test_no_two_lines_look_alike(count, accent):
    ax = plot_curves({str(i): [0.0, i] for i in range(count)}, accent=accent, **NAMES)
    looks = {(str(line.get_color()), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == count


@pytest.mark.parametrize(("log_x", "log_y"), [(False, True), (True, False)])
def test_only_the_axis_that_is_asked_for_is_logarithmic(log_x, log_y):
    ax = plot_curves({"a": [1.0, 2.0]}, x=[1, 2], log_x=log_x, log_y=log_y, **NAMES)
    assert (ax.get_xscale() == "log", ax.get_yscale() == "log") == (log_x, log_y)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.2, 2000, ["1", "10", "100", "1,000"]),
        (0.35, 0.75, ["0.4", "0.5", "0.6", "0.7"]),
        (1e-6, 1, ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"]),
        (0.9, 2e7, ["1", "10", "100", "10³", "10⁴", "10⁵", "10⁶", "10⁷"]),
    ],
)
def test_a_logarithmic_axis_has_plain_numbers_in_one_size(low, high, expected):
    ax = plot_curves({"a": [low, high]}, log_y=True, **NAMES)
    ax.set_ylim(low, high)
    to_png(ax)
    labels = ax.get_yticklabels(which="both")
    ends = np.array(ax.get_ylim()) * (0.999, 1.001)
    seen = [label for label in labels if label.get_text() and within(label, ends)]
    assert [label.get_text() for label in seen] == expected
    assert len({(label.get_size(), label.get_color()) for label in seen}) == 1


def within(label, ends):
    return ends[0] <= label.get_position()[1] <= ends[1]


def test_a_baseline_is_a_dotted_line_with_a_name():
    ax = plot_curves({"a": [1.0, 2.0]}, baselines={"guessing": 1.5}, **NAMES)
    dotted = ax.lines[1]
    assert (dotted.get_linestyle(), dotted.get_ydata()) == (":", [1.5, 1.5])
    assert legend_of(ax) == ["a", "guessing"]
    assert describe(ax).endswith(" Dotted: guessing at 1.5.")


def test_baselines_across_bars_are_named_without_an_overlap():
    near = {"guess": 0.1, "diagonal": 0.12, "untrained": 0.9}
    ax = plot_bars({"a": 1.0}, baselines=near, title="t", value="v", group="g")
    to_png(ax)
    assert [line.get_xdata()[0] for line in ax.lines] == [0.1, 0.12, 0.9]
    assert describe(ax).endswith(" Dotted: guess at 0.1, diagonal at 0.12, untrained at 0.9.")
    names = [text for text in ax.texts if text.get_text() in near]
    assert [text.get_text() for text in names] == [*near]
    boxes = [text.get_window_extent() for text in names] + [ax._left_title.get_window_extent()]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_a_long_name_of_what_is_measured_stands_above_the_axis():
    short, long = (
        plot_curves({"a": [1.0, 2.0]}, **NAMES | {"y_label": words}, ax=new_axes(height=3))
        for words in ("loss", "loss at initialisation (nats per token)")
    )
    assert [ax.yaxis.label.get_rotation() for ax in (short, long)] == [90, 0]
    to_png(long)
    assert not long.yaxis.label.get_window_extent().overlaps(long._left_title.get_window_extent())


def test_no_curves_are_refused():
    with pytest.raises(ValueError, match="expected at least one named curve, got none: pass"):
        plot_curves({}, **NAMES)


def test_a_curve_of_another_length_is_refused_by_name():
    with pytest.raises(ValueError, match=r"curve 'b' .* each of the 2 values of x, got shape \(3,"):
        plot_curves({"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]}, **NAMES)


def test_epochs_count_from_one():
    ax = plot_loss([3.0, 2.0, 1.0])
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert legend_of(ax) == []


def test_floor_and_band_are_drawn_and_named():
    ax = plot_loss(
        [3.0, 2.0, 1.0],
        floor=0.1155,
        floor_label="target-only baseline",
        band=([2.5, 1.5, 0.5], [3.5, 2.5, 1.5]),
        band_label="two standard deviations",
    )
    assert legend_of(ax) == [
        "ours",
        "target-only baseline (0.1155)",
        "two standard deviations",
    ]
    _, floor = ax.lines
    assert floor.get_ydata() == pytest.approx([0.1155, 0.1155])
    edges = ax.collections[0].get_paths()[0].vertices
    assert (edges[:, 1].min(), edges[:, 1].max()) == (0.5, 3.5)


def test_entropy_is_drawn_over_powers_of_two_below_the_uniform_line():
    ax = plot_entropy_by_d_head([2, 8, 32], scaled=[2.0, 2.0, 2.0], unscaled=[2, 1, 0.2], n_keys=10)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "8", "32"]
    scaled, unscaled, uniform = ax.lines
    assert scaled.get_ydata()[-1] == 2.0 and unscaled.get_ydata()[-1] == pytest.approx(0.2)
    assert uniform.get_ydata()[0] == pytest.approx(np.log(10))
    assert legend_of(ax) == ["scores / √d_head", "unscaled scores", "uniform: ln 10"]


def test_bars_stand_in_order_with_their_numbers():
    ax = plot_bars({"seen": 99.04, "unseen": 95.5}, title="t", value="right (%)", group="split")
    assert [bar.get_width() for bar in ax.patches] == [99.04, 95.5]
    assert [text.get_text() for text in ax.texts] == ["99.0", "95.5"]
    assert ax.yaxis_inverted()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("right (%)", "split")


def test_a_bar_that_rounds_to_zero_has_no_number_and_a_negative_one_has_a_minus():
    bars = {"a": 0.04, "b": -0.04, "c": -2.0, "d": 0.06}
    ax = plot_bars(bars, title="t", value="v", group="g")
    assert [text.get_text() for text in ax.texts] == ["", "", "−2.0", "0.1"]


def test_the_number_of_the_longest_bar_stays_inside():
    ax = plot_bars({"a": 100.0}, title="t", value="%", group="split", limits=(0, 100))
    to_png(ax)
    assert ax.texts[0].get_window_extent().x1 <= ax.figure.bbox.x1
    assert ax.get_xlim()[0] == 0 and ax.get_xlim()[1] > 100


def test_no_bars_are_refused():
    with pytest.raises(ValueError, match="expected at least one bar, got none: pass"):
        plot_bars({}, title="t", value="v", group="g")


@pytest.mark.parametrize("draw", [plot_curves, plot_bars])
def test_axes_made_elsewhere_look_like_our_own(draw):
    names = NAMES if draw is plot_curves else {"title": "t", "value": "v", "group": "g"}
    numbers = {"a": [1.0, 2.0]} if draw is plot_curves else {"a": 1.0}
    given = Figure(figsize=(8, 4)).add_subplot()
    looks = []
    for ax in (draw(numbers, **names), draw(numbers, ax=given, **names)):
        grid = {line.get_color() for line in ax.get_xgridlines()}
        sides = [side for side, spine in ax.spines.items() if spine.get_visible()]
        looks.append((grid, sides, ax.xaxis.label.get_size(), ax.spines["left"].get_edgecolor()))
    assert looks[0] == looks[1]
