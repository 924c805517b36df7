import base64
import re
import zlib

import numpy as np
import pytest
from nbformat import NotebookNode

from course_lib.viz.display import bundle as plot_data
from course_lib.viz.display import stored
from course_lib.viz.drawings.drawing import Drawing, Panel
from course_lib.viz.drawings.marks import arrow, label
from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.plots.heatmaps import plot_heatmap
from course_lib.viz.style import new_axes
from course_lib.widget_output import WIDGET_VIEW
from tests.tools.notebooks.sample_notebooks import bundle, heatmap, image, stream
from tools.notebooks.output_comparison import (
    PICTURE_TOLERANCE,
    differences,
    only_rounded,
    picture_distance,
    same_text,
)


@pytest.mark.parametrize(
    ("new", "stored"),
    [
        ("loss 0.123", "loss 0.124"),
        ("loss 0.123.", "loss 0.122."),
        ("9.99 and", "10.00  and"),
        ("-0.00", "0.00"),
        ("1.00e-03", "9.99e-04"),
        ("tensor([[0.1001, -0.2000]])", "tensor([[0.1000, -0.2001]])"),
    ],
)
def test_floats_one_unit_apart_in_the_last_digit_are_the_same(new: str, stored: str) -> None:
    assert same_text(new, stored)
    assert same_text(stored, new)


@pytest.mark.parametrize(
    ("new", "stored", "same"),
    [
        ("0.96 (± 0.02)", "0.98 (± 0.02)", True),
        ("0.95 (± 0.02)", "0.98 (± 0.02)", False),
        ("153 (± 6) of 200", "157 (± 5) of 200", True),
        ("153 (± 6) of 200", "157 (± 5) of 201", False),
        ("7.1 (± 1.0 between six seeds), 0.123", "7.8 (± 1.3 between six seeds), 0.124", True),
        ("97 % (± 2)", "95 % (± 2)", True),
        ("0.48 (± 0.00)", "0.49 (± 0.01)", True),
        ("97 (± 2)", "95 % (± 2)", False),
        ("0.98 (± 0.09)", "0.98 (± 0.02)", False),  # another uncertainty is another statement
        ("0.98", "0.98 (± 0.02)", False),
        ("0.5 (± 0.1) 3 heads", "0.5 (± 0.1) 4 heads", False),
    ],
)
def test_a_number_may_move_within_its_stored_uncertainty(new: str, stored: str, same: bool) -> None:
    assert same_text(new, stored) is same


@pytest.mark.parametrize(
    ("new", "stored"),
    [
        ("loss 0.125", "loss 0.123"),
        ("0.12 0.12 0.12", "0.12 0.12 0.15"),
        ("3 heads", "4 heads"),
        ("tensor([1., 0.])", "tensor([0., 1.])"),
        ("version 1.2.3", "version 1.2.4"),
        ("0.123", "0.12"),
        ("1.50e-03", "1.50e-04"),
        ("nan", "0.12"),
        ("0.50 True", "0.50 False"),
        ("0.50", "0.50 0.50"),
        ("x0.51", "x0.50"),
    ],
)
def test_any_other_difference_counts(new: str, stored: str) -> None:
    assert not same_text(new, stored)
    assert not same_text(stored, new)


def test_letters_drawn_by_another_release_stay_within_the_tolerance() -> None:
    weights = np.eye(8)
    drifted = heatmap(weights, smooth_text=False)
    assert 0 < picture_distance(drifted, heatmap(weights)) <= PICTURE_TOLERANCE


def test_another_head_is_beyond_the_tolerance() -> None:
    diagonal = np.eye(8)
    assert picture_distance(heatmap(diagonal), heatmap(diagonal[::-1])) > PICTURE_TOLERANCE


def test_one_wrong_weight_in_a_map_is_beyond_the_tolerance() -> None:
    weights = np.full((8, 8), 0.1)
    wrong = weights.copy()
    wrong[2, 3] = 0.9
    assert picture_distance(heatmap(weights), heatmap(wrong)) > PICTURE_TOLERANCE


def test_a_picture_of_another_size_is_named_with_both_sizes() -> None:
    stored, new = heatmap(np.eye(4)), heatmap(np.eye(4), dpi=90)
    for trained in (False, True):
        assert differences([bundle(png=new)], [bundle(png=stored)], trained=trained) == [
            "output 1, picture: stored 320×240 pixels, now 360×270"
        ]


def test_a_picture_of_a_result_of_training_may_differ() -> None:
    new, stored = heatmap(np.eye(4)), heatmap(np.eye(4)[::-1])
    assert "distance" in differences([bundle(png=new)], [bundle(png=stored)])[0]
    assert differences([bundle(png=new)], [bundle(png=stored)], trained=True) == []


def test_outputs_that_come_go_or_change_kind_are_named() -> None:
    printed, shown = stream("1\n"), bundle(plain="1")
    assert differences([printed], []) == ["output 1: stored nothing, now stdout"]
    assert differences([], [shown]) == ["output 1: stored text/plain, now nothing"]
    assert differences([shown], [printed]) == ["output 1: stored stdout, now text/plain"]


def test_a_changed_line_is_shown_in_both_forms() -> None:
    [report] = differences([stream("same\nnew\n")], [stream("same\nold\n")])
    assert "- old" in report and "+ new" in report


def test_stderr_is_a_difference_even_when_it_is_stored() -> None:
    warning = stream("UserWarning: no\n", "stderr")
    report = "\n".join(differences([warning], [warning]))
    assert "writes to stderr" in report and "the stored output holds stderr" in report


def test_a_widget_view_is_not_compared() -> None:
    live, stored = bundle(plain="a map"), bundle(plain="a map")
    live.data[WIDGET_VIEW] = {"model_id": "1f"}
    alone = bundle()
    alone.data[WIDGET_VIEW] = {"model_id": "2e"}
    assert differences([alone, live], [stored]) == []


def test_markup_is_compared_unless_it_has_a_picture() -> None:
    picture = image(heatmap(np.eye(4)), "a map")
    around = [bundle(html=f"<div id={name}>{picture}</div>", plain="a map") for name in "ab"]
    assert differences(around[:1], around[1:]) == []
    alone = [bundle(html=f"<div id={name}>") for name in "ab"]
    assert differences(alone[:1], alone[1:]) != []


def test_a_changed_digest_beside_an_equal_picture_counts() -> None:
    picture = heatmap(np.eye(4))
    new, stored = (bundle(png=picture, plain=f"entropy {n}") for n in ("0.10", "0.30"))
    assert len(differences([new], [stored])) == 1


def page(
    picture: str, numbers: bytes, *, note: str = "drag 0.123", name: str = "f0123456789ab"
) -> str:
    """The markup of a widget: its picture, what its other states show, and its script."""
    packed = base64.b64encode(zlib.compress(numbers)).decode("ascii")
    script = f'show("{name}", "{packed}")'
    return f"<p>{note}</p>{image(picture, 'a map')}<script>{script}</script>"


NUMBERS = np.random.default_rng(0).integers(0, 256, 400, dtype=np.uint8)
WEIGHTS = np.random.default_rng(0).random((5, 5))


def test_what_another_processor_rounds_may_stay() -> None:
    moved = NUMBERS + np.random.default_rng(1).integers(0, 5, 400, dtype=np.uint8)  # 255 + 1 is 0
    stored = page(heatmap(WEIGHTS), NUMBERS.tobytes())
    new = page(heatmap(WEIGHTS + 0.002), moved.tobytes(), note="drag 0.124", name="aabcdefabcdef")
    assert new != stored
    assert only_rounded(
        [bundle(html=new), stream("x 0.11")], [bundle(html=stored), stream("x 0.12")]
    )
    assert only_rounded([bundle(html=stored)], [bundle(html=stored)])


@pytest.mark.parametrize(
    "new",
    [
        page(heatmap(WEIGHTS), NUMBERS.tobytes(), note="pull 0.123"),
        page(heatmap(WEIGHTS), (NUMBERS + np.uint8(5)).tobytes()),
        page(heatmap(WEIGHTS), NUMBERS.tobytes()[1:]),
        page(heatmap(WEIGHTS + 0.08 * np.eye(5)), NUMBERS.tobytes()),
        page(heatmap(WEIGHTS), NUMBERS.tobytes()) + "<br>",
        page(heatmap(WEIGHTS), NUMBERS.tobytes()).replace('show("f', 'show("g'),
        page(heatmap(WEIGHTS), NUMBERS.tobytes()).replace('", "', '", "AAAA'),  # not deflated
        "<p>nothing to see</p>",
    ],
    ids=["word", "numbers", "fewer numbers", "picture", "markup", "script", "broken", "none"],
)
def test_what_a_widget_holds_behind_its_picture_is_stored_anew(new: str) -> None:
    stored = page(heatmap(WEIGHTS), NUMBERS.tobytes())
    assert not only_rounded([bundle(html=new)], [bundle(html=stored)])


def test_what_a_reader_would_notice_is_stored_anew() -> None:
    assert not only_rounded([stream("0.125")], [stream("0.123")])
    assert not only_rounded([stream("0.125")], [])
    assert not only_rounded([bundle(html=page(heatmap(WEIGHTS), b""))], [])


def test_pictures_and_numbers_of_a_result_of_training_may_stay() -> None:
    stored = bundle(html=page(heatmap(WEIGHTS), NUMBERS.tobytes()))
    other = bundle(html=page(heatmap(1 - WEIGHTS), NUMBERS[::-1].tobytes()))
    assert only_rounded([other], [stored], trained=True)
    assert not only_rounded([other], [stored])


def drawing(*, x: float = 10.0, words: str = "0.84", title: str = "Share", panels: int = 1):
    """An output with a drawing, as a notebook stores it."""
    body = arrow((0, 0), (x, 5)) + label((x, 20), words)
    panel = Panel(title=title, description="A weight.", body=body, height=40)
    html = Drawing(*[panel] * panels).to_html()
    data = {"text/html": html, "text/plain": "a drawing"}
    return NotebookNode(output_type="display_data", data=data, metadata={})


def test_a_drawing_may_move_by_a_tenth_of_a_pixel() -> None:
    assert differences([drawing(x=10.06)], [drawing(x=10.04)]) == []
    assert only_rounded([drawing(x=10.06)], [drawing(x=10.04)])


@pytest.mark.parametrize("change", [{"x": 11.0}, {"words": "0.86"}, {"title": "Mix"}])
def test_a_drawing_with_another_coordinate_number_or_word_is_another(change) -> None:
    [found] = differences([drawing(**change)], [drawing()])
    assert found.startswith("output 1, drawing: (- stored, + now)")
    assert not only_rounded([drawing(**change)], [drawing()])


def test_of_a_drawing_of_what_was_trained_the_panels_are_counted() -> None:
    assert differences([drawing(words="0.12")], [drawing()], trained=True) == []
    assert differences([drawing(panels=2)], [drawing()], trained=True) == [
        "output 1, drawing: stored 1 panels, now 2"
    ]


def plot(values=((0.9, 0.1), (0.2, 0.8)), *, title: str = "Weights", width: float = 4.0):
    """An output with a heat map, as a notebook stores it."""
    ax = plot_heatmap(
        np.asarray(values),
        rows="query",
        columns="key",
        title=title,
        limits=(0, 1),
        ax=new_axes(width=width, height=3),
    )
    return NotebookNode(output_type="display_data", data=plot_data(stored(ax), "Map."), metadata={})


def curve(end: float = 2.0, *, name: str = "ours"):
    """An output with two lines."""
    names = {"x_label": "step", "y_label": "loss", "title": "Losses"}
    ax = plot_curves({name: [4.0, 3.0, end], "other": [4.0, 3.5, 2.9]}, **names)
    ax.set_ylim(0, 5)
    return NotebookNode(output_type="display_data", data=plot_data(stored(ax), "Two."), metadata={})


@pytest.mark.slow
def test_a_plot_that_another_processor_rounds_is_the_same() -> None:
    assert differences([curve(2.0001)], [curve()]) == []
    assert only_rounded([curve(2.0001)], [curve()])
    # Another level of opacity, so that paths differ.
    assert differences([plot([[0.911, 0.1], [0.2, 0.8]])], [plot([[0.909, 0.1], [0.2, 0.8]])]) == []
    assert only_rounded([plot([[0.911, 0.1], [0.2, 0.8]])], [plot([[0.909, 0.1], [0.2, 0.8]])])


@pytest.mark.parametrize("size", [2, 50])  # paths, and pixels
def test_a_heat_map_with_one_other_cell_is_another(size: int) -> None:
    values = np.linspace(0, 1, size * size).reshape(size, size)
    wrong = values.copy()
    wrong[1, 0] += 0.2
    [found] = differences([plot(wrong)], [plot(values)])
    assert found == "output 1, plot: a cell has changed by 0.20 > 0.08"
    assert not only_rounded([plot(wrong)], [plot(values)])


def test_a_heat_map_turned_round_is_another() -> None:
    [found] = differences([plot([[0.9, 0.2], [0.1, 0.8]])], [plot()])
    assert found.startswith("output 1, plot: a cell has changed by 0.10")


@pytest.mark.slow
def test_a_line_that_ends_elsewhere_is_another() -> None:
    [found] = differences([curve(2.2)], [curve()])
    assert re.fullmatch(r"output 1, plot: a mark has moved by \d+\.\d+ > 4\.0", found)
    assert not only_rounded([curve(2.2)], [curve()])
    assert not only_rounded([curve(2.02)], [curve()])


def test_a_plot_with_other_words_is_another() -> None:
    [found] = differences([plot(title="Scores")], [plot()])
    assert "- Weights" in found and "+ Scores" in found
    assert not only_rounded([plot(title="Scores")], [plot()])


def test_a_plot_with_another_mark_is_another() -> None:
    more = curve()
    more.data["text/html"] = more.data["text/html"].replace("<path ", "<path/><path ", 1)
    [found] = differences([more], [curve()])
    assert re.fullmatch(r"output 1, plot: stored \d+ marks, now \d+ others", found)


@pytest.mark.slow
def test_of_a_plot_of_what_was_trained_the_size_is_compared() -> None:
    assert differences([curve(0.5)], [curve()], trained=True) == []
    assert only_rounded([curve(0.5)], [curve()], trained=True)
    [found] = differences([plot(width=5)], [plot()], trained=True)
    assert found == "output 1, plot: stored 400×300 pixels, now 500×300"


def test_a_plot_instead_of_a_picture_is_named() -> None:
    old = bundle(png=heatmap(WEIGHTS), plain="Map.")
    assert differences([plot()], [old]) == [
        "output 1: stored picture and text/plain, now plot and text/plain"
    ]
