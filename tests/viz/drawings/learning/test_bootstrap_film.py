import re
from xml.etree import ElementTree

import pytest
import torch

from course_lib.viz.drawings.learning.bootstrap_film import draw_bootstrap
from course_lib.viz.drawings.marks import text_width

SVG = "{http://www.w3.org/2000/svg}"
NAMES, N, DRAWS = ("A", "C"), 40, 60


def example(n=N, n_draws=DRAWS):
    generator = torch.Generator().manual_seed(3)
    systems = torch.randint(0, 101, (2, n), generator=generator).double()
    draws = torch.randint(n, (n_draws, n), generator=generator)
    scores = systems[:, draws].mean(-1)
    observed = tuple(systems.mean(-1).tolist())
    return draws, scores, observed


def film(n=N, n_draws=DRAWS, **options):
    draws, scores, observed = example(n, n_draws)
    return draw_bootstrap(draws, scores, observed=observed, names=NAMES, unit="points", **options)


def words_in(panel):
    return re.findall(r"<text[^>]*>([^<]*)</text>", panel.svg())


def test_the_chips_say_how_often_each_sentence_was_drawn():
    draws, _, _ = example()
    chips = film(stops=(2,)).frames[1].panels[0]
    counts = torch.bincount(draws[1], minlength=N)[:24]
    written = words_in(chips)
    assert sorted(word for word in written if "×" in word) == sorted(
        f"×{count}" for count in counts.tolist() if count > 1
    )
    assert chips.body.count('stroke-dasharray="3 3"') == int((counts == 0).sum())
    assert f"{int((counts == 0).sum())} are not drawn, {int((counts == 1).sum())} once" in chips.alt


def test_before_any_draw_each_sentence_is_there_once():
    chips = film().frames[0].panels[0]
    told = f"Of the first 24 of {N} sentences, 0 are not drawn, 24 once and 0 more than once. "
    assert chips.alt.partition(told)[2].startswith(f"On all {N}, A has ")
    assert not any("×" in word for word in words_in(chips))


def test_few_sentences_are_all_shown():
    assert "Of 7 sentences, 0 are not drawn, 7 once" in film(n=7).frames[0].panels[0].alt


def test_the_difference_of_the_scores_as_written_is_the_difference_as_written():
    for frame in film(stops=(1, 2, 3, 30)).frames:
        a, b, difference = re.search(
            r"A has ([\d.]+) points and C ([\d.]+): the difference is ([+−]?[\d.]+)\.",
            frame.panels[0].alt,
        ).groups()
        assert float(a) - float(b) == pytest.approx(float(difference.replace("−", "-")))


def test_the_last_frame_has_the_share_below_zero_and_the_interval():
    _, scores, _ = example()
    differences = scores[0] - scores[1]
    below = f"{100 * (differences < 0).double().mean():.0f} %"
    low, high = (
        f"{x:.0f}".replace("-", "−")
        for x in differences.quantile(torch.tensor([0.025, 0.975]).double())
    )
    last = film().frames[-1]
    assert f"{below} of the draws lie below 0" in words_in(last.panels[1])
    assert f"95 % of the draws: {low} to {high}" in words_in(last.panels[1])
    assert f"{below} of the draws are below 0; 95 % of them lie from {low} to {high}" in repr(
        film()
    )
    assert below in last.says


def test_every_draw_is_in_the_histogram_once_while_draws_are_squares():
    histogram = film(stops=(5,)).frames[1].panels[1].body
    grey = re.findall(r'height="([\d.]+)" fill="var\(--line\)"', histogram)
    assert sum(map(float, grey)) == 5 * 12
    assert histogram.count("var(--accent)") == 1  # the newest, over its grey one


def test_only_bars_below_zero_are_lit_at_the_end():
    histogram = film().frames[-1].panels[1].body
    zero = float(re.search(r"M([\d.]+) 50(?:\.0)?L", histogram)[1])
    bars = re.findall(r'<rect x="([\d.]+)"[^>]*fill="var\(--(\w+)\)"', histogram)
    assert {(float(x) < zero - 1, colour) for x, colour in bars} == {
        (True, "accent"),
        (False, "line"),
    }


def test_a_difference_that_is_never_below_zero_is_told_in_words():
    draws, scores, observed = example()
    shifted = draw_bootstrap(
        draws,
        scores + torch.tensor([[50.0], [0.0]]),
        observed=(observed[0] + 50, observed[1]),
        names=NAMES,
        unit="points",
    )
    assert "none of the draws lie below 0" in words_in(shifted.frames[-1].panels[1])


def test_words_stay_inside_their_panel():
    for frame in film(n=500, n_draws=1000, stops=(1, 200)).frames:
        for panel in frame.panels:
            assert text_width(panel.title) * 1.08 <= 340
            for text in ElementTree.fromstring(panel.svg()).iter(SVG + "text"):
                small = "aside" in text.get("class", "")
                width = text_width(text.text or "", 12 if small else 14)
                shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
                left = float(text.get("x")) - shift
                assert left >= -1 and left + width <= 341, text.text


def test_the_drawing_is_the_same_each_time():
    assert film().to_html() == film().to_html()


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d, s: (d[:10], s[:, :10]), "at least 20 draws"),
        (lambda d, s: (d, s[:, :-1]), "a score of two systems for each"),
        (lambda d, s: (d + 1, s), "indices from 0 to 39, got indices from 1 to 40"),
        (lambda d, s: (d, s * 0), "changes from draw to draw"),
        (lambda d, s: (d, s * torch.nan), "expected finite scores"),
    ],
)
def test_draws_that_are_no_bootstrap_are_refused(change, message):
    draws, scores, observed = example()
    draws, scores = change(draws, scores)
    with pytest.raises(ValueError, match=message):
        draw_bootstrap(draws, scores, observed=observed, names=NAMES, unit="points")


def test_names_for_which_there_is_no_room_are_refused():
    draws, scores, observed = example()
    with pytest.raises(ValueError, match="names of a few letters, got 'fastestimator_ted'"):
        draw_bootstrap(
            draws, scores, observed=observed, names=("A", "fastestimator_ted"), unit="points"
        )
