import re

import pytest
import torch

from course_lib.decoding import sampling_probabilities
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.words.next_word import draw_next_word

WORDS = "bed sofa chair roof table floor car book tree idea because moon".split()
LOGITS = torch.tensor([4.0, 3.7, 3.2, 2.9, 2.6, 2.5, 2.0, 1.4, 1.2, 0.0, -0.5, -0.8])


def panels(**options):
    film = draw_next_word(WORDS, LOGITS, **{"drawn": 1, "temperature": 0.7} | options)
    return [frame.panels[0] for frame in film.frames]


def bars(panel, fill):
    """The lengths of the bars with this fill."""
    return [
        float(length)
        for length, colour in re.findall(
            r'width="([\d.]+)" height="18" rx="2" fill="([^"]*)"', panel
        )
        if fill in colour
    ]


@pytest.mark.parametrize("options", [{"top_p": 0.8}, {"top_p": 0.95}, {"top_k": 3}, {"top_k": 12}])
@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0])
def test_what_is_drawn_from_is_what_the_library_draws_from(options, temperature):
    expected = sampling_probabilities(LOGITS[None], temperature=temperature, **options)[0]
    *_, draw = panels(temperature=temperature, shown=8, **options)
    told = dict(re.findall(r"(\w+) (\d\.\d\d)", draw.description))
    for word, probability in zip(WORDS[:8], expected, strict=False):
        assert told.get(word, "0.00") == f"{probability:.2f}"
        assert (word in told) == (probability > 0)


def test_temperature_comes_before_the_cut():
    _, share, cut, _ = panels(top_p=0.8)
    expected = (LOGITS / 0.7).softmax(-1)
    assert f"bed {expected[0]:.2f}" in share.description
    assert f"chair {expected[:3].sum():.2f}" in cut.description


def test_all_probabilities_have_one_scale():
    _, share, cut, draw = panels(top_p=0.8)
    p = (LOGITS / 0.7).softmax(-1)
    final = p[:4] / p[:4].sum()
    shown = bars(share.body, "--line")
    assert bars(cut.body, "--line") == shown[:4]
    assert bars(draw.body, "--accent")[0] / shown[0] == pytest.approx(final[1] / p[0], rel=0.01)


def test_what_is_cut_off_is_hatched_and_lies_below_a_dashed_line():
    *_, cut, draw = panels(top_p=0.8)
    assert "cuts off 8 words, below a dashed line and hatched: table, floor, 6 more" in (
        cut.description
    )
    assert len(bars(cut.body, "hidden")) == 3
    assert not bars(draw.body, "hidden")


def test_one_bar_alone_has_the_accent():
    *others, draw = panels(top_k=4)
    assert len(bars(draw.body, "--accent")) == 1
    assert not any("--accent" in panel.body for panel in others)
    assert "sofa is drawn" in draw.description


def test_words_without_a_row_of_their_own_share_one():
    _, share, *_ = panels(top_p=0.8, shown=3)
    rest = float((LOGITS / 0.7).softmax(-1)[3:].sum())
    assert f"9 more {rest:.2f}" in share.description


def test_a_cut_among_the_words_without_a_row_hatches_a_part_of_their_bar():
    *_, cut, draw = panels(top_k=5, shown=3)
    assert len(bars(cut.body, "hidden")) == 1
    assert len(bars(cut.body, "--line")) == 4
    assert "9 more 0." in draw.description


def test_the_order_of_the_words_does_not_matter():
    back = list(reversed(range(12)))
    turned = draw_next_word(
        [WORDS[i] for i in back], LOGITS[back], drawn=10, temperature=0.7, top_p=0.8
    )
    assert [frame.panels[0] for frame in turned.frames] == panels(top_p=0.8)


def test_negative_logits_lie_left_of_zero():
    film = draw_next_word(WORDS[:2], torch.tensor([2.0, -2.0]), drawn=0, top_k=2)
    body = film.frames[0].panels[0].body
    (bed, length), (sofa, _) = re.findall(
        r'<rect x="([\d.]+)"[^>]*width="([\d.]+)" height="18"', body
    )
    assert float(bed) == pytest.approx(float(sofa) + float(length), abs=0.2)
    assert "sofa −2.0" in film.frames[0].panels[0].description


def test_words_fit_into_their_boxes():
    words = ["extraordinary", "moon"]
    for frame in draw_next_word(words, LOGITS[:2], drawn=0, top_k=2).frames:
        width = float(re.findall(r'width="([\d.]+)" height="26', frame.panels[0].body)[0])
        assert width >= text_width(words[0]) + 10


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "expected one of top_p and top_k, got None and None"),
        ({"top_p": 0.5, "top_k": 3}, "expected one of top_p and top_k"),
        ({"top_p": 0.0}, "top_p above 0 and at most 1, got 0.0"),
        ({"top_k": 0}, "top_k of at least 1, got 0"),
        ({"top_k": 1}, "'sofa' is cut off, so it cannot be drawn"),
        (
            {"top_k": 12, "shown": 1},
            "'sofa' has rank 2 and no row of its own: set shown to at least 2",
        ),
        ({"top_k": 12, "shown": 12}, "expected at most 9 rows"),
        ({"top_k": 3, "temperature": 0.0}, "a temperature above 0, got 0.0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, told):
    with pytest.raises(ValueError, match=told):
        panels(**options)


def test_logits_that_do_not_belong_to_the_words_are_refused():
    with pytest.raises(ValueError, match="a finite logit for each of 12 words, got shape"):
        draw_next_word(WORDS, LOGITS[:3], drawn=0, top_k=2)
    infinite = torch.cat([LOGITS[:-1], torch.tensor([float("inf")])])
    with pytest.raises(ValueError, match="11 finite ones"):
        draw_next_word(WORDS, infinite, drawn=0, top_k=2)
