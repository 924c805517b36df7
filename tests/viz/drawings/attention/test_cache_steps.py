import re
from html import unescape
from urllib.parse import unquote

import pytest
import torch

from course_lib.errors import CourseError
from course_lib.model import KeyValueCache, MultiHeadAttention, causal_mask
from course_lib.viz.drawings.attention.cache_steps import draw_cache_steps
from course_lib.viz.drawings.drawing import WIDTH, Buildup, Panel
from course_lib.viz.drawings.marks import text_width

WORDS = "<bos> the dog sleeps in the garden because it is tired .".split()
ALL, ONE = list(range(1, 13)), [1] * 12


def filled(panel, look):
    """How many cells have this fill, those of the legend left out."""
    groups = re.findall(r"<g fill=\"([^\"]*)\" stroke=\"[^\"]*\">(.*?)</g>", panel.body)
    return sum(cells.count("<rect") for fill, cells in groups if look in fill) - 1


def test_as_many_cells_are_filled_as_keys_were_computed():
    without, cached = draw_cache_steps(WORDS, ALL, ONE).panels
    assert filled(without, "--hair") + filled(without, "--accent") == 78
    assert (filled(cached, "--accent"), filled(cached, "none")) == (12, 66)
    assert "in all 78." in without.description
    assert "in all 12." in cached.description


def test_the_counts_of_a_real_attention_can_be_drawn():
    attention, rows = MultiHeadAttention(8, 2), {"without": [], "cached": []}
    x = torch.randn(1, 4, 8)
    for name, cache in (("without", None), ("cached", KeyValueCache(1).self_attention[0])):
        hook = attention.k_proj.register_forward_hook(
            lambda module, given, out, name=name: rows[name].append(out.size(1))
        )
        for step in range(1, 5):
            new = x[:, :step] if cache is None else x[:, step - 1 : step]
            mask = causal_mask(step) if cache is None else None
            attention(new, new, new, mask, cache=cache)
        hook.remove()
    film = draw_cache_steps(WORDS[:4], rows["without"], rows["cached"])
    assert film.says[-1] == "Keys up to step 4, “sleeps”: 10 without a cache, 4 with it."


def test_a_cache_that_keeps_nothing_looks_as_if_there_were_none():
    without, cached = draw_cache_steps(WORDS, ALL, ALL).panels
    assert without.body == cached.body


def test_each_state_says_both_totals_so_far_and_shows_one_number():
    film = draw_cache_steps(WORDS, ALL, ONE)
    assert film.says[2] == "Keys up to step 3, “dog”: 6 without a cache, 3 with it."
    for state in range(12):
        numbers = re.findall(
            rf'<g[^>]*data-from="{state}" data-to="{state}"[^>]*><text[^>]*>(\d+)<',
            film.panels[0].body,
        )
        assert numbers == [str(sum(ALL[: state + 1]))]


def test_without_a_script_the_last_state_is_shown():
    body = draw_cache_steps(WORDS, ALL, ONE).panels[0].body
    shown = re.findall(r"<g data-from=\"\d+\" data-to=\"\d+\"><text[^>]*>(\d+)<", body)
    assert shown == ["78"]
    assert body.count('class="off"') == 11


def test_all_states_are_stored_once():
    film = draw_cache_steps(WORDS, ALL, ONE)
    assert film.to_html().count("<img") == 2
    assert len(film.to_html()) < 60_000


def test_words_and_cells_lie_inside_the_panel():
    words = ["Donaudampf", *WORDS[1:]]
    for panel in draw_cache_steps(words, ALL, ONE).panels:
        for x, words_drawn in re.findall(
            r'<text x="([\d.]+)"[^>]*text-anchor="end"[^>]*>([^<]*)<', panel.body
        ):
            assert float(x) - text_width(unescape(words_drawn), 12) >= 0
        assert max(float(x) for x in re.findall(r'<rect x="([\d.]+)"', panel.body)) < WIDTH - 40


@pytest.mark.parametrize(
    ("without", "cached"), [(ALL, ONE[:-1]), ([2, *ALL[1:]], ONE), (ALL, [0, *ONE[1:]])]
)
def test_counts_that_no_step_can_have_are_refused(without, cached):
    with pytest.raises(ValueError, match="expected for each of 12 words a count"):
        draw_cache_steps(WORDS, without, cached)


def test_more_words_than_there_is_room_for_are_refused():
    n = 40
    with pytest.raises(ValueError, match="40 words, .* have no room in a panel of 340 pixels"):
        draw_cache_steps(["word"] * n, list(range(1, n + 1)), [1] * n)


def test_what_builds_up_has_two_states():
    panel = Panel(title="one", description="two", body="", height=10)
    with pytest.raises(CourseError, match="at least two states, got 1"):
        Buildup(panel, says=["only"])


def test_the_script_is_told_what_each_state_says_and_to_begin_with_the_last():
    html = unquote(unescape(draw_cache_steps(WORDS, ALL, ONE).to_html()))
    assert 'data-start="11"' in html
    assert "up to step 1, “<bos>”: 1 without" in html
    assert "up to step 12, “.”: 78 without" in repr(draw_cache_steps(WORDS, ALL, ONE))
