import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from matplotlib import pyplot

from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plot_svg import dark_of, to_svg
from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.plots.heatmaps import plot_attention
from course_lib.viz.style import new_axes

SVG = "{http://www.w3.org/2000/svg}"
NAMES = {"x_label": "step", "y_label": "loss", "title": "Two & more"}


def curves(**options):
    return plot_curves({"a": [1.0, 2.0, 1.5], "b": [2.0, 1.0, 0.5]}, **NAMES, **options)


def attention(length: int = 3):
    weights = torch.randn(length, length, generator=torch.Generator().manual_seed(0)).softmax(-1)
    words = [f"word{i}" for i in range(length)]
    return plot_attention(weights, words, words)


@pytest.mark.slow
def test_the_same_plot_has_the_same_text_and_another_has_another():
    assert to_svg(curves()) == to_svg(curves())
    assert to_svg(attention()) == to_svg(attention())
    assert to_svg(curves()) != to_svg(curves(log_y=True))


def test_a_plot_is_as_large_as_its_png():
    root = ElementTree.fromstring(to_svg(new_axes(width=8, height=4)))
    assert (root.get("width"), root.get("height")) == ("800", "400")


def test_every_colour_is_a_variable_with_a_value_for_each_theme():
    ax = curves(accent="a")
    ax.axhline(1, color="#0173b2")  # a colour without a meaning
    svg = to_svg(ax)
    style, _, marks = svg.partition("</style>")
    assert "#" not in re.sub(r"(?:url\(|href=')#\w+", "", marks)
    used = set(re.findall(r"var\(--([\w-]+)\)", svg))
    assert {"ink", "soft", "hair", "page", "accent", "0173b2"} <= used
    accent = COLOURS["accent"]
    assert f"--accent:light-dark({accent.light},{accent.dark})" in style
    assert f"--0173b2:light-dark(#0173b2,{dark_of('#0173b2')})" in style
    assert style.index("--accent:#") < style.index("@supports")  # for browsers without light-dark()
    assert ":root{color-scheme:light dark}" in style


def test_a_dark_colour_is_light_on_a_dark_page_and_keeps_its_hue():
    assert dark_of("#000000") == "#ededed"
    assert dark_of("#ffffff") == "#121212"
    red, green, blue = bytes.fromhex(dark_of("#800000")[1:])
    assert red > 200 and green == blue < red


def test_words_stay_words_and_need_no_font_of_ours():
    svg = to_svg(curves())
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {"step", "loss", "Two & more", "a", "b"} <= set(texts)
    assert "DejaVu" not in svg and "system-ui" in svg


def test_nothing_tells_when_or_by_what_a_plot_was_made():
    svg = to_svg(curves())
    assert "metadata" not in svg and "matplotlib" not in svg.lower()


def test_black_is_ink_and_white_is_page():
    ax = new_axes()
    ax.plot([0, 1], color="black")
    ax.text(0.5, 0.5, "x", color="white")
    svg = to_svg(ax)
    assert "var(--000000)" not in svg and "var(--ffffff)" not in svg
    assert "stroke:var(--ink)" in svg and "fill:var(--page)" in svg


def test_drawing_an_svg_changes_nothing_of_the_plot():
    ax = attention(12)
    to_svg(ax)
    assert all("draw" not in vars(artist) for artist in ax.figure.findobj())
    assert {label.get_ha() for label in ax.get_xticklabels()} == {"center"}


def test_an_upright_word_ends_at_its_axis_however_wide_its_letters_are():
    root = ElementTree.fromstring(to_svg(attention(30)))
    [*words] = [e for e in root.iter(f"{SVG}text") if "rotate(-90" in e.get("transform", "")]
    keys = [word for word in words if (word.text or "").startswith("word")]
    styles = root.find(f"{SVG}style").text
    assert keys
    for word in keys:
        style = word.get("style") or re.search(rf"\.{word.get('class')}{{([^}}]*)}}", styles)[1]
        assert "text-anchor:end" in style


@pytest.mark.parametrize("rows", [1, 7])
def test_a_curve_has_all_its_points(rows):
    values = np.sin(np.arange(50 * rows))
    svg = to_svg(plot_curves({"a": values}, **NAMES))
    longest = max(re.findall(r" d='([^']*)'", svg), key=len)
    assert longest.count("L") == len(values) - 1


def test_a_figure_of_pyplot_can_be_stored():
    figure, ax = pyplot.subplots()
    ax.plot([0, 1])
    assert to_svg(figure).startswith("<svg")
    pyplot.close(figure)
