import re
from html import unescape
from xml.etree import ElementTree

import pytest
import torch

from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.learning.learning_film import (
    MISSING,
    Snapshot,
    draw_learning,
    mark_words,
)
from course_lib.viz.drawings.marks import text_width

SVG = "{http://www.w3.org/2000/svg}"
SOURCES = [each.split() for each in ("die Katze schläft .", "der alte Hund trinkt Tee .")]
REFERENCES = [each.split() for each in ("the cat sleeps .", "the old dog drinks tea .")]
FOG, LINES = torch.full((6, 6), 1 / 6), 0.94 * torch.eye(6) + 0.01
LATE = Snapshot(step=2000, translations=REFERENCES, weights=LINES)


def early(first="the bank .", second="the dog drinks a a tea .", step=50):
    return Snapshot(step=step, translations=[first.split(), second.split()], weights=FOG)


def film(*snapshots, words=("drinks",)):
    return draw_learning(SOURCES, REFERENCES, snapshots or (early(), LATE), words=words)


def lines(panel):
    """The lines that were written, as plain text."""
    found = re.findall(r"<g[^>]*data-from[^>]*>.*?</text>(<text.*?</text>)</g>", panel.body)
    return [unescape(re.sub("<[^>]*>", "", line)) for line in found]


@pytest.mark.parametrize(
    ("written", "marked"),
    [
        ("the cat sleeps .", "the cat sleeps ."),
        ("the dog sleeps .", "the *dog sleeps ."),
        ("the sleeps .", "the * sleeps ."),
        ("the the cat sleeps .", "*the the cat sleeps ."),
        ("the cat sleeps", "the cat sleeps *"),
        ("dogs bark", "*dogs *bark"),
        ("the sleeps cat .", "the *sleeps cat * ."),
        ("cat the dog sleeps .", "*cat the *dog sleeps ."),
    ],
)
def test_a_word_is_wrong_where_the_reference_has_another_or_none(written, marked):
    words = mark_words(written.split(), REFERENCES[0])
    assert " ".join(("" if right else "*") + word.strip() for word, right in words) == marked


def test_wrong_words_are_underlined_and_right_ones_are_not():
    written = film().panels[0]
    assert re.findall(r'class="incorrect">([^<]*)<', written.body) == ["bank", MISSING, "a a"]
    assert "after 50 steps the bank. (wrong: bank)" in written.description
    assert "(wrong: a gap, a, a)" in written.description


def test_what_was_written_stands_step_below_step_with_a_check_mark_where_all_is_right():
    written = film().panels[0]
    assert [line.replace(MISSING + " ", "") for line in lines(written)] == [
        "the bank.",
        "the cat sleeps. ✓",
        "the dog drinks a a tea.",
        "the old dog drinks tea. ✓",
    ]
    assert re.findall(r">([\d,]+)</text><text", written.body) == ["50", "2,000"] * 2


def test_each_state_says_where_the_model_looks_most():
    first, last = film(words=("old", "drinks")).says
    assert "for “drinks” at “der”, 17 %." in first
    assert last == (
        "After 2,000 steps, it looks most: for “old” at “alte”, 95 %; for “drinks” at “trinkt”, "
        "95 %."
    )


def test_attention_is_that_of_the_last_sentence_in_percent_at_each_step():
    weights = torch.tensor([[0.0, 0.06, 0.7, 0.2, 0.04, 0.0]] * 5 + [[1.0, 0, 0, 0, 0, 0]])
    middle = Snapshot(step=60, translations=REFERENCES, weights=weights)
    looks = film(early(), middle, LATE).panels[1]
    rows = re.findall(r"<g data-from=\"\d\">(.*?)</g>", looks.body)
    numbers = [re.findall(r">([\d,]+)</text>", row) for row in rows]
    assert numbers == [["50", *["17"] * 6], ["60", "6", "70", "20"], ["2,000", "95"]]
    shares = [re.findall(r'fill-opacity="([\d.]+)"', row) for row in rows]
    assert shares[1] == ["0.00", "0.06", "0.70", "0.20", "0.04", "0.00"]
    assert "For “drinks”, given “the old dog”, after 50 steps: der 0.17" in looks.description


def test_the_largest_share_of_the_last_step_has_a_frame_in_the_accent():
    body = film(words=("tea",)).panels[1].body
    last = re.findall(r"<g data-from=\"1\">(.*?)</g>", body)[0]
    (frame,) = re.findall(r'<rect x="([\d.]+)"[^>]*stroke="var\(--accent\)"', body)
    cells = re.findall(r'<rect x="([\d.]+)"[^>]*class="cell"', last)
    assert float(frame) + 0.5 == pytest.approx(float(cells[4]), abs=0.11)


def test_all_steps_are_shown_without_a_script_and_stored_once():
    html = film().to_html()
    assert html.count("<img") == 2
    assert 'class="off"' not in film().panels[0].body + film().panels[1].body


def test_words_stay_inside_their_panel():
    endless = early("loses interesting these run love carried " * 8)
    for panel in film(endless, LATE, words=("old", "tea")).panels:
        for text in ElementTree.fromstring(panel.svg()).iter(f"{SVG}text"):
            classes = text.get("class") or ""
            words = "".join(text.itertext())
            width = text_width(words, 12 if "aside" in classes else 14)
            shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
            start = float(text.get("x")) - shift
            assert start >= 0 and start + width <= WIDTH, words
            assert float(text.get("y")) < panel.height


def test_a_line_that_is_too_long_is_cut_off():
    endless = early("loses interesting these run love carried " * 8)
    assert lines(film(endless, LATE).panels[0])[0].endswith("…")


def test_words_with_marks_of_html_are_written_as_they_are():
    body = film(early("<unk> & ."), LATE).panels[0].body
    assert "&lt;unk&gt; &amp;" in body


def test_snapshots_out_of_order_are_refused():
    with pytest.raises(ValueError, match=r"by rising steps, got steps \[2000, 50\]"):
        film(LATE, early())
    with pytest.raises(ValueError, match=r"two snapshots or more, .* got steps \[50\]"):
        film(early())


def test_sentences_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="a reference for each of 2 sentences, got 1"):
        draw_learning(SOURCES, REFERENCES[:1], [early(), LATE], words=["the"])
    with pytest.raises(ValueError, match="expected 2 translations at each step, got 1 at step 9"):
        film(Snapshot(step=9, translations=REFERENCES[:1], weights=FOG), LATE)
    with pytest.raises(ValueError, match="2 weights for each of 6 targets and 6 sources, got"):
        film(*(Snapshot(step=n, translations=REFERENCES, weights=torch.eye(5)) for n in (1, 2)))
    with pytest.raises(ValueError, match=r"sum to 1, got sums from 1.00 to 2.00"):
        film(Snapshot(step=9, translations=REFERENCES, weights=2 * torch.eye(6)), LATE)


def test_a_word_that_is_not_in_the_last_reference_is_refused():
    for words in (["cat"], []):
        with pytest.raises(ValueError, match=r"words of 'the old dog drinks tea\.', got"):
            film(words=words)


def test_more_or_longer_sentences_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="a sentence has no room in 298 pixels: 'sehr sehr"):
        draw_learning([["sehr"] * 20, SOURCES[1]], REFERENCES, [early(), LATE], words=["tea"])
    many = Snapshot(step=9, translations=REFERENCES * 6, weights=FOG)
    late = Snapshot(step=10, translations=REFERENCES * 6, weights=FOG)
    with pytest.raises(ValueError, match="12 sentences, or the words tea, have no room at 2 steps"):
        draw_learning(SOURCES * 6, REFERENCES * 6, [many, late], words=["tea"])
