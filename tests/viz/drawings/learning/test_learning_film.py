import re
from html import unescape

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

SOURCES = [each.split() for each in ("die Katze schläft .", "der alte Hund trinkt Tee .")]
REFERENCES = [each.split() for each in ("the cat sleeps .", "the old dog drinks tea .")]
FOG, LINES = torch.full((6, 6), 1 / 6), 0.94 * torch.eye(6) + 0.01
LATE = Snapshot(step=2000, translations=REFERENCES, weights=LINES)


def early(first="the bank .", second="the dog drinks a a tea .", step=50):
    return Snapshot(step=step, translations=[first.split(), second.split()], weights=FOG)


def film(*snapshots):
    return draw_learning(SOURCES, REFERENCES, snapshots or (early(), LATE))


@pytest.mark.parametrize(
    ("written", "marked"),
    [
        ("the cat sleeps .", "the cat sleeps ."),
        ("the dog sleeps .", "the *dog sleeps ."),
        ("the sleeps .", "the * sleeps ."),
        ("the the cat sleeps .", "*the the cat sleeps ."),
        ("the cat sleeps", "the cat sleeps *"),
        ("dogs bark", "*dogs *bark"),
    ],
)
def test_a_word_is_wrong_where_the_reference_has_another_or_none(written, marked):
    words = mark_words(written.split(), REFERENCES[0])
    assert " ".join(("" if right else "*") + word.strip() for word, right in words) == marked


def test_wrong_words_are_underlined_and_right_ones_are_not():
    first, last = film().frames
    underlined = re.findall(r'class="incorrect">([^<]*)<', first.panels[0].body)
    assert underlined == ["bank", MISSING, "a a"]
    assert "incorrect" not in last.panels[0].body
    assert "(wrong: bank)" in first.panels[0].description
    assert "(wrong: a gap, a, a)" in first.panels[0].description


def test_what_is_written_is_what_was_given():
    body = film().frames[0].panels[0].body
    plain = [unescape(re.sub("<[^>]*>", "", each)) for each in re.findall("<text.*?</text>", body)]
    assert plain[1] == "the bank."
    assert plain[3].replace(MISSING + " ", "") == "the dog drinks a a tea."


def test_each_frame_says_how_much_the_widest_line_carries():
    first, last = film().frames
    assert (
        first.says == "After 50 steps, a word's widest line has 0.17 of its attention on average."
    )
    assert "After 2,000 steps, a word's widest line has 0.95" in last.says
    assert film().start == 1


def test_attention_is_that_of_the_last_sentence_with_its_reference():
    looks = film().frames[1].panels[1]
    assert "drinks most to trinkt 0.95" in looks.description


def test_sentences_keep_their_height_in_all_frames():
    long = early("loses interesting these run love carried interesting these grandmothers glass")
    frames = film(long, LATE).frames
    heights = [re.findall(r'y="([\d.]+)" class="aside"', frame.panels[0].body) for frame in frames]
    assert heights[0] == heights[1]
    assert frames[0].panels[0].height == frames[1].panels[0].height


def test_no_line_is_wider_than_the_panel_and_the_third_is_cut_off():
    endless = early("loses interesting these run love carried " * 8)
    body = film(endless, LATE).frames[0].panels[0].body
    lines = [unescape(re.sub("<[^>]*>", "", each)) for each in re.findall("<text.*?</text>", body)]
    assert max(text_width(line) for line in lines) <= WIDTH
    assert lines[2].endswith("…")
    assert lines[3].startswith("der alte Hund")


def test_words_with_marks_of_html_are_written_as_they_are():
    body = film(early("<unk> & ."), LATE).frames[0].panels[0].body
    assert "&lt;unk&gt; &amp;" in body


def test_snapshots_out_of_order_are_refused():
    with pytest.raises(ValueError, match=r"by rising steps, got steps \[2000, 50\]"):
        film(LATE, early())
    with pytest.raises(ValueError, match=r"two snapshots or more, .* got steps \[50\]"):
        film(early())


def test_sentences_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="a reference for each of 2 sentences, got 1"):
        draw_learning(SOURCES, REFERENCES[:1], [early(), LATE])
    with pytest.raises(ValueError, match="expected 2 translations at each step, got 1 at step 9"):
        film(Snapshot(step=9, translations=REFERENCES[:1], weights=FOG), LATE)
    with pytest.raises(ValueError, match="a row for each of 6 queries"):
        film(Snapshot(step=9, translations=REFERENCES, weights=torch.eye(5)), LATE)


def test_more_or_longer_sentences_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="a sentence has no room in 340 pixels: 'sehr sehr"):
        draw_learning([["sehr"] * 20, SOURCES[1]], REFERENCES, [early(), LATE])
    many = Snapshot(step=9, translations=REFERENCES * 6, weights=FOG)
    late = Snapshot(step=10, translations=REFERENCES * 6, weights=FOG)
    with pytest.raises(ValueError, match="12 sentences have no room"):
        draw_learning(SOURCES * 6, REFERENCES * 6, [many, late])
