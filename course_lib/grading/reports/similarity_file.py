"""The pairs of similar submissions as a CSV file beside an assignment's results."""

from __future__ import annotations

from pathlib import Path

from course_lib.grading.reports.similarity import Similarity
from course_lib.grading.safe_csv import Rows, read_csv, write_csv

SIMILAR_FILE = "similar.csv"
IDENTICAL = "identical files"
_COLUMNS = ("first", "second", "share", "surprise_bits", "usual_share", "where")


def store_pairs(folder: Path, found: Similarity) -> None:
    """Write the pairs into the folder of an assignment's results.

    Raises:
        CourseError: they can't be written.
    """
    rows: Rows = [[*_COLUMNS]]
    rows += [[*pair, 1.0, "", round(found.usual, 3), IDENTICAL] for pair in found.identical]
    for pair in found.pairs:
        numbers = round(pair.share, 3), round(pair.surprise, 1), round(found.usual, 3)
        rows.append([pair.first, pair.second, *numbers, ", ".join(pair.where)])
    write_csv(folder / SIMILAR_FILE, rows)


def stored_pairs(folder: Path) -> list[dict[str, str]] | None:
    """The pairs that were stored beside an assignment's results; None if nobody looked for them.

    Raises:
        CourseError: the file can't be read.
    """
    path = folder / SIMILAR_FILE
    return read_csv(path, _COLUMNS) if path.exists() else None
