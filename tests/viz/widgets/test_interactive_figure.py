import sys
import types

import ipywidgets as widgets
import pytest
from bs4 import BeautifulSoup

from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.widgets.accessible_widgets import Slider
from course_lib.viz.widgets.interactive_figure import interact, make_control
from course_lib.widget_output import WIDGET_VIEW


def draw(depth=3, norm="post"):
    if depth == 9:
        raise ValueError("nine is <too> deep")
    ax = plot_curves({norm: [0.0, depth]}, x_label="x", y_label="y", title=norm)
    return ax, f"A line up to {depth} with {norm}-norm."


def figure():
    return interact(draw, depth=(1, 9), norm=["pre", "post"])


def test_moving_a_control_changes_the_picture_and_its_alt_text():
    shown = figure()
    before = shown.image.value
    shown.controls["depth"].value = 5
    assert shown.image.value != before
    assert shown.alt == "A line up to 5 with post-norm."
    assert shown.alt in shown.status.value and 'role="status"' in shown.status.value


def test_moving_a_control_back_restores_the_very_same_picture():
    shown = figure()
    before = shown.image.value
    shown.controls["norm"].value = "pre"
    shown.controls["norm"].value = "post"
    assert shown.image.value == before


def test_an_error_while_drawing_is_shown_and_the_last_picture_stays():
    shown = figure()
    before = shown.image.value
    with pytest.raises(ValueError, match="nine"):
        shown.controls["depth"].value = 9
    assert "ValueError: nine is &lt;too&gt; deep" in shown.status.value
    assert 'role="alert"' in shown.status.value
    assert shown.image.value == before
    shown.controls["depth"].value = 4
    assert "Not drawn" not in shown.status.value


def test_an_error_in_the_first_drawing_is_raised_at_once():
    with pytest.raises(ZeroDivisionError):
        interact(lambda depth: 1 / 0, depth=(1, 2))


def test_a_stored_notebook_keeps_the_picture_and_its_alt_text():
    shown = figure()
    data, _ = shown._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {WIDGET_VIEW, "text/html", "text/plain"}
    assert data[WIDGET_VIEW]["model_id"] == shown.box.model_id
    assert data["text/plain"] == "A line up to 3 with post-norm."
    page = BeautifulSoup(data["text/html"], "html.parser")
    assert page.img["alt"] == page.figcaption.text == data["text/plain"]
    assert page.p.text == "This picture is still. Run the cell to move its controls."


def test_controls_start_at_the_defaults_of_the_plot_function():
    shown = figure()
    assert {name: c.value for name, c in shown.controls.items()} == {"depth": 3, "norm": "post"}


def test_a_control_without_a_default_starts_at_its_first_value():
    assert make_control("depth", (2, 8)).value == 2
    assert make_control("norm", ["pre", "post"]).value == "pre"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ((1, 9), Slider),
        ((8, 64, 8), Slider),
        ((0.0, 1), Slider),
        ((0, 1, 0.1), Slider),
        (["a", "b"], widgets.Dropdown),
        (True, widgets.Checkbox),
        ("der Hund", widgets.Text),
    ],
)
def test_the_value_given_decides_the_type_of_control(spec, expected):
    assert isinstance(make_control("name", spec), expected)


def test_a_given_state_is_kept():
    assert make_control("residual", True, start=False).value is True
    assert make_control("words", "der Hund", start="").value == "der Hund"
    ready = widgets.FloatLogSlider(description="base")
    assert make_control("base", ready) is ready


def test_a_slider_keeps_its_ends_and_its_step():
    slider = make_control("d_model", (8, 64, 8))
    assert (slider.min, slider.max, slider.step) == (8, 64, 8)


def test_every_control_has_a_label():
    assert make_control("warm_up", (1, 2)).description == "warm up"
    assert make_control("d_model", (1, 2)).description == "d_model"


@pytest.mark.parametrize("spec", [(1,), (1, 2, 3, 4), None, ("a", "b")])
def test_a_control_of_another_type_is_refused(spec):
    with pytest.raises(TypeError, match=r"control 'depth' must be \(low, high\), .* got"):
        make_control("depth", spec)


def test_pictures_that_are_yielded_are_shown_as_they_come():
    def draw_all(depth=2):
        for i in range(1, depth + 1):
            yield draw(i)

    shown, images = interact(draw_all, depth=(1, 9)), []
    assert shown.alt == "A line up to 2 with post-norm."
    shown.image.observe(lambda change: images.append(change["new"]), names="value")
    shown.controls["depth"].value = 4
    assert len(images) == 4 and images[-1] == shown.image.value
    assert shown.alt == "A line up to 4 with post-norm."


@pytest.mark.slow
def test_the_last_picture_yielded_before_an_error_stays():
    def draw_up_to(depth=2):
        for i in range(7, 8 + depth):
            yield draw(i)

    shown = interact(lambda depth=0: draw_up_to(depth), depth=(0, 5))
    with pytest.raises(ValueError, match="nine"):
        shown.controls["depth"].value = 3
    assert shown.alt == "A line up to 8 with post-norm." and "Not drawn" in shown.status.value


def test_colab_is_told_where_the_scripts_of_its_widgets_come_from(monkeypatch):
    output = types.ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: None
    output._widgets = types.SimpleNamespace(_installed_url="https://example.org/manager.js")
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    _, metadata = figure()._repr_mimebundle_()
    manager = {"custom_widget_manager": {"url": "https://example.org/manager.js"}}
    assert metadata == {WIDGET_VIEW: {"colab": manager}}


def test_each_answer_to_a_control_is_counted_and_an_error_is_one():
    shown = figure()
    assert shown.watch.answers == 0
    shown.controls["depth"].value = 5
    assert shown.watch.answers == 1
    with pytest.raises(ValueError, match="too"):
        shown.controls["depth"].value = 9
    assert shown.watch.answers == 2
    assert shown.watch in shown.box.children
