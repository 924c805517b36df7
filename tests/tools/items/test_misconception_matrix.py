"""The page of misconceptions and tests is written whole, and one item's rows are printed."""

import pytest

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import diagnose
from tools.items import misconception_matrix as matrix

ITEM = load_item("06.causal_mask")
[HIDDEN] = (each for each in ITEM.misconceptions if each.name == "diagonal_hidden")
DIAGONAL_HIDDEN = f"| {HIDDEN.symptom} (diagonal hidden) | ✗ | ✗ | yes |"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A course of one item, and a folder of its own for the page and the picture."""
    monkeypatch.setattr(matrix, "load_items", lambda lesson: {ITEM.id: ITEM})
    monkeypatch.setattr(matrix, "TOPICS", {"06": "masks"})
    monkeypatch.setattr(matrix, "FULL", tmp_path / "evidence")
    return matrix.FULL


def test_the_page_is_written_with_its_picture(folder, capsys):
    assert matrix.main([]) == 0
    text = (folder / matrix.NAME).read_text("utf-8")
    count = len(ITEM.misconceptions)
    assert f"{count} misconceptions of 1 items: {count} fail, {count} are called by" in text
    assert DIAGONAL_HIDDEN in text
    assert "1. " + ITEM.probes[0].property in text
    assert "<svg" in (folder / matrix.PICTURE).read_text("utf-8")
    assert f"{count} misconceptions, not caught or not named: 0" in capsys.readouterr().out


def test_the_rows_of_one_item_are_printed_and_nothing_is_written(folder, capsys):
    assert matrix.main(["06.causal_mask"]) == 0
    printed = capsys.readouterr().out
    assert DIAGONAL_HIDDEN in printed
    assert "1. " + ITEM.probes[0].property in printed
    assert not folder.exists()


def test_a_misconception_that_passes_or_is_misnamed_is_reported(folder, monkeypatch, capsys):
    caught, passed = ITEM.misconceptions[0], ITEM.misconceptions[1]
    rows = [
        matrix.row(diagnose(ITEM, caught.subject), passed),
        matrix.row(diagnose(ITEM, ITEM.reference), caught),
    ]
    monkeypatch.setattr(matrix, "tried", lambda item: rows)
    assert matrix.main([]) == 1
    printed = capsys.readouterr().out
    assert f"06.causal_mask: the misconception {passed.name} is not called by its name" in printed
    assert f"06.causal_mask: the misconception {caught.name} passes every test" in printed
    page = (folder / matrix.NAME).read_text("utf-8")
    assert "2 misconceptions of 1 items: 1 fail, 0 are called" in page
    assert "| ✓ | ✓ | NO |" in page


def test_a_bug_has_the_line_that_its_item_names():
    bug = load_item("06.bug")
    assert matrix.line_of(bug)() == bug.bug.line
    assert matrix.line_of(ITEM) is None
