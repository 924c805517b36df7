import base64
import html
import json
import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.widgets import frames
from course_lib.viz.widgets.accessible_widgets import Slider
from course_lib.viz.widgets.frames import Frames, Stops, frames_of
from course_lib.viz.widgets.interactive_figure import STORING, interact, make_control, stops_of

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def squares(size=2, blue=False):
    """A square of this size on a white page of 20 × 30 pixels."""
    pixels = np.full((20, 30, 3), 255, np.uint8)
    pixels[:size, :size] = BLUE if blue else RED
    return pixels, f"A {'blue' if blue else 'red'} square of {size}."


def stops(most):
    sizes = [*range(2, most + 1), 10]  # as a slider, with its first and its last value
    return {
        "size": Stops("size", "range", values=sizes, texts=[str(size) for size in sizes], start=1),
        "blue": Stops("blue", "switch", values=[False, True], texts=["no", "yes"], start=0),
    }


def shown(found: Frames, index):
    """What the page shows: a frame over the first picture."""
    page = found.first
    if found.changed[index]:
        over = Image.open(BytesIO(base64.b64decode(found.changed[index].split(",")[1])))
        page = Image.alpha_composite(page, over.convert("RGBA"))
    return np.asarray(page.convert("RGB"))


def test_every_state_shows_its_own_picture_and_words():
    found = frames_of(squares, stops)
    assert len(found.alts) == 18
    for i, size in enumerate(range(2, 11)):
        for j, blue in enumerate([False, True]):
            pixels, alt = squares(size, blue)
            number = 2 * i + j
            assert (shown(found, number) == pixels).all()
            assert found.alts[number] == alt
    assert found.start == 2 and found.changed[found.start] == ""


def test_pictures_of_different_sizes_are_placed_on_a_page_that_holds_all():
    def growing(size, blue):
        return squares(size)[0][: size * 2], "A strip."

    found = frames_of(growing, stops)
    assert shown(found, 0).shape == (20, 30, 3)
    assert (shown(found, 0)[4:] == WHITE).all()


def test_sliders_get_fewer_stops_until_the_pictures_fit(monkeypatch):
    whole = frames_of(squares, stops).size
    monkeypatch.setattr(frames, "MOST_BYTES", whole - 1)
    assert len(frames_of(squares, stops).alts) == 14
    monkeypatch.setattr(frames, "MOST_BYTES", 10)
    assert frames_of(squares, stops) is None


def test_a_figure_whose_first_few_pictures_are_too_large_is_given_up_at_once(monkeypatch):
    drawn = []

    def counted(**values):
        drawn.append(values)
        return squares(**values)

    monkeypatch.setattr(frames, "MOST_BYTES", 10)
    assert frames_of(counted, stops) is None
    assert drawn == [
        {"size": 3, "blue": False},
        {"size": 10, "blue": False},
        {"size": 3, "blue": True},
    ]


def test_what_has_only_a_text_box_stays_still(monkeypatch):
    monkeypatch.setenv(STORING, "1")
    figure = interact(lambda text="a": draw(norm=text), text="a")
    markup = figure._repr_mimebundle_()[0]["text/html"]
    assert "data-frames" not in markup
    assert "This picture is still. Run the cell to move its control." in markup


def test_the_size_is_that_of_the_pictures_as_text():
    found = frames_of(squares, stops)
    stored = stored_in(found.html("note", "still"))
    assert found.size == sum(
        len(frame["changed"]) + len(frame["alt"]) for frame in stored["frames"]
    )


def stored_in(markup):
    return json.loads(html.unescape(re.search(r'data-frames="([^"]*)"', markup)[1]))


def draw(depth=3, norm="post"):
    ax = plot_curves({norm: [0.0, depth]}, x_label="x", y_label="y", title=norm)
    return ax, f"A line up to {depth} with {norm}-norm."


@pytest.mark.slow
def test_an_output_has_frames_only_where_it_is_stored(monkeypatch):
    figure = interact(draw, depth=(1, 3), norm=["pre", "post"])
    assert "data-frames" not in figure._repr_mimebundle_()[0]["text/html"]
    monkeypatch.setenv(STORING, "1")
    markup = figure._repr_mimebundle_()[0]["text/html"]
    assert markup == figure._repr_mimebundle_()[0]["text/html"]
    stored = stored_in(markup)
    assert [(c["label"], c["stops"], c["start"]) for c in stored["controls"]] == [
        ("depth", ["1", "2", "3"], 2),
        ("norm", ["pre", "post"], 1),
    ]
    assert [frame["alt"] for frame in stored["frames"]] == [
        f"A line up to {depth} with {norm}-norm." for depth in (1, 2, 3) for norm in ("pre", "post")
    ]
    assert stored["frames"][0]["changed"].startswith("data:image/webp;base64,")
    assert figure.controls["depth"].value == 3  # nothing has moved


@pytest.mark.parametrize(
    ("slider", "expected"),
    [
        (Slider("n", 1, 9, value=3), [1, 3, 9]),
        (Slider("n", 0, 2), [0, 1, 2]),
        (Slider("n", 0, 0), [0]),
        (Slider("n", 0, 100, 5, value=100), [0, 50, 100]),
        (Slider("x", 0.0, 1.0, 0.1, value=0.6), [0.0, 0.6, 1.0]),
        (Slider("x", options=[64, 128, 256, 512], value=128), [64, 128, 512]),
    ],
)
def test_a_sliders_stops_are_both_ends_where_it_is_and_some_between(slider, expected):
    found = stops_of(slider, 3)
    assert list(found.values) == pytest.approx(expected)
    assert found.values[found.start] == slider.value
    assert [slider.text_of(value) for value in found.values] == list(found.texts)


def test_the_other_controls_have_all_their_values():
    assert stops_of(make_control("norm", [("Pre", 1), ("Post", 2)], start=2), 3) == Stops(
        "norm", "list", values=[1, 2], texts=["Pre", "Post"], start=1
    )
    assert stops_of(make_control("scale", True), 3).start == 1
    assert stops_of(make_control("text", "a b"), 3) is None
