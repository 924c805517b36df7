"""The coloured cells are those that the norm averages, and the numbers below are PyTorch's."""

import math
from xml.etree import ElementTree

import pytest
import torch
from torch.nn import functional as F

from course_lib.viz.drawings.marks import signed, text_width
from course_lib.viz.drawings.model.norm_blocks import HEIGHT, LEFT, TOP, WIDEST, draw_norm_blocks

SVG = "{http://www.w3.org/2000/svg}"
WORDS = [["the", "cat", "sleeps"], ["it", "rains", "pad"]]
X = torch.tensor(
    [
        [[1.0, 2, 3, 6], [4, 0, 2, 2], [1, 5, -1, 3]],
        [[2.0, 1, 0, 7], [0, 3, 4, 1], [0, 0, 0, 0]],
    ]
)


def draw(**changes):
    arguments = {"sentences": WORDS, "x": X} | changes
    return draw_norm_blocks(arguments.pop("sentences"), arguments.pop("x"), **arguments)


def texts(panel):
    return [text.text for text in ElementTree.fromstring(panel.svg()).iter(f"{SVG}text")]


def after(panel):
    """The numbers after the norm, from the description."""
    told = panel.description.partition("After the norm: ")[2].rstrip(".")
    return torch.tensor([float(each.replace("−", "-")) for each in told.split(", ")])


def test_layer_norm_shows_the_numbers_of_pytorch():
    for lit in range(3):
        (panel,) = draw(norms=["layer"], lit=lit).panels
        assert torch.allclose(after(panel), F.layer_norm(X[0, lit], (4,)), atol=0.006)


def test_batch_norm_shows_the_numbers_of_pytorch():
    (panel,) = draw(norms=["batch"]).panels
    normed = F.batch_norm(X.flatten(0, 1), None, None, training=True)[:, -1]
    assert torch.allclose(after(panel), normed, atol=0.006)


def test_rms_norm_scales_and_subtracts_nothing():
    (panel,) = draw(norms=["rms"]).panels
    expected = X[0, 0] / X[0, 0].square().mean().sqrt()
    assert torch.allclose(after(panel), expected, atol=0.006)
    assert {"√((1 + 4 + 9 + 36) / 4) = 3.54", "6 / 3.54 = 1.70"} <= set(texts(panel))


def test_the_working_of_one_number_stands_below_the_blocks():
    layer, batch = draw().panels
    assert {
        "(1 + 2 + 3 + 6) / 4 = 3",
        "√((4 + 1 + 0 + 9) / 4) = 1.87",
        "(6 − 3) / 1.87 = 1.60",
    } <= set(texts(layer))
    assert {
        "(6 + 2 + 3 + 7 + 1 + 0) / 6 = 3.17",
        "√(mean square 6.47) = 2.54",
        "(6 − 3.17) / 2.54 = 1.11",
    } <= set(texts(batch))
    assert "1, 2, 3, 6. Mean 3, standard deviation 1.87." in layer.description


@pytest.mark.parametrize("norm", ["layer", "batch", "rms"])
@pytest.mark.parametrize("lit", [0, 1, 2])
def test_who_works_it_out_with_a_pencil_finds_the_same(norm, lit):
    x = X + torch.tensor([-0.25, 0.5, 1.75, 0.125])
    (panel,) = draw(norms=[norm], lit=lit, x=x).panels
    workings = [text for text in texts(panel) if " = " in text and "d_model" not in text]
    assert len(workings) == (2 if norm == "rms" else 3)
    for working in workings:
        left, _, right = working.replace("−", "-").replace("mean square ", "").partition(" = ")
        found = eval(left.replace("√", "math.sqrt"), {"math": math})
        assert found == pytest.approx(float(right), abs=0.02), working
    number = float(x[0, lit, -1])
    assert f"for {signed(number, 0 if number.is_integer() else 2)}" in texts(panel)


def test_the_number_that_is_followed_is_outlined_in_its_block_and_in_each_row():
    for panel, at in zip(draw(lit=1).panels, (3, 1), strict=True):
        rects = list(ElementTree.fromstring(panel.svg()).iter(f"{SVG}rect"))
        outlines = [rect for rect in rects if rect.get("fill") == "none" and rect.get("stroke")]
        assert len(outlines) == 4
        inside = LEFT + 3 * WIDEST, TOP + HEIGHT
        assert (float(outlines[0].get("x")), float(outlines[0].get("y"))) == inside
        assert {float(each.get("x")) for each in outlines[1:]} == {LEFT + at * WIDEST}


@pytest.mark.parametrize(("norm", "n"), [("layer", 4), ("batch", 6), ("rms", 4)])
def test_the_cells_that_are_coloured_are_those_that_are_averaged(norm, n):
    (panel,) = draw(norms=[norm]).panels
    assert f"{n} cells are coloured" in panel.description
    root = ElementTree.fromstring(panel.svg())
    at = [
        (float(rect.get("x")), float(rect.get("y")))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("fill") == "var(--accent)"
    ]
    assert len(at) == n
    assert len({x for x, _ in at}) == (1 if norm == "batch" else 4)
    assert len({y for _, y in at}) == (6 if norm == "batch" else 1)


def test_every_number_of_both_sentences_is_in_sight():
    (panel,) = draw(norms=["layer"], x=X + 0.25).panels
    drawn = texts(panel)
    blocks = drawn[drawn.index("the") : drawn.index("numbers")]
    for number in (X + 0.25).flatten().tolist():
        blocks.remove(signed(number, 2))
    assert blocks == ["the", "cat", "sleeps", "sentence 1", "it", "rains", "pad", "sentence 2"]


def test_padding_is_named_only_where_there_is_some():
    assert "padding included" in draw(norms=["batch"]).panels[0].note
    full = [["the", "cat", "sleeps"], ["it", "rains", "here"]]
    assert "padding" not in draw(norms=["batch"], sentences=full).panels[0].note


@pytest.mark.parametrize("n_words", [1, 4])
@pytest.mark.parametrize("d_model", [2, 4])
def test_everything_stays_inside_the_panel_with_other_numbers(n_words, d_model):
    x = torch.randn(2, n_words, d_model, generator=torch.Generator().manual_seed(1)) * 9
    for panel in draw(sentences=[["word"] * n_words] * 2, x=x).panels:
        root = ElementTree.fromstring(panel.svg())
        assert panel.height <= 460
        for rect in root.iter(f"{SVG}rect"):
            assert float(rect.get("x")) + float(rect.get("width")) <= panel.width
            assert float(rect.get("y")) + float(rect.get("height")) <= panel.height
        for text in root.iter(f"{SVG}text"):
            size = 12 if "aside" in (text.get("class") or "") else 14
            width = text_width(text.text, size, bold="bold" in (text.get("class") or ""))
            shift = {"middle": width / 2, "end": width, None: 0}[text.get("text-anchor")]
            start = float(text.get("x")) - shift
            assert start >= -1 and start + width <= panel.width + 1, text.text


def test_numbers_that_are_all_equal_are_refused():
    with pytest.raises(ValueError, match="standard deviation is 0"):
        draw(x=torch.ones(2, 3, 4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentences": WORDS[:1]}, "two sentences"),
        ({"sentences": [["the"], ["it", "rains", "pad"]]}, "fill up the shorter with 'pad'"),
        ({"x": X.repeat(1, 1, 2)}, "room for 4 words of 4 numbers, got 3 of 8"),
        ({"x": 100 * X}, "expected numbers below 99, which fit into a cell, got 700"),
        ({"x": X / 0}, "expected numbers below 99"),
        ({"norms": ["group"]}, "expected norms among layer, batch, rms, got group"),
        ({"lit": 3}, "lit must be the index of one of 3 words, got 3"),
        ({"sentences": [["the", "cat", "Donaudampfschiff"], WORDS[1]]}, "Donaudampfschiff"),
    ],
)
def test_what_has_no_room_or_does_not_belong_together_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        draw(**changes)
