"""Which test of an item catches which misconception: the page and its picture, or one item's rows.

    python -m tools.items.misconception_matrix                 # all, about a minute: the page
    python -m tools.items.misconception_matrix 06.causal_mask  # one item, seconds: prints its rows

The page is written into evidence/, which git ignores; `make site` puts it into the site.
tests/checks/test_items.py holds that each misconception is caught and called by its name.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from course_lib.checks import TABLE, load_item, load_items
from course_lib.checks.diagnosis.diagnose import Diagnosis, diagnose
from course_lib.checks.engine.item import Item, Misconception, name_in_words
from course_lib.checks.table import TOPICS
from tools.evidence import FULL

NAME = "misconception_matrix.md"
PICTURE = "misconception_matrix.svg"


@dataclass(frozen=True)
class Row:
    """A misconception: which probes it fails, and whether the check calls it by its name."""

    item: Item
    misconception: Misconception
    caught: tuple[bool, ...]
    named: bool

    def __str__(self) -> str:
        """As Markdown: what a learner with this misconception reads first, and its name."""
        marks = ["✗" if failed else "✓" for failed in self.caught]
        symptom = self.misconception.symptom.replace("|", "\\|")
        says = f"{symptom} ({name_in_words(self.misconception.name)})"
        return f"| {' | '.join([says, *marks, 'yes' if self.named else 'NO'])} |"


def item_ids() -> list[str]:
    """The ids of all items whose answers are code."""
    return [entry.id for entry in TABLE.values() if entry.is_code]


def line_of(item: Item) -> Callable[[], int] | None:
    """Where the bug is, as the right answer to an item that asks for its line."""
    bug = item.bug
    return (lambda: bug.line) if bug else None


def row(diagnosis: Diagnosis, misconception: Misconception) -> Row:
    """The row of a misconception that was tried."""
    failed = [trial.difference is not None for trial in diagnosis.trials]
    untried = [False] * (len(diagnosis.item.probes) - len(failed))
    named = diagnosis.misconception is misconception
    return Row(diagnosis.item, misconception, (*failed, *untried), named)


def tried(item: Item) -> list[Row]:
    """The rows of an item, by trying each of its misconceptions."""
    return [
        row(diagnose(item, misconception.subject, line=line_of(item)), misconception)
        for misconception in item.misconceptions
    ]


def text(matrix: list[Row]) -> str:
    """The page."""
    named = sum(row.named for row in matrix)
    caught = sum(any(row.caught) for row in matrix)
    parts = [
        "# Which test catches which misconception",
        "Written by `python -m tools.items.misconception_matrix`. A row is a misconception, tried "
        "as if a learner had written it: first what the check says of it, in brackets its name. A "
        "column is a test of its item; ✗ means that the test fails.",
        f"{len(matrix)} misconceptions of {len({row.item.id for row in matrix})} items: {caught} "
        f"fail, {named} are called by their name.",
        f"![misconceptions by tests]({PICTURE})",
    ]
    items = {row.item.id: row.item for row in matrix}
    for item in items.values():
        parts.append(f"## {item.id} · {TABLE[item.id].title}")
        parts.append(section([row for row in matrix if row.item is item]))
    return "\n\n".join(parts) + "\n"


def section(rows: list[Row]) -> str:
    """The tests of an item and its rows."""
    probes = rows[0].item.probes
    columns = ["misconception", *map(str, range(1, len(probes) + 1)), "named"]
    rule = ["---", *[":-:"] * (len(columns) - 1)]
    header = [f"| {' | '.join(cells)} |" for cells in (columns, rule)]
    tests = "\n".join(f"{i}. {probe.property}" for i, probe in enumerate(probes, 1))
    return tests + "\n\n" + "\n".join(header + [str(row) for row in rows])


def problems(matrix: list[Row]) -> list[str]:
    """The misconceptions that pass, or that the check does not call by their name."""
    return [
        f"{row.item.id}: the misconception {row.misconception.name} "
        + ("is not called by its name" if any(row.caught) else "passes every test")
        for row in matrix
        if not (any(row.caught) and row.named)
    ]


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
    figure.suptitle("Orange: the test (row) catches the misconception (column)", fontsize=10)
    figure.savefig(FULL / PICTURE, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Write the page or print an item's rows; 1 if a misconception passes or is misnamed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.misconception_matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("item", nargs="?", choices=item_ids(), metavar="ITEM", help="default: all")
    chosen = parser.parse_args(arguments).item
    if chosen:
        matrix = tried(load_item(chosen))
        print(section(matrix))
    else:
        items = (item for lesson in TOPICS for item in load_items(lesson).values())
        matrix = [row for item in items for row in tried(item)]
        FULL.mkdir(exist_ok=True)
        (FULL / NAME).write_text(text(matrix), encoding="utf-8")
        draw(matrix)
    bad = problems(matrix)
    print(f"{len(matrix)} misconceptions, not caught or not named: {len(bad)}", *bad, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
