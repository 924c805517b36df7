"""How many minutes an item takes, by one formula: reading its task, writing its answer, and trying.

    python -m tools.items.item_minutes            # items whose minutes in the table differ
    python -m tools.items.item_minutes --write    # and put them into the table

Reading: 110 words a minute, as in lessons. Writing: two minutes a line of the solution's code, or
half a minute a line of code with a bug, or a minute for twenty words of a model answer. Tries and
thought: four minutes for each point of difficulty, and five for a second run. Rounded to five
minutes. An item about a run of one's own takes as long as training takes, which no formula knows.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from course_lib.checks.table import OWN_NUMBER, TABLE, TOPICS, Entry, cell_id
from tools import ROOT

TABLE_FILE = ROOT / "course_lib" / "checks" / "table.py"
WORDS_READ, WORDS_WRITTEN = 110, 20  # a minute
LINE_WRITTEN, LINE_READ, TRIES, SECOND_RUN = 2.0, 0.5, 4.0, 5.0  # minutes
REGION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def cells_of(entry: Entry) -> dict[str, str]:
    """The sources of an item's cells in the solution, by what they are for."""
    topic = TOPICS[entry.id[:2]]
    path = ROOT / "solutions" / f"{entry.id[:2]}_{topic}" / f"{topic}.ipynb"
    start = cell_id(entry.id, "")
    return {
        cell["id"].removeprefix(start): "".join(cell["source"])
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        if cell["id"].startswith(start)
    }


def item_minutes(entry: Entry) -> int:
    """The minutes of an item."""
    if entry.kind == "run":
        return entry.minutes
    cells = cells_of(entry)
    minutes = len(cells["task"].split()) / WORDS_READ + TRIES * entry.difficulty
    solution = "".join(REGION.findall(cells.get("answer", cells.get("written", ""))))
    lines = [line for line in solution.splitlines() if line.strip()]
    if entry.kind == "code":
        minutes += LINE_WRITTEN * sum(not line.lstrip().startswith("#") for line in lines)
    elif entry.kind == "bug":
        minutes += LINE_READ * len(cells["code"].splitlines())
    elif entry.kind == "written":
        minutes += len(solution.split("**Rubric**")[0].split()) / WORDS_WRITTEN
    elif entry.kind in ("experiment", *OWN_NUMBER):
        minutes += SECOND_RUN
    return max(5, 5 * round(minutes / 5))


def with_minutes(table: str) -> str:
    """The source of the table with the minutes of all items."""
    for entry in TABLE.values():
        row = re.compile(rf'(\("{re.escape(entry.id)}", "[^"]*", "\w+", \d, \d, )\d+(, \d+\))')
        table, found = row.subn(rf"\g<1>{item_minutes(entry)}\g<2>", table)
        assert found == 1, entry.id
    return table


def main(arguments: list[str] | None = None, file: Path = TABLE_FILE) -> int:
    """Print the items whose minutes differ, and with --write put them right; 1 if any differ."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.item_minutes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="put the minutes into the table")
    write = parser.parse_args(arguments).write
    wrong = [entry for entry in TABLE.values() if entry.minutes != item_minutes(entry)]
    for entry in wrong:
        print(f"{entry.id:34} {entry.minutes:3} minutes, by the formula {item_minutes(entry):3}")
    if write:
        file.write_text(with_minutes(file.read_text("utf-8")), encoding="utf-8")
    return int(bool(wrong) and not write)


if __name__ == "__main__":
    sys.exit(main())
