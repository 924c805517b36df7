import matplotlib
import pytest
import seaborn
from matplotlib import pyplot
from matplotlib.figure import Figure

from course_lib.viz.display import to_png
from course_lib.viz.style import LINES, figure_of, new_axes, styled


def test_lines_have_the_colours_of_seaborns_palette_for_colour_blind_readers():
    assert seaborn.color_palette("colorblind", 8).as_hex() == LINES


def test_drawing_leaves_the_readers_own_settings_alone():
    before = dict(matplotlib.rcParams)
    to_png(new_axes())
    assert dict(matplotlib.rcParams) == before


def test_the_style_holds_inside_a_styled_function_every_time():
    @styled
    def title_location():
        return matplotlib.rcParams["axes.titlelocation"]

    assert [title_location(), title_location()] == ["left", "left"]
    assert matplotlib.rcParams["axes.titlelocation"] == "center"


def test_the_readers_own_settings_do_not_change_a_picture():
    expected = to_png(new_axes())
    with matplotlib.rc_context({"font.size": 30, "figure.facecolor": "black"}):
        assert to_png(new_axes()) == expected


def test_no_picture_is_open_in_pyplot():
    new_axes()
    assert pyplot.get_fignums() == []


def test_the_figure_of_axes_is_the_one_they_are_drawn_on():
    figure = Figure()
    inner = figure.subfigures(1, 2)[0].add_subplot()
    assert figure_of(inner) is figure
    assert figure_of(figure) is figure


@pytest.mark.usefixtures("own_messages")
def test_something_that_is_no_picture_is_refused_by_name():
    with pytest.raises(TypeError, match=r"must be matplotlib Axes .* got list: return what"):
        figure_of([new_axes()])  # type: ignore[arg-type]


def test_the_library_does_not_load_matplotlib_before_it_is_needed(loaded):
    assert "matplotlib" not in loaded["course_lib.model"]
