import base64
import re
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from course_lib.viz.plot_svg import to_svg
from course_lib.viz.plots.heatmaps import plot_attention, plot_heatmap
from course_lib.viz.plots.plot_padding import plot_padding
from course_lib.viz.style import new_axes

SVG = "{http://www.w3.org/2000/svg}"
NAMES = {"rows": "row", "columns": "column", "title": "Values"}


def cells(picture) -> dict[tuple[int, int], tuple[str, float]]:
    """Of the only heat map: row and column, and the colour with its opacity."""
    [heat_map] = ElementTree.fromstring(to_svg(picture)).findall(f".//{SVG}svg")
    found = {}
    for path in heat_map.findall(f"{SVG}path")[1:]:
        colour = re.search(r"--([\w-]+)", path.get("fill"))[1]
        for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d")):
            for column in range(int(x), int(x) + int(length)):
                found[int(y), column] = (colour, float(path.get("fill-opacity", 1)))
    return found


def test_a_weight_is_the_opacity_of_one_colour_and_zero_is_the_page():
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.75, 0.25]])
    found = cells(plot_attention(weights, ["the", "dog"], ["der", "Hund", "."]))
    assert found.keys() == {(0, 0), (1, 1), (1, 2)}
    assert {colour for colour, _ in found.values()} == {"attention"}
    assert found[0, 0][1] == 1
    assert found[1, 1][1] == pytest.approx(0.75, abs=0.011)
    assert found[1, 2][1] == pytest.approx(0.25, abs=0.011)


def test_values_below_zero_have_a_colour_of_their_own_on_the_same_scale():
    found = cells(plot_heatmap(torch.tensor([[-1.0, 0.0, 2.0]]), **NAMES))
    assert found == {(0, 0): ("negative", 0.5), (0, 2): ("positive", 1.0)}


@pytest.mark.parametrize("quantity", ["similarity", "leakage"])
def test_each_quantity_has_its_own_colour(quantity):
    found = cells(plot_heatmap(torch.ones(1, 2), quantity=quantity, **NAMES))
    assert {colour for colour, _ in found.values()} == {quantity}


def test_a_masked_cell_is_left_out_and_a_zero_covers_the_hatching():
    mask = torch.tensor([[True, True, False]])
    svg = to_svg(plot_heatmap(torch.tensor([[1.0, 0.0, 0.5]]), mask=mask, **NAMES))
    [heat_map] = ElementTree.fromstring(svg).findall(f".//{SVG}svg")
    page, *marks = heat_map.findall(f"{SVG}path")
    assert (page.get("fill"), page.get("d")) == ("var(--page)", "M0 0h2v1h-2z")
    assert [mark.get("d") for mark in marks] == ["M0 0h1v1h-1z"]


def test_many_cells_are_pixels_of_the_same_values():
    values = torch.linspace(-1, 1, 40 * 50).reshape(40, 50)
    svg = to_svg(plot_heatmap(values, **NAMES))
    below, above = (
        np.asarray(Image.open(BytesIO(base64.b64decode(data)))) / 255
        for data in re.findall(r"href='data:image/png;base64,([^']+)'", svg)
    )
    larger = len(above) // 40
    assert above[::larger, ::larger] == pytest.approx(values.clamp(min=0).numpy(), abs=0.01)
    assert below[::larger, ::larger] == pytest.approx((-values).clamp(min=0).numpy(), abs=0.01)
    assert len(svg) < 20_000


def test_the_colour_bar_runs_through_the_page_at_zero():
    svg = to_svg(plot_heatmap(torch.tensor([[-1.0, 3.0]]), limits=(-1, 3), **NAMES))
    stops = [
        (float(stop.get("offset")), stop.get("stop-color"), float(stop.get("stop-opacity")))
        for stop in ElementTree.fromstring(svg).iter(f"{SVG}stop")
    ]
    below, above = "var(--negative)", "var(--positive)"
    assert stops == [(0, below, 1), (0.5, below, 0), (0.5, above, 0), (1, above, 1)]


def test_a_part_of_a_heat_map_fills_the_axes():
    ax = plot_heatmap(torch.ones(4, 6), **NAMES)
    ax.set_xlim(0.5, 3.5)
    heat_map = ElementTree.fromstring(to_svg(ax)).find(f".//{SVG}svg")
    assert [float(n) for n in heat_map.get("viewBox").split()] == pytest.approx([1, 0, 3, 4])


def test_a_palette_of_somebody_elses_stays_pixels():
    ax = new_axes()
    ax.imshow(np.eye(3), cmap="RdBu_r")
    svg = to_svg(ax)
    assert "<image" in svg and svg.count("<svg") == 1


def test_the_tokens_of_a_batch_follow_the_theme():
    found = cells(plot_padding({"one": [torch.tensor([[5, 6, 0], [7, 0, 0]])]}, 0))
    assert found == dict.fromkeys([(0, 0), (0, 1), (1, 0)], ("german", 1.0))


def test_each_of_several_batches_in_one_plot_takes_its_colour_from_the_theme():
    batches = [torch.tensor([[5, 6], [5, 0]]), torch.tensor([[7, 8]])]
    svg = to_svg(plot_padding({"bucketed": batches}, 0))
    drawn = ElementTree.fromstring(svg).findall(f".//{SVG}svg")
    assert [batch.findall(f"{SVG}path")[-1].get("fill") for batch in drawn] == ["var(--german)"] * 2
    assert "<image" not in svg
