"""What is drawn as kept is what a cache of the model holds."""

import re

import pytest
import torch

from course_lib.modern import DecoderCache, DecoderConfig, DecoderOnly
from course_lib.viz.drawings.attention.kept_heads import PANEL, draw_kept_heads
from course_lib.viz.drawings.marks import text_width

SIZES = {"vocab": 9, "d_model": 64, "d_ff": 8, "n_heads": 8, "n_layers": 1}
MODELS = {
    "own": DecoderConfig(**SIZES),
    "two": DecoderConfig(**SIZES, n_kv_heads=2),
    "one": DecoderConfig(**SIZES, n_kv_heads=1),
    "latent": DecoderConfig(**SIZES, d_latent=32, d_rotary=8),
}


def panel(name):
    return draw_kept_heads({name: MODELS[name]}).panels[0]


def boxes(body, word):
    return len(re.findall(rf">{word}</text>", body))


@pytest.mark.parametrize(("name", "keys"), [("own", 8), ("two", 2), ("one", 1), ("latent", 8)])
def test_there_is_a_box_for_each_head(name, keys):
    body = panel(name).body
    assert [boxes(body, str(i)) for i in range(8)] == [1] * 8
    assert boxes(body, "k") == boxes(body, "v") == keys


@pytest.mark.parametrize("name", MODELS)
def test_the_sum_is_what_a_cache_holds_of_a_token(name):
    cache = DecoderCache(MODELS[name])
    with torch.no_grad():
        DecoderOnly(MODELS[name])(torch.tensor([[1]]), cache=cache)
    assert f"= {cache.n_bytes // 4} numbers" in panel(name).body


def test_neighbouring_heads_read_the_same_keys():
    lines = re.findall(r'd="M([\d.]+) [\d.]+L([\d.]+) [\d.]+"', panel("two").body)
    ends = [end for _, end in lines]
    assert len(lines) == 8 and len(set(ends[:4])) == len(set(ends[4:])) == 1 != len(set(ends))


def test_what_is_made_from_a_latent_is_dashed_and_not_in_the_accent():
    body = panel("latent").body
    assert len(re.findall(r'<rect [^>]*stroke-dasharray="3 3"', body)) == 16
    assert re.findall(r">(latent, 32|key, 8)</text>", body) == ["key, 8", "latent, 32"]
    assert len(re.findall(r'<rect [^>]*fill="var\(--accent\)"', body)) == 2


@pytest.mark.parametrize("name", MODELS)
def test_words_lie_inside_the_panel(name):
    for x, cls, words in re.findall(
        r'<text x="([\d.]+)"[^>]*class="(bold|aside)"[^>]*>([^<]*)</text>', panel(name).body
    ):
        size = 14 if cls == "bold" else 12
        assert float(x) + text_width(words, size, bold=cls == "bold") <= PANEL


def test_more_heads_than_there_is_room_for_are_refused():
    config = DecoderConfig(**SIZES | {"n_heads": 16})
    with pytest.raises(ValueError, match="expected at most 8 heads, got 16"):
        draw_kept_heads({"many": config})
