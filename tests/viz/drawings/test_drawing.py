"""A drawing is stored as images that say what they show, and is the same in each run."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from course_lib.errors import CourseError
from course_lib.viz.drawings.colours import COLOURS, ink
from course_lib.viz.drawings.drawing import HALF, TEXT, WIDTH, Drawing, Film, Frame, Panel
from course_lib.viz.drawings.marks import label, token

PANEL = Panel(
    title="A & B",
    description="Two words: <a> 0.25.",
    body=token((0, 40), "<a>", language="german") + token((60, 40), "pad", language="padding"),
    height=80,
)
OTHER = Panel(title="Second", description="One number, 2.", body=label((20, 40), "2"), height=60)


def pictures(html):
    """The SVG of each image."""
    return [unquote(source) for source in re.findall(r'src="data:image/svg\+xml,([^"]+)"', html)]


def test_each_panel_is_an_image_whose_alternative_text_is_its_title_and_description():
    html = Drawing(PANEL, OTHER).to_html()
    assert re.findall(r'alt="([^"]*)"', html) == [
        "A &amp; B. Two words: &lt;a&gt; 0.25.",
        "Second. One number, 2.",
    ]
    # Where a notebook is not trusted, markup of SVG would be taken apart, an address is not.
    assert "<svg" not in re.sub(r'src="[^"]*"', "", html)


def test_a_picture_is_well_formed_and_has_a_title_a_description_and_a_size():
    [first, _] = pictures(Drawing(PANEL, OTHER).to_html())
    root = ElementTree.fromstring(first)
    svg = "{http://www.w3.org/2000/svg}"
    assert root.get("width") == f"{WIDTH}" and root.get("height") == "80"
    assert root.find(f"{svg}title").text == PANEL.title
    assert root.find(f"{svg}desc").text == PANEL.description
    assert root.get("aria-labelledby") == root.find(f"{svg}title").get("id")
    words = [text.text for text in root.iter(f"{svg}text")]
    assert words == ["A & B", "<a>", "pad"]


def test_two_pictures_of_one_page_share_no_id():
    ids = re.findall(r"\bid='(\w+)'", "".join(pictures(Drawing(PANEL, OTHER).to_html())))
    assert len(ids) == len({*ids}) == 5  # the first has a pattern as well


def test_a_picture_has_the_style_of_each_class_that_it_uses_and_of_no_other():
    first, second = pictures(Drawing(PANEL, OTHER).to_html())
    assert ".dw .hatch{" in first and ".dw .hatch{" not in second  # the filler is hatched
    for picture in (first, second):
        assert ".dw .bold{" in picture and ".dw .incorrect{" not in picture


def test_the_same_drawing_is_stored_in_the_same_bytes():
    assert Drawing(PANEL, OTHER).to_html() == Drawing(PANEL, OTHER).to_html()


def test_an_image_has_the_colours_that_it_uses_and_the_page_has_all():
    html = Drawing(PANEL).to_html()
    [picture] = pictures(html)
    light, dark, forced = COLOURS["german-box"]
    assert f"--german-box:{light};" in picture and f"light-dark({light},{dark})" in picture
    assert "--leakage:" not in picture
    page = re.sub(r'src="[^"]*"', "", html)
    assert f"--leakage:{COLOURS['leakage'].light};" in page
    assert f"--german-box:{forced};" in page  # forced colours change the page's own markup only


def test_the_text_of_an_output_says_what_the_drawing_shows():
    bundle = Drawing(PANEL, OTHER, caption="Two of them.")._repr_mimebundle_()
    assert bundle["text/plain"] == (
        "A & B. Two words: <a> 0.25.\nSecond. One number, 2.\nTwo of them."
    )
    assert "<figcaption>Two of them.</figcaption>" in bundle["text/html"]


def test_a_film_stores_all_frames_with_their_sentences():
    film = Film([Frame([PANEL], "First & now."), Frame([PANEL, OTHER], "Then.")], start=-1)
    html = film.to_html()
    assert len(pictures(html)) == 3
    assert re.findall(r"<p>(.*?)</p>", html) == ["First &amp; now.", "Then."]
    assert 'data-start="1"' in html  # the last, which is counted from the end
    assert "<button" not in html and "<input" not in html  # the script makes them
    assert repr(film).splitlines()[0] == "Film, 2 frames."


def test_a_panel_as_wide_as_the_text_has_a_second_picture_for_a_phone():
    broad = Panel(
        title="Broad", description="Wide.", body=PANEL.body, height=80, width=TEXT, narrow=PANEL
    )
    html = Drawing(broad).to_html()
    (source,) = re.findall(r'<picture><source media="[^"]*" srcset="([^"]+)"', html)
    assert " " not in source  # a blank would end the address
    root = ElementTree.fromstring(unquote(source.partition(",")[2]))
    assert root.get("width") == f"{TEXT}"
    # Where sources are taken out, as in a notebook that is not trusted, the image is left.
    assert re.findall(r'<img class="dw-still" alt="([^"]*)"', html) == [
        "A &amp; B. Two words: &lt;a&gt; 0.25."
    ]


def test_joined_panels_touch_each_other():
    assert '<div class="dw-row joined">' in Drawing(PANEL, OTHER, joined=True).to_html()
    assert '<div class="dw-row">' in Drawing(PANEL, OTHER).to_html()
    assert 2 * HALF == TEXT


def test_a_page_of_its_own_has_a_title(tmp_path):
    Drawing(PANEL).save_html(tmp_path / "a.html")
    assert "<title>A &amp; B</title>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_a_drawing_without_panels_and_a_film_of_one_frame_are_refused():
    with pytest.raises(CourseError, match="at least one panel, got none"):
        Drawing()
    with pytest.raises(CourseError, match="at least two frames, got 1: use a Drawing"):
        Film([Frame([PANEL], "Only this.")])


def test_an_unknown_colour_is_refused_with_those_there_are():
    with pytest.raises(KeyError, match="one of ink, .*accent, got 'green'"):
        ink("green")
