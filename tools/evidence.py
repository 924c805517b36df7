"""The tables of docs/evidence.md: what long runs found, a line per item and a line per lesson.

The full pages are too long to keep in git, and each change of an item would rewrite them. They are
written into evidence/, which git ignores, and `make site` puts those that are there into the site.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from course_lib.checks import TABLE
from course_lib.checks.table import TOPICS
from tools import ROOT

PAGE = ROOT / "docs" / "evidence.md"
FULL = ROOT / "evidence"  # beside docs/, so that links like ../notebooks/ hold in both


@dataclass(frozen=True, kw_only=True)
class ItemLine:
    """What is known of an item; ``made_from`` is the digest of what it was measured on."""

    item: str
    tests: int
    misconceptions: int
    mutants: int
    failed: int
    survived: int
    misnamed: int
    made_from: str


@dataclass(frozen=True, kw_only=True)
class ClaimsLine:
    """How many claims of a lesson there are, and how many hold, with its seeds and with others."""

    lesson: str
    claims: int
    hold: int
    with_other_seeds: int
    hold_then: int
    made_from: str


Line = ItemLine | ClaimsLine


def item_lines() -> dict[str, ItemLine]:
    """The stored lines of the items, by id."""
    return {item: ItemLine(**cells) for item, cells in _stored(r"\d\d\.\w+", ItemLine)}


def claims_lines() -> dict[str, ClaimsLine]:
    """The stored lines of the lessons with claims, by number."""
    return {lesson: ClaimsLine(**cells) for lesson, cells in _stored(r"\d\d", ClaimsLine)}


def write_items(new: Iterable[ItemLine]) -> None:
    """Replace these items' lines, and leave out items that are gone."""
    lines = item_lines() | {line.item: line for line in new}
    known = [lines[item] for item in TABLE if item in lines]
    rows = []
    for lesson in TOPICS:
        if own := [line for line in known if line.item.startswith(f"{lesson}.")]:
            rows += [_total(lesson, own), *map(_row, own)]
    _replace_table(ItemLine, [*rows, _total("all", known)])


def write_claims(new: Iterable[ClaimsLine]) -> None:
    """Replace the lines of these lessons."""
    lines = claims_lines() | {line.lesson: line for line in new}
    known = [lines[lesson] for lesson in sorted(lines)]
    _replace_table(ClaimsLine, [*map(_row, known), _total("all", known)])


def _stored(key: str, kind: type[Line]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line of one table: its first cell, and its cells by their names."""
    names = [field.name for field in fields(kind)]
    for cells in re.findall(rf"^\| ({key}) \| (.*) \| (\w+) \|$", PAGE.read_text("utf-8"), re.M):
        first, counts, made_from = cells
        values = (first, *map(int, counts.split(" | ")), made_from)
        yield first, dict(zip(names, values, strict=True))


def _replace_table(kind: type[Line], rows: list[str]) -> None:
    names = [field.name.replace("_", " ") for field in fields(kind)]
    head = f"| {' | '.join(names)} |\n"
    rule = f"|:--|{'--:|' * (len(names) - 2)}:--|\n"
    page = PAGE.read_text("utf-8")
    before, found, after = page.partition(head)
    if not found:
        raise ValueError(f"expected in {PAGE.name} the line {head.strip()!r} above a table")
    rest = re.sub(r"\A(?:\|.*\n)*", "", after)
    PAGE.write_text(before + head + rule + "".join(f"{row}\n" for row in rows) + rest, "utf-8")


def _row(line: Line) -> str:
    return f"| {' | '.join(map(str, astuple(line)))} |"


def _total(name: str, lines: Sequence[Line]) -> str:
    counts = zip(*(astuple(line)[1:-1] for line in lines), strict=True)
    return f"| **{name}** | {' | '.join(str(sum(column)) for column in counts)} | |"
