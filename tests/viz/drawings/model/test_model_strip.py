"""Each lesson has a spot in the strip, and the strip is the model."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from course_lib.model import DecoderBlock, EncoderBlock, preset
from course_lib.viz.drawings.drawing import HALF
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.block_parts import read_block
from course_lib.viz.drawings.model.model_strip import (
    BOX,
    DECODER,
    ENCODER,
    MEMORY,
    SPOTS,
    SUBLAYERS,
    draw_model_strip,
)

BOLD = 1.16  # how much wider than others bold letters are, at most
SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).parents[4]
PARTS = {part.name for part in (*ENCODER, *DECODER)}


def texts(picture):
    return list(ElementTree.fromstring(picture.svg()).iter(f"{SVG}text"))


def lit(picture):
    """The boxes with an accent border: how many."""
    boxes = ElementTree.fromstring(picture.svg()).iter(f"{SVG}rect")
    return sum(box.get("stroke") == "var(--accent)" and box.get("rx") == "7" for box in boxes)


def test_every_lesson_of_the_course_has_a_spot():
    lessons = {path.name[:2] for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert set(SPOTS) == lessons


@pytest.mark.parametrize("lesson", SPOTS)
def test_what_a_lesson_lights_is_part_of_the_strip(lesson):
    assert SPOTS[lesson].parts <= PARTS | {"sum", "block", "mask", "exit"}
    assert SPOTS[lesson].parts or SPOTS[lesson].way


@pytest.mark.parametrize("lesson", SPOTS)
def test_the_words_say_once_where_one_is_and_so_do_both_descriptions(lesson):
    strip = draw_model_strip(lesson)
    words = f"You are here: {SPOTS[lesson].words}"
    drawn = [text.text for panel in strip.panels for text in texts(panel)]
    assert drawn.count(words) == 1
    assert all(words in panel.description for panel in strip.panels)


@pytest.mark.parametrize("lesson", SPOTS)
def test_the_boxes_that_are_lit_are_those_of_the_lesson(lesson):
    strip = draw_model_strip(lesson)
    for panel, parts in zip(strip.panels, (ENCODER, DECODER), strict=True):
        assert lit(panel) == sum(part.name in SPOTS[lesson].parts for part in parts)


def test_no_two_lessons_have_the_same_words():
    assert len({spot.words for spot in SPOTS.values()}) == len(SPOTS)


@pytest.mark.parametrize(
    ("parts", "block", "is_decoder"),
    [(ENCODER, EncoderBlock, False), (DECODER, DecoderBlock, True)],
)
def test_the_sublayers_stand_in_the_order_in_which_the_model_calls_them(parts, block, is_decoder):
    config = preset("small", d_model=8, d_ff=8, n_heads=2)
    called = [part.name for part in read_block(block(config), is_decoder=is_decoder)]
    assert [part.name for part in parts if part.name in SUBLAYERS] == called


@pytest.mark.parametrize("parts", [ENCODER, DECODER])
def test_boxes_stand_beside_each_other_inside_the_panel_with_room_for_the_sums(parts):
    for one, other in pairwise(parts):
        room = 2 + (12 if one.name in SUBLAYERS else 0)
        assert other.x - one.x >= BOX + room
    assert parts[0].x - BOX / 2 >= 1 and parts[-1].x + BOX / 2 <= HALF - 1


@pytest.mark.parametrize("part", [*ENCODER, *DECODER])
def test_the_numbers_of_a_part_fit_into_its_box(part):
    assert text_width(part.lesson, 12) <= BOX - 4


@pytest.mark.parametrize("parts", [ENCODER, DECODER])
def test_names_below_the_boxes_do_not_touch_each_other(parts):
    for one, other in pairwise(parts):
        widths = [max(text_width(line, 12) for line in part.lines) for part in (one, other)]
        assert other.x - one.x > sum(widths) / 2 + 4


@pytest.mark.parametrize("lesson", SPOTS)
def test_the_memory_leaves_the_encoder_at_the_height_at_which_it_reaches_the_decoder(lesson):
    strip = draw_model_strip(lesson)
    assert strip.joined and all(panel.width == HALF for panel in strip.panels)
    reads, writes = (
        next(d for d in re.findall(r'd="(M[^"]*)"[^>]*stroke-width="6.0"', panel.body))
        for panel in strip.panels
    )
    end, start = reads.rpartition("L")[2], writes[1:].partition("L")[0]
    for panel in strip.panels:
        [pipe] = re.findall(r'<path [^>]*stroke-width="6.0"[^>]*>', panel.body)
        assert 'stroke="var(--german)"' in pipe
    assert (end, start) == (f"{HALF:.1f} {MEMORY:.1f}", f"0.0 {MEMORY:.1f}")


@pytest.mark.parametrize("lesson", SPOTS)
def test_no_word_is_small_or_leaves_the_panel(lesson):
    for panel in draw_model_strip(lesson).panels:
        for text in texts(panel):
            is_aside = "aside" in (text.get("class") or "")
            width = text_width(text.text, 12 if is_aside else 14)
            width *= 1 if is_aside else BOLD
            shift = {"middle": width / 2, "end": width, None: 0}[text.get("text-anchor")]
            start = float(text.get("x")) - shift
            assert start >= 0 and start + width <= HALF + 0.1, text.text
            assert float(text.get("y")) < panel.height - 3


@pytest.mark.parametrize("part", ["embedding", "positions", "feed_forward", "output", "ids"])
def test_a_part_carries_the_number_of_a_lesson_that_lights_it(part):
    (number,) = {p.lesson for p in (*ENCODER, *DECODER) if p.name == part}
    assert part in SPOTS[number].parts


def test_what_a_lesson_only_examines_is_dashed():
    examined = {number for number, spot in SPOTS.items() if spot.is_examined}
    assert examined == {"12", "14", "15", "16"}
    for number in SPOTS:
        drawn = "".join(panel.svg() for panel in draw_model_strip(number).panels)
        assert bool(re.search('stroke-dasharray="4 3"', drawn)) == (number in examined)


def test_a_lesson_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"one of 00, 01.*got '99'"):
        draw_model_strip("99")
