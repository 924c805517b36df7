"""CSV files that a spreadsheet opens as text and numbers, whatever names and notes contain.

A spreadsheet runs text that begins with =, +, - or @ as a formula, quoted or not. Such text gets an
apostrophe before it, as https://owasp.org/www-community/attacks/CSV_Injection advises; reading
takes it off again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.atomic import replace_atomically
from course_lib.errors import CourseError

Cell = str | int | float | None
Rows = list[list[Cell]]
_FORMULA = r"'*[=+\-@\t\r＝＋－＠]"
# Also after what separates cells in some countries' spreadsheets.
_UNGUARDED = re.compile(rf"(^|[;\t\r\n])(?={_FORMULA})")
_GUARDED = re.compile(rf"(^|[;\t\r\n])'(?={_FORMULA})")


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV: text in quotes and without formulas, numbers as they are, None empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    for row in rows:
        writer.writerow([_guarded(cell) for cell in row])
    return text.getvalue()


def _guarded(cell: Cell) -> Cell:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return _UNGUARDED.sub(r"\1'", cell.replace("\0", " "))
    return cell


def write_csv(
    path: Path,
    rows: Iterable[Sequence[Cell]],
    *,
    byte_order_mark: bool = False,
    through_link: bool = False,
) -> None:
    """Write rows as a UTF-8 file.

    Args:
        path: of the file.
        rows: its cells.
        byte_order_mark: as Excel needs it to read letters beyond ASCII; others may not expect it.
        through_link: as in ``replace_atomically``.

    Raises:
        CourseError: the file can't be written.
    """
    data = csv_text(rows).encode("utf-8-sig" if byte_order_mark else "utf-8", "replace")
    replace_atomically(path, lambda draft: draft.write_bytes(data), through_link=through_link)


def read_csv(path: Path, required: Sequence[str], *, lenient: bool = False) -> list[dict[str, str]]:
    """The rows of a CSV file with a header, as text by column; spaces around it are removed.

    Args:
        path: of a UTF-8 file; with or without a byte order mark, separated by comma or semicolon.
        required: columns that it must have.
        lenient: their names may be in capital letters; and a file that names none of them has no
            header, and these columns first.

    Raises:
        CourseError: it can't be read, lacks a column, or a row has more cells than the header.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise CourseError(
            f"expected a CSV file in UTF-8 at {path}, and could not read one ({error}): is the "
            "path right, and the file saved as CSV UTF-8?"
        ) from None
    first = text.split("\n", 1)[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        header, *rows = [[_GUARDED.sub(r"\1", cell).strip() for cell in row] for row in reader]
    except (ValueError, csv.Error) as error:
        raise CourseError(
            f"expected a header and rows in {path}, got something else ({error}): is it a CSV file?"
        ) from None
    if lenient:
        header, rows = _found_header(header, rows, required)
    if missing := [name for name in required if name not in header]:
        raise CourseError(
            f"expected the columns {', '.join(required)} in {path}, got {', '.join(header)}: "
            f"add {', '.join(missing)}"
        )
    for number, row in enumerate(rows, 2):
        if len(row) > len(header):
            raise CourseError(
                f"expected {len(header)} cells in row {number} of {path}, got {len(row)}: is text "
                "with a comma in it not in quotes?"
            )
    width = len(header)
    return [
        dict(zip(header, row + [""] * (width - len(row)), strict=True)) for row in rows if any(row)
    ]


def _found_header(
    first: list[str], rows: list[list[str]], required: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a file that may have none."""
    by_name = {name.casefold(): name for name in required}
    header = [by_name.get(cell.casefold(), cell) for cell in first]
    if set(required).intersection(header):
        return header, rows
    return [*required, *map(str, range(len(required), len(first)))], [first, *rows]
