"""The four frames of attention say and draw what PyTorch computes."""

import re

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from course_lib.viz.drawings.attention.attention_frames import draw_attention

WORDS = ["the", "cat", "sleeps"]


@pytest.fixture
def vectors():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 4, generator=generator)
    return x, *(x @ torch.randn(4, width, generator=generator) for width in (4, 4, 2))


def test_the_weights_and_the_context_are_those_of_pytorch(vectors):
    x, q, k, v = vectors
    context = scaled_dot_product_attention(q, k, v)
    weights = (q @ k.T / 2).softmax(dim=-1)
    for asking in range(3):
        shares, mixed = (
            frame.panels[0].description
            for frame in draw_attention(WORDS, x, q, k, v, asking=asking).frames[2:]
        )
        told = [float(number) for number in re.findall(r"\d\.\d\d", shares)]
        assert told == pytest.approx(weights[asking].tolist(), abs=0.005)
        told = [float(n.replace("−", "-")) for n in re.findall(r"−?\d+\.\d\d", mixed)]
        assert told == pytest.approx(context[asking].tolist(), abs=0.005)


def test_a_bar_is_as_long_as_its_weight(vectors):
    x, q, k, v = vectors
    share = draw_attention(WORDS, x, q, k, v, asking=1).frames[2].panels[0]
    bars = re.findall(r'width="([\d.]+)"[^>]*fill="var\(--attention\)"', share.body)
    weights = (q[1] @ k.T / 2).softmax(dim=-1)
    assert [float(bar) for bar in bars] == pytest.approx((180 * weights).tolist(), abs=0.06)


def test_the_word_that_asks_is_the_strong_one_in_each_frame(vectors):
    film = draw_attention(WORDS, *vectors, asking=2)
    for frame in film.frames:
        strong = re.findall(r'class="bold"[^>]*>(\w+)</text>', frame.panels[0].body)
        assert "sleeps" in strong and "the" not in strong
    assert "“sleeps”" in film.frames[1].says


def test_the_last_sentence_names_the_word_that_is_attended_to_most(vectors):
    x, q, k, v = vectors
    most = WORDS[int((q[0] @ k.T).argmax())]
    assert draw_attention(WORDS, x, q, k, v, asking=0).frames[-1].says.endswith(f"from “{most}”.")


@pytest.mark.parametrize("words", [["the", "cat"], [], ["a"] * 6])
def test_words_without_vectors_are_refused(vectors, words):
    with pytest.raises(ValueError, match="at most 5 words and as many rows"):
        draw_attention(words, *vectors, asking=0)
