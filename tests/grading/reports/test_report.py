"""The class at a glance: a page that shows hostile names as text, and CSV files."""

import re
from html.parser import HTMLParser

import pytest

from course_lib import cli
from course_lib.checks import load_item
from course_lib.checks.engine.item import name_in_words
from course_lib.grading.marks.class_marks import load_class, mark_assignment
from course_lib.grading.marks.given_marks import GivenMark
from course_lib.grading.reports.report_command import csv_files, misconception_sentence
from course_lib.grading.reports.report_page import histogram, most_common, report_page
from course_lib.grading.safe_csv import write_csv
from course_lib.viz.drawings.colours import COLOURS, forced_variables, variables
from tests.grading.hostile_text import EVERYTHING, HOSTILE
from tests.grading.made_results import item_result, submission_result, to_be_marked
from tests.grading.synthetic_class import HOSTILE_NAMES, store, synthetic_class

NUMBERS = {"share": "0.85", "usual_share": "0.2", "surprise_bits": "30"}  # of a similar pair


class Page(HTMLParser):
    """The tags, ids, addresses, event handlers and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.addresses, self.handlers, self.text = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.handlers += [name for name in values if name.startswith("on")]
        names = ("src", "href", "xlink:href", "action", "data")
        self.addresses += [values[name] for name in names if name in values]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def assignments(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    store(synthetic_class(24, ("06",)), folder)
    return load_class(folder)


@pytest.fixture(scope="module")
def text(assignments):
    pair = {"first": HOSTILE_NAMES[0], "second": "=cmd()", **NUMBERS, "where": "<b>line</b>"}
    return report_page(assignments, misconception_sentence, similar={"06_masks": [pair]})


def test_no_name_becomes_a_tag_and_nothing_is_loaded_from_elsewhere(text):
    page = Page(text)
    assert not {"script", "iframe", "img", "object", "b"} & set(page.tags)
    assert all(address.startswith("#") or address == "data:," for address in page.addresses)
    assert not re.search(r"url\((?!#)", text)
    assert "<script>alert(1)</script>" in "".join(page.text)
    assert "\u202e" not in text
    assert "long " * 20 not in text


def test_whatever_students_write_stays_text_on_the_page():
    wrong = {"misconceptions": ("anything",), "seen": EVERYTHING, "flags": (EVERYTHING,)}
    item = item_result("06.causal_mask", 0.0, **wrong)
    results = [
        submission_result(f"{n} {text}", item, to_be_marked(text=EVERYTHING), notes=(EVERYTHING,))
        for n, text in enumerate(HOSTILE)
    ]
    pair = {"first": HOSTILE[0], "second": HOSTILE[1], "where": EVERYTHING, **NUMBERS}
    assignment = mark_assignment("06_masks", results)
    page = Page(report_page([assignment], misconception_sentence, similar={"06_masks": [pair]}))
    assert not {"script", "iframe", "img", "svg", "object"} & set(page.tags)
    assert [page.tags.count(tag) for tag in ("style", "meta", "link", "base")] == [1, 5, 1, 0]
    assert page.handlers == []
    assert all(address.startswith("#") or address == "data:," for address in page.addresses)
    assert "".join(page.text).count("alert(1)") > len(HOSTILE)


def test_every_region_has_a_name_of_its_own(text):
    names = re.findall(r'role="region" aria-label="([^"]*)"', text)
    assert len(names) > 6 and len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_in_a_browser_the_page_fits_a_phone_and_runs_nothing(text, browser, tmp_path):
    path, asked, dialogs = tmp_path / "class.html", [], []
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    width = page.evaluate("document.documentElement.scrollWidth")
    bars = page.evaluate("[...document.querySelectorAll('.bar')].map(e => e.clientWidth)")
    page.close()
    assert width == 390 and min(bars) > 40
    assert [each for each in asked if not each.startswith("data:")] == [path.as_uri()]
    assert dialogs == []


def test_every_id_is_there_once_and_every_link_has_its_target(text):
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert {address[1:] for address in page.addresses if address[:1] == "#"} <= set(page.ids)


def test_the_page_has_the_colours_of_all_drawings_and_no_others(text):
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    own = style.removeprefix("\n" + variables() + forced_variables())
    assert own != style and not re.search(r"#[0-9a-f]{3,8}\b|\brgba?\(|\bhsl", own)
    assert 'class="dw"' in text
    used = set(re.findall(r"var\(--([a-z-]+)\)", own))
    assert used - {"share", "open", "low", "span", "height"} <= COLOURS.keys()
    assert not re.search(r"(fill|stroke|color)=|style=\"(?!--)", text.split("</style>")[1])


def test_no_letter_is_smaller_than_twelve_pixels(text):
    sizes = re.findall(r"font(?:-size)?: ?([0-9.]+)(px|em|rem|%)", text)
    assert sizes and all(unit == "px" and float(size) >= 12 for size, unit in sizes)


def test_what_a_histogram_shows_is_also_in_words():
    points = (0.0, 2.0, 2.0)
    results = [
        submission_result(f"s{n}", item_result("06.causal_mask", each, status="not yet", most=4))
        for n, each in enumerate(points)
    ]
    page = report_page([mark_assignment("06_masks", results)], misconception_sentence)
    assert 'role="img" aria-label="Points: students. 0: 1, 2: 2"' in page
    assert '<span class="" style="--height:0.500">1</span>' in page
    assert '<span class="" style="--height:0.000"></span>' in page  # no printed zero
    assert '<span class="strong" style="--height:1.000">2</span>' in page  # the median


@pytest.mark.parametrize(
    ("points", "most", "columns"),
    [
        ([], 2, [(0, 0, 0), (1, 1, 0), (2, 2, 0)]),
        ([0.5, 3.0], 2, [(0, 0, 0), (1, 1, 1), (2, 2, 0), (3, 3, 1)]),  # half points, extra credit
        ([16.0], 16, [(i, i + 1, int(i == 16)) for i in range(0, 17, 2)]),
    ],
)
def test_a_histogram_has_a_column_for_all_points_that_can_be_earned(points, most, columns):
    assert [column[:3] for column in histogram(points, most)] == columns


def test_the_median_of_a_histogram_is_in_one_column_at_most():
    marked = [c.first for c in histogram([0.0, 1.0, 5.0], 5) if c.median]
    assert marked == [1] and not any(c.median for c in histogram([], 5))


def test_the_most_common_misconceptions_come_first_and_one_student_s_own_does_not():
    def failed(student, *names, item="06.causal_mask"):
        items = [item_result(item, 0.0, misconceptions=names)]
        return submission_result(student, *items)

    masks = [failed("a", "past_hidden", "one_number"), failed("b", "past_hidden"), failed("c")]
    blocks = [failed(name, "nothing_returned", item="07.encoder_block") for name in "ab"]
    assignments = [mark_assignment("06_masks", masks), mark_assignment("07_blocks", blocks)]
    found = [(each.confusion.misconception, each.share) for each in most_common(assignments)]
    assert found == [("nothing_returned", 1.0), ("past_hidden", 2 / 3)]


def test_the_most_useful_comes_first(text):
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert headings[:2] == ["What many got wrong", "Who may need help"]
    assert headings.index("06_masks") < headings.index("Students") < headings.index("Flags")


def test_the_page_says_who_needs_a_person_and_what_nobody_solved():
    unread = submission_result("eva", notebook="", notes=("expected a <notebook>",))
    failed = item_result("06.causal_mask", 0.0, misconceptions=("past_hidden",))
    other = submission_result("ana", failed)
    text = report_page([mark_assignment("06_masks", [other, unread])], misconception_sentence)
    assert "1 could not be read" in text
    assert "expected a &lt;notebook&gt;" in text
    assert "Nobody solved 06.causal_mask" in text
    assert "Your mask allows the future and masks the past." in text
    assert "ran without isolation" in text
    assert "needs 20 students" in text


def test_what_is_known_of_a_submission_is_shown_while_the_rest_waits():
    ana = submission_result("ana", item_result("06.causal_mask", 2.0), to_be_marked())
    text = report_page([mark_assignment("06_masks", [ana])], misconception_sentence)
    assert "2 + ?" in text and "2 of 2" in text
    assert "In 1 a written answer is to be marked." in text
    assert "could not be read" not in text and "Nobody solved" not in text


def test_before_marking_the_pictures_show_everybody_s_automatic_points_and_say_so():
    wrong = {"misconceptions": ("one_number",), "seen": "It is one number."}
    no_answer = item_result("06.why_not_rows", 0.0, status="no answer")
    results = [
        submission_result(
            f"s{number}",
            item_result("06.causal_mask", float(number), status="not yet", most=4, **wrong),
            to_be_marked() if number else no_answer,
        )
        for number in range(5)
    ]
    assignment = mark_assignment("06_masks", results)
    shown = assignment.distribution
    assert (shown.points, shown.most, shown.automatic) == ([0, 1, 2, 3, 4], 4, True)
    page = report_page([assignment], misconception_sentence)
    assert "<strong>2</strong> of 4 automatic points, middle half 1 to 3;\n5 handed in<" in page
    assert 'aria-label="Points: students. 0: 1, 1: 1, 2: 1, 3: 1, 4: 1"' in page
    assert "so that nobody is left out" in page
    assert "One number: It is one number." in page
    given = {(f"s{n}", "06.why_not_rows"): GivenMark(points=1.0) for n in range(5)}
    marked = mark_assignment("06_masks", results, given=given).distribution
    assert (marked.points, marked.most, marked.automatic) == ([1, 2, 3, 4, 5], 6, False)


def test_one_submission_without_any_known_points_still_gives_a_page():
    unread = submission_result("eva", notebook="")
    text = report_page([mark_assignment("06_masks", [unread])], misconception_sentence)
    assert "no points known yet" in text
    assert "None was recognised." in text


def test_the_command_writes_the_page_and_tables(tmp_path, capsys):
    store(synthetic_class(3, ("06",)), tmp_path / "results")
    command = ["report", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    assert cli.main(command) == 0
    assert str(tmp_path / "out" / "class.html") in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"class.html", *csv_files([])}
    assert cli.main(["report", str(tmp_path / "none")]) == 1
    assert "grade first" in capsys.readouterr().err


def test_the_tables_hold_every_submission_and_every_misconception(assignments):
    files = csv_files(assignments)
    points = files["points.csv"][1:]
    assert len(points) == sum(len(mark.items) for mark in assignments[0].marks)
    assert HOSTILE_NAMES[5].strip() in {row[0] for row in points}  # the long name, whole
    misconceptions = sum(
        len(i.result.misconceptions) for m in assignments[0].marks for i in m.items if i.result
    )
    assert len(files["misconceptions.csv"]) == 1 + misconceptions
    assert all(len(row) == len(rows[0]) for rows in files.values() for row in rows)


def test_the_list_of_what_is_to_be_marked_becomes_the_marks_once_filled_in(tmp_path):
    store(synthetic_class(40, ("06", "07")), tmp_path)
    header, *rows = csv_files(load_class(tmp_path))["to_mark.csv"]
    assert header[:3] == ["student", "item", "points"]
    assert "Because." in {row[6] for row in rows}
    write_csv(tmp_path / "marks.csv", [header, *([*row[:2], 1, *row[3:]] for row in rows)])
    assert any(each.waiting for each in load_class(tmp_path))
    marked = load_class(tmp_path, marks=tmp_path / "marks.csv")
    assert not any(each.waiting for each in marked)


def test_points_filled_into_the_list_are_not_overwritten(tmp_path, capsys):
    store(synthetic_class(40, ("06",)), tmp_path / "results")
    command = ["report", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    assert cli.main(command) == 0
    header, first, *_ = csv_files(load_class(tmp_path / "results"))["to_mark.csv"]
    filled = [header, [*first[:2], 1, *first[3:]]]
    write_csv(tmp_path / "out" / "to_mark.csv", filled)
    assert cli.main(command) == 1
    assert "got one with points in it that are in no file of marks (1)" in capsys.readouterr().err
    write_csv(tmp_path / "results" / "06_masks" / "marks.csv", filled)
    assert cli.main(command) == 0
    assert "1 mark read from" in capsys.readouterr().err


def test_points_filled_in_for_an_assignment_that_is_not_asked_for_are_not_overwritten(
    tmp_path, capsys
):
    store(synthetic_class(40, ("06", "07")), tmp_path / "results")
    command = ["report", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    header, *rows = csv_files(load_class(tmp_path / "results"))["to_mark.csv"]
    row = next(row for row in rows if row[4].startswith("07_"))
    filled = [header, [*row[:2], 1, *row[3:]]]
    (tmp_path / "out").mkdir()
    write_csv(tmp_path / "out" / "to_mark.csv", filled)
    only = [*command, "--assignment", "06_masks"]
    assert cli.main(only) == 1
    assert f"{row[1]} of {row[0]!r}" in capsys.readouterr().err
    marks = tmp_path / "results" / row[4] / "marks.csv"
    marks.write_text("student,item\n")  # of no use, so that nobody knows what is kept
    assert cli.main(only) == 1
    write_csv(marks, filled)
    assert cli.main(only) == 0


def test_a_misconception_has_its_sentence_and_another_error_its_name_in_words():
    assert misconception_sentence("06.causal_mask", "past_hidden").startswith(
        "Your mask allows the future"
    )
    assert misconception_sentence("06.causal_mask", "nothing_returned") == "Nothing returned."
    assert misconception_sentence("06.why_not_rows", "anything") == "Anything."
    seen = "Your function returns the same number for all inputs."
    assert misconception_sentence("06.causal_mask", "one_number", seen) == f"One number: {seen}"
    assert name_in_words("MadeAParameter") == "made a parameter"


KNOWN = load_item("06.causal_mask").misconceptions[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("forgets_true_hides", "not the group's convention “true hides”."),
        ("forgets_all_conventions", "not the group's conventions."),
        (KNOWN.name, KNOWN.symptom),
        ("of_no_item", "Of no item: what was seen"),
    ],
)
def test_the_report_has_a_sentence_for_each_misconception(name, expected):
    sentence = misconception_sentence("06.causal_mask", name, "what was seen")
    assert sentence.endswith(expected)
