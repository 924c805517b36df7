"""Write docs/misconception_matrix.md and its picture: which probe catches which misconception.

python -m tools.misconception_matrix
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.checks import TABLE, load_items
from course_lib.checks.diagnose import Diagnosis, diagnose
from course_lib.checks.item import Item
from course_lib.checks.table import TOPICS
from tools import ROOT

DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Row:
    """A misconception: which probes it fails, and whether it is called by its name."""

    item: Item
    name: str
    caught: tuple[bool, ...]
    named: bool


def line_of(item: Item) -> Callable[[], int] | None:
    """Where the bug is, as the right answer to an item that asks for its line."""
    bug = item.bug
    return (lambda: bug.line) if bug else None


def rows() -> Iterator[Row]:
    """Every misconception of every item, tried."""
    for lesson in TOPICS:
        for item in load_items(lesson).values():
            for misconception in item.misconceptions:
                found = diagnose(item, misconception.subject, line_of(item))
                yield Row(
                    item, misconception.name, _caught(found), found.misconception is misconception
                )


def _caught(diagnosis: Diagnosis) -> tuple[bool, ...]:
    failed = [trial.difference is not None for trial in diagnosis.trials]
    return (*failed, *[False] * (len(diagnosis.item.probes) - len(failed)))


def text(matrix: list[Row]) -> str:
    """The page."""
    named = sum(row.named for row in matrix)
    caught = sum(any(row.caught) for row in matrix)
    parts = [
        "# Which probe catches which misconception",
        "Written by `python -m tools.misconception_matrix`. A row is a misconception, tried as if a "
        "learner had written it; a column is a probe of its item; ✗ says that the probe fails.",
        f"{len(matrix)} misconceptions of {len({row.item.id for row in matrix})} items: {caught} "
        f"fail, {named} are called by their name.",
        "![misconceptions by probes](misconception_matrix.svg)",
    ]
    items = {row.item.id: row.item for row in matrix}
    for item in items.values():
        own = [row for row in matrix if row.item is item]
        parts.append(f"## {item.id} · {TABLE[item.id].title}")
        parts.append("\n".join(f"{i}. {probe.property}" for i, probe in enumerate(item.probes, 1)))
        header = ["misconception", *map(str, range(1, len(item.probes) + 1)), "named"]
        lines = [header, ["---", *[":-:"] * (len(header) - 1)]]
        for row in own:
            marks = ["✗" if failed else "✓" for failed in row.caught]
            lines.append([row.name.replace("_", " "), *marks, "yes" if row.named else "NO"])
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"


def draw(matrix: list[Row], path: Path) -> None:
    """The whole matrix as a picture: a column a misconception, a row a probe."""
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
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> int:
    """Write the page; 1 if a misconception gets away or goes by a wrong name."""
    start = time.process_time()
    matrix = list(rows())
    each = (time.process_time() - start) / len(matrix)
    (DOCS / "misconception_matrix.md").write_text(text(matrix), encoding="utf-8")
    draw(matrix, DOCS / "misconception_matrix.svg")
    bad = [f"{row.item.id} {row.name}" for row in matrix if not (any(row.caught) and row.named)]
    print(f"a check takes {each:.2f} s of processor time on average")
    print(f"{len(matrix)} misconceptions, not caught or not named: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
