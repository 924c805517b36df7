"""The diagram of a model of one stack as a page of its own."""

import pytest

from course_lib.viz.diagram.model_diagram import model_diagram
from tests.browser.lab import serious_violations
from tests.viz.diagram.test_one_stack_diagram import TEXT, make_translator

SIZES = {"d_model": 128, "d_ff": 472, "n_kv_heads": 2, "n_layers": 4}
WIDTHS = [1280, 930, 760, 390, 360]
OVERFLOWING = """() => [...document.querySelectorAll(".md-box, .md-panel")].filter((node) =>
  node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1)
  .map((node) => node.dataset.part ?? node.className)"""


@pytest.fixture(scope="module")
def diagram():
    return model_diagram(make_translator(**SIZES), TEXT, step=2, languages=("German", "English"))


@pytest.fixture
def open_diagram(open_page, diagram, tmp_path):
    def open_(**options):
        diagram.save_html(tmp_path / "diagram.html")
        page = open_page((tmp_path / "diagram.html").as_uri(), **options)
        page.wait_for_selector(".md[data-step]")
        return page

    return open_


def tokens(page, part):
    return page.locator(f".md-box[data-part={part}] li").all_text_contents()


def test_attention_fills_the_words_of_the_whole_row_in_each_step(open_diagram, diagram):
    page = open_diagram()
    for step in (2, 3):
        assert page.get_attribute(".md", "data-step") == str(step)
        so_far = diagram.target[: step + 1]
        assert (tokens(page, "source"), tokens(page, "target")) == (diagram.source, so_far)
        assert tokens(page, "memory") == [*diagram.source, *so_far]
        widths = page.locator(".md-box[data-part=memory] li i").evaluate_all(
            "(fills) => fills.map((fill) => parseFloat(fill.style.width) / 100)"
        )
        assert widths == pytest.approx(diagram.steps[step].attention)
        assert "the last layer's self-attention attends most" in page.inner_text(".md-reading")
        assert f"(1, 4+{step + 1}, 128)" in page.locator(".md-shape").all_text_contents()
        page.click(".md-controls button:has-text('Next')")
    status = page.inner_text(".md-status")
    assert status.startswith("Step 5 of ") and "cross" not in status
    assert status.endswith(page.inner_text(".md-reading"))


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off_whatever_part_is_explained(open_diagram, width):
    page = open_diagram(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".md-slider").press("End")
    for link in page.locator(".md-link").all():
        link.focus()
        assert page.evaluate(OVERFLOWING) == [], page.inner_text(".md-explanation")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_serious(open_diagram, axe, width, dark):
    page = open_diagram(width=width, dark=dark)
    page.click("summary")
    assert serious_violations(page, axe) == {}
