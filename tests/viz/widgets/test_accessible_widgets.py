import pytest
from traitlets import TraitError

from course_lib.viz.widgets.accessible_widgets import ImageWidget, Slider


def test_a_slider_of_whole_numbers_gives_whole_numbers():
    slider = Slider("depth", 1, 9)
    slider.position = 4.0  # as the browser sends it
    assert slider.value == 4 and isinstance(slider.value, int)
    assert slider.text == "4"


def test_a_slider_of_floats_gives_floats():
    slider = Slider("rate", 0.0, 1, 0.25, value=0.5)
    assert (slider.value, slider.position, slider.text) == (0.5, 0.5, "0.5")
    slider.position = 1
    assert slider.value == 1.0 and isinstance(slider.value, float)


def test_a_slider_stays_between_its_ends():
    slider = Slider("depth", 1, 9)
    slider.value = 40
    assert (slider.value, slider.position) == (9, 9)


def test_options_are_positions_in_order():
    slider = Slider("lr", options=[0.01, 0.1, 1.0], value=0.1)
    assert (slider.position, slider.max) == (1, 2)
    slider.position = 2
    assert slider.value == 1.0
    with pytest.raises(TraitError, match=r"value must be one of \[0.01, 0.1, 1.0\], got 5"):
        slider.value = 5


def test_an_observer_of_the_value_is_told_each_change_once():
    slider, changes = Slider("depth", 1, 9), []
    slider.observe(lambda change: changes.append(change["new"]), names="value")
    slider.value = 3
    slider.position = 5
    assert changes == [3, 5]


def test_slider_and_image_have_what_a_screen_reader_needs():
    slider = Slider("depth", 1, 9)
    assert "aria-valuetext" in slider._esm and "label" in slider._esm
    picture = ImageWidget(value=b"png", alt="A line.")
    assert "image.alt" in picture._esm and picture.get_state()["alt"] == "A line."


@pytest.mark.parametrize(
    ("slider", "values"),
    [
        (Slider("x", 0, 11, 4), [0, 4, 8]),
        (Slider("x", 0, 4, 5), [0]),
        (Slider("x", 0.0, 0.3, 0.1), [0.0, 0.1, 0.2, 0.3]),
    ],
)
def test_no_value_is_beyond_the_end_and_none_before_it_is_missing(slider, values):
    assert slider.values_between(9) == pytest.approx(values)
