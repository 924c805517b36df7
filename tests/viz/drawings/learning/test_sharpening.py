import re
from xml.etree import ElementTree

import pytest
import torch

from course_lib.viz.drawings.learning.sharpening import draw_sharpening
from course_lib.viz.drawings.marks import text_width

SVG = "{http://www.w3.org/2000/svg}"
PAIRS = [
    ("ich mochte ein bier", ["i", "want", "a", "beer", "<eos>"]),
    ("ich mochte ein cola", ["i", "want", "a", "coke", "<eos>"]),
]
PROBABILITIES = torch.tensor(
    [
        [[0.11, 0.12, 0.13, 0.14, 0.15], [0.21, 0.22, 0.23, 0.24, 0.25]],
        [[0.91, 0.92, 0.93, 0.44, 0.95], [0.96, 0.97, 0.98, 0.56, 0.99]],
        [[1.0, 1.0, 1.0, 0.89, 1.0], [1.0, 1.0, 1.0, 0.87, 1.0]],
    ]
)
EPOCHS = [1, 12, 30]


def film(pairs=PAIRS, probabilities=PROBABILITIES, epochs=EPOCHS, **options):
    return draw_sharpening(pairs, probabilities, epochs=epochs, **options)


def panels():
    for i, frame in enumerate(film().frames):
        for j, panel in enumerate(frame.panels):
            yield panel, PAIRS[j], PROBABILITIES[i, j].tolist(), EPOCHS[i]


def bars(panel):
    """Width and colour of each bar, after the track that stands for 1."""
    found = re.findall(
        r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="18.0" rx="3" '
        r'fill="var\(--(\w+)\)"',
        panel.body,
    )
    return [(float(width), colour) for width, colour in found]


def test_the_probabilities_in_picture_and_description_are_those_given():
    for panel, (source, words), values, epoch in panels():
        assert panel.title == source
        assert re.findall(r">(\d\.\d\d)<", panel.body) == [f"{p:.2f}" for p in values]
        assert (
            ", ".join(f"{w} {p:.2f}" for w, p in zip(words, values, strict=True))
            in panel.description
        )
        assert f"epoch {epoch}:" in panel.note


def test_a_bar_is_as_long_as_its_probability():
    for panel, _, values, _ in panels():
        drawn = bars(panel)
        tracks = {width for width, colour in drawn if colour == "fill"}
        assert len(tracks) == 1
        widths = [width / max(tracks) for width, colour in drawn if colour != "fill"]
        assert widths == pytest.approx(values, abs=1e-3)


def test_only_words_that_need_the_source_are_lit():
    for panel, (_, words), _, _ in panels():
        colours = [colour for _, colour in bars(panel) if colour != "fill"]
        assert [word for word, c in zip(words, colours, strict=True) if c == "accent"] == [words[3]]
        assert f"at the source, the best for {words[3]} is 0.50." in panel.description


def test_the_dotted_line_is_at_the_share_of_targets_that_go_on_like_this():
    thirds = [("s", ["a", "b"]), ("t", ["a", "b"]), ("u", ["a", "c"])]
    drawn = film(thirds, torch.full((2, 3, 2), 0.7), [1, 2])
    assert "best for b is 0.67" in drawn.frames[0].panels[0].description
    assert "best for c is 0.33" in drawn.frames[0].panels[2].description


def test_targets_that_differ_nowhere_light_no_word():
    drawn = film([PAIRS[0]], PROBABILITIES[:, :1])
    assert "accent" not in repr([panel.body for panel in drawn.panels])
    assert drawn.frames[-1].says == "Epoch 30: the right words have at least 0.89."
    assert drawn.start == 2


def test_the_film_starts_where_the_lit_words_are_furthest_behind():
    assert film().start == 1
    assert film(start=0).start == 0


def test_a_frame_says_the_lit_words_and_the_least_of_the_others():
    assert film().frames[1].says == (
        "Epoch 12: “beer” 0.44 and “coke” 0.56; all other words at least 0.91."
    )


def test_words_fit_into_their_boxes_and_panels():
    for panel, _, _, _ in panels():
        root = ElementTree.fromstring(panel.svg())
        for text in root.iter(SVG + "text"):
            width = text_width(text.text, 12 if "aside" in text.get("class", "") else 14)
            shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
            left = float(text.get("x")) - shift
            assert left >= 0 and left + width <= 340 and float(text.get("y")) < panel.height


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": [1, 2]}, "for 2 epochs, 2 sentences and 5 words, got shape (3, 2, 5)"),
        ({"epochs": [1, 1, 2]}, "epochs in ascending order, each once, got [1, 1, 2]"),
        ({"probabilities": PROBABILITIES + 0.5}, "from 0 to 1, got 0.61 to 1.5"),
        ({"pairs": [PAIRS[0], ("x", ["a"])]}, "2 sentences and 1 or 5 words"),
        ({"pairs": [PAIRS[0], ("word " * 20, PAIRS[1][1])]}, "sources that fit into a line"),
        (
            {"pairs": [PAIRS[0], ("x", ["Donaudampfschifffahrtskapitän", "a", "b", "c", "d"])]},
            "at most 10 words of at most 172 pixels",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        film(**changes)
