"""Slides in a real browser: keys, the theme, and pictures that fit the window."""

import pytest

from course_lib.figures import write_figures

AT = "Math.round(scrollY / innerHeight)"
SLIDES = "document.querySelectorAll('section').length"
TOO_LARGE = """[...document.images].filter(image => {
  const box = image.getBoundingClientRect();
  return box.width > innerWidth || box.height > innerHeight || !image.naturalWidth;
}).length"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    [(page, _)] = write_figures(["04"], tmp_path_factory.mktemp("figures"))
    return page.as_uri()


def press(page, key):
    page.keyboard.press(key)
    return page.evaluate(AT)


def test_keys_lead_from_slide_to_slide_and_stop_at_both_ends(open_page, address):
    page = open_page(address)
    assert [press(page, key) for key in ("ArrowLeft", "ArrowRight", " ", "PageUp")] == [0, 1, 2, 1]
    last = page.evaluate(SLIDES) - 1
    assert [press(page, "PageDown") for _ in range(last + 1)][-2:] == [last, last]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1300, 400])
def test_every_picture_fits_its_window_and_d_changes_the_theme(open_page, address, width, dark):
    page = open_page(address, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TOO_LARGE) == 0
    ink = "getComputedStyle(document.body).color"
    before = page.evaluate(ink)
    page.keyboard.press("d")
    assert page.evaluate(ink) != before
    page.keyboard.press("d")
    assert page.evaluate(ink) == before
