"""Pages that a command writes are up to date, and numbers quoted from them are on them."""

import ast
import re
from pathlib import Path

import pytest

from tools.benchmarks import page, published_bugs
from tools.benchmarks.published_bugs import bugs
from tools.claims.prose_numbers import facts, numbers
from tools.notebooks.notebook_normal_form import read

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_quotes_the_benchmarks():
    readme = (ROOT / "README.md").read_text("utf-8")
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    quoted = re.findall(r"([\d.,]*\d) ×", readme)
    assert len(quoted) == 4
    for number in quoted:
        assert f"{number} (" in benchmarks, number


def test_each_measured_page_names_the_command_that_writes_it():
    benchmarks = page.PAGE.read_text("utf-8")
    assert benchmarks.startswith(page.TOP)
    assert "`make bench` (`python -m tools.benchmarks`)" in page.TOP
    bugs_page = published_bugs.PAGE.read_text("utf-8")
    assert f"\nWritten by `python -m {published_bugs.__name__}`. " in bugs_page


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.name)
def test_the_page_of_published_bugs_has_the_text_of_the_command(bug):
    page = (ROOT / "docs" / "published_bugs.md").read_text("utf-8")
    assert f". **{bug.name}**: {bug.finding}." in page
    assert f". {bug.name} | fixed |" in page


def test_the_museum_counts_with_the_losses_of_the_page_of_bugs():
    lines = (ROOT / "docs" / "published_bugs.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")]
    column = rows[0].index("unseen loss")
    fixed, released = (
        [float(row[column]) for row in rows if row[2] == kind] for kind in ("fixed", "as released")
    )
    [cell] = (
        cell
        for cell in read(ROOT / "notebooks" / "15_museum.ipynb").cells
        if cell.id == "q15c-cost"
    )
    cost, other_seed, last_weights = (
        ast.literal_eval(line.value) for line in ast.parse(cell.source).body[:3]
    )
    assert list(cost.values()) == list(zip(fixed, released, strict=True))
    assert other_seed == float(rows[-1][column])
    seeds = [float(row[column]) for row in rows if row[1].startswith("the same as 4, ")]
    assert last_weights == list(zip(seeds[::2], seeds[1::2], strict=True))


def test_facts_quoted_from_the_page_of_published_bugs_are_on_it():
    page = {
        number.value for number in numbers((ROOT / "docs" / "published_bugs.md").read_text("utf-8"))
    }
    quoted = [fact for fact in facts() if fact.source.startswith("docs/published_bugs.md")]
    assert len(quoted) > 5
    for fact in quoted:
        [number] = numbers(fact.number)
        assert number.value in page, fact
