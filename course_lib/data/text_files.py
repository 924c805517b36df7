"""Lines and pairs of text files, decoded when they are asked for.

A file is mapped into memory (a ``.gz`` is unpacked there) and only the places where its lines begin
and end are kept, so a million pairs are there in a second.
"""

from __future__ import annotations

import codecs
import gzip
import json
import mmap
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from operator import index
from pathlib import Path
from typing import SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from course_lib.data.pairs import TextPair
from course_lib.errors import CourseError

T = TypeVar("T", covariant=True)

BLOCK = 1 << 24  # bytes searched at a time: what is found is small, what is compared is not


class LazySequence(Sequence[T]):
    """``item(i)`` for each of the indices, made anew whenever it is asked for.

    A slice is a LazySequence too.
    """

    def __init__(self, item: Callable[[int], T], indices: range | NDArray[np.int64]) -> None:
        self._item = item
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, i: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> LazySequence[T]: ...
    def __getitem__(self, i: SupportsIndex | slice) -> T | LazySequence[T]:
        if isinstance(i, slice):
            return LazySequence(self._item, self._indices[i])
        return self._item(int(self._indices[index(i)]))

    def __iter__(self) -> Iterator[T]:
        return map(self._item, map(int, self._indices))


class TextFile:
    r"""The lines of a UTF-8 file, plain or ``.gz``.

    Only ``\n`` ends a line: ``str.splitlines`` would also cut at a U+2028 within a sentence, and
    from there on the two sides would no longer be each other's translations.

    Raises:
        CourseError: there is no such file, or it is a damaged ``.gz``, or UTF-16.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = _read(path)
        marked = self.data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        if marked or b"\0" in self.data[:1000]:  # no text has one, but half of UTF-16 may be that
            raise self.fault(0, _expected_utf8("UTF-16"))
        self.starts, self.ends = _line_spans(self.data)

    def __len__(self) -> int:
        return len(self.ends)

    def fault(self, i: int, message: str) -> CourseError:
        """An error that names line i, counted from 1 as editors do."""
        return CourseError(f"{self.path}, line {i + 1}: {message}")

    def line(self, i: int) -> str:
        """Line i, without its end.

        Raises:
            CourseError: a byte in it is no UTF-8.
        """
        line = self.data[self.starts[i] : self.ends[i]]
        try:
            return line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise self.fault(i, _expected_utf8(_likely_encoding(line))) from None


def _read(path: Path) -> bytes | mmap.mmap:
    try:
        if path.suffix == ".gz":
            return gzip.decompress(path.read_bytes())
        with path.open("rb") as file:
            if path.stat().st_size:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return file.read()  # empty, or a pipe: neither can be mapped
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CourseError(
            f"expected a .gz file at {path}, got something else or a part of one ({error}): "
            "was its download broken off? Delete it and fetch it again"
        ) from None
    except OSError as error:
        raise CourseError(
            f"expected a text file at {path}, which cannot be read ({error.strerror}): "
            "is the path right?"
        ) from None


def _line_spans(data: bytes | mmap.mmap) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each line starts and ends: without the byte order mark, without the newline."""
    text = np.frombuffer(data, dtype=np.uint8)
    blocks = range(0, len(text), BLOCK)
    newlines = [start + np.flatnonzero(text[start : start + BLOCK] == 10) for start in blocks]
    if data[-1:] != b"\n":
        newlines.append(np.array([len(text)] if len(text) else [], dtype=np.int64))
    ends = np.concatenate(newlines)
    starts = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
    if data[:3] == codecs.BOM_UTF8:
        starts[0] = len(codecs.BOM_UTF8)
    return starts, ends


def _expected_utf8(encoding: str) -> str:
    return (
        f"expected UTF-8, got bytes of another encoding, probably {encoding}: convert the file "
        "with `iconv -f ENCODING -t UTF-8`"
    )


def _likely_encoding(line: bytes) -> str:
    """A guess from how the bytes beyond ASCII stand: alone among Latin letters, or in rows."""
    rows = re.findall(rb"[\x80-\xff]+", line)
    if len(b"".join(rows)) > 2 * len(rows):
        return "one for a script that is not Latin (Windows-1251, GB18030, Shift-JIS …)"
    return "Windows-1252 (Latin-1)"


def read_lines(path: Path) -> LazySequence[str]:
    """The lines of a UTF-8 file, plain or ``.gz``.

    Raises:
        CourseError: as TextFile; for a byte that is no UTF-8, when its line is asked for.
    """
    file = TextFile(path)
    return LazySequence(file.line, range(len(file)))


def read_pairs(source: Path, target: Path) -> LazySequence[TextPair]:
    """Line i of one file and line i of the other.

    Raises:
        CourseError: as read_lines, or one file has more lines than the other.
    """
    sources, targets = TextFile(source), TextFile(target)
    if len(sources) != len(targets):
        longer = source if len(sources) > len(targets) else target
        raise CourseError(
            f"expected as many lines in {source} as in {target}, got {len(sources):,} and "
            f"{len(targets):,}: line {min(len(sources), len(targets)) + 1} of {longer} is the "
            "first without a partner; were blank lines dropped on one side?"
        )
    return LazySequence(lambda i: TextPair(sources.line(i), targets.line(i)), range(len(sources)))


def read_tsv(path: Path) -> LazySequence[TextPair]:
    """Source, tab, target on each line; a quotation mark is a character like any other.

    Raises:
        CourseError: as read_lines; for another number of columns, when the line is asked for.
    """
    file = TextFile(path)

    def pair(i: int) -> TextPair:
        columns = file.line(i).split("\t")
        if len(columns) != 2:
            raise file.fault(
                i, f"expected source, tab, target, got {len(columns)} columns: is it a .tsv?"
            )
        return TextPair(*columns)

    return LazySequence(pair, range(len(file)))


def read_json_lines(path: Path, keys: tuple[str, str] | None = None) -> LazySequence[TextPair]:
    """An object on each line, ``{"de": …, "en": …}`` or ``{"translation": {"de": …, "en": …}}``.

    Args:
        path: of the file, plain or ``.gz``.
        keys: of source and target. Without them, the two texts of the first line.

    Raises:
        CourseError: as read_lines; for a line without the two texts, when it is asked for.
    """
    file = TextFile(path)
    source, target = keys or _text_keys(file)

    def pair(i: int) -> TextPair:
        texts = _json_texts(file, i)
        if source not in texts or target not in texts:
            raise file.fault(
                i, f"expected texts under {source!r} and {target!r}, got {', '.join(texts)}"
            )
        return TextPair(texts[source], texts[target])

    return LazySequence(pair, range(len(file)))


def json_keys(path: Path) -> tuple[str, str]:
    """Under which keys the first line has source and target.

    Raises:
        CourseError: as read_lines, or the first line does not have exactly two texts.
    """
    return _text_keys(TextFile(path))


def _text_keys(file: TextFile) -> tuple[str, str]:
    keys = tuple(_json_texts(file, 0)) if len(file) else ()
    if len(keys) != 2:
        raise file.fault(
            0,
            f"expected an object with two texts, got {len(keys)} ({', '.join(keys)}): "
            "say which keys are source and target",
        )
    return keys


def _json_texts(file: TextFile, i: int) -> dict[str, str]:
    """The texts of the object on line i, by key."""
    line = file.line(i)
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise file.fault(i, f"expected a JSON object, got {line[:60]!r}: {error}") from None
    if isinstance(row, dict):
        row = row.get("translation", row)
    if not isinstance(row, dict):
        raise file.fault(i, f"expected a JSON object, got {line[:60]!r}")
    return {key: text for key, text in row.items() if isinstance(text, str)}
