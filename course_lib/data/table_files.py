"""Sentence pairs of one file that has both sides: a table, as text or from a spreadsheet, or JSON.

Two columns are needed, the source and the target. Columns that hold no text, such as ids, scores
and attributions, are passed over; where others are left, ``columns`` says which two are meant.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from course_lib.data.languages import code_in_text
from course_lib.data.pairs import TextPair
from course_lib.data.text_files import LazySequence, TextFile
from course_lib.data.tokenizer import is_blank
from course_lib.errors import CourseError, shortened

Columns = Sequence[str]
"""Source and target: two numbers from 1 on, two names of a header, or two keys of JSON."""

SAMPLE = 200  # rows by which columns are told apart
DELIMITERS = "\t;,|"  # of a .csv
# Numbers (ids, scores, dates), addresses, and attributions as in the files of manythings.org.
_NO_TEXT = re.compile(r"[-+\d.,:/eE ]*|https?://\S+|CC[- ]BY\b.*")
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
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


def open_table(path: Path, columns: Columns | None = None) -> Table:
    """The pairs of a table or of JSON, whichever the file is.

    A table has tabs or ``|||`` between its columns. If it is called ``.csv``, it has commas,
    semicolons or tabs, and its fields may be quoted. JSON has an object on each line, or a list.

    Raises:
        CourseError: as in ``TextFile``; or the two columns are not to be found. For a line that has
            not the columns of the first, when that line is read.
    """
    file = TextFile(path)
    start = next((line for line in map(file.line, range(len(file))) if not is_blank(line)), "")
    if _suffixes(path) & {".json", ".jsonl", ".ndjson"} or re.match(r'\s*\[?\s*\{\s*"', start):
        return _json_table(file, columns)
    if ".csv" in _suffixes(path):
        rows = _csv_rows(file, _delimiter(file))
    elif "\t" in start and _is_quoted(file):
        rows = _csv_rows(file, "\t")
    elif "\t" in start:
        rows = LazySequence(lambda i: file.line(i).split("\t"), range(len(file)))
    elif " ||| " in start:
        rows = LazySequence(lambda i: re.split(r"\s\|\|\|\s", file.line(i)), range(len(file)))
    else:
        got = f"without a tab in its first line, {shortened(start)}" if start else "which is empty"
        raise CourseError(
            f"expected two line-aligned files or one table with both sides, got {path}, {got}: "
            "give the other side's file too, or, if it is from a spreadsheet, call it .csv"
        )
    return _table(file, rows, columns)


def read_tsv(path: Path, columns: str | Columns | None = None) -> LazySequence[TextPair]:
    """The pairs of a table; see ``open_table``. In one with tabs, quotation marks mean nothing,
    unless every field with a comma or a quotation mark is quoted, as a spreadsheet does it.
    """
    return open_table(path, parse_columns(columns)).pairs


def read_json_lines(path: Path, keys: str | Columns | None = None) -> LazySequence[TextPair]:
    """An object on each line, ``{"de": …, "en": …}`` or ``{"translation": {"de": …, "en": …}}``.

    Args:
        path: of the file; it may also hold one list of such objects.
        keys: of source and target; by default the keys of the two texts of the first object.

    Raises:
        CourseError: as in ``TextFile``; for a line without the two texts, when that line is read.
    """
    return _json_table(TextFile(path), parse_columns(keys)).pairs


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


def _suffixes(path: Path) -> set[str]:
    return {suffix.lower() for suffix in Path(path.name).suffixes}


def _table(file: TextFile, rows: LazySequence[list[str]], columns: Columns | None) -> Table:
    filled = (i for i in range(len(rows)) if not _is_empty(rows[i]))
    sample = [i for i, _ in zip(filled, range(SAMPLE), strict=False)]
    if not sample:
        return Table(LazySequence(lambda i: TextPair("", ""), range(len(rows))), None, "")
    head, *body = [[field.strip() for field in rows[i]] for i in sample]
    first = int(rows.indices[sample[0]])
    no_text = _without_text(body if len(body) > 1 else [head, *body])
    if columns:
        picked = [_position(file, first, column, head) for column in columns]
    else:
        picked = [i for i in range(len(head)) if i not in no_text]
        if body and all(field.isdecimal() for row in body for field in row):
            picked = []  # pairs of ids
    if len(picked) != 2:
        raise file.line_error(first, _not_two(len(head), picked))
    source, target = picked
    names = [head[source], head[target]]
    titled = bool(columns) and not all(column.isdecimal() for column in columns or ())
    titled = titled or _is_header(head, body, picked=picked, no_text=no_text)
    at = rows.item

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

    how = [f"line {first + 1} has the names of the columns ({', '.join(names)})"] * titled
    if len(head) > 2:
        way = "" if columns else f" (--columns {target + 1},{source + 1}: the other way round)"
        how.append(
            f"of {len(head)} columns, {source + 1} is the source and {target + 1} the target{way}"
        )
    codes = [code for name in names if titled and (code := code_in_text(name))]
    return Table(
        LazySequence(pair, rows.indices[sample[0] + titled :]),
        (codes[0], codes[1]) if len(codes) == 2 else None,
        "; ".join(how),
        source > target,
    )


def _is_header(
    head: list[str], body: list[list[str]], *, picked: list[int], no_text: set[int]
) -> bool:
    """Whether the first row names the columns.

    It does if it names two languages or roles, or numbers columns of text, or if it has something
    else where all other rows have a number, an address or one code.
    """
    names = [head[i] for i in picked]
    if names in ([str(i) for i in picked], [str(i + 1) for i in picked]):
        return not all(_NO_TEXT.fullmatch(row[i]) for row in body for i in picked if i < len(row))
    if all(map(_is_title, names)) and names[0].lower() != names[1].lower():
        return True
    beside = (head[i] for i in no_text if i < len(head) and body)
    return any(not _NO_TEXT.fullmatch(c) and not any(c in row for row in body) for c in beside)


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
    if all(map(_NO_TEXT.fullmatch, fields)):
        return True
    return 1 < len(fields) == fields.count(fields[0]) and bool(_LANGUAGE_CODE.fullmatch(fields[0]))


def _not_two(width: int, found: list[int]) -> str:
    """The message for a table in which not two columns hold text."""
    which = ", ".join(str(i + 1) for i in found) or "none"
    way_out = (
        f"say which two are meant with {WAY_OUT}, or quote sentences with a comma in a .csv"
        if len(found) > 2
        else "is the other side in a file of its own? Then give both files"
    )
    return (
        f"expected source and target, got {width} columns, of which {which} "
        f"hold{'s' * (len(found) < 2)} text: {way_out}"
    )


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


def _csv_rows(file: TextFile, delimiter: str) -> LazySequence[list[str]]:
    """The rows of a table with quoted fields, by the lines on which they begin."""
    skip = len(file) > 0 and file.line(0) == f"sep={delimiter}"
    reader = csv.reader(
        (file.line(i) + "\n" for i in range(skip, len(file))), delimiter=delimiter, strict=True
    )
    rows: dict[int, list[str]] = {}
    line = int(skip)
    try:
        for row in reader:
            rows[line] = [" ".join(field.splitlines()) for field in row]
            line = skip + reader.line_num
    except csv.Error as error:
        raise file.line_error(
            line,
            f"expected a table with quoted fields, got {error}: is a quotation mark not closed?",
        ) from None
    return LazySequence(rows.__getitem__, np.fromiter(rows, dtype=np.int64, count=len(rows)))


def _is_quoted(file: TextFile) -> bool:
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


def _json_table(file: TextFile, keys: Columns | None) -> Table:
    texts: Callable[[int], dict[str, str]] = lambda i: _line_texts(file, i)  # noqa: E731
    size = len(file)
    if file.data.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"[":
        rows = _parsed(file, "\n".join(map(file.line, range(size))), 0)
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            size = len(rows)
            texts = lambda i: _texts(file, rows[i], i, str(rows[i]))  # noqa: E731
    source, target = keys or _text_keys(file, next(filter(None, map(texts, range(size))), {}))

    def pair(i: int) -> TextPair:
        found = texts(i)
        if not found and i < len(file) and is_blank(file.line(i)):
            return TextPair("", "")
        if source not in found or target not in found:
            raise file.line_error(
                i, f"expected texts under {source!r} and {target!r}, got {', '.join(found)}"
            )
        return TextPair(found[source], found[target])

    return Table(LazySequence(pair, range(size)), (source, target), "")


def _text_keys(file: TextFile, texts: dict[str, str]) -> tuple[str, str]:
    keys = tuple(texts)
    if len(keys) != 2:
        raise file.line_error(
            0,
            f"expected an object with two texts, got {len(keys)} ({', '.join(keys)}): "
            f"keep only the source and the target of each, or name their keys with {WAY_OUT}",
        )
    return keys


def _line_texts(file: TextFile, i: int) -> dict[str, str]:
    line = file.line(i)
    return {} if is_blank(line) else _texts(file, _parsed(file, line, i), i, line)


def _parsed(file: TextFile, text: str, i: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, 10^5 brackets
        raise file.line_error(
            i, f"expected a JSON object on each line, got {text[:60]!r} ({error})"
        ) from None


def _texts(file: TextFile, row: Any, i: int, shown: str) -> dict[str, str]:
    """The texts of a JSON object, by key."""
    if isinstance(row, dict):
        row = row.get("translation", row)
    if not isinstance(row, dict):
        raise file.line_error(i, f"expected a JSON object on each line, got {shown[:60]!r}")
    texts = {key: text for key, text in row.items() if isinstance(text, str)}
    both = (text for pair in texts.items() for text in pair)
    if "\\u" in shown and any("\ud800" <= c <= "\udfff" for text in both for c in text):
        raise file.line_error(i, f"expected text, got half a character in {shown[:60]!r}")
    return texts
