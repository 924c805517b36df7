"""The page of misconceptions and probes: up to date, and its check finds what is not."""

import pytest

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import diagnose
from tools.items import misconception_matrix as matrix

ITEM = load_item("06.causal_mask")


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """One item alone, and a page and a picture of its own."""
    few = [(ITEM, misconception) for misconception in ITEM.misconceptions]
    monkeypatch.setattr(matrix, "misconceptions", lambda: iter(few))
    monkeypatch.setattr(matrix, "TOPICS", {"06": "masks"})
    monkeypatch.setattr(matrix, "PAGE", tmp_path / "matrix.md")
    monkeypatch.setattr(matrix, "PICTURE", tmp_path / "matrix.svg")


def test_the_stored_page_lists_the_items_probes_and_misconceptions_there_are(capsys):
    status = matrix.main(["--check"])
    assert status == 0, capsys.readouterr().err


def test_the_page_is_written_with_its_picture_and_is_then_up_to_date(pages, capsys):
    assert matrix.main([]) == 0
    text = matrix.PAGE.read_text("utf-8")
    count = len(ITEM.misconceptions)
    assert f"{count} misconceptions of 1 items: {count} fail, {count} are called by" in text
    assert "| diagonal hidden | ✗ | ✗ | yes |" in text
    assert "1. " + ITEM.probes[0].property in text
    assert "<svg" in matrix.PICTURE.read_text("utf-8")
    assert "not caught or not named: none" in capsys.readouterr().out
    assert matrix.main(["--check"]) == 0


def test_a_misconception_that_is_not_on_the_page_makes_it_stale(pages, monkeypatch, capsys):
    matrix.main([])
    few = [(ITEM, misconception) for misconception in ITEM.misconceptions[:-1]]
    monkeypatch.setattr(matrix, "misconceptions", lambda: iter(few))
    assert matrix.main(["--check"]) == 1
    message = capsys.readouterr().err
    assert "matrix.md is stale, run python -m tools.items.misconception_matrix" in message
    assert f"-| {ITEM.misconceptions[-1].name.replace('_', ' ')} |" in message


def test_a_misconception_that_passes_or_is_misnamed_is_reported(pages, monkeypatch, capsys):
    caught, passed = ITEM.misconceptions[0], ITEM.misconceptions[1]
    rows = [
        matrix.row(diagnose(ITEM, caught.subject), passed),
        matrix.row(diagnose(ITEM, ITEM.reference), caught),
    ]
    monkeypatch.setattr(matrix, "tried_rows", lambda: rows)
    assert matrix.main([]) == 1
    assert f"06.causal_mask {passed.name}, 06.causal_mask {caught.name}" in capsys.readouterr().out
    assert "2 misconceptions of 1 items: 1 fail, 0 are called" in matrix.PAGE.read_text("utf-8")
    assert "| ✓ | ✓ | NO |" in matrix.PAGE.read_text("utf-8")


def test_a_bug_has_the_line_that_its_item_names():
    bug = load_item("06.bug")
    assert matrix.line_of(bug)() == bug.bug.line
    assert matrix.line_of(ITEM) is None
