"""The towers are the model's: its parts in its order, as high as they have parameters."""

import re

import pytest
import torch

from course_lib.model import Transformer, count_parameters, preset
from course_lib.viz.drawings.drawing import HALF
from course_lib.viz.drawings.model.parameter_towers import draw_parameter_towers


def boxes(panel):
    """The height of each part, from bottom to top, and what it says: its name and its count."""
    heights = [float(h) for h in re.findall(r'<rect [^>]*height="([\d.]+)" rx="7"', panel.body)]
    names = re.findall(r'text-anchor="start"|([a-z][^<>]*)</text><text [^>]*>\d\d<', panel.body)
    counts = re.findall(r'class="bold" text-anchor="end">([\d,]+)<', panel.body)
    return heights, [name for name in names if name], [int(n.replace(",", "")) for n in counts]


@pytest.fixture(scope="module")
def model():
    config = preset("small", source_vocab=932, target_vocab=661)
    return Transformer(config)


def test_all_parameters_are_in_the_towers(model):
    drawing = draw_parameter_towers(model)
    totals = [int(panel.title.rpartition(" ")[2].replace(",", "")) for panel in drawing.panels]
    assert sum(totals) == count_parameters(model.config)
    for panel, total in zip(drawing.panels, totals, strict=True):
        norms = int(re.search(r"([\d,]+) of them in norms", panel.note)[1].replace(",", ""))
        assert sum(boxes(panel)[2]) + norms == total


def test_the_parts_stand_in_the_order_in_which_the_model_runs_them(model):
    called = []
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in ("self_attention", "cross_attention", "feed_forward"):
            module.register_forward_hook(lambda *_, name=name: called.append(name))
    ids = torch.ones(1, 3, dtype=torch.long)
    model(ids, ids)
    for panel, stack in zip(
        draw_parameter_towers(model).panels, ("encoder", "decoder"), strict=True
    ):
        ran = [name for name in called if name.startswith(stack)]
        told = [
            f"block {int(name.split('.')[2]) + 1} · {name.split('.')[3].replace('_', '-')}"
            for name in ran
        ]
        drawn = [name for name in boxes(panel)[1] if name.startswith("block")]
        assert drawn == told


def test_a_part_is_as_high_as_it_has_parameters(model):
    for panel in draw_parameter_towers(model).panels:
        heights, _, counts = boxes(panel)
        for height, count in zip(heights, counts, strict=True):
            assert height / heights[0] == pytest.approx(count / counts[0], rel=0.01)


def test_a_shared_table_is_counted_once():
    config = preset("small", source_vocab=661, target_vocab=661, tying="all")
    reads, writes = draw_parameter_towers(Transformer(config)).panels
    assert boxes(reads)[2][0] == 661 * config.d_model
    assert boxes(writes)[2][0] == 0  # the same table
    assert boxes(writes)[2][-1] == 661  # the biases are the output layer's own


def test_the_memory_of_both_towers_is_one_pipe(model):
    drawing = draw_parameter_towers(model)
    assert drawing.joined
    reads, writes = (
        re.search(r'd="(M[^"]*)"[^>]*stroke-width="8.0"', panel.body)[1] for panel in drawing.panels
    )
    (right, y), (left, same) = reads.rpartition("L")[2].split(), writes[1:].split("L")[0].split()
    assert (float(right), float(left)) == (HALF, 0) and y == same
