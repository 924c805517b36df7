"""Write docs/misconception_matrix.md and its picture: which probe catches which misconception.

    python -m tools.items.misconception_matrix          # runs everything, a few minutes
    python -m tools.items.misconception_matrix --check  # runs nothing, says if the page is stale

The check compares all but the results: the items, their probes and their misconceptions. The
results are compared by tests/checks/test_items.py, which tries every misconception anyway.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import unified_diff

from course_lib.checks import TABLE, load_items
from course_lib.checks.diagnosis.diagnose import Diagnosis, diagnose
from course_lib.checks.engine.item import Item, Misconception
from course_lib.checks.table import TOPICS
from tools import ROOT

PAGE = ROOT / "docs" / "misconception_matrix.md"
PICTURE = PAGE.with_suffix(".svg")
RESULTS = re.compile(r"(?<=\| )(?:[✗✓]|yes|NO)(?= \|)|\d+ fail, \d+ are")


@dataclass(frozen=True)
class Row:
    """A misconception: which probes it fails, and whether the check calls it by its name."""

    item: Item
    misconception: Misconception
    caught: tuple[bool, ...]
    named: bool

    def __str__(self) -> str:
        marks = ["✗" if failed else "✓" for failed in self.caught]
        name = self.misconception.name.replace("_", " ")
        return f"| {' | '.join([name, *marks, 'yes' if self.named else 'NO'])} |"


def line_of(item: Item) -> Callable[[], int] | None:
    """Where the bug is, as the right answer to an item that asks for its line."""
    bug = item.bug
    return (lambda: bug.line) if bug else None


def misconceptions() -> Iterator[tuple[Item, Misconception]]:
    """Every misconception of every item."""
    for lesson in TOPICS:
        for item in load_items(lesson).values():
            for misconception in item.misconceptions:
                yield item, misconception


def row(diagnosis: Diagnosis, misconception: Misconception) -> Row:
    """The row of a misconception that was tried."""
    failed = [trial.difference is not None for trial in diagnosis.trials]
    untried = [False] * (len(diagnosis.item.probes) - len(failed))
    named = diagnosis.misconception is misconception
    return Row(diagnosis.item, misconception, (*failed, *untried), named)


def tried_rows() -> list[Row]:
    """All rows, by trying every misconception."""
    return [
        row(diagnose(item, misconception.subject, line=line_of(item)), misconception)
        for item, misconception in misconceptions()
    ]


def untried_rows() -> list[Row]:
    """All rows, without results."""
    return [
        Row(item, misconception, (False,) * len(item.probes), named=False)
        for item, misconception in misconceptions()
    ]


def text(matrix: list[Row]) -> str:
    """The page."""
    named = sum(row.named for row in matrix)
    caught = sum(any(row.caught) for row in matrix)
    parts = [
        "# Which probe catches which misconception",
        "Written by `python -m tools.items.misconception_matrix`. A row is a misconception, tried "
        "as if a learner had written it; a column is a probe of its item; ✗ means that the probe "
        "fails.",
        f"{len(matrix)} misconceptions of {len({row.item.id for row in matrix})} items: {caught} "
        f"fail, {named} are called by their name.",
        f"![misconceptions by probes]({PICTURE.name})",
    ]
    items = {row.item.id: row.item for row in matrix}
    for item in items.values():
        parts.append(f"## {item.id} · {TABLE[item.id].title}")
        parts.append("\n".join(f"{i}. {probe.property}" for i, probe in enumerate(item.probes, 1)))
        columns = ["misconception", *map(str, range(1, len(item.probes) + 1)), "named"]
        rule = ["---", *[":-:"] * (len(columns) - 1)]
        header = [f"| {' | '.join(cells)} |" for cells in (columns, rule)]
        parts.append("\n".join(header + [str(row) for row in matrix if row.item is item]))
    return "\n\n".join(parts) + "\n"


def without_results(page: str) -> str:
    """The page with nothing left that only a run can tell."""
    return RESULTS.sub("?", page)


def stale() -> str:
    """The first lines in which the stored page differs from the items, results aside."""
    stored, wanted = map(without_results, (PAGE.read_text("utf-8"), text(untried_rows())))
    lines = unified_diff(stored.splitlines(), wanted.splitlines(), "stored", "wanted", "", "", 0)
    return "\n".join(list(lines)[:12])


def draw(matrix: list[Row]) -> None:
    """The whole matrix as a picture: a column per misconception, a row per probe."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "course"
    import numpy as np
    from matplotlib import pyplot
    from matplotlib.colors import ListedColormap

    most = max(len(row.caught) for row in matrix)
    lessons = list(TOPICS)
    figure, panels = pyplot.subplots(
        len(lessons), 1, figsize=(9, 1.15 * len(lessons)), squeeze=False, layout="constrained"
    )
    longest = max(sum(row.item.id.startswith(lesson) for row in matrix) for lesson in lessons)
    for lesson, axes in zip(lessons, panels[:, 0], strict=True):
        own = [row for row in matrix if row.item.id.startswith(lesson)]
        cells = np.full((most, longest), np.nan)
        for x, row in enumerate(own):
            cells[: len(row.caught), x] = row.caught
        axes.imshow(
            cells, cmap=ListedColormap(["#dddddd", "#d95f02"]), vmin=0, vmax=1, aspect="auto"
        )
        starts = [x for x, row in enumerate(own) if x == 0 or row.item is not own[x - 1].item]
        for x in starts[1:]:
            axes.axvline(x - 0.5, color="black", linewidth=0.8)
        axes.set_yticks([])
        axes.set_xticks(starts, [own[x].item.id[3:] for x in starts], fontsize=6, ha="left")
        axes.tick_params(length=0)
        axes.set_ylabel(lesson, rotation=0, ha="right", va="center")
        axes.spines[:].set_visible(False)
    figure.suptitle("Orange: the probe (row) catches the misconception (column)", fontsize=10)
    figure.savefig(PICTURE, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; 1 if it is stale, or a misconception passes or is misnamed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.misconception_matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="run nothing, only compare")
    if parser.parse_args(arguments).check:
        if difference := stale():
            print(f"{PAGE.name} is stale, run {parser.prog}:\n{difference}", file=sys.stderr)
        return 1 if difference else 0
    start = time.process_time()
    matrix = tried_rows()
    each = (time.process_time() - start) / len(matrix)
    PAGE.write_text(text(matrix), encoding="utf-8")
    draw(matrix)
    bad = [
        f"{row.item.id} {row.misconception.name}"
        for row in matrix
        if not (any(row.caught) and row.named)
    ]
    print(f"a check takes {each:.2f} s of processor time on average")
    print(f"{len(matrix)} misconceptions, not caught or not named: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
