"""The coloured cells are those that the norm averages, and the numbers below are PyTorch's."""

import re
from xml.etree import ElementTree

import pytest
import torch
from torch.nn import functional as F

from course_lib.viz.drawings.marks import signed, text_width
from course_lib.viz.drawings.model.norm_blocks import draw_norm_blocks

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
    assert "root mean square 3.54" in texts(panel)


def test_mean_and_standard_deviation_stand_beside_the_numbers():
    (panel,) = draw(norms=["layer"]).panels
    assert "mean 3, standard deviation 1.87" in texts(panel)
    assert "1, 2, 3, 6. Mean 3, standard deviation 1.87." in panel.description


@pytest.mark.parametrize(("norm", "n"), [("layer", 4), ("batch", 6), ("rms", 4)])
def test_the_cells_that_are_coloured_are_those_that_are_averaged(norm, n):
    (panel,) = draw(norms=[norm]).panels
    assert f"{n} cells are coloured" in panel.description
    root = ElementTree.fromstring(panel.svg())
    faces = [face.get("fill") == "var(--accent)" for face in root.iter(f"{SVG}polygon")]
    # A word: its front, the four cells above it and its right end; a column: front, top, right.
    assert sum(faces) == {"layer": 4 + 4 + 1, "batch": 3 + 2 + 6, "rms": 4 + 4 + 1}[norm]


def test_every_number_in_sight_is_one_of_the_vectors():
    (panel,) = draw(norms=["layer"], x=X + 0.25).panels
    drawn = texts(panel)
    for number in (X[0] + 0.25).flatten().tolist() + (X[1, :, -1] + 0.25).tolist():
        assert signed(number, 1) in drawn


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
        assert panel.height <= 420
        for rect in root.iter(f"{SVG}rect"):
            assert float(rect.get("x")) + float(rect.get("width")) <= panel.width
            assert float(rect.get("y")) + float(rect.get("height")) <= panel.height
        for text in root.iter(f"{SVG}text"):
            size = 12 if "aside" in (text.get("class") or "") else 14
            width = text_width(text.text, size)
            shift = {"middle": width / 2, "end": width, None: 0}[text.get("text-anchor")]
            start = float(text.get("x")) - shift
            assert start >= -1 and start + width <= panel.width + 1, text.text
        for polygon in root.iter(f"{SVG}polygon"):
            points = [float(each) for each in re.split("[ ,]", polygon.get("points"))]
            assert min(points[::2]) >= 0 and max(points[::2]) <= panel.width


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
