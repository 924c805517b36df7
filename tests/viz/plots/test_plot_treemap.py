import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from course_lib.model import parameter_parts, preset
from course_lib.viz.display import to_png
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plots.plot_treemap import percentage, plot_treemap, squarify


def fields(ax):
    return [patch for patch in ax.patches if patch.get_fill()]


def test_areas_are_proportional_to_their_numbers():
    ax = plot_treemap({"a": {"x": 600, "y": 300}, "b": {"z": 100}}, title="Sizes")
    areas = {f.get_label(): f.get_width() * f.get_height() for f in fields(ax)}
    whole = sum(areas.values())
    assert {name: area / whole for name, area in areas.items()} == pytest.approx(
        {"a: x": 0.6, "a: y": 0.3, "b: z": 0.1}
    )
    assert ax.get_title(loc="left") == "Sizes"


def test_the_group_of_the_title_alone_is_lit_and_another_one_is_refused():
    parts = {"a": {"x": 600, "y": 300}, "b": {"z": 100}}
    ax = plot_treemap(parts, title="Sizes", accent="a")
    lit = {
        f.get_label() for f in fields(ax) if to_hex(f.get_facecolor()) == COLOURS["accent"].light
    }
    assert lit == {"a: x", "a: y"}
    with pytest.raises(ValueError, match="accent must be one of a, b, got 'c'"):
        plot_treemap(parts, title="Sizes", accent="c")


def test_a_group_without_room_for_words_is_named_below_with_its_share():
    ax = plot_treemap({"a": {"x": 9_999}, "b": {"z": 1}}, title="Sizes")
    assert ax.texts[-1].get_text() == "too small for words: b 1 (< 0.1%)"


@pytest.mark.parametrize("name", ["small", "paper_base", "fastai_qa", "wmt14_de_en", "naive_mt"])
def test_every_label_fits_its_rectangle_and_the_line_below_the_figure(name):
    ax = plot_treemap(parameter_parts(preset(name)), title=name)
    to_png(ax)
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    boxes = [field.get_window_extent(renderer) for field in fields(ax)]
    below = [text for text in ax.texts if text.get_text().startswith("too small")]
    assert len(ax.texts) > len(below)
    for text in set(ax.texts) - set(below):
        words = text.get_window_extent(renderer)
        assert any(
            box.x0 <= words.x0 and words.x1 <= box.x1 and box.y0 <= words.y0 and words.y1 <= box.y1
            for box in boxes
        ), text.get_text()
    for words in (text.get_window_extent(renderer) for text in below):
        assert words.x0 >= 0 and words.x1 <= ax.figure.bbox.x1 and words.y0 >= 0


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=12).filter(any))
def test_a_box_is_filled_without_overlap(sizes):
    boxes = squarify(sizes, (0.0, 0.0, 4.0, 2.0))
    for (_, _, width, height), size in zip(boxes, sizes, strict=True):
        assert width * height == pytest.approx(8 * size / sum(sizes), abs=1e-6)
    for (x, y, w, h), (x2, y2, w2, h2) in itertools.combinations(boxes, 2):
        across, along = min(x + w, x2 + w2) - max(x, x2), min(y + h, y2 + h2) - max(y, y2)
        assert min(across, along) <= 1e-6


def test_boxes_are_as_square_as_in_the_paper():
    # The example of Bruls, Huizing and van Wijk: 6 by 4, areas 6, 6, 4, 3, 2, 2, 1.
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], (0.0, 0.0, 6.0, 4.0))
    assert boxes[0] == pytest.approx((0, 0, 3, 2)) and boxes[1] == pytest.approx((0, 2, 3, 2))
    assert boxes[2][2:] == pytest.approx((12 / 7, 7 / 3))


def test_a_small_share_is_not_rounded_to_zero():
    assert [percentage(part) for part in (0, 0.0001, 0.005, 1)] == [
        "0.0%",
        "< 0.1%",
        "0.5%",
        "100.0%",
    ]
