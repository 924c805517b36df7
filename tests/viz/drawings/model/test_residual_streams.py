"""The band of the gradient is as thick as the gradient that is given, on one scale in both."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.viz.drawings.model.residual_streams import THICKEST, draw_residual_streams

SVG = "{http://www.w3.org/2000/svg}"
TEN = [0.1 ** (10 - i) for i in range(11)], [1.1 ** (10 - i) for i in range(11)]


def texts(panel):
    return [text.text for text in ElementTree.fromstring(panel.svg()).iter(f"{SVG}text")]


def thickness(panel, n):
    """Of the gradient's band, from the first layer to the last."""
    paths = ElementTree.fromstring(panel.svg()).iter(f"{SVG}path")
    (band,) = (
        path.get("d")
        for path in paths
        if path.get("fill") == "var(--accent)" and path.get("d").count("L") == 2 * n + 1
    )
    heights = [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", band)]
    return [low - high for high, low in zip(heights[: n + 1], reversed(heights), strict=False)]


def test_the_numbers_at_the_ends_are_those_given():
    without, beside = draw_residual_streams(*TEN).panels
    assert {"0.0000000001", "1"} <= set(texts(without))
    assert {"2.59", "1"} <= set(texts(beside))
    assert "1 at the end, 0.0000000001 at the first layer" in without.description
    assert "1 at the end, 2.59 at the first layer" in beside.description


def test_the_band_is_as_thick_as_the_gradient_on_one_scale():
    panels = draw_residual_streams(*TEN).panels
    largest = max(TEN[0] + TEN[1])
    for panel, sizes in zip(panels, TEN, strict=True):
        expected = [size / largest * THICKEST for size in sizes]
        assert thickness(panel, 10) == pytest.approx(expected, abs=0.11)


@pytest.mark.parametrize("n", [2, 5, 10])
def test_there_is_a_box_for_each_layer_and_a_sum_only_beside_the_stream(n):
    without, beside = draw_residual_streams([1.0] * (n + 1), [1.0] * (n + 1)).panels
    assert texts(without).count("f") == texts(beside).count("f") == n
    assert texts(without).count("+") == 0
    assert texts(beside).count("+") == n


@pytest.mark.parametrize("n", [2, 5, 10])
def test_boxes_do_not_overlap_and_stay_inside(n):
    for panel in draw_residual_streams([1.0] * (n + 1), [1.0] * (n + 1)).panels:
        rects = list(ElementTree.fromstring(panel.svg()).iter(f"{SVG}rect"))
        ends = [(float(r.get("x")), float(r.get("x")) + float(r.get("width"))) for r in rects]
        assert all(a[1] < b[0] for a, b in pairwise(ends))
        assert ends[0][0] >= 0 and ends[-1][1] <= panel.width


def test_a_very_small_gradient_is_a_power_of_ten():
    without, _ = draw_residual_streams([3e-15, 1.0, 1.0], [1.0, 1.0, 1.0]).panels
    assert "3 × 10⁻¹⁵" in texts(without)


@pytest.mark.parametrize(
    ("without", "beside", "message"),
    [
        ([1.0, 1.0], [1.0, 1.0], "2 to 10 layers"),
        ([1.0] * 12, [1.0] * 12, "got 12 and 12 numbers"),
        ([1.0] * 4, [1.0] * 5, "as many in both"),
        ([1.0, -1.0, 1.0], [1.0] * 3, "at least 0"),
        ([float("nan"), 1.0, 1.0], [1.0] * 3, "sizes of a gradient"),
        ([0.0] * 3, [0.0] * 3, "not all 0"),
    ],
)
def test_numbers_that_are_no_gradients_are_refused(without, beside, message):
    with pytest.raises(ValueError, match=message):
        draw_residual_streams(without, beside)
