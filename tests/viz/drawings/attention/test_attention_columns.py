import re

import pytest
import torch

from course_lib.viz.drawings.attention.attention_columns import LEAST, WIDEST, attention_columns
from course_lib.viz.drawings.drawing import TEXT, WIDTH
from course_lib.viz.drawings.marks import text_width

QUERIES, KEYS = ["the", "cat", "sleeps"], ["die", "Katze", "schläft", "."]
WEIGHTS = torch.tensor([[0.90, 0.06, 0.04, 0.0], [0.1, 0.7, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25]])


def columns(weights=WEIGHTS, **options):
    given = {"queries": QUERIES, "keys": KEYS, "languages": ("english", "german")} | options
    return attention_columns("One head", weights, **given)


def lines(panel):
    """Colour, width and the heights of both ends of each line."""
    found = []
    for colour, paths in re.findall(
        r'<g fill="none" stroke="var\(--(\w+)\)"[^>]*>(.*?)</g>', panel.body
    ):
        for d, width in re.findall(r'd="([^"]*)" stroke-width="([\d.]+)"', paths):
            numbers = [float(each) for each in re.findall(r"[\d.]+", d)]
            found.append((colour, float(width), numbers[1], numbers[-1]))
    return found


def test_each_weight_from_the_least_on_is_a_line_as_wide_as_it_is():
    drawn = sorted(width for _, width, *_ in lines(columns()))
    expected = sorted(max(1.0, WIDEST * w) for w in WEIGHTS.flatten().tolist() if w >= LEAST)
    assert drawn == pytest.approx(expected, abs=0.06)


def test_lines_run_from_the_key_on_the_left_to_the_query_on_the_right():
    panel = columns()
    heights = {
        words: float(y) - 4.6
        for y, words in re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*>([^<]+)<', panel.body)
    }
    widest = max(lines(panel), key=lambda line: line[1])
    assert widest[2:] == (heights["die"], heights["the"])
    heights = {
        words: float(x) for x, words in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)<', panel.body)
    }
    assert heights["Katze"] < heights["cat"]


def test_the_strongest_line_of_the_lit_word_alone_has_the_accent():
    found = lines(columns(lit=1))
    assert [line[1] for line in found if line[0] == "accent"] == [pytest.approx(7.7)]
    assert sum(line[0] == "attention" for line in found) == 2
    assert sum(line[0] == "line" for line in found) == 6
    assert found[-1][0] == "accent", "it lies above the others"


def test_the_lit_word_and_its_strongest_key_are_bold():
    panel = columns(lit=1)
    assert set(re.findall(r'class="bold"[^>]*>([^<]+)<', panel.body)) == {"cat", "Katze"}
    assert panel.note == "“cat” attends most to “Katze”: 0.70"


def test_the_description_has_the_weights_of_the_lit_word_and_the_largest_of_the_others():
    told = columns(lit=1).description
    assert "cat (in the accent) attends to die 0.10, Katze 0.70, schläft 0.20" in told
    assert "the most to die 0.90" in told


def test_words_and_their_glosses_lie_inside_the_panel():
    glosses = {"schläft": "sleeps", "Katze": "cat"}
    panel = columns(glosses=glosses, keys=["die", "Katze", "schläft", "Wohnung"])
    for x, rest, content in re.findall(r'<text x="([\d.]+)"([^>]*)>(.*?)</text>', panel.body):
        small = "".join(re.findall(r'class="aside">([^<]*)<', content))
        words = re.sub("<[^>]*>", "", content).replace(small, "", 1)
        width = text_width(words, 12 if "aside" in rest else 14) + text_width(small, 12)
        left = float(x) - width if 'anchor="end"' in rest else float(x)
        assert left >= 0
        assert left + width <= WIDTH
    assert re.sub("<[^>]*>", "", panel.body).count("sleeps\u00a0 schläft") == 1


def test_self_attention_has_its_words_in_both_columns():
    panel = columns(torch.eye(3), keys=QUERIES, lit=2)
    ends = re.findall(r'anchor="end"[^>]*>([^<]+)<', panel.body)
    assert ends == ["key", *QUERIES]
    assert all(panel.body.count(f">{word}<") == 2 for word in QUERIES)


def test_the_same_words_in_both_columns_are_explained_once():
    glosses = {"cat": "Katze"}
    once = columns(torch.eye(3), keys=QUERIES, glosses=glosses).body
    assert once.count('class="aside">Katze<') == 1
    twice = columns(torch.eye(3), keys=["cat", "cat", "the"], glosses=glosses).body
    assert twice.count('class="aside">Katze<') == 3


def test_more_keys_than_queries_make_it_as_high_as_the_keys_need():
    few = columns().height
    assert columns(torch.eye(3), keys=KEYS[:3]).height == few - 28


@pytest.mark.parametrize("weights", [torch.ones(3, 4), -WEIGHTS, torch.zeros(3, 4)])
def test_numbers_that_are_no_shares_are_refused(weights):
    with pytest.raises(ValueError, match="rows of weights from 0 to 1 that sum to 1, got sums"):
        columns(weights)


def test_weights_of_other_words_are_refused():
    with pytest.raises(ValueError, match=r"a row for each of 3 queries .* got weights of shape"):
        columns(WEIGHTS.T)


def test_more_or_longer_words_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="24 rows, .* have no room"):
        columns(torch.eye(24), queries=["a"] * 24, keys=["b"] * 24)
    with pytest.raises(ValueError, match="have no room in a panel of 340"):
        columns(keys=["die", "Katze", "schläft", "Donaudampfschifffahrtsgesellschaft"])


def test_the_strongest_lines_have_the_accent_and_their_weights_where_they_are_numbered():
    panel = columns(lit=1, numbered=2)
    accents = sorted(line[1] for line in lines(panel) if line[0] == "accent")
    assert accents == [pytest.approx(WIDEST * 0.2), pytest.approx(WIDEST * 0.7)]
    drawn = re.findall(r'y="([\d.]+)" class="aside bold"[^>]*>(\d\.\d\d)<', panel.body)
    heights = dict(re.findall(r'y="([\d.]+)"[^>]*>(Katze|schläft)<', panel.body))
    assert [(heights[y], weight) for y, weight in drawn] == [("Katze", "0.70"), ("schläft", "0.20")]
    assert "0.70</text>" not in columns(lit=1).body


def test_a_broad_picture_fills_the_text_and_has_another_one_for_a_phone():
    panel = columns(lit=1, broad=True)
    assert (panel.width, panel.narrow.width) == (TEXT, WIDTH)
    assert panel.narrow.body == columns(lit=1).body
    assert [line[:2] for line in lines(panel)] == [line[:2] for line in lines(panel.narrow)]


def test_a_bold_word_and_its_gloss_begin_in_the_panel():
    keys = ["die", "gearbeitet", "schläft", "."]
    panel = columns(keys=keys, lit=1, glosses={"gearbeitet": "worked", "die": "the"})
    end = float(re.search(r'x="([\d.]+)"[^>]*><tspan class="aside">worked', panel.body)[1])
    assert end >= 1.16 * text_width("gearbeitet") + text_width("worked", 12) + text_width("\u00a0 ")
