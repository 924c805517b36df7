"""A part of the site in a browser: the first page translates, figures are live, search finds."""

import os
import re

import pytest

from tests.browser.lab import serious_violations

if not os.environ.get("CI"):  # where nothing may be missing
    pytest.importorskip("sphinx", reason="the site needs Sphinx: pip install -e '.[site]'")

from tools.site.__main__ import main


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert main(["--output", str(folder), "--only", "00_", "map", "api/decoding"]) == 0
    return folder


@pytest.fixture
def open_site(open_page, site):
    return lambda name, **options: open_page((site / f"{name}.html").as_uri(), **options)


def test_what_is_typed_on_the_first_page_is_translated(open_site):
    page = open_site("index")
    page.wait_for_selector("body[data-translated]")
    page.fill("#front-sentence", "Der Hund schläft.")
    page.press("#front-sentence", "Enter")
    word = page.locator("#front-target button").nth(1)
    word.hover()
    assert word.get_attribute("aria-pressed") == "true"
    assert f"Before it writes {word.inner_text()}, it attends" in page.inner_text("#front-look")
    page.fill("#front-sentence", "Der Hund 😀 schläft.")  # without Enter: a pause is enough
    page.wait_for_selector("#front-note:has-text('has never seen')")
    page.fill("#front-sentence", " ")
    page.press("#front-sentence", "Enter")
    page.wait_for_selector("#front-note:has-text('got an empty one')")
    assert page.locator("#front-map :is(span, button)").count() == 0  # nothing of the text before
    page.click("#front-examples button >> nth=0")
    page.wait_for_selector("#front-note:empty", state="attached")
    assert page.locator("#front-target button").count() > 3


def test_the_lines_of_a_word_are_as_wide_as_its_attention_and_join_its_words(open_site):
    page = open_site("index", width=1280)
    page.wait_for_selector("body[data-translated]")
    page.locator("#front-target button").nth(0).hover()
    assert page.inner_text("#front-source .most") == "mir"
    line = page.locator("#front-lines .most")
    assert line.count() == 1
    share = int(re.search(r"(\d+) %", page.inner_text("#front-look"))[1])
    assert float(line.get_attribute("stroke-width")) == pytest.approx(0.11 * share, abs=0.06)
    x, width = line.evaluate("(node) => [node.getBBox().x, node.getBBox().width]")
    left = page.locator("#front-map").bounding_box()["x"]
    german = page.locator("#front-source .most").bounding_box()
    english = page.locator("#front-target button").nth(0).bounding_box()
    assert left + x == pytest.approx(german["x"] + german["width"], abs=1)
    assert left + x + width == pytest.approx(english["x"], abs=1)


def test_for_who_wants_no_motion_the_translation_is_there_at_once(open_page, site):
    page = open_page("about:blank")
    page.emulate_media(reduced_motion="reduce")
    page.goto((site / "index.html").as_uri())
    page.wait_for_selector("body[data-translated]")
    assert page.locator("#front-target .later").count() == 0


def test_a_click_on_the_theme_changes_the_figures_of_a_lesson_too(open_site):
    page = open_site("notebooks/00_start_here", width=1280)
    page.locator(".ae[data-state]").first.wait_for()
    page.locator(".md-controls button").last.click()  # live
    assert page.get_attribute(".md", "data-step") == "9"
    for _ in range(3):  # auto, and then both themes
        page.click(".theme-toggle-content button")
        theme = page.evaluate(
            "document.body.dataset.theme === 'auto' ? 'light' : document.body.dataset.theme"
        )
        page.wait_for_selector(f".ae[data-theme={theme}]")
        assert page.get_attribute("body", "data-jp-theme-light") == str(theme == "light").lower()


def results(page):
    """Where the first results lead."""
    page.wait_for_selector("#search-list a")
    return page.locator("#search-list a").evaluate_all(
        "links => links.slice(0, 5).map(link => link.getAttribute('href'))"
    )


def test_the_search_in_the_margin_leads_to_the_section_of_a_lesson(open_site, axe):
    page = open_site("docs/map", width=1280)
    page.fill(".sidebar-search", "what does it look at while it writes")
    page.press(".sidebar-search", "Enter")
    page.wait_for_url("**/search.html?*")
    assert "notebooks/00_start_here.html#Q0b.-What-does-it-look-at-while-it-writes?" in results(
        page
    )
    assert serious_violations(page, axe) == {}
    page.locator("#search-list a").first.click()
    page.wait_for_url("**/notebooks/00_start_here.html#*")


def test_the_search_needs_not_every_word_and_ranks_the_library_below_lessons(open_site):
    page = open_site("search", width=390)
    page.fill("#search-field", "translate zzzzqqqq my machine ready")
    assert any("notebooks/00_start_here" in link for link in results(page))
    page.fill("#search-field", "zzzzqqqq")
    page.wait_for_selector("#search-status:has-text('Nothing has any word of')")
    assert page.locator("#search-list li").count() == 0
    page.fill("#search-field", "greedy decoding beam search")
    links = results(page)
    assert not links[0].startswith("api/"), links
    page.fill("#search-field", " ")
    page.wait_for_selector("#search-status:empty", state="attached")


def test_on_paper_a_lesson_is_unfolded_and_light_and_alone(open_site):
    page = open_site("notebooks/00_start_here", width=1280, dark=True)
    for drawn in (".ae[data-state]", ".md[data-step]"):  # they bring folds of their own
        page.wait_for_selector(drawn, state="attached")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details:not([open])").count() == 0
    assert page.get_attribute("body", "data-jp-theme-light") == "true"
    assert not page.locator(".sidebar-drawer").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    assert page.get_attribute("body", "data-jp-theme-light") == "false"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["index", "notebooks/00_start_here", "docs/map", "api/decoding"])
def test_it_is_accessible_and_nothing_is_wider_than_the_screen(open_site, axe, name, width, dark):
    page = open_site(name, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_violations(page, axe) == {}
