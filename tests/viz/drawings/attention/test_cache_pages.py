"""The pages are those of a real cache, and both sides have the same memory."""

import re

import pytest
import torch

from course_lib.modern import PagedCache
from course_lib.viz.drawings.attention.cache_pages import Contiguous, Step, draw_cache_pages
from course_lib.viz.drawings.colours import ink

STEPS = [("A", 6), ("B", 5), ("C", 3), ("A", 3), ("B", 0), ("D", 7), ("C", 6)]


def draw(steps=STEPS, *, n_pages=8, page_size=4, longest=16):
    return draw_cache_pages(steps, n_pages=n_pages, page_size=page_size, longest=longest)


def squares(panel, colour):
    return len(re.findall(rf'<rect [^>]*fill="{re.escape(ink(colour))}"', panel.body))


def letters(panel):
    return "".join(re.findall(r"<text [^>]*bold[^>]*>([A-D])</text>", panel.body))


def test_the_tables_are_those_of_a_paged_cache():
    cache = PagedCache(8, 4, 1)
    for frame, (text, tokens) in zip(draw().frames, STEPS, strict=True):
        for _ in range(tokens):
            cache.append(text, torch.zeros(1))
        if not tokens:
            cache.release(text)
        panel = frame.panels[1]
        for name, pages in cache.pages.items():
            told = f"{name}: pages {', '.join(map(str, pages))}, {cache.lengths[name]} tokens"
            assert told in panel.description
            assert letters(panel).count(name) == cache.lengths[name]
        assert squares(panel, "hidden") == cache.wasted


def test_both_sides_have_the_same_memory():
    for frame in draw().frames:
        counts = [panel.body.count("<rect") for panel in frame.panels]
        assert counts == [32, 32]


def test_what_is_new_is_what_the_step_wrote():
    for frame, (text, tokens) in zip(draw().frames, STEPS, strict=True):
        contiguous, pages = frame.panels
        assert squares(pages, "accent") == tokens
        waits = f"{text} must wait" in contiguous.description
        assert squares(contiguous, "accent") == (0 if waits else tokens)


def test_a_text_waits_until_another_ends():
    says = [frame.says for frame in draw().frames]
    assert "Without pages, C must wait." in says[2] and "wait" not in says[4]
    assert "Without pages, D must wait." in says[5]
    assert says[0].startswith("A begins, 6 tokens. Taken and empty: 10 contiguous, 2 in pages.")


def test_a_text_that_waits_may_end():
    memory = Contiguous(8, 4)
    for text in "ABC":
        memory.go_on(Step(text, 2))
    memory.go_on(Step("C", 0))
    assert memory.rooms == ["A", "B"] and memory.waiting == [] and memory.empty == 4


def test_texts_and_pages_without_room_are_refused():
    with pytest.raises(ValueError, match="at most 16 tokens, got Step"):
        draw([("A", 17), ("B", 1)])
    with pytest.raises(ValueError, match="at most 18 tokens and shorter pages"):
        draw(longest=19)
    with pytest.raises(MemoryError):
        draw([("A", 8), ("B", 8)], n_pages=2)
