"""The class report in a real browser: light and dark, on a wide screen and on a phone."""

import pytest

from course_lib.grading.marks.class_marks import load_class
from course_lib.grading.reports.report_command import misconception_sentence
from course_lib.grading.reports.report_page import report_page
from tests.grading.synthetic_class import store, synthetic_class

OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(
    t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
    .filter(([b, q]) => p.left < q.right - 1 && q.left < p.right - 1
                     && p.top < q.bottom - 2 && q.top < p.bottom - 2)
    .map(([b, q]) => a + ' | ' + b));
})"""
CLIPPED = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(t => {
    const box = t.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1;
  }).map(t => t.textContent);
})"""
FILLS = "[...document.querySelectorAll('svg text')].map(t => getComputedStyle(t).fill)"
COLOURS = """['body', '.soft'].map(
  selector => getComputedStyle(document.querySelector(selector)).color)"""


@pytest.fixture(scope="module", params=[3, 30])
def address(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    store(synthetic_class(request.param, ("04", "06", "15")), folder)
    page = folder / "class.html"
    page.write_text(report_page(load_class(folder), misconception_sentence), encoding="utf-8")
    return page.as_uri()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1300, 400])
def test_nothing_overlaps_or_is_cut_off_and_no_name_runs_as_code(open_page, address, width, dark):
    page = open_page(address, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("document.scripts.length") == 0
    assert set(page.evaluate(FILLS)) <= set(page.evaluate(COLOURS))
