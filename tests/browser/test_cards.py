"""Questions and check reports as cards in a page: answered by a script, whole without one."""

import pytest

from course_lib.checks import check, make_run
from course_lib.viz.web.live_html import page as page_around
from course_lib.viz.widgets.quiz import predict_shape, quiz
from tests.browser.lab import serious_violations
from tests.item_points import points_of


def no_softmax(query, key, value, mask=None):
    weights = query @ key.mT / query.shape[-1] ** 0.5
    return weights @ value, weights


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with both questions, a report, a run, and a fold as a lesson's text has it."""
    folder = tmp_path_factory.mktemp("cards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_PROGRESS", str(folder / "progress.json"))
        report = check("04.scaled_dot_product_attention", no_softmax)._repr_html_()
    parts = [
        "<style>body { background: Canvas; }</style>",  # which axe-core doesn't know by itself
        quiz("Which?", ["rows", "columns", "neither"], "b", "They sum to `one`.").to_html(),
        predict_shape("What comes out?", (2, 5), "A row each.", code="a @ b").to_html(),
        report,
        make_run("09.compare", number=7)._repr_html_(),
        '<details class="course-fold"><summary>Think first</summary><p>What?</p></details>',
    ]
    (folder / "cards.html").write_text(page_around("".join(parts), title="Cards"), "utf-8")
    return (folder / "cards.html").as_uri()


@pytest.fixture
def open_cards(open_page, address):
    def open_(**options):
        page = open_page(address, **options)
        page.wait_for_selector("[data-shape][data-state]")
        return page

    return open_


def verdicts(page):
    return page.locator(".course-option").evaluate_all(
        "(all) => all.map((option) => option.dataset.verdict ?? '')"
    )


def test_answers_are_buttons_that_are_marked_and_announced(open_cards):
    page = open_cards()
    page.get_by_role("button", name="a rows").click()
    card = page.locator(".course-question [role=status]").first
    assert card.inner_text() == "✗ a) is not right. Try again."
    assert verdicts(page) == ["wrong", "", ""]
    assert page.get_by_role("button", name="a rows ✗ not right", pressed=True).count() == 1
    page.get_by_role("button", name="b columns").click()
    assert card.inner_text().split("\n")[0] == "✓ b) is right."
    assert card.locator(".course-why").inner_text() == "They sum to one."
    assert verdicts(page) == ["wrong", "right", ""]
    page.get_by_role("button", name="c neither").click()  # the reason goes back into the fold
    assert card.locator(".course-why").count() == 0
    assert page.locator("details .course-why").count() == 2


def test_the_right_answer_is_marked_when_the_answer_is_opened(open_cards):
    page = open_cards()
    page.locator("summary:text-is('Answer')").first.press("Enter")
    assert verdicts(page) == ["", "right", ""]
    assert page.locator("details .course-why").first.is_visible()


def test_the_box_of_a_shape_keeps_the_focus(open_cards):
    page = open_cards()
    box, button = page.get_by_label("shape"), page.get_by_role("button", name="Check")
    assert button.is_disabled()
    box.fill("(5, 2)")
    button.click()
    assert "these are the right sizes, in another order." in page.inner_text("body")
    assert box.evaluate("(node) => node === document.activeElement")


def test_without_scripts_the_answer_is_folded_and_nothing_else_can_be_operated(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address)
        assert page.locator("button, input").count() == 0
        assert page.locator("summary:text-is('Answer')").count() == 2


def test_a_report_begins_with_what_is_wrong_and_folds_the_tests(open_cards):
    page = open_cards()
    report = page.locator(".course-report")
    shown = report.inner_text()
    assert shown.index("not yet") < shown.index("What I see") < shown.index("of 6 tests pass")
    points = f"0 of {points_of('04.scaled_dot_product_attention')} points"
    assert shown.index("of 6 tests pass") < shown.index(points)
    assert not report.locator("li").first.is_visible()
    report.locator("summary:has-text('tests pass')").press("Enter")
    words = report.locator("li .course-verdict").all_inner_texts()
    assert words.count("✗ failed") == 1 and {*words} <= {"✗ failed", "✓ passed", "– fails, too"}


@pytest.mark.parametrize(("width", "scrolls"), [(1280, False), (390, True)])
def test_the_table_of_a_run_keeps_its_lines_and_scrolls_on_a_phone(open_cards, width, scrolls):
    table = open_cards(width=width).get_by_role("region", name="the run as text")
    lines = table.inner_text().rstrip().split("\n")
    assert lines[1].startswith("sentence      0  1  2") and len(lines) > 20
    height = table.evaluate(
        "(node) => node.clientHeight / parseFloat(getComputedStyle(node).lineHeight)"
    )
    assert height < len(lines) + 2  # no line is broken
    assert table.evaluate("(node) => node.scrollWidth > node.clientWidth") == scrolls


@pytest.mark.parametrize(("dark", "width"), [(True, 1280), (False, 360)])
def test_axe_finds_nothing_serious_in_cards(open_cards, axe, dark, width):
    page = open_cards(dark=dark, width=width)
    page.locator(".course-option").nth(0).click()
    page.locator(".course-option").nth(1).click()
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert serious_violations(page, axe) == {}
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_forced_colours_keep_borders_and_marks(open_cards):
    page = open_cards()
    page.emulate_media(forced_colors="active")
    page.get_by_role("button", name="b columns").click()
    option = page.locator(".course-option").nth(1)
    style = "(node) => getComputedStyle(node)"
    assert option.evaluate(f"(node) => ({style})(node).borderTopStyle") == "solid"
    assert option.evaluate(f"(node) => ({style})(node).outlineStyle") == "solid"
    assert "✓ right" in option.inner_text()
