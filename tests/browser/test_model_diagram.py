"""The model diagram as a page of its own, without a kernel and without a network."""

import re

import pytest

from course_lib.training import load_translator
from course_lib.viz.diagram.model_diagram import model_diagram
from tests.browser.lab import serious_violations

TEXT = "Der Hund schläft im Garten, weil er müde ist."
LAST = 11
BACK, NEXT = (f".md-controls button:has-text('{name}')" for name in ("Back", "Next"))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("diagram") / "diagram.html"
    model_diagram(load_translator(), TEXT).save_html(path)
    return path.as_uri()


@pytest.fixture
def open_diagram(open_page, address):
    def open_(**options):
        page = open_page(address, **options)
        page.wait_for_selector(".md[data-step]")
        return page

    return open_


def step(page):
    return int(page.get_attribute(".md", "data-step"))


def texts(page, selector):
    return page.locator(selector).all_text_contents()  # of SVG, too


def test_each_step_shows_words_probabilities_and_shapes(open_diagram):
    page = open_diagram()
    assert page.inner_text(".md-title") == "Step 4 of 12. Next word: in (0.95)."
    assert texts(page, "[data-part=target] li") == ["<bos>", "the", "dog", "sleeps"]
    assert texts(page, ".md-bars .md-word")[:2] == ["in", "because"]
    assert "(1, 4, 661)" in texts(page, ".md-shape")
    page.click(NEXT)
    assert step(page) == 4
    assert texts(page, "[data-part=target] li")[-1] == "in"
    assert "(1, 5, 661)" in texts(page, ".md-shape")
    assert "attends most to:" in page.inner_text(".md-panel")
    assert page.inner_text(".md-status").startswith(
        "Step 5 of 12. Next word: the (1.00). Written so far: the dog sleeps in. To predict it,"
    )
    page.click(BACK)
    assert step(page) == 3


def test_the_keyboard_alone_reaches_every_part_and_every_step(open_diagram):
    page = open_diagram()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert step(page) == 2
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert step(page) == LAST
    assert page.is_disabled(NEXT)
    assert "<eos>, the end" in page.inner_text(".md-title")
    page.keyboard.press("Home")
    assert step(page) == 0
    assert page.is_disabled(BACK)
    page.keyboard.press("Tab")  # Next
    lessons = []
    for _ in range(page.locator(".md-link").count()):
        page.keyboard.press("Tab")
        link = page.evaluate("document.activeElement.getAttribute('href')")
        name = page.evaluate("document.activeElement.closest('[data-part]').dataset.part")
        assert re.search(rf"Lesson {link[:2]}\.", page.inner_text(".md-explanation")), name
        lessons.append(link)
    assert {link[:2] for link in lessons} >= {"01", "02", "03", "04", "06", "07", "08", "13"}
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_part_under_the_pointer_is_explained(open_diagram):
    page = open_diagram()
    assert "Point at a part" in page.inner_text(".md-explanation")
    page.hover("[data-part=memory]")
    assert page.inner_text(".md-explanation").startswith("memory: One vector for each source word")
    page.locator(".md-small[data-part=norm]").last.hover()
    assert page.inner_text(".md-explanation").startswith("norm: ")


@pytest.mark.parametrize("width", [1280, 930, 760, 390, 360])
def test_nothing_is_cut_off(open_diagram, width):
    page = open_diagram(width=width)
    assert page.get_attribute(".md", "data-form") == ("wide" if width > 900 else "narrow")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".md-slider").press("End")
    too_big = page.evaluate(
        """() => [...document.querySelectorAll(".md-box, .md-panel")].filter((node) =>
          node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1)
          .map((node) => node.dataset.part ?? node.className)"""
    )
    assert too_big == []


def test_on_a_screen_the_whole_diagram_is_seen_at_once(open_diagram):
    page = open_diagram(width=1280)
    assert page.locator(".md").bounding_box()["height"] <= 560


def test_the_height_stays_the_same_from_step_to_step(open_diagram):
    for width in (1280, 390):
        page = open_diagram(width=width)
        heights = set()
        for number in range(LAST + 1):
            page.locator(".md-slider").fill(str(number))
            heights.add(page.locator(".md-slider").bounding_box()["y"])
            heights.add(page.locator(".md details").bounding_box()["y"])
        assert len(heights) == 2


def test_nothing_moves_for_those_who_ask_for_less_motion(open_diagram):
    page = open_diagram()
    page.click(NEXT)
    assert page.evaluate("document.getAnimations().length") > 0
    page.emulate_media(reduced_motion="reduce")
    page.click(NEXT)
    assert page.evaluate("document.getAnimations().length") == 0


def test_without_scripts_there_is_a_picture_and_a_list_of_links(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("img").is_visible()
    assert "predicts “in”" in page.get_attribute("img", "alt")
    assert page.locator("li a").count() > 15
    context.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_serious(open_diagram, axe, width, dark):
    page = open_diagram(width=width, dark=dark)
    page.click("summary")
    assert serious_violations(page, axe) == {}
