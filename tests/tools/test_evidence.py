"""The tables of docs/evidence.md are read and written by lines; the text around them stays."""

import pytest

from tools import evidence
from tools.evidence import ClaimsLine, ItemLine, write_claims, write_items

PAGE = """# Evidence

| item | tests | misconceptions | mutants | failed | survived | misnamed | made from |
|:--|--:|--:|--:|--:|--:|--:|:--|
| **06** | 2 | 8 | 4 | 4 | 0 | 0 | |
| 06.causal_mask | 2 | 8 | 4 | 4 | 0 | 0 | aaaaaaaaaa |
| 06.no_such_item | 1 | 1 | 1 | 1 | 0 | 0 | bbbbbbbbbb |
| **all** | 2 | 8 | 4 | 4 | 0 | 0 | |

Words between.

| lesson | claims | hold | with other seeds | hold then | made from |
|:--|--:|--:|--:|--:|:--|
| 07 | 2 | 2 | 1 | 1 | cccccccccc |
"""
PADDING = ItemLine(
    item="06.padding_mask",
    tests=3,
    misconceptions=13,
    mutants=7,
    failed=6,
    survived=1,
    misnamed=0,
    made_from="dddddddddd",
)


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "PAGE", tmp_path / "evidence.md")
    evidence.PAGE.write_text(PAGE, "utf-8")
    return evidence.PAGE


def test_a_new_line_stands_where_its_item_does_and_sums_and_lost_items_follow(page):
    write_items([PADDING])
    assert page.read_text("utf-8").splitlines()[4:9] == [
        "| **06** | 5 | 21 | 11 | 10 | 1 | 0 | |",
        "| 06.padding_mask | 3 | 13 | 7 | 6 | 1 | 0 | dddddddddd |",
        "| 06.causal_mask | 2 | 8 | 4 | 4 | 0 | 0 | aaaaaaaaaa |",
        "| **all** | 5 | 21 | 11 | 10 | 1 | 0 | |",
        "",
    ]
    assert page.read_text("utf-8").endswith(PAGE[PAGE.index("\nWords between") :])
    assert evidence.item_lines()["06.padding_mask"] == PADDING


def test_a_lesson_s_line_is_replaced_and_others_stay(page):
    line = ClaimsLine(
        lesson="02", claims=1, hold=1, with_other_seeds=0, hold_then=0, made_from="eeeeeeeeee"
    )
    write_claims([line])
    assert page.read_text("utf-8").splitlines()[-3:] == [
        "| 02 | 1 | 1 | 0 | 0 | eeeeeeeeee |",
        "| 07 | 2 | 2 | 1 | 1 | cccccccccc |",
        "| **all** | 3 | 3 | 1 | 1 | |",
    ]
    assert list(evidence.claims_lines()) == ["02", "07"]


def test_a_page_without_the_table_is_an_error_and_stays_as_it_is(page):
    page.write_text("# Evidence\n", "utf-8")
    with pytest.raises(ValueError, match=r"expected in evidence.md the line '\| item \| tests"):
        write_items([PADDING])
    assert page.read_text("utf-8") == "# Evidence\n"


def test_writing_nothing_new_changes_nothing_of_the_stored_page(tmp_path, monkeypatch):
    copy = tmp_path / "evidence.md"
    stored = evidence.PAGE.read_text("utf-8")
    monkeypatch.setattr(evidence, "PAGE", copy)
    copy.write_text(stored, "utf-8")
    write_items([])
    write_claims([])
    assert copy.read_text("utf-8") == stored
