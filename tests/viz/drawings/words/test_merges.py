import xml.etree.ElementTree as ElementTree

import pytest

from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.words.merges import draw_merges

SVG = "{http://www.w3.org/2000/svg}"
MERGES = [("e", "a"), ("t", "ea")]


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def rows(panel):
    """The subwords of each row, from top to bottom."""
    chips = {float(r.get("y")): [] for r in elements(panel, "rect")}
    for text in elements(panel, "text"):
        if text.get("text-anchor") == "middle":
            top = min(chips, key=lambda y: abs(y + 14 - (float(text.get("y")) - 4.6)))
            chips[top].append(text.text)
    return [chips[y] for y in sorted(chips)]


def test_a_row_shows_the_word_after_each_merge():
    panel = draw_merges(["team"], MERGES).panels[0]
    assert rows(panel) == [["t", "e", "a", "m"], ["t", "ea", "m"], ["tea", "m"]]
    assert panel.title == "team: 4 letters, 2 tokens"
    assert "letters: t · e · a · m; merge 1: t · ea · m; merge 2: tea · m" in panel.description


def test_merges_are_applied_in_the_order_of_the_list():
    turned = draw_merges(["team"], MERGES[::-1]).panels[0]
    assert rows(turned)[-1] == ["t", "ea", "m"]  # "t" + "ea" came too early


def test_a_merge_that_changes_nothing_has_no_row_but_keeps_its_number():
    panel = draw_merges(["an"], [("e", "a"), ("a", "n")]).panels[0]
    names = [t.text for t in elements(panel, "text") if "aside" in t.get("class", "")]
    assert names == ["letters", "merge 2"]
    assert panel.title == "an: 2 letters, 1 token"


def test_a_pair_is_merged_wherever_it_stands_from_left_to_right():
    merges = [("a", "n"), ("an", "an"), ("a", "a")]
    panel = draw_merges(["banananaaa"], merges).panels[0]
    assert rows(panel)[1:] == [
        ["b", "an", "an", "an", "a", "a", "a"],
        ["b", "anan", "an", "a", "a", "a"],
        ["b", "anan", "an", "aa", "a"],
    ]


def test_a_chip_is_as_wide_as_its_letters_and_holds_its_word():
    panel = draw_merges(["Donauwasser"], [("w", "a"), ("s", "s"), ("wa", "ss")]).panels[0]
    rects = elements(panel, "rect")
    words = [t for t in elements(panel, "text") if t.get("text-anchor") == "middle"]
    for rect, text in zip(rects, words, strict=True):
        width = float(rect.get("width"))
        assert text_width(text.text) < width
        middle = float(rect.get("x")) + width / 2
        assert middle == pytest.approx(float(text.get("x")), abs=0.2)
        assert float(rect.get("x")) + width < WIDTH
    ends = {}
    for rect in rects:
        ends[rect.get("y")] = float(rect.get("x")) + float(rect.get("width"))
    assert max(ends.values()) - min(ends.values()) < 0.2  # all rows are equally long


def test_only_what_has_just_been_made_is_in_the_accent():
    panel = draw_merges(["team"], MERGES).panels[0]
    lit = ["accent" in r.get("stroke") for r in elements(panel, "rect")]
    assert lit == [False] * 4 + [False, True, False] + [True, False]
    lines = [p for p in elements(panel, "path") if "accent" in p.get("stroke")]
    assert len(lines) == 4  # two chips become one, twice


def test_each_word_has_a_panel():
    drawing = draw_merges(["tea", "team", "eat", "meat"], MERGES, caption="Four words.")
    assert [panel.title.partition(":")[0] for panel in drawing.panels] == [
        "tea",
        "team",
        "eat",
        "meat",
    ]
    assert rows(drawing.panels[3])[-1] == ["m", "ea", "t"]


def test_a_word_that_no_merge_changes_stays_letters():
    assert rows(draw_merges(["is"], MERGES).panels[0]) == [["i", "s"]]


def test_what_has_no_room_is_refused():
    with pytest.raises(ValueError, match="got 30 in"):
        draw_merges(["x" * 30], MERGES)
    word = "abcdefghij"
    merges = [(word[:i], word[i]) for i in range(1, 10)]
    with pytest.raises(ValueError, match="at most 7 merges change, got 9"):
        draw_merges([word], merges)


def test_no_words_and_pairs_without_two_sides_are_refused():
    with pytest.raises(ValueError, match="at least one word"):
        draw_merges([], MERGES)
    with pytest.raises(ValueError, match="none of them empty"):
        draw_merges(["tea", ""], MERGES)
    with pytest.raises(ValueError, match="pairs of two subwords"):
        draw_merges(["tea"], [("", "a")])


@pytest.mark.parametrize(("n", "wide"), [(1, False), (2, False), (3, True), (4, False), (6, True)])
def test_no_row_of_words_has_a_hole(n, wide):
    assert draw_merges(["tea"] * n, []).wide is wide
