"""Sentence pairs of a table that has both sides, as text or from a spreadsheet.

Two columns are needed, the source and the target. Columns that hold no text, such as ids, scores
and attributions, are passed over; where others are left, ``columns`` says which two are meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from course_lib.data.csv_rows import csv_rows, is_quoted
from course_lib.data.languages import code_in_text
from course_lib.data.pairs import TextPair
from course_lib.data.text_files import LazySequence, TextFile
from course_lib.data.tokenizer import is_blank
from course_lib.errors import CourseError, shortened

Columns = Sequence[str]
"""Source and target: two numbers from 1 on, two names of a header, or two keys of JSON."""

SAMPLE = 200  # rows by which columns are told apart
# Numbers (ids, scores, dates), addresses, and attributions as in the files of manythings.org.
_NO_TEXT = re.compile(r"[-+\d.,:/eE ]*|https?://\S+|CC[- ]BY\b.*")
_NUMBER = re.compile(r"[-+.,:/eE ]*\d[-+\d.,:/eE ]*")
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
_HEADER = {"source", "src", "target", "tgt", "trg", "input", "output", "sentence", "translation"}
WAY_OUT = "--columns SOURCE,TARGET (in Python, columns=)"


class Table(NamedTuple):
    """The pairs of a file, their languages if it names them, and how it was read, if not simply.

    ``swapped`` says that the target stands before the source.
    """

    pairs: LazySequence[TextPair]
    languages: tuple[str, str] | None
    how: str
    swapped: bool = False


def open_table(file: TextFile, columns: Columns | None = None) -> Table:
    """The pairs of a table.

    It has tabs or ``|||`` between its columns. If it is called ``.csv``, it has commas, semicolons
    or tabs, and its fields may be quoted.

    Raises:
        CourseError: the two columns are not to be found. For a line that has not the columns of the
            first, when that line is read.
    """
    start = next((line for line in map(file.line, range(len(file))) if not is_blank(line)), "")
    if ".csv" in file.suffixes:
        rows = csv_rows(file)
    elif "\t" in start and is_quoted(file):
        rows = csv_rows(file, "\t")
    elif "\t" in start:
        rows = LazySequence(lambda i: file.line(i).split("\t"), range(len(file)))
    elif " ||| " in start:
        rows = LazySequence(lambda i: re.split(r"\s\|\|\|\s", file.line(i)), range(len(file)))
    else:
        got = f"without a tab in its first line, {shortened(start)}" if start else "which is empty"
        raise CourseError(
            f"expected two line-aligned files or one table with both sides, got {file.path}, {got}:"
            " give the other side's file too, or, if it is from a spreadsheet, call it .csv"
        )
    return _table(file, rows, columns)


def read_tsv(path: Path, columns: str | Columns | None = None) -> LazySequence[TextPair]:
    """The pairs of a table; see ``open_table``. In one with tabs, quotation marks mean nothing,
    unless every field with a comma or a quotation mark is quoted, as a spreadsheet does it.
    """
    return open_table(TextFile(path), parse_columns(columns)).pairs


def parse_columns(columns: str | Columns | None) -> Columns | None:
    """``("2", "1")`` for "2,1".

    Raises:
        CourseError: these are not two different columns.
    """
    if columns is None:
        return None
    both = (
        [column.strip() for column in columns.split(",")] if isinstance(columns, str) else columns
    )
    if len(both) != 2 or not all(both) or both[0] == both[1]:
        raise CourseError(
            "expected two columns, source and target, by number or by name, such as 2,1 or de,en, "
            f"got {columns!r}"
        )
    return both


def _table(file: TextFile, rows: LazySequence[list[str]], columns: Columns | None) -> Table:
    filled = (i for i in range(len(rows)) if not _is_empty(rows[i]))
    sample = [i for i, _ in zip(filled, range(SAMPLE), strict=False)]
    if not sample:
        return Table(LazySequence(lambda i: TextPair("", ""), range(len(rows))), None, "")
    head, *body = ([field.strip() for field in rows[i]] for i in sample)
    first = int(rows.indices[sample[0]])
    no_text = _without_text(body if len(body) > 1 else [head, *body])
    if columns:
        picked = [_position(file, first, column, head) for column in columns]
    else:
        picked = [i for i in range(len(head)) if i not in no_text]
        if len(head) == 2 and _are_links(body):
            picked = []
    if len(picked) != 2:
        raise file.line_error(first, _not_two(len(head), picked))
    source, target = picked
    names = [head[source], head[target]]
    named = columns is not None and not all(column.isdecimal() for column in columns)
    titled = named or _is_header(head, body, picked=picked, no_text=no_text)
    at, begin = rows.item, sample[0]

    def pair(i: int) -> TextPair:
        row = at(i)
        if _is_empty(row):
            return TextPair("", "")
        if len(row) != len(head) and (not columns or len(row) <= max(picked)):
            raise file.line_error(
                i,
                f"expected {len(head)} columns, as in line {first + 1}, got {len(row)} columns: is "
                "there a tab, a comma or a line break within a sentence? In a .csv, quote it",
            )
        return TextPair(row[source].strip(), row[target].strip())

    how = []
    codes: list[str] = []
    if titled:
        begin += 1
        how.append(f"line {first + 1} has the names of the columns ({', '.join(names)})")
        codes = [code for code in map(code_in_text, names) if code]
    if len(head) > 2:
        way = "" if columns else f" (--columns {target + 1},{source + 1}: the other way round)"
        how.append(
            f"of {len(head)} columns, {source + 1} is the source and {target + 1} the target{way}"
        )
    return Table(
        LazySequence(pair, rows.indices[begin:]),
        (codes[0], codes[1]) if len(codes) == 2 else None,
        "; ".join(how),
        source > target,
    )


def _are_links(rows: list[list[str]]) -> bool:
    """Whether these are pairs of ids, as of Tatoeba, and no task with numbers: ids are in order."""
    if not rows or not all(field.isdecimal() for row in rows for field in row):
        return False
    ids = [(len(row[0]), row[0]) for row in rows]
    return ids == sorted(ids)


def _is_header(
    head: list[str], body: list[list[str]], *, picked: list[int], no_text: set[int]
) -> bool:
    """Whether the first row names the columns.

    It does if it names two languages or roles, or numbers columns of text, or if it has something
    else where all other rows have a number or one code.
    """
    names = [head[i].lower() for i in picked]
    if names in ([str(i) for i in picked], [str(i + 1) for i in picked]):
        return not all(_NO_TEXT.fullmatch(row[i]) for row in body for i in picked if i < len(row))
    if {*names} == {"it", "es"}:  # Italian and Spanish above sentences, two words above words
        return any(" " in row[i] for row in body[:1] for i in picked if i < len(row))
    if all(map(_is_title, names)) and names[0] != names[1]:
        return True
    columns = {i: [row[i] for row in body if i < len(row)] for i in no_text if i < len(head)}
    return any(_names_column(head[i], below) for i, below in columns.items())


def _names_column(field: str, below: list[str]) -> bool:
    """Whether this stands above a column of numbers or of one code, and is something else."""
    if not below or field in below or _NO_TEXT.fullmatch(field):
        return False
    return all(map(_NUMBER.fullmatch, below)) or _is_one_code(below)


def _is_title(name: str) -> bool:
    words = name.lower().split()
    return code_in_text(name) is not None or (len(words) <= 3 and bool(_HEADER & {*words}))


def _is_empty(row: list[str]) -> bool:
    return all(map(is_blank, row))


def _position(file: TextFile, line: int, column: str, head: list[str]) -> int:
    """The index of a column that is given by its number or its name."""
    if column.isdecimal() and 1 <= int(column) <= len(head):
        return int(column) - 1
    names = [name.strip().lower() for name in head]
    if column.lower() not in names:
        raise file.line_error(
            line, f"expected a column {column!r}, got {len(head)} columns ({', '.join(head)[:80]})"
        )
    return names.index(column.lower())


def _without_text(rows: Sequence[list[str]]) -> set[int]:
    """The columns of a table of more than two that hold no text, but ids, scores or a code."""
    width = len(rows[0])
    fields = ([row[i] for row in rows if i < len(row)] for i in range(width))
    return {i for i, column in enumerate(fields) if width > 2 and _holds_no_text(column)}


def _holds_no_text(fields: list[str]) -> bool:
    return all(map(_NO_TEXT.fullmatch, fields)) or _is_one_code(fields)


def _is_one_code(fields: list[str]) -> bool:
    return 1 < len(fields) == fields.count(fields[0]) and bool(_LANGUAGE_CODE.fullmatch(fields[0]))


def _not_two(width: int, found: list[int]) -> str:
    """The message for a table in which not two columns hold text."""
    which = ", ".join(str(i + 1) for i in found) or "none"
    way_out = f"say which two are meant with {WAY_OUT}"
    if len(found) > 2:
        way_out += ", or quote sentences with a comma in a .csv"
    else:
        way_out = f"is the other side in a file of its own? Then give both files; else {way_out}"
    return (
        f"expected source and target, got {width} columns, of which {which} "
        f"hold{'s' * (len(found) < 2)} text: {way_out}"
    )
