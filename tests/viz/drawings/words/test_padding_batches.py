import re
from xml.etree import ElementTree

import pytest

from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.words.padding_batches import draw_padding

SVG = "{http://www.w3.org/2000/svg}"
LENGTHS = [3, 9, 4, 8, 3, 10]
ORDERS = {"As they come": [[0, 1], [2, 3], [4, 5]], "Sorted": [[0, 4, 2], [3, 1], [5]]}


def drawing(lengths=LENGTHS, orders=ORDERS, lit="Sorted"):
    return draw_padding(lengths, orders, lit=lit)


def test_the_shares_are_those_of_the_lesson():
    before, after = drawing().panels
    assert ">31 %<" in before.body and ">padding: 17 of 54 boxes<" in before.body
    assert ">8 %<" in after.body and ">padding: 3 of 40 boxes<" in after.body
    assert "In all, 17 of 54 are pads, 31 %." in before.description


def test_each_row_has_its_tokens_and_pads_up_to_the_longest_of_its_batch():
    for panel, batches in zip(drawing().panels, ORDERS.values(), strict=True):
        rows = {}
        for rect in ElementTree.fromstring(panel.svg()).iter(SVG + "rect"):
            rows.setdefault(float(rect.get("y")), []).append("german-box" in rect.get("fill"))
        expected = [
            [True] * LENGTHS[i] + [False] * (max(LENGTHS[j] for j in batch) - LENGTHS[i])
            for batch in batches
            for i in batch
        ]
        assert [rows[y] for y in sorted(rows)] == expected


def test_rows_are_numbered_in_the_order_of_the_batches():
    after = drawing().panels[1]
    numbers = re.findall(r'text-anchor="end">(\d+)<', after.body)
    assert numbers == ["1", "5", "3", "4", "2", "6"]
    assert "rows 1, 5, 3 of 3, 3, 4 tokens, 2 padding" in after.description


def test_only_the_order_that_the_text_is_about_is_lit():
    before, after = drawing().panels
    assert "accent" not in before.body and "accent" in after.body


def test_everything_lies_inside_the_panel_even_with_the_longest_sentences():
    for panel in drawing([22, 1, 5], {"One": [[0, 1, 2]], "Three": [[0], [1], [2]]}, "One").panels:
        root = ElementTree.fromstring(panel.svg())
        for rect in root.iter(SVG + "rect"):
            assert float(rect.get("x")) + float(rect.get("width")) <= 340
            assert float(rect.get("y")) + float(rect.get("height")) <= panel.height
        for text in root.iter(SVG + "text"):
            size = {"big": 30, "aside": 12}.get(text.get("class"), 14)
            assert float(text.get("x")) + text_width(text.text, size) <= 340 or text.get(
                "text-anchor"
            )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": [0, 3, 1, 1, 1, 1]}, "at least one token"),
        ({"lengths": [23, 9, 4, 8, 3, 10]}, "at most 22 tokens, got 23"),
        ({"orders": {"Sorted": [[0, 1], [2, 3], [4, 4]]}}, "sentences 0 to 5, each once"),
        ({"orders": {"Sorted": [[0, 1, 2, 3, 4, 5], []]}}, "sentences 0 to 5, each once"),
        ({"lit": "Unsorted"}, "one of As they come, Sorted, got 'Unsorted'"),
        ({"lengths": [2] * 120, "orders": {"Sorted": [list(range(120))]}}, "draw fewer"),
        ({"orders": {"x" * 60: [list(range(6))]}, "lit": "x" * 60}, "fit into a line"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        drawing(**changes)


def test_where_boxes_have_no_room_a_sentence_is_a_line_of_its_length():
    lengths = [3, 9] * 20
    (panel,) = draw_padding(lengths, {"Sorted": [list(range(40))]}, lit="Sorted").panels
    found = re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="2.4"', panel.body)
    drawn = [float(width) for width in found]
    assert len(drawn) == 40  # a line for each sentence
    assert drawn[0] / drawn[1] == pytest.approx(3 / 9, abs=0.01)
    assert "120 of 360 tokens" in panel.body


def test_behind_lines_the_padding_of_a_batch_is_hatched_to_its_longest():
    lengths = [3, 9] * 20
    batches = [list(range(39)), [39]]  # the last has no padding
    (panel,) = draw_padding(lengths, {"As they come": batches}, lit="As they come").panels
    (outline,) = re.findall(r'<path d="([^"]*)" fill="url\(#hidden\)"', panel.body)
    ends = [float(x) for x in re.findall(r"H([\d.]+)", outline)]
    widths = re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="2.4"', panel.body)
    assert ends[:-1] == [float(width) for width in widths[:39]]
    assert ends[-1] == max(ends)
