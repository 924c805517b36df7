"""Drawings in a page: part of it where scripts run, with a film's controls, whole without them."""

from dataclasses import replace

import pytest

from course_lib.viz.drawings.drawing import HALF, TEXT, Drawing, Film, Frame, Panel
from course_lib.viz.drawings.marks import label, token, vector
from tests.browser.lab import serious_violations

SAYS = ["One word.", "Two words.", "Three words."]


def panel(words):
    body = token((0, 40), words, language="german") + vector((80, 44), [1, -2, 0], largest=2)
    body += token((150, 40), "pad", language="padding") + label((250, 53), "x", colour="accent")
    return Panel(title=f"Now {words}", description=f"The word {words}.", body=body, height=80)


@pytest.fixture
def film():
    frames = [Frame([panel(word)], says) for word, says in zip("abc", SAYS, strict=True)]
    return Film(frames, start=1, seconds=0.1, name="word", caption="Three words, one by one.")


@pytest.fixture
def open_drawing(open_page, tmp_path):
    def open_(drawing, **options):
        drawing.save_html(tmp_path / "drawing.html", title="A drawing")
        page = open_page((tmp_path / "drawing.html").as_uri(), **options)
        page.wait_for_selector("figure svg", state="attached")
        return page

    return open_


def shown(page):
    return page.locator(".dw-frame:not([hidden]) svg title").all_text_contents()


def test_images_become_part_of_the_page_so_that_their_words_can_be_found(open_drawing):
    page = open_drawing(Drawing(panel("Hund"), panel("Katze")))
    assert page.locator("figure img").count() == 0
    assert page.locator("svg text", has_text="Hund").count() == 2  # in the heading and in the box
    assert page.get_by_role("img", name="Now Katze").count() == 1


def test_a_film_begins_at_its_start_and_the_keyboard_moves_it(open_drawing, film):
    page = open_drawing(film)
    assert shown(page) == ["Now b"]
    slider = page.get_by_role("slider", name="word")
    assert slider.get_attribute("aria-valuetext") == SAYS[1]
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["Now c"] and page.inner_text(".dw-bar output") == SAYS[2]
    page.keyboard.press("Home")
    assert shown(page) == ["Now a"] and slider.get_attribute("aria-valuetext") == SAYS[0]


def test_play_goes_to_the_end_and_begins_again_from_there(open_drawing, film):
    page = open_drawing(film)
    for _ in range(2):
        page.get_by_role("button", name="Play").click()
        page.wait_for_function("document.querySelector('.dw-bar input').value === '2'")
        page.get_by_role("button", name="Play").wait_for()
    assert shown(page) == ["Now c"]


def test_with_reduced_motion_nothing_plays_and_the_slider_stays(open_drawing, film):
    page = open_drawing(film)
    page.emulate_media(reduced_motion="reduce")
    assert not page.get_by_role("button", name="Play").is_visible()
    assert page.get_by_role("slider").is_visible()


def test_print_shows_all_frames_and_no_control(open_drawing, film):
    page = open_drawing(film)
    page.emulate_media(media="print")
    assert not page.locator(".dw-bar").is_visible()
    assert [frame.is_visible() for frame in page.locator(".dw-frame").all()] == [True] * 3


def test_without_scripts_all_frames_stand_with_their_sentences(browser, film, tmp_path):
    film.save_html(tmp_path / "film.html")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "film.html").as_uri())
    assert page.locator("figure img").count() == 3
    assert page.locator(".dw-frame p").all_inner_texts() == SAYS
    assert page.locator("button, input").count() == 0
    context.close()


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_theme_and_zero_is_the_page(open_drawing, dark):
    page = open_drawing(Drawing(panel("Hund")), dark=dark)
    colour = "getComputedStyle(document.querySelector('svg .cell')).fill"
    assert page.evaluate(colour) == ("rgb(79, 196, 187)" if dark else "rgb(11, 115, 110)")
    assert page.evaluate(colour.replace(".cell", ".cell:nth-of-type(4)")) == "none"


def test_forced_colours_keep_every_mark(open_drawing):
    page = open_drawing(Drawing(panel("Hund")))
    page.emulate_media(forced_colors="active")
    colours = page.evaluate(
        """() => [...document.querySelectorAll('svg rect')].map((mark) => {
        const style = getComputedStyle(mark);
        return [style.stroke, style.fill];
        })"""
    )
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert all(stroke not in ("none", back) for stroke, _ in colours)


@pytest.mark.parametrize("width", [360, 1000])
def test_nothing_is_wider_than_the_page_or_smaller_than_12_pixels(open_drawing, film, width):
    page = open_drawing(film, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('.dw-frame:not([hidden]) svg')].flatMap((svg) => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return [...svg.querySelectorAll('text')].map(
          (text) => scale * parseFloat(getComputedStyle(text).fontSize));
        })"""
    )
    assert min(sizes) >= 0.96 * 12  # at 360 pixels a panel loses a few


BOTH = replace(panel("broad"), width=TEXT, narrow=panel("narrow"))
WIDTHS = pytest.mark.parametrize(("width", "title"), [(360, "Now narrow"), (1000, "Now broad")])


@WIDTHS
def test_of_a_panel_as_wide_as_the_text_a_phone_shows_the_narrow_form(open_drawing, width, title):
    page = open_drawing(Drawing(BOTH), width=width)
    assert page.locator("figure svg:visible title").all_text_contents() == [title]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@WIDTHS
def test_the_narrow_form_needs_no_script(browser, tmp_path, width, title):
    Drawing(BOTH).save_html(tmp_path / "drawing.html")
    size = {"width": width, "height": 400}
    context = browser.new_context(java_script_enabled=False, offline=True, viewport=size)
    page = context.new_page()
    page.goto((tmp_path / "drawing.html").as_uri())
    source = page.evaluate("decodeURIComponent(document.querySelector('img').currentSrc)")
    assert title in source
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_joined_panels_leave_no_gap_on_a_page_and_stand_below_each_other_on_a_phone(open_drawing):
    halves = [replace(panel(words), width=HALF) for words in ("left", "right")]
    edges = """() => [...document.querySelectorAll('figure svg')].map((svg) => {
        const {left, right, top} = svg.getBoundingClientRect(); return [left, right, top]; })"""
    (_, right, top), (left, _, same) = open_drawing(
        Drawing(*halves, joined=True), width=1000
    ).evaluate(edges)
    assert right == left and top == same
    first, second = open_drawing(Drawing(*halves, joined=True), width=390).evaluate(edges)
    assert first[0] == second[0] and first[2] < second[2]


def test_a_film_can_be_read_by_a_screen_reader(open_drawing, film, axe):
    assert serious_violations(open_drawing(film), axe) == {}
