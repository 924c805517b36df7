"""The points of a class in the formats of learning platforms."""

import csv
import inspect
import json
from pathlib import Path
from typing import get_args

import pytest

from course_lib import cli
from course_lib.grading.marks.given_marks import answer_id
from course_lib.grading.options import ExportFormat
from course_lib.grading.reports.exports import FORMATS
from course_lib.grading.results import PropertyResult
from course_lib.grading.safe_csv import write_csv
from tests.grading.made_results import item_result, submission_result, to_be_marked
from tests.grading.synthetic_class import store
from tests.item_points import items_of

HOSTILE = ["=cmd()", "O'Neil, Jr", '"quoted"', "two\nlines", "🦊", "-1+2"]


def submission(student, points, **fields):
    status = "not run" if points is None else "passed"
    tests = (PropertyResult("it works for any length"), PropertyResult("rows", "<b>1</b>"))
    about = {"title": "Mask the future", "status": status, "tests": tests}
    item = item_result("06.causal_mask", points, most=4, **about)
    return submission_result(student, item, **fields)


def unreadable(student):
    return submission_result(student, notebook="")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where everybody in ``HOSTILE`` has 0, 1, 2 … points, and there is a roster."""
    monkeypatch.chdir(tmp_path)
    results = [submission(name, points / 2) for points, name in enumerate(HOSTILE)]
    store(results, tmp_path / "results")
    roster()
    return tmp_path


def roster(*more, names=HOSTILE):
    header = ["student", "ID", "Section", "email", "last_name", "first_name"]
    people = [
        [name, 100 + n, "S 1", f"{n}@x.org", name, "Jo"] for n, name in enumerate([*names, *more])
    ]
    write_csv(Path("roster.csv"), [header, *people])


def export(*arguments):
    return cli.main(["export", "results", *arguments])


def rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_canvas_gets_its_own_ids_and_the_points_possible(folder):
    assert export("--format", "canvas", "--roster", "roster.csv") == 0
    header, possible, *people = rows(folder / "canvas.csv")
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "06_masks"]
    assert possible == ["    Points Possible", "", "", "", "", "4"]
    assert {row[1]: row[5] for row in people} == {str(100 + n): str(n / 2) for n in range(6)}
    assert {row[0].lstrip("'") for row in people} == set(HOSTILE)


def test_canvas_own_export_is_a_roster_with_its_numbers_of_assignments(folder):
    header = ["student", "Student", "ID", "SIS User ID", "Section", "06_masks (77)", "Quiz (8)"]
    people = [[name, f"{n}, Jo", n + 1, "u", "S 1", "", 3] for n, name in enumerate(HOSTILE)]
    possible = ["", "    Points Possible", "", "", "", 4, 5]
    write_csv(folder / "roster.csv", [header, possible, *people])
    assert export("--format", "canvas", "--roster", "roster.csv") == 0
    first, second, *others = rows(folder / "canvas.csv")
    assert first[-1] == "06_masks (77)"
    assert second[0] == "    Points Possible"
    assert len(others) == len(HOSTILE)
    assert {row[0] for row in others} == {f"{n}, Jo" for n in range(6)}


def test_moodle_gets_one_column_that_says_who(folder):
    assert export("--format", "moodle", "--roster", "roster.csv", "--output", "m.csv") == 0
    header, *people = rows(folder / "m.csv")
    assert header == ["Email address", "06_masks"]
    assert dict(people) == {f"{n}@x.org": str(n / 2) for n in range(6)}


def test_nbgrader_gets_the_columns_of_its_own_exporter(folder):
    export_plugin = pytest.importorskip("nbgrader.plugins.export")
    assert export("--format", "nbgrader", "--roster", "roster.csv") == 0
    header, *people = rows(folder / "nbgrader.csv")
    source = inspect.getsource(export_plugin.CsvExportPlugin)
    assert header == [name for name in header if f'"{name}"' in source]
    assert source.count('",\n') + 1 == len(header)
    by_name = {row[3]: dict(zip(header, row, strict=True)) for row in people}
    assert by_name["🦊"]["score"] == by_name["🦊"]["raw_score"] == "2.0"
    assert by_name["🦊"]["max_score"] == "4"
    assert by_name["O'Neil, Jr"]["first_name"] == "Jo"


def test_the_general_format_has_a_row_for_each_item_and_opens_in_a_spreadsheet(folder):
    assert export("--format", "csv") == 0
    assert (folder / "points.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    header, *items = rows(folder / "points.csv")
    assert header[0] == "student"
    assert ["'=cmd()", "06_masks", "06.causal_mask", "Mask the future", "0.0"] in [
        row[:5] for row in items
    ]
    kinds = {(row[header.index("item")], row[header.index("kind")]) for row in items}
    assert ("06.causal_mask", "code") in kinds


def test_gradescope_gets_a_file_for_each_student_with_plain_text(folder):
    assert export("--format", "gradescope", "--output", "scope") == 0
    files = sorted((folder / "scope" / "06_masks").glob("*/results.json"))
    assert len(files) == len(HOSTILE)
    assert all(name.parent.name.isprintable() for name in files)
    (fox,) = [json.loads(f.read_text()) for f in files if '"score": 2.0' in f.read_text()]
    assert fox["tests"] == [
        {
            "name": "06.causal_mask Mask the future",
            "output": "Status: passed\npassed: it works for any length\nnot yet: rows",
            "output_format": "text",
            "visibility": "after_published",
            "score": 2.0,
            "max_score": 4,
        }
    ]


@pytest.mark.parametrize("unknown", [submission("eva", None), unreadable("eva")])
def test_what_is_not_known_is_refused_and_then_empty_but_never_zero(folder, unknown, capsys):
    store([unknown], folder / "results")
    roster("eva")
    command = ["--format", "moodle", "--roster", "roster.csv"]
    assert export(*command) == 1
    assert "eva, 06_masks (" in capsys.readouterr().err
    assert not (folder / "moodle.csv").exists()
    assert export(*command, "--partial") == 0
    assert ["6@x.org", ""] in rows(folder / "moodle.csv")
    assert export("--format", "gradescope", "--partial") == 0
    (path,) = (folder / "gradescope" / "06_masks").glob("eva/results.json")
    assert all("score" not in test for test in json.loads(path.read_text())["tests"])
    items = ["06.causal_mask"] if unknown.readable else [item.id for item in items_of("06")]
    given = [["eva", item, 0.5] for item in items]
    write_csv(folder / "marks.csv", [["student", "item", "points"], *given])
    assert export(*command, "--marks", "marks.csv") == 0
    assert ["6@x.org", str(0.5 * len(items))] in rows(folder / "moodle.csv")


def test_marks_of_answers_that_have_changed_are_named_and_exported(folder, capsys):
    text = to_be_marked()
    store([submission_result("eva", text)], folder / "results")
    header = ["student", "item", "points", "answer_id"]
    write_csv(folder / "marks.csv", [header, ["eva", text.id, 2, answer_id("An earlier one.")]])
    assert export("--format", "csv", "--marks", "marks.csv") == 0
    assert "have another answer now: eva, 06.why_not_rows. Look" in capsys.readouterr().err
    (eva,) = (row for row in rows(folder / "points.csv") if row[0] == "eva")
    assert float(eva[4]) == 2 and "the answer has changed" in eva[-1]


def test_marks_without_an_id_whose_automatic_points_have_changed_are_named(folder, capsys):
    item = "06.padding_mask"
    store([submission_result("eva", item_result(item, 2.0))], folder / "results")
    given = [["student", "item", "points"], ["eva", item, 1]]
    write_csv(folder / "results" / "06_masks" / "marks.csv", given)
    changes = [["student", "item"], ["eva", item]]
    write_csv(folder / "results" / "06_masks" / "changes.csv", changes)
    assert export("--format", "csv") == 0
    assert f"have other automatic points than once: eva, {item}. Look" in capsys.readouterr().err


def test_somebody_who_is_in_one_of_the_two_lists_only_is_named(folder, capsys):
    roster("zoë")
    command = ["--format", "canvas", "--roster", "roster.csv"]
    assert export(*command) == 1
    assert "handed in nothing: zoë" in capsys.readouterr().err
    assert export(*command, "--partial") == 0
    assert ["zoë", "106", "", "", "S 1", ""] in rows(folder / "canvas.csv")
    roster(names=HOSTILE[1:])
    assert export(*command, "--partial") == 1
    assert "not in the roster: =cmd()" in capsys.readouterr().err
    roster("🦊")
    assert export(*command, "--partial") == 1
    assert "expected each student once" in capsys.readouterr().err


def test_who_handed_in_only_some_of_the_assignments_is_named(folder, capsys):
    store([submission(HOSTILE[0], 1, assignment="07_blocks")], folder / "results")
    assert export("--format", "moodle", "--roster", "roster.csv") == 0
    told = capsys.readouterr().err
    assert "07_blocks: 5 of 6 handed in nothing and get no points, which is not 0: " in told
    assert "06_masks:" not in told


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_platform_that_cannot_recognise_anybody_says_which_column_it_needs(
    folder, platform, capsys
):
    assert export("--format", platform) == 1
    assert "give one with --roster" in capsys.readouterr().err
    write_csv(folder / "roster.csv", [["student"], *([name] for name in HOSTILE)])
    assert export("--format", platform, "--roster", "roster.csv") == 1
    assert {"canvas": "SIS Login ID", "moodle": "username"}[platform] in capsys.readouterr().err
    identity = {"canvas": "ID", "moodle": "email"}[platform]
    write_csv(folder / "roster.csv", [["student", identity], *([name, "7"] for name in HOSTILE)])
    assert export("--format", platform, "--roster", "roster.csv") == 1
    assert "for two students: 7" in capsys.readouterr().err


def test_every_format_that_can_be_asked_for_is_there():
    assert set(get_args(ExportFormat)) == {*FORMATS, "gradescope"}
    with pytest.raises(SystemExit):
        cli.build_parser("export").parse_args(["export", "results", "--format", "xls"])
