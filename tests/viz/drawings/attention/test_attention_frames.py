"""The four frames of attention say and draw what PyTorch computes."""

import re
from html import unescape

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from course_lib.viz.drawings.attention.attention_frames import draw_attention

WORDS = ["the", "cat", "sleeps"]
NUMBER = r"−?\d+(?:\.\d+)?"


@pytest.fixture
def given():
    """x and the three matrices."""
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randint(-1, 2, shape, generator=generator).float()
        for shape in ((3, 4), (4, 4), (4, 4), (4, 2))
    ]


@pytest.fixture
def example():
    """Those of lesson 04."""
    x = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    w_q = torch.tensor([[0.0, 1, 0, 1], [1, 0, 0, 1], [2, 0, 1, 0], [0, 0, 1, 0]])
    w_k = torch.tensor([[0.0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    return x, w_q, w_k, torch.tensor([[1.0, 0], [10, 0], [0, 4], [0, 2]])


def panels(given, asking=0):
    return [frame.panels[0] for frame in draw_attention(WORDS, *given, asking=asking).frames]


def numbers(words):
    return [float(each.replace("−", "-")) for each in re.findall(NUMBER, words)]


def texts(panel):
    """What is written in it, each with its x and y."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', panel.body)
    return [(float(x), float(y), unescape(words)) for x, y, words in found]


def cells(panel):
    """The whole numbers in vectors and matrices, in order."""
    return [
        numbers(words)[0]
        for words in re.findall(r'class="aside(?: bold)?"[^>]*>([^<]*)<', panel.body)
        if re.fullmatch(r"−?\d+", words)
    ]


def numbers_at(panel, *, x):
    """The numbers of a column, from top to bottom; ``x`` is their anchor."""
    return [numbers(words)[0] for at, _, words in texts(panel) if at == x and numbers(words)]


def worked(panel):
    """Both sides of each equation in the line below: what the left one gives, the right one."""
    [line] = re.findall(r'var\(--accent\)"[^>]*>([^<]*=[^<]*)<', panel.body)
    for equation in line.partition(": ")[2].split(";"):
        left, right = equation.replace("−", "-").replace("·", "*").replace("÷", "/").split("=")
        yield eval(re.sub(r"√(\d+)", r"(\1 ** 0.5)", left)), float(right)


@pytest.mark.parametrize("asking", [0, 1, 2])
def test_the_weights_and_the_context_are_those_of_pytorch(given, asking):
    x, *matrices = given
    q, k, v = (x @ each for each in matrices)
    context = scaled_dot_product_attention(q, k, v)[asking]
    weights = (q @ k.T / 2).softmax(dim=-1)[asking]
    *_, share, mix = panels(given, asking)
    assert numbers(share.description.partition("weights: ")[2]) == pytest.approx(
        weights.tolist(), abs=0.0006
    )
    assert numbers(mix.description) == pytest.approx(context.tolist(), abs=0.006)
    assert numbers_at(share, x=334.0) == pytest.approx([*weights.tolist(), 1], abs=0.0006)
    assert numbers_at(mix, x=94.0) == pytest.approx(weights.tolist(), abs=0.0006)


@pytest.mark.parametrize("asking", [0, 1, 2])
def test_all_numbers_of_x_the_matrices_and_what_they_make_are_written(given, asking):
    x, *matrices = given
    q, k, v = (x @ each for each in matrices)
    ask, compare, _, mix = panels(given, asking)
    made = [each for pair in zip(matrices, (q, k, v), strict=True) for each in pair]
    assert cells(ask) == torch.cat([each.flatten() for each in (x, *made)]).tolist()
    assert cells(compare) == torch.cat([q[asking], k.flatten()]).tolist()
    assert cells(mix) == v.flatten().tolist()


@pytest.mark.parametrize("asking", [0, 1, 2])
def test_each_frame_works_one_number_out(given, asking):
    x, w_q, w_k, w_v = given
    for values in (w_v, w_v.flip(1)):  # the larger number is the first, then the second
        for panel in panels((x, w_q, w_k, values), asking):
            for computed, told in worked(panel):
                assert computed == pytest.approx(told, abs=0.006), panel.title
    [(_, score), (_, scaled)] = worked(panels(given, asking)[1])
    assert score == (x[asking] @ w_q @ (x @ w_k).T).max()
    assert scaled == score / 2


def test_what_is_written_adds_up_in_the_example_of_lesson_04(example):
    _, compare, share, mix = panels(example, asking=2)
    assert numbers_at(compare, x=206.0) == [0, 6, 2]
    assert numbers_at(share, x=86.0) == numbers_at(compare, x=308.0) == [0, 3, 1]
    *powers, total = numbers_at(share, x=172.0)
    *weights, one = numbers_at(share, x=334.0)
    assert sum(powers) == pytest.approx(total) and sum(weights) == pytest.approx(one)
    assert weights == [round(power / total, 3) for power in powers] == numbers_at(mix, x=94.0)
    context = [numbers(words)[0] for _, _, words in texts(mix) if re.fullmatch(r"\d\.\d\d", words)]
    values = [[1, 10, 0], [0, 2, 6]]
    for j, told in enumerate(context):
        mixed = sum(w * v for w, v in zip(weights, values[j], strict=True))
        assert round(mixed, 2) == told


def test_a_bar_is_as_long_as_its_weight(given):
    x, w_q, w_k, _ = given
    share = panels(given, asking=1)[2]
    bars = re.findall(r'width="([\d.]+)"[^>]*fill="var\(--attention\)"', share.body)
    weights = (x[1] @ w_q @ (x @ w_k).T / 2).softmax(dim=-1)
    assert [float(bar) for bar in bars] == pytest.approx((94 * weights).tolist(), abs=0.06)


def test_the_word_that_asks_is_the_strong_one_in_each_frame(given):
    film = draw_attention(WORDS, *given, asking=2)
    for frame in film.frames:
        strong = re.findall(r'class="bold"[^>]*>([a-z]+)</text>', frame.panels[0].body)
        assert set(strong) == {"sleeps"}
    assert "“sleeps”" in film.frames[1].says
    assert "the query of “sleeps”" in film.frames[1].panels[0].body


def test_the_last_sentence_names_the_word_that_is_attended_to_most(given):
    x, w_q, w_k, _ = given
    most = WORDS[int((x[0] @ w_q @ (x @ w_k).T).argmax())]
    assert draw_attention(WORDS, *given, asking=0).frames[-1].says.endswith(f"from “{most}”.")


@pytest.mark.parametrize("words", [["the", "cat"], [], ["a"] * 6])
def test_words_without_vectors_are_refused(given, words):
    with pytest.raises(ValueError, match="at most 5 words and as many rows"):
        draw_attention(words, *given, asking=0)


def test_what_has_no_room_or_does_not_fit_is_refused(given):
    x, w_q, w_k, w_v = given
    with pytest.raises(ValueError, match="at most d_model 4, d_k 4, d_v 2, got"):
        draw_attention(WORDS, x, w_q, w_k, torch.ones(4, 3), asking=0)
    with pytest.raises(ValueError, match="expected whole numbers from -9 to 99"):
        draw_attention(WORDS, x, w_q / 2, w_k, w_v, asking=0)
    with pytest.raises(ValueError, match="expected scaled scores below 6.9"):
        draw_attention(WORDS, x, 3 * w_q, 3 * w_k, w_v, asking=0)
