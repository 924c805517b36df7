"""Arcs go where the mask allows it, and the square below them is the mask."""

import re

import pytest
import torch

from course_lib.model import causal_mask, decoder_mask
from course_lib.viz.drawings.attention.mask_arcs import (
    PADDING,
    cross_attention_lines,
    masked_row,
    self_attention_arcs,
)

WORDS = ["we", "like", "tea", PADDING]


def square(panel):
    """What each cell of the mask is filled with, in order."""
    return re.findall(r'height="16" fill="([^"]+)"', panel.body)


@pytest.mark.parametrize("lit", [0, 1, 2])
def test_the_square_is_the_mask_and_the_lit_row_has_the_accent(lit):
    mask = causal_mask(4).reshape(4, 4)
    cells = square(self_attention_arcs("Past", WORDS, mask, language="english", lit=lit))
    for i, row in enumerate(mask.tolist()):
        for j, may in enumerate(row):
            seen = "var(--accent)" if i == lit else "var(--hair)"
            assert cells[4 * i + j] == (seen if may else "url(#hidden)"), (i, j)


def test_one_arc_leaves_the_lit_word_for_each_word_it_may_look_at():
    mask = torch.ones(4, 4, dtype=torch.bool)
    for allowed in range(1, 5):
        mask[1] = torch.arange(4) < allowed
        panel = self_attention_arcs("x", WORDS, mask, language="english", lit=1)
        arcs = re.findall(r'<path [^>]*stroke="var\(--accent\)" stroke-width="2.4"', panel.body)
        assert len(arcs) == allowed
        assert panel.body.count("×") == 4 - allowed  # what it may not look at is marked


def test_the_description_names_the_words_that_may_be_looked_at():
    mask = torch.tensor([[True, True, True, False]] * 4)
    panel = self_attention_arcs("Encoder", WORDS, mask, language="german", lit=2)
    assert panel.description == (
        "Of we, like, tea, pad, tea may look at we, like, tea. The rows of padding are never used."
    )


def test_each_word_has_the_colour_of_its_own_language():
    mask = causal_mask(3).reshape(3, 3)
    languages = ["german", "german", "english"]
    panel = self_attention_arcs("Row", ["der", "hund", "the"], mask, language=languages, lit=0)
    boxes = re.findall(r'stroke="var\(--(german|english)\)"', panel.body)
    assert boxes == languages


def test_rows_of_padding_are_muted_and_marked_as_unused_and_padding_looks_at_nothing():
    mask = torch.ones(4, 4, dtype=torch.bool)
    both = ("german", "english")
    for panel, quiet in (
        (self_attention_arcs("Self", WORDS, mask, language="english", lit=0), 2 * 3),
        (cross_attention_lines("Cross", WORDS, WORDS, mask, languages=both, lit=0), 2 * 4),
    ):
        lines = re.findall(r'<path [^>]*stroke="var\(--line\)"', panel.body)
        assert len(lines) == quiet  # from "like" and from "tea"
        [muted] = re.findall(r'<g class="muted">(.*?)</g>', panel.body)
        assert len(re.findall('height="16"', muted)) == 4
        assert panel.body.count("never used") == 1
    panel = self_attention_arcs("Self", WORDS[:3], mask[:3, :3], language="english", lit=0)
    assert "never used" not in panel.body + panel.description


def test_the_future_and_the_padding_of_a_sentence_are_both_hidden():
    mask = decoder_mask(torch.tensor([[1, 2, 3, 0]]), 0).reshape(4, 4)
    panel = self_attention_arcs("Decoder", WORDS, mask, language="german", lit=1)
    hidden = [fill == "url(#hidden)" for fill in square(panel)]
    assert hidden == (~mask).flatten().tolist()
    assert panel.body.count("×") == 2


@pytest.mark.parametrize("lit", [0, 1, 2])
def test_the_numbers_of_a_masked_row_are_those_of_pytorch_and_work_out(lit):
    scores = torch.tensor([2.0, 1.0, 5.0, 1.0]).log()
    mask = torch.tensor([True, True, True, False])
    panel = masked_row("Row", WORDS, scores, mask, language="english", lit=lit)
    numbers = re.findall(
        r'<text [^>]*class="aside(?: bold)?" text-anchor="middle"[^>]*>([^<a-z]+)<', panel.body
    )
    assert numbers[:8] == ["0.69", "0", "1.61", "0", "0.69", "0", "1.61", "−∞"]
    weights = scores.masked_fill(~mask, -torch.inf).softmax(0)
    seen = weights[:3].tolist()
    assert [float(each) for each in numbers[8:]] == pytest.approx([2, 1, 5, 0, *seen, 0])
    [line] = re.findall(r">(\w+: [^<]*=[^<]*)<", panel.body)
    assert line.startswith(f"{WORDS[lit]}: ")
    left, right = line.partition(": ")[2].replace("÷", "/").split("=")
    assert eval(left) == float(right) == pytest.approx(float(weights[lit]))
    fills = re.findall(r'height="22" fill="([^"]+)"', panel.body)
    assert fills[3::4] == ["url(#hidden)"] * 4 and fills.count("url(#hidden)") == 4
    framed, cell = (
        [float(at) for at in re.findall(rf'x="([\d.]+)"[^>]*{look}', panel.body)]
        for look in ('height="24.0"', 'height="22" fill="var\\(--attention\\)"')
    )
    assert framed == [cell[lit] + 0.5]


def test_a_row_that_hides_the_word_that_asks_is_refused():
    with pytest.raises(ValueError, match="that tea may attend to itself"):
        masked_row(
            "x",
            WORDS,
            torch.zeros(4),
            torch.tensor([True, True, False, False]),
            language="english",
            lit=2,
        )


def test_cross_attention_has_a_line_for_each_pair_that_is_allowed():
    mask = torch.tensor([[True, True, True, False]] * 2)
    panel = cross_attention_lines(
        "Cross", ["wir", "mögen"], WORDS, mask, languages=("german", "english"), lit=1
    )
    strong, quiet = (
        re.findall(rf'<path [^>]*stroke="var\(--{colour}\)"', panel.body)
        for colour in ("accent", "line")
    )
    assert (len(strong), len(quiet)) == (3, 3)
    assert len(square(panel)) == 8
    assert "×" in panel.body


def test_each_column_of_the_mask_stands_below_its_word():
    mask = torch.ones(4, 4, dtype=torch.bool)
    for panel in (
        self_attention_arcs("Self", WORDS, mask, language="english", lit=0),
        cross_attention_lines("Cross", WORDS, WORDS, mask, languages=("german", "english"), lit=0),
    ):
        boxes = re.findall(r'<rect x="([\d.]+)" y="118.0" width="([\d.]+)"', panel.body)
        cells = re.findall(
            r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="16"', panel.body
        )
        for (x, width), (left, reach) in zip(boxes, cells[:4], strict=True):
            assert float(left) - 0.1 <= float(x)
            assert float(x) + float(width) <= float(left) + float(reach) + 0.1


def test_words_without_room_are_refused():
    with pytest.raises(ValueError, match="340 pixels, got .*geschwindigkeit"):
        self_attention_arcs(
            "x",
            ["geschwindigkeitsbegrenzung"] * 3,
            torch.ones(3, 3, dtype=torch.bool),
            language="german",
            lit=0,
        )
