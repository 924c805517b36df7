import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from course_lib.viz.display import to_png
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.style import LINES, QUANTITIES, figure_of, new_axes, palette, styled


def test_a_line_is_never_in_the_colour_of_a_language():
    languages = {COLOURS[name].light for name in ("german", "english")}
    assert len(set(LINES)) == 8
    assert languages.isdisjoint(LINES)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_zero_has_the_colour_of_the_page_and_the_ends_have_those_of_the_quantity(quantity):
    below, above = (COLOURS[name].light for name in QUANTITIES[quantity])
    plain, signed = (palette(quantity, signed=signed) for signed in (False, True))
    assert [to_hex(plain(share)) for share in (0.0, 1.0)] == [COLOURS["page"].light, above]
    assert [to_hex(signed(share)) for share in (0.0, 1.0)] == [below, above]
    assert signed(0.5) == pytest.approx((1, 1, 1, 1), abs=0.01)


@pytest.mark.usefixtures("own_messages")
def test_an_unknown_quantity_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="one of 'value', 'attention', .* got 'weights'"):
        palette("weights", signed=False)  # type: ignore[arg-type]


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
