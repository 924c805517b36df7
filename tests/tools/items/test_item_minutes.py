"""The minutes of an item follow from its text, its solution and its difficulty."""

import pytest

from course_lib.checks.table import TABLE
from tools.items import item_minutes as tool


@pytest.mark.parametrize("item_id", TABLE)
def test_the_minutes_in_the_table_are_those_of_the_formula(item_id):
    wanted = tool.item_minutes(TABLE[item_id])
    if TABLE[item_id].minutes != wanted:
        pytest.fail("run `python -m tools.items.item_minutes --write`", pytrace=False)


def test_a_longer_solution_takes_longer(monkeypatch):
    entry = TABLE["06.masked_softmax"]
    before = tool.item_minutes(entry)
    cells = tool.cells_of(entry)
    answer = cells["answer"].replace("### END", "x = 1\n" * 10 + "    ### END")
    monkeypatch.setattr(tool, "cells_of", lambda _: cells | {"answer": answer})
    assert tool.item_minutes(entry) == before + 20


def test_minutes_that_differ_are_printed_and_written(tmp_path, monkeypatch, capsys):
    file = tmp_path / "table.py"
    file.write_text(tool.TABLE_FILE.read_text("utf-8"), encoding="utf-8")
    right = tool.item_minutes(TABLE["06.bug"])
    monkeypatch.setattr(tool, "item_minutes", lambda entry: entry.minutes + 5)
    assert tool.main([], file) == 1
    assert "06.bug" in capsys.readouterr().out
    assert tool.main(["--write"], file) == 0
    assert f'"bug", 2, 4, {right + 5},' in file.read_text("utf-8").split("06.bug")[1]
