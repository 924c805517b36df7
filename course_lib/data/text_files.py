"""Lines and sentence pairs of text files, decoded lazily.

A file is read once and kept as bytes, with only the offsets of its lines, so a million pairs are
ready in a second. It is not memory-mapped: a file that somebody shortens meanwhile would then end
the process without a word. ``stream_lines`` needs memory for one line only.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import index
from pathlib import Path
from typing import SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from course_lib.data.pairs import TextPair
from course_lib.errors import CourseError

T = TypeVar("T", covariant=True)

STANDARD_INPUT = Path("-")
BLOCK = 1 << 24  # bytes searched for newlines at a time, to limit the memory for it
LONGEST_LINE = 1 << 24  # bytes of a line that is read from a stream
# A .gz may unpack to this many times its size, which is more than ten times as much as sentences
# do, or to so many bytes whatever its size.
MOST_TIMES, ALWAYS_FINE = 100, 1 << 26


class LazySequence(Sequence[T]):
    """``item(i)`` for each of the indices, computed anew at every access.

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

    Only ``\n`` ends a line: ``str.splitlines`` would also split at a U+2028 within a sentence, and
    from there on the two files would no longer be line-aligned.

    Raises:
        CourseError: the file does not exist, is a damaged ``.gz``, or is UTF-16.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = _read(path)
        if _is_utf16(self.data[:1000]):
            raise self.line_error(0, _expected_utf8("UTF-16"))
        self.starts, self.ends = _line_spans(self.data)

    def __len__(self) -> int:
        return len(self.ends)

    def line_error(self, i: int, message: str) -> CourseError:
        """An error that names line i, counting from 1 as editors do."""
        return _line_error(self.path, i, message)

    def line(self, i: int) -> str:
        """Line i, without its newline.

        Raises:
            CourseError: the line is not UTF-8.
        """
        return _decoded(self.data[self.starts[i] : self.ends[i]], self.path, i)


def _line_error(path: Path, i: int, message: str) -> CourseError:
    return CourseError(f"{path}, line {i + 1}: {message}")


def _decoded(line: bytes | bytearray, path: Path, i: int) -> str:
    """Line i of a file, of which its newline has been taken away."""
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise _line_error(path, i, _expected_utf8(_likely_encoding(line))) from None


def _is_utf16(start: bytes | bytearray) -> bool:
    """UTF-8 text has no zero bytes, UTF-16 does."""
    return start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in start


def _read(path: Path) -> bytes | bytearray:
    try:
        with _explained(path):
            return _unpack(path) if path.suffix == ".gz" else path.read_bytes()
    except MemoryError:
        raise CourseError(
            f"expected {path} to fit into memory, but it does not: take a part of it, such as its "
            "first million lines"
        ) from None


def _unpack(path: Path) -> bytearray:
    """What a ``.gz`` holds, if that can be text: a few MB of zeros may unpack to gigabytes."""
    data = bytearray()
    with path.open("rb") as packed, gzip.open(packed) as file:
        while block := file.read(BLOCK):
            data += block
            if len(data) > max(ALWAYS_FINE, MOST_TIMES * packed.tell()):
                raise CourseError(
                    f"expected text in {path}, got {packed.tell():,} bytes that unpack to "
                    f"{len(data):,}: is it text? If so, unpack it with gunzip and give the plain "
                    "file"
                )
    return data


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of reading the file into a CourseError that says what to do."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CourseError(
            f"expected a .gz file at {path}, got something else or only a part of one ({error}): "
            "was the download interrupted? Delete the file and download it again"
        ) from None
    except OSError as error:
        raise CourseError(
            f"expected a text file at {path}, which cannot be read ({error.strerror}): "
            "is the path right?"
        ) from None


def _line_spans(data: bytes | bytearray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets of the start and end of each line, without byte order mark and newline."""
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


def _likely_encoding(line: bytes | bytearray) -> str:
    """A guess: bytes beyond ASCII stand alone among Latin letters, but in runs in other scripts."""
    runs = re.findall(rb"[\x80-\xff]+", line)
    if len(b"".join(runs)) > 2 * len(runs):
        return "one for a script other than Latin (Windows-1251, GB18030, Shift-JIS …)"
    return "Windows-1252 (Latin-1)"


def read_lines(path: Path) -> LazySequence[str]:
    """The lines of a UTF-8 file, plain or ``.gz``.

    Raises:
        CourseError: as in TextFile; for a line that is not UTF-8, when that line is read.
    """
    file = TextFile(path)
    return LazySequence(file.line, range(len(file)))


def stream_lines(path: Path) -> Iterator[str]:
    """The lines of ``read_lines`` one after the other, with memory for one line.

    Args:
        path: of a UTF-8 file, plain or ``.gz``; ``-`` is standard input.

    Raises:
        CourseError: as in ``read_lines``, but only where the damage is reached; or a line is longer
            than any text.
    """
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise CourseError("expected text from standard input, but it is closed: use a pipe")
        yield from _stream(sys.stdin.buffer.readline, Path("standard input"))
        return
    with _explained(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from _stream(file.readline, path)


def _stream(readline: Callable[[int], bytes], path: Path) -> Iterator[str]:
    i = 0
    while line := readline(LONGEST_LINE):
        if i == 0:
            if _is_utf16(line[:1000]):
                raise _line_error(path, 0, _expected_utf8("UTF-16"))
            line = line.removeprefix(codecs.BOM_UTF8)
        if len(line) == LONGEST_LINE:
            raise _line_error(
                path, i, f"expected a sentence, got more than {LONGEST_LINE:,} bytes: is it text?"
            )
        yield _decoded(line.removesuffix(b"\n"), path, i)
        i += 1


def count_lines(path: Path) -> int | None:
    """How many lines a plain file has; None for what would have to be unpacked or read twice."""
    if path.suffix == ".gz" or not path.is_file():
        return None
    with _explained(path), path.open("rb") as file:
        last, count = b"", 0
        while block := file.read(BLOCK):
            last, count = block[-1:], count + block.count(b"\n")
    return count + (last not in (b"", b"\n"))


def read_pairs(source: Path, target: Path) -> LazySequence[TextPair]:
    """Line i of one file and line i of the other.

    Raises:
        CourseError: as in read_lines, or one file has more lines than the other.
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
    """Source, tab, target on each line; quotation marks have no special meaning.

    Raises:
        CourseError: as in read_lines; for a line without two columns, when that line is read.
    """
    file = TextFile(path)

    def pair(i: int) -> TextPair:
        columns = file.line(i).split("\t")
        if len(columns) != 2:
            raise file.line_error(
                i, f"expected source, tab, target, got {len(columns)} columns: is it a .tsv?"
            )
        return TextPair(*columns)

    return LazySequence(pair, range(len(file)))


def read_json_lines(path: Path, keys: tuple[str, str] | None = None) -> LazySequence[TextPair]:
    """An object on each line, ``{"de": …, "en": …}`` or ``{"translation": {"de": …, "en": …}}``.

    Args:
        path: of the file, plain or ``.gz``.
        keys: of source and target; by default the keys of the two texts on the first line.

    Raises:
        CourseError: as in read_lines; for a line without the two texts, when that line is read.
    """
    file = TextFile(path)
    source, target = keys or _text_keys(file)

    def pair(i: int) -> TextPair:
        texts = _json_texts(file, i)
        if source not in texts or target not in texts:
            raise file.line_error(
                i, f"expected texts under {source!r} and {target!r}, got {', '.join(texts)}"
            )
        return TextPair(texts[source], texts[target])

    return LazySequence(pair, range(len(file)))


def json_keys(path: Path) -> tuple[str, str]:
    """The keys of source and target on the first line.

    Raises:
        CourseError: as in read_lines, or the first line does not have exactly two texts.
    """
    return _text_keys(TextFile(path))


def _text_keys(file: TextFile) -> tuple[str, str]:
    keys = tuple(_json_texts(file, 0)) if len(file) else ()
    if len(keys) != 2:
        raise file.line_error(
            0,
            f"expected an object with two texts, got {len(keys)} ({', '.join(keys)}): "
            "keep only the source and the target of each, or name their keys to read_json_lines",
        )
    return keys


def _json_texts(file: TextFile, i: int) -> dict[str, str]:
    """The texts of the object on line i, by key."""
    line = file.line(i)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, 10^5 brackets
        raise file.line_error(
            i, f"expected a JSON object on each line, got {line[:60]!r} ({error})"
        ) from None
    if isinstance(row, dict):
        row = row.get("translation", row)
    if not isinstance(row, dict):
        raise file.line_error(i, f"expected a JSON object on each line, got {line[:60]!r}")
    texts = {key: text for key, text in row.items() if isinstance(text, str)}
    if "\\u" in line and any("\ud800" <= c <= "\udfff" for text in texts.values() for c in text):
        raise file.line_error(i, f"expected text, got half a character in {line[:60]!r}")
    return texts
