import re
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.words.beam_trees import draw_beam_trees
from course_lib.viz.plots.plot_beam import Branch

SVG = "{http://www.w3.org/2000/svg}"
GREEDY = "me .45 kept,i .3 dropped,me is .225 kept,me am .135 dropped,me is <eos> .1215 ended"
BEAM = "i .3 kept,me .45 kept,me is .2 kept,i am .24 kept,cold .25 dropped"
BEAM += ",i am <eos> .17 ended,me is <eos> .12 ended"


def tree(text):
    return [
        Branch(tuple(words), float(p), fate)
        for *words, p, fate in (entry.split() for entry in text.split(","))
    ]


def panel(text=BEAM, **options):
    return draw_beam_trees({"A search": tree(text)}, **options).panels[0]


def boxes(text=BEAM):
    """Word -> border, dashes and the middle of each box, from the left and from the top."""
    svg = ElementTree.fromstring(panel(text).svg())
    found, rest = [], list(svg.iter())
    for i, part in enumerate(rest):
        if part.tag == SVG + "rect":
            x, y, height = (float(part.get(key)) for key in ("x", "y", "height"))
            border, dashes = part.get("stroke"), part.get("stroke-dasharray")
            found.append((rest[i + 1].text, border, dashes, x, y + height / 2))
    return found


def test_the_most_probable_sentence_that_has_ended_has_the_accent():
    accent = [word for word, border, *_ in boxes() if border == "var(--accent)"]
    assert accent == ["<bos>", "i", "am", "<eos>"]
    assert panel().note == "finds “i am”, 0.17"
    assert [word for word, border, *_ in boxes(GREEDY) if border == "var(--accent)"] == [
        "<bos>",
        "me",
        "is",
        "<eos>",
    ]


def test_only_what_was_left_behind_is_dashed():
    assert {word for word, _, dashes, *_ in boxes() if dashes} == {"cold"}
    assert {word for word, _, dashes, *_ in boxes(GREEDY) if dashes} == {"i", "am"}


def test_a_column_for_each_step_and_the_more_probable_above():
    spots = {word: (x, y) for word, _, _, x, y in boxes() if word != "<eos>"}
    assert spots["<bos>"][0] < spots["me"][0] < spots["is"][0]
    assert spots["me"][0] == spots["i"][0] == spots["cold"][0]
    assert spots["me"][1] < spots["i"][1] < spots["cold"][1]


def test_no_box_lies_on_another():
    found = [(x, y) for *_, x, y in boxes()]
    for x in {x for x, _ in found}:
        heights = sorted(y for other, y in found if other == x)
        assert all(b - a >= 40 for a, b in pairwise(heights))


def test_words_lie_inside_the_panel():
    for x, words in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)<', panel().body):
        half = text_width(unescape(words), bold=True) / 2
        assert float(x) - half >= 0
        assert float(x) + half <= WIDTH


def test_the_description_tells_each_step_with_what_was_left_behind():
    assert panel().description.startswith("Step 1: me 0.45, i 0.3; left behind: cold 0.25. Step 2")
    assert panel().description.endswith("Step 3: i am <eos> 0.17, me is <eos> 0.12.")


def test_a_panel_for_each_search():
    drawing = draw_beam_trees({"one": tree(GREEDY), "two": tree(BEAM)}, caption="Two searches.")
    assert [each.title for each in drawing.panels] == ["one", "two"]
    assert drawing.caption == "Two searches."


@pytest.mark.parametrize("text", ["me is .2 kept", "me .4 dropped,me is .2 kept", ".4 kept"])
def test_a_branch_that_extends_none_that_was_kept_is_refused(text):
    with pytest.raises(ValueError, match="expected each branch to extend one that was kept"):
        panel(text)


def test_a_search_that_has_found_nothing_is_refused():
    with pytest.raises(ValueError, match="a branch that has ended in 'A search', got none"):
        panel("me .45 kept")
    with pytest.raises(ValueError, match="at least one search, got none"):
        draw_beam_trees({})


def test_more_or_longer_words_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="2 steps with words of this length have no room"):
        long = "Donaudampfschifffahrtsgesellschaft"
        panel(f"{long} .5 kept,{long} . .5 ended")
