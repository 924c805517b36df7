import pytest
from traitlets import TraitError

from course_lib.viz.accessible_widgets import Picture, Slider


def test_a_slider_of_whole_numbers_gives_whole_numbers():
    slider = Slider("depth", 1, 9)
    slider.place = 4.0  # as the browser says it
    assert slider.value == 4 and isinstance(slider.value, int)
    assert slider.text == "4"


def test_a_slider_of_floats_gives_floats():
    slider = Slider("rate", 0.0, 1, 0.25, value=0.5)
    assert (slider.value, slider.place, slider.text) == (0.5, 0.5, "0.5")
    slider.place = 1
    assert slider.value == 1.0 and isinstance(slider.value, float)


def test_a_slider_stays_between_its_ends():
    slider = Slider("depth", 1, 9)
    slider.value = 40
    assert (slider.value, slider.place) == (9, 9)


def test_options_are_places_in_order():
    slider = Slider("lr", options=[0.01, 0.1, 1.0], value=0.1)
    assert (slider.place, slider.max) == (1, 2)
    slider.place = 2
    assert slider.value == 1.0
    with pytest.raises(TraitError, match=r"value must be one of \[0.01, 0.1, 1.0\], got 5"):
        slider.value = 5


def test_who_watches_the_value_hears_of_each_change_once():
    slider, heard = Slider("depth", 1, 9), []
    slider.observe(lambda change: heard.append(change["new"]), names="value")
    slider.value = 3
    slider.place = 5
    assert heard == [3, 5]


def test_slider_and_picture_bring_what_a_screen_reader_needs():
    slider = Slider("depth", 1, 9)
    assert "aria-valuetext" in slider._esm and "label" in slider._esm
    picture = Picture(value=b"png", alt="A line.")
    assert "image.alt" in picture._esm and picture.get_state()["alt"] == "A line."
