"""A bar is as long as its cache is large, on a logarithmic line, in every frame."""

import math
import re
from xml.etree import ElementTree

import pytest

from course_lib.modern import DecoderConfig, cache_bytes, count_parameters, published
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.cache_sizes import (
    BROAD,
    LARGEST,
    NARROW,
    SMALLEST,
    draw_cache_sizes,
    how_it_keeps,
    in_bytes,
)

SVG = "{http://www.w3.org/2000/svg}"
MODELS = {
    "many": DecoderConfig(vocab=32_000, d_model=4096, d_ff=11_008, n_heads=32, n_layers=32),
    "groups": published("qwen3_0_6b"),
    "window": published("gemma_3_270m"),
}
LENGTHS = [1, 1024, 32_768]


@pytest.fixture(scope="module")
def film():
    return draw_cache_sizes(MODELS, LENGTHS, lit=["groups"], start=1)


def bars(panel):
    """The width of each bar."""
    return [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"[^>]*rx="2"', panel.body)]


@pytest.mark.parametrize("layout", [BROAD, NARROW])
def test_bars_are_as_long_as_the_logarithms_of_the_caches(film, layout):
    full = layout.right - layout.left
    for frame, length in zip(film.frames, LENGTHS, strict=True):
        panel = frame.panels[0] if layout is BROAD else frame.panels[0].narrow
        for width, config in zip(bars(panel), MODELS.values(), strict=True):
            size = cache_bytes(config, min(length, config.max_len))
            share = (math.log10(size) - SMALLEST) / (LARGEST - SMALLEST)
            assert width == pytest.approx(share * full, abs=0.06)


def test_a_model_that_cannot_read_so_far_keeps_the_outline_of_its_longest(film):
    last = film.frames[-1].panels[0]
    assert last.body.count("stroke-dasharray") == 1
    assert "many (32 heads, each with its keys) 2.15 GB at its longest, 4,096 tokens" in last.alt
    assert film.frames[0].panels[0].body.count("stroke-dasharray") == 0


def test_only_the_models_that_the_text_is_about_are_in_the_accent(film):
    for frame in film.frames:
        body = frame.panels[0].body
        assert len(re.findall(r'<rect [^>]*fill="var\(--accent\)"', body)) == 1
        assert "groups keeps" in frame.says and "window" not in frame.says


def test_the_marker_is_at_the_weights_of_the_model(film):
    (x,) = re.findall(r"M([\d.]+) [\d.]+l-4 -7h8z", film.frames[0].panels[0].body)[1:2]
    size = 2 * count_parameters(MODELS["groups"])
    share = (math.log10(size) - SMALLEST) / (LARGEST - SMALLEST)
    assert float(x) == pytest.approx(BROAD.left + share * (BROAD.right - BROAD.left), abs=0.06)


def test_parameters_that_the_formula_does_not_have_can_be_given():
    film = draw_cache_sizes(MODELS, LENGTHS, parameters={"groups": 10**9})
    assert "groups (8 heads of keys) 115 kB, its weights 2 GB" in film.panels[0].alt


@pytest.mark.parametrize("narrow", [False, True])
def test_words_lie_inside_the_panel(film, narrow):
    for panel in film.panels:
        panel = panel.narrow if narrow else panel
        for text in ElementTree.fromstring(panel.svg()).iter(f"{SVG}text"):
            classes = text.get("class") or ""
            size = 12 if "aside" in classes else 14
            width = text_width(text.text, size, bold="bold" in classes)
            shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
            start = float(text.get("x")) - shift
            assert start >= 0 and start + width <= panel.width + 1, text.text


@pytest.mark.parametrize(
    ("size", "words"),
    [(18_432, "18.4 kB"), (999, "999 bytes"), (10**12, "1 TB"), (2.5e9, "2.5 GB")],
)
def test_sizes_as_people_write_them(size, words):
    assert in_bytes(size) == words


def test_how_a_model_keeps_its_tokens_is_read_from_its_configuration():
    assert how_it_keeps(MODELS["window"]) == "1 head of keys, window 512"
    latent = DecoderConfig(
        vocab=9, d_model=8, d_ff=8, n_heads=4, n_layers=1, d_latent=6, d_rotary=2
    )
    assert how_it_keeps(latent) == "one latent for 4 heads"


def test_models_that_are_not_drawn_and_sizes_beyond_the_line_are_refused():
    with pytest.raises(ValueError, match="expected one of many, groups, window, got 'other'"):
        draw_cache_sizes(MODELS, LENGTHS, lit=["other"])
    tiny = {"tiny": DecoderConfig(vocab=9, d_model=8, d_ff=8, n_heads=4, n_layers=1)}
    with pytest.raises(ValueError, match="expected sizes from 10 kB to 10 TB"):
        draw_cache_sizes(tiny, LENGTHS)
