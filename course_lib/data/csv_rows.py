"""The rows of a table whose fields may be quoted, as a spreadsheet writes it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from course_lib.data.text_files import LazySequence, TextFile

SAMPLE = 200  # lines by which the delimiter is found
DELIMITERS = "\t;,|"  # of a .csv
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def csv_rows(file: TextFile, delimiter: str | None = None) -> LazySequence[list[str]]:
    """The rows, by the lines on which they begin. Each is parsed when it is asked for.

    Raises:
        CourseError: a quotation mark is not closed.
    """
    delimiter = delimiter or _delimiter(file)
    skip = len(file) > 0 and file.line(0) == f"sep={delimiter}"

    def lines_from(i: int) -> Iterator[str]:
        return (file.line(n) + "\n" for n in range(i, len(file)))

    parse = partial(csv.reader, delimiter=delimiter, strict=True)
    reader, starts = parse(lines_from(skip)), [int(skip)]
    try:
        for _ in reader:
            starts.append(skip + reader.line_num)
    except csv.Error as error:
        raise file.line_error(
            starts[-1],
            f"expected a table with quoted fields, got {error}: is a quotation mark not closed?",
        ) from None

    def row(i: int) -> list[str]:
        if '"' not in (line := file.line(i)):
            return line.split(delimiter)
        return [" ".join(field.splitlines()) for field in next(parse(lines_from(i)))]

    return LazySequence(row, np.array(starts[:-1], dtype=np.int64))


def _delimiter(file: TextFile) -> str:
    """What divides the columns of a .csv: of most lines into equally many, and rather into two."""
    if stated := re.fullmatch(r"sep=(.)", file.line(0) if len(file) else ""):
        return stated[1]
    lines = [file.line(i) + "\n" for i in range(min(SAMPLE, len(file)))]
    best, found = (0.0, 0), DELIMITERS[0]
    for delimiter in DELIMITERS:
        with suppress(csv.Error):  # a field without an end
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
            for width, count in widths.most_common(1):
                if width > 1 and (share := (count / widths.total(), -width)) > best:
                    best, found = share, delimiter
    return found


def is_quoted(file: TextFile) -> bool:
    """Whether a table with tabs comes from a spreadsheet.

    That quotes the fields with a comma or a quotation mark, and no others or all, and doubles the
    quotation marks within.
    """
    if not re.search(rb'(?:^|[\t\n])"', file.data):
        return False
    needless = unquoted = False
    for field in (field for i in range(len(file)) for field in file.line(i).split("\t")):
        special = "," in field or '"' in field[1:-1]
        if field.startswith('"'):
            needless = needless or not special
        else:
            unquoted = True
        if (needless and unquoted) or (special and not _QUOTED.fullmatch(field)):
            return False
    return True
