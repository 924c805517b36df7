import itertools
import xml.etree.ElementTree as ElementTree

import pytest
import torch

from course_lib.model import sinusoidal_positions
from course_lib.viz.drawings.drawing import TEXT, WIDTH
from course_lib.viz.drawings.marks import in_cell, signed, text_width
from course_lib.viz.drawings.words.lookup import WIDE, draw_lookup

SVG = "{http://www.w3.org/2000/svg}"
WORDS, VOCABULARY = ["i", "like", "tea"], ["<pad>", "i", "like", "tea"]
TABLE = torch.tensor(
    [[0, 0, 0, 0], [0.5, 0.1, -0.25, 0.3], [-0.2, 0.4, 0.1, -0.5], [0.5, -0.25, 0.25, 0.125]]
)
ENCODINGS = sinusoidal_positions(3, 4)


def draw(words=WORDS, vocabulary=VOCABULARY, **changes):
    given = {"table": TABLE, "encodings": ENCODINGS, "position": 2}
    return draw_lookup(words, vocabulary, **given | changes)


def long(n_rows=50, d_model=16):
    table = torch.randn(n_rows, d_model, generator=torch.Generator().manual_seed(0))
    words = [f"w{i}" for i in range(n_rows)]
    return words, {"table": table, "encodings": sinusoidal_positions(9, d_model)}


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def texts(panel):
    return [element.text for element in elements(panel, "text")]


def cells(panel):
    """What stands in the cells of vectors."""
    return [e.text for e in elements(panel, "text") if e.get("class") == "aside bold"]


def ids(panel):
    """The numbers before the rows, which end where the first column of words begins."""
    numbers = [e for e in elements(panel, "text") if e.get("text-anchor") == "end"]
    return [int(e.text) for e in numbers if e.text.isdigit()]


def rounded(values):
    return [in_cell(value, 2) for value in values.flatten().tolist()]


def test_the_sum_is_row_times_root_plus_encoding():
    row, encoding = TABLE[3], ENCODINGS[2]
    numbers = cells(draw().panels[1])
    expected = torch.stack([row, 2 * row, encoding, 2 * row + encoding])
    assert numbers == rounded(expected)
    assert (
        ", ".join(signed(v, 2) for v in (2 * row + encoding).tolist())
        in draw().panels[1].description
    )


def test_the_first_panel_holds_the_table_and_its_ids():
    panel = draw().panels[0]
    assert cells(panel) == rounded(TABLE)
    assert ids(panel) == [0, 1, 2, 3]
    assert "id 3" in texts(panel)
    assert "has the id 3" in panel.description


@pytest.mark.parametrize("position", [0, 1, 2])
def test_the_arrow_ends_at_the_row_of_the_word(position):
    panel = draw(position=position).panels[0]
    word = WORDS[position]
    in_table = [t for t in elements(panel, "text") if t.text == word][-1]
    head = next(p for p in elements(panel, "path") if p.get("d").endswith("z"))
    tip = float(head.get("d")[1:].split("L")[0].split()[1])
    assert abs(tip - float(in_table.get("y"))) < 6
    assert f"id {VOCABULARY.index(word)}" in texts(panel)


@pytest.mark.parametrize("word", [0, 1, 2, 25, 48, 49])
def test_of_a_long_table_the_row_of_the_word_is_drawn_with_its_neighbours(word):
    words, given = long()
    broad = draw_lookup([words[word]], words, position=0, **given).panels[0]
    assert (broad.width, broad.narrow.width) == (TEXT, WIDTH)
    for panel, columns in ((broad, 10), (broad.narrow, 4)):
        rows = ids(panel)
        assert len(rows) == 5 and rows == sorted(set(rows))
        assert {0, word, 49} <= set(rows)
        assert {i for i in (word - 1, word + 1) if 0 <= i < 50} <= set(rows)
        assert texts(panel).count("⋮") == sum(b > a + 1 for a, b in itertools.pairwise(rows))
        assert cells(panel) == rounded(given["table"][rows, :columns])
        assert "…" in texts(panel)


def test_of_a_wide_table_the_root_is_that_of_all_columns():
    words, given = long()
    panel = draw_lookup(words[:2], words, position=1, **given).panels[1]
    assert "× √16" in texts(panel) and "4 times as large" in texts(panel)
    numbers = cells(panel)
    assert numbers[4:8] == rounded(4 * given["table"][1, :4])


def test_words_and_numbers_fit():
    words, given = long()
    given["table"] = given["table"] - 5
    vocabulary = [f"extraordinarily-{word}" for word in words]
    panels = draw_lookup([vocabulary[9]], vocabulary, position=0, **given).panels
    for panel in (*panels, panels[0].narrow):
        for text in elements(panel, "text"):
            share = {None: 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
            width = text_width(text.text, 12 if "aside" in text.get("class", "") else 14)
            left = float(text.get("x")) - share * width
            assert left > -2 and left + width < panel.width + 2
            assert float(text.get("y")) < panel.height < 420
            if "." in text.text:
                assert width < WIDE - 8


def test_without_encodings_the_look_up_is_drawn_alone_in_colours_of_its_own():
    [panel] = draw(encodings=None).panels
    assert texts(panel) == texts(draw().panels[0])
    assert panel.body != draw().panels[0].body


def test_one_word_at_two_positions_has_one_row_and_two_sums():
    words = ["tea", "like", "tea"]
    found, first, second = draw(words, position=(0, 2)).panels
    assert texts(found).count("id 3") == 1
    assert texts(first)[1:3] == texts(second)[1:3] == ["row 3", "of “tea”"]
    sums = [cells(panel)[-4:] for panel in (first, second)]
    assert sums == [rounded(2 * TABLE[3] + ENCODINGS[at]) for at in (0, 2)]
    with pytest.raises(ValueError, match="positions of one word, got those of tea, like"):
        draw(words, position=(0, 1))


def test_a_sentence_of_many_words_takes_from_the_margins_of_its_boxes():
    words = "the black cat sees the small dog .".split()
    vocabulary = ["a", "b", "cat", "c"]
    boxes = elements(draw(words, vocabulary, position=2).panels[0], "rect")[: len(words)]
    spots = [(float(box.get("x")), float(box.get("width"))) for box in boxes]
    assert all(a + width < b for (a, width), (b, _) in itertools.pairwise(spots))
    assert sum(spots[-1]) < WIDTH


def test_what_does_not_belong_together_is_refused(own_messages):
    with pytest.raises(ValueError, match="got 'coffee', which has no id"):
        draw(["i", "like", "coffee"])
    with pytest.raises(ValueError, match="one of 3 words and 3 encodings, got .3"):
        draw(position=3)
    with pytest.raises(ValueError, match="and 2 encodings, got .2"):
        draw(encodings=ENCODINGS[:2])
    with pytest.raises(ValueError, match=r"a row for each of 3 tokens"):
        draw(vocabulary=["i", "like", "tea"])
    with pytest.raises(ValueError, match=r"encodings of \(3, 6\)"):
        draw(encodings=sinusoidal_positions(3, 6))


def test_a_sentence_that_does_not_fit_into_a_line_is_refused():
    words = ["extraordinary"] * 5
    with pytest.raises(ValueError, match="got 5 words"):
        draw(words, ["extraordinary", "a", "b", "c"], position=0)
