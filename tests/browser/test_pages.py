"""Lessons as pages in a browser without a network: formulas are seen, figures are live."""

import re
from io import BytesIO

import pytest
from PIL import Image, ImageColor

from course_lib.pages import write_pages
from course_lib.viz import new_axes
from course_lib.viz.display import to_png
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.figure_html import figure_html
from course_lib.work_copy.folders import NOTEBOOKS
from tests.browser.controls import operate_first
from tests.browser.lab import serious_violations

EXERCISES = NOTEBOOKS.parent / "exercises"
NAMES = sorted(p.stem for p in [*NOTEBOOKS.glob("*.ipynb"), *EXERCISES.glob("*/*.ipynb")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All lessons and exercises as pages."""
    folder = tmp_path_factory.mktemp("pages")
    notebooks = [*NOTEBOOKS.glob("*.ipynb"), *EXERCISES.glob("*/*.ipynb")]
    write_pages([str(path) for path in notebooks], folder)
    return folder


@pytest.fixture
def open_lesson(open_page, folder):
    """Open a lesson's page, and note what it asks for."""

    def open_(name, **options):
        page = open_page("about:blank", **options)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((folder / f"{name}.html").as_uri())
        return page, asked

    return open_


@pytest.mark.parametrize("width", [1280, 390])
def test_formulas_are_seen_and_nothing_is_asked_for(open_lesson, width):
    page, asked = open_lesson("04_attention_matmul", width=width)
    boxes = page.eval_on_selector_all(
        "math",
        "(all) => all.map((node) => node.getBoundingClientRect()).map((b) => [b.width, b.height])",
    )
    seen = [box for box in boxes if min(box) > 4]
    folded = page.locator("details:not([open]) math").count()
    assert len(seen) + folded >= len(boxes) > 40
    fraction = page.locator("math mfrac").first.bounding_box()
    assert fraction["height"] > 20  # two lines, not "a/b" in one
    assert r"\sqrt" not in page.evaluate(
        "(() => { for (const code of document.querySelectorAll('pre')) code.remove();"
        " return document.body.textContent; })()"
    )
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_explorer_and_diagram_are_live_and_the_diagram_leads_to_pages(open_lesson):
    page, _ = open_lesson("00_start_here", width=1280)
    page.locator(".ae[data-state]").first.wait_for()
    page.locator(".md-controls button").last.click()
    assert page.get_attribute(".md", "data-step") == "9"
    assert page.get_attribute(".md [data-part=encoder_attention] a", "href") == (
        "04_attention_matmul.html"
    )
    assert page.get_attribute(".md", "data-form") == "wide"
    page.click(".md [data-part=encoder_attention] a")
    page.wait_for_url("**/04_attention_matmul.html")


def test_the_answer_of_a_quiz_is_folded_away(open_lesson):
    page, _ = open_lesson("00_start_here")
    assert page.locator("em:text-is('shuffled')").count() == 1
    assert not page.locator("summary:text-is('Answer') + p").first.is_visible()
    assert not page.locator("text=viz.quiz").first.is_visible()


LEFT_EDGES = """() => ["h1", ".jp-RenderedMarkdown p", ".jp-InputArea-editor",
  ".jp-RenderedText pre", ".course-figure img", ".ae", ".folded > summary"].map((selector) =>
    [...document.querySelectorAll(selector)].map((node) => node.getBoundingClientRect())
      .find((box) => box.width)).map((box) => Math.round(box.left))"""


@pytest.mark.parametrize("width", [1280, 1600])
def test_lines_are_short_and_all_begins_at_one_edge_in_the_middle(open_lesson, width):
    page, _ = open_lesson("04_attention_matmul", width=width)
    page.locator(".ae[data-state]").first.wait_for()
    assert len({*page.evaluate(LEFT_EDGES)}) == 1
    longest = "(all) => Math.max(...all.map((node) => node.getBoundingClientRect().width))"
    assert page.eval_on_selector_all(".jp-RenderedMarkdown p, figcaption", longest) <= 700
    box = page.locator("main").bounding_box()
    assert box["x"] == pytest.approx(width - box["x"] - box["width"], abs=20)


def test_on_a_phone_a_picture_scrolls_and_its_words_do_not(open_lesson, axe):
    page, _ = open_lesson("04_attention_matmul", width=390)
    figure = page.locator(".course-figure:has(> img.plot)").first
    assert figure.locator("img").bounding_box()["width"] >= 480
    assert figure.evaluate("(node) => node.scrollWidth > node.clientWidth")
    figure.evaluate("(node) => { node.scrollLeft = 100; }")
    box = figure.locator("figcaption").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert serious_violations(page, axe) == {}
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_is_as_dark_as_its_reader_wants(open_lesson):
    background = "() => getComputedStyle(document.body).backgroundColor"
    look = """() => { const {filter, colorScheme} = getComputedStyle(
      document.querySelector(".course-figure img")); return `${filter} ${colorScheme}`; }"""
    for dark, colour in ((False, "rgb(255, 255, 255)"), (True, "rgb(18, 22, 29)")):
        page, asked = open_lesson("00_start_here", dark=dark)
        page.locator(".ae[data-state]").first.wait_for()
        assert page.evaluate(background) == colour
        assert page.get_attribute("body", "data-jp-theme-light") == ("false" if dark else "true")
        assert page.get_attribute(".ae", "data-theme") == ("dark" if dark else "light")
        assert bool({"invert", "dark"} & {*re.findall("[a-z]+", page.evaluate(look))}) is dark
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.emulate_media(color_scheme="light")  # the reader changes his mind
    page.wait_for_function("document.body.dataset.jpThemeLight === 'true'")


def test_a_picture_of_pixels_has_the_colour_of_its_dark_page(tmp_path, open_page):
    page = COLOURS["page"].dark
    start = f'<!doctype html><html theme="dark"><body style="background:{page}">'
    (tmp_path / "page.html").write_text(start + figure_html(to_png(new_axes()), "Empty axes."))
    picture = open_page((tmp_path / "page.html").as_uri()).locator("img").screenshot()
    seen = Image.open(BytesIO(picture)).convert("RGB").getpixel((5, 5))
    assert seen == ImageColor.getrgb(page)


def test_a_stored_figure_shows_its_first_picture_again(open_lesson):
    page, _ = open_lesson("03_feed_forward")
    figure = page.locator(".course-figure:has([data-frames]):has(input[type=range])").first
    over = figure.locator(".course-stack img").last
    start, step = figure.get_attribute("data-state"), figure.locator("input[type=range]").first
    assert not over.is_visible()
    step.press("ArrowRight")
    assert over.is_visible()
    step.press("ArrowLeft")
    assert figure.get_attribute("data-state") == start
    assert not over.is_visible()


READY = """() => [...document.querySelectorAll(".ae, .md, .course-figure:has([data-frames])")]
  .every((figure) => figure.dataset.state || figure.dataset.step)"""
DEAD = """() => [...document.querySelectorAll("input, select, button")].filter((control) =>
    !control.closest(".ae[data-state], .md[data-step], .dw-live, .course-question[data-state],"
      + ".course-figure:has([data-frames])"))
  .map((control) => control.outerHTML)"""


@pytest.mark.parametrize("name", NAMES)
def test_no_page_has_a_dead_control_and_axe_finds_nothing_serious(folder, open_page, axe, name):
    # Every page in one form, and neighbours in different ones: they have the same parts.
    width, dark = ((1280, True), (360, False))[NAMES.index(name) % 2]
    page = open_page((folder / f"{name}.html").as_uri(), width=width, dark=dark)
    page.wait_for_function(READY)
    for figure in page.locator(".course-figure:has([data-frames])").all():
        operate(page, figure)
    assert page.evaluate(DEAD) == []
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert serious_violations(page, axe) == {}
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def operate(page, figure):
    """Move the first control of a figure of stored pictures, and see another one."""
    before = figure.get_attribute("data-state")
    operate_first(page, figure)
    assert figure.get_attribute("data-state") != before


def test_what_is_cut_off_can_be_scrolled_with_keys(folder, open_page):
    page = open_page((folder / "08_full_model.html").as_uri(), width=360)
    formula = page.locator(".formula[tabindex='0']").first
    formula.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    assert "can be scrolled" in formula.get_attribute("aria-label")
    page.set_viewport_size({"width": 2600, "height": 900})
    page.wait_for_function("document.querySelector('[data-cut]') === null")
