import base64
from io import BytesIO
from urllib.parse import unquote

import nbformat
import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from nbclient import NotebookClient
from PIL import Image

from course_lib.viz.display import MOST_SVG, bundle, show_figure, stored, to_png
from course_lib.viz.figure_html import picture_tag
from course_lib.viz.plot_svg import to_svg
from course_lib.viz.plots.heatmaps import plot_heatmap
from course_lib.viz.style import LINES, figure_of, new_axes
from course_lib.widget_output import WIDGET_VIEW


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"))


def noise():
    values = torch.randn(20, 30, generator=torch.Generator().manual_seed(0))
    return plot_heatmap(values, rows="row", columns="column", title="Noise")


def test_the_same_picture_has_the_same_bytes():
    assert to_png(noise()) == to_png(noise())


def test_another_picture_has_other_bytes():
    assert to_png(noise()) != to_png(new_axes())


def test_a_picture_is_opaque_white_around_its_axes():
    png = to_png(new_axes())
    assert Image.open(BytesIO(png)).mode == "P"
    assert "transparency" not in Image.open(BytesIO(png)).info
    assert (pixels(png)[[0, -1]] == 255).all()


def test_fewer_colours_change_no_pixel_visibly():
    figure = noise().get_figure(root=True)
    png = pixels(to_png(figure)).astype(int)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    full = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    assert np.abs(png - full).mean() < 2
    assert np.abs(png - full).max() < 48


def test_a_plot_is_stored_as_an_svg_unless_that_were_large():
    assert stored(new_axes()).startswith("<svg")
    ax = new_axes()
    for offset in range(20):
        ax.plot(torch.arange(400) * 0.1 + offset)
    assert len(to_svg(ax)) > MOST_SVG
    assert stored(ax) == to_png(ax)


def test_an_svg_is_the_address_of_an_image_that_follows_the_theme():
    svg = stored(plot_heatmap(torch.eye(2), rows="a", columns="b", title="50% <&> 'x' # \"é\""))
    data = bundle(svg, 'Two <lines> up to "16".')
    image = BeautifulSoup(data["text/html"], "html.parser").img
    kind, _, address = image["src"].partition(",")
    assert (kind, unquote(address)) == ("data:image/svg+xml", svg)
    assert image["class"] == ["plot"] and image["alt"] == data["text/plain"]
    style = BeautifulSoup(data["text/html"], "html.parser").style.text
    dark = next(rule for rule in style.split("}") if rule.endswith("{color-scheme:dark"))
    assert "[data-jp-theme-light=false]" in dark and "img.plot" in dark


def test_one_output_holds_the_picture_and_its_words():
    png = to_png(new_axes())
    data = bundle(png, "Two lines <up> to 16.")
    assert set(data) == {"text/html", "text/plain"}
    page = BeautifulSoup(data["text/html"], "html.parser")
    assert page.img["src"].startswith("data:image/webp;base64,")
    smaller = base64.b64decode(page.img["src"].split(",")[1])
    assert len(smaller) < len(png)
    assert (pixels(smaller) == pixels(png)).all()
    assert data["text/plain"] == "Two lines <up> to 16."
    assert page.img["alt"] == page.figcaption.text == data["text/plain"]


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_a_picture_without_words_is_refused(alt):
    with pytest.raises(ValueError, match="needs an alt text of one or two sentences, got an empty"):
        show_figure(new_axes(), alt)


def test_outside_a_notebook_the_words_are_printed_and_nothing_else(capsys):
    assert show_figure(new_axes(), "An empty plot.") is None
    assert capsys.readouterr().out == "An empty plot.\n"


def test_a_figure_made_with_pyplot_is_closed():
    _, ax = pyplot.subplots()
    show_figure(ax, "An empty plot.")
    assert pyplot.get_fignums() == []


@pytest.mark.slow
def test_a_notebook_stores_each_picture_once_and_widgets_keep_a_still():
    figure = "from course_lib.viz import *\nshow_figure(new_axes(), 'An empty plot.')"
    own = "from matplotlib import pyplot\nshow_figure(pyplot.figure(), 'An empty figure.')"
    widget = "interact(lambda depth=2: (new_axes(), f'Depth {depth}.'), depth=(1, 5))"
    cells = [nbformat.v4.new_code_cell(source) for source in (figure, own, widget)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [len(shown) for shown in outputs] == [1, 1, 1]
    assert [shown[0].data["text/plain"] for shown in outputs] == [
        "An empty plot.",
        "An empty figure.",
        "Depth 2.",
    ]
    assert 'alt="Depth 2."' in outputs[2][0].data["text/html"]
    assert picture_tag(stored(new_axes()), "An empty plot.") in outputs[0][0].data["text/html"]
    assert WIDGET_VIEW in outputs[2][0].data


@pytest.mark.slow
def test_the_rare_colours_of_a_picture_of_many_shades_stay_themselves():
    ax = new_axes()
    for i, colour in enumerate(LINES):
        for j in range(30):
            ax.plot([i, i + 0.9], [j, j + i], color=colour, alpha=(j + 1) / 30)
    figure = figure_of(ax)
    png = pixels(to_png(figure)).astype(int)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert np.abs(png - np.asarray(canvas.buffer_rgba())[..., :3]).max() < 48
