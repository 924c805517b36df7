"""Sentence pairs of JSON: an object on each line, or one list of objects."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from course_lib.data.pairs import TextPair
from course_lib.data.table_files import WAY_OUT, Columns, Table, parse_columns
from course_lib.data.text_files import BEGINNING, LazySequence, TextFile
from course_lib.data.tokenizer import is_blank
from course_lib.errors import CourseError, shortened

_BEFORE = b"\xef\xbb\xbf \r\n\t"  # a byte order mark and white space


def is_json(file: TextFile) -> bool:
    """Whether a file holds JSON, by its name or its first characters."""
    start = file.data[:BEGINNING].lstrip(_BEFORE)
    named = not file.suffixes.isdisjoint({".json", ".jsonl", ".ndjson"})
    return named or re.match(rb'\[?\s*\{\s*"', start) is not None


def read_json_lines(path: Path, keys: str | Columns | None = None) -> LazySequence[TextPair]:
    """An object on each line, ``{"de": …, "en": …}`` or ``{"translation": {"de": …, "en": …}}``.

    Args:
        path: of the file; it may also hold one list of such objects.
        keys: of source and target; by default the keys of the two texts of the first object.

    Raises:
        CourseError: as in ``TextFile``; for a line without the two texts, when that line is read.
    """
    return open_json(TextFile(path), parse_columns(keys)).pairs


def open_json(file: TextFile, keys: Columns | None) -> Table:
    """The pairs of a file, as described in ``read_json_lines``."""
    size, listed = len(file), file.data[:BEGINNING].lstrip(_BEFORE).startswith(b"[")
    what = "object" if listed else "line"
    if listed:
        rows = _parsed(file, "\n".join(map(file.line, range(size))), 0)
        size = len(rows)

    def is_empty(i: int) -> bool:
        return not listed and is_blank(file.line(i))

    def error(i: int, message: str) -> CourseError:
        return file.line_error(i, message, what=what)

    def texts(i: int) -> dict[str, str]:
        row = rows[i] if listed else _parsed(file, file.line(i), i)
        if not isinstance(row, dict):
            got = type(row).__name__ if listed else shortened(file.line(i))
            raise error(i, f"expected a JSON object, got {got}")
        nested = row.get("translation")
        fields = nested if isinstance(nested, dict) else row
        found = {key: text for key, text in fields.items() if isinstance(text, str)}
        try:
            "".join([*found, *found.values()]).encode()
        except UnicodeEncodeError:
            got = shortened(json.dumps(found))
            raise error(i, f"expected text, got half a character in {got}") from None
        return found

    first = next((i for i in range(size) if not is_empty(i)), 0)
    both = tuple(keys or (texts(first) if size else ()))
    if len(both) != 2:
        raise error(
            first,
            f"expected an object with two texts, got {len(both)} ({', '.join(both)}): "
            f"keep only the source and the target of each, or name their keys with {WAY_OUT}",
        )
    source, target = both

    def pair(i: int) -> TextPair:
        if is_empty(i):
            return TextPair("", "")
        found = texts(i)
        if source not in found or target not in found:
            raise error(
                i,
                f"expected texts under {source!r} and {target!r}, got {', '.join(found) or 'none'}",
            )
        return TextPair(found[source], found[target])

    return Table(LazySequence(pair, range(size), what=what), (source, target), "")


def _parsed(file: TextFile, text: str, i: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, 10^5 brackets
        raise file.line_error(
            i,
            "expected a JSON object on each line, or one list of them, got "
            f"{text[:60]!r} ({error})",
        ) from None
