"""The lines of text files, and pairs of line-aligned files, decoded lazily.

A file is read once and kept as bytes, with only the offsets of its lines, so a million pairs are
ready in a second. It is not memory-mapped: a file that somebody shortens meanwhile would then end
the process without a word. ``stream_lines`` needs memory for one line only.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase, BytesIO
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from course_lib.data.pairs import TextPair
from course_lib.errors import CourseError

T = TypeVar("T", covariant=True)

STANDARD_INPUT = Path("-")
BLOCK = 1 << 24  # bytes searched for newlines at a time, to limit the memory for it
LONGEST_LINE = 1 << 24  # bytes of a line that is read from a stream
BEGINNING = 1000  # bytes by which a file's kind is known
# A compressed file may unpack to this many times its size, which is more than ten times as much as
# sentences do, or to so many bytes whatever its size.
MOST_TIMES, ALWAYS_FINE = 100, 1 << 26

# How compressed files begin, whatever their names, and what opens them. (BZh may begin a text.)
OPENERS: dict[bytes, Callable[..., Any]] = {
    rb"\x1f\x8b": gzip.open,
    rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)": bz2.open,
    rb"\xfd7zXZ": lzma.open,
}

# What stands in archives beside the sentences.
BESIDES = re.compile(
    r"/$|(?:^|/)(?:[._]|README|LICENSE)|__MACOSX|\.(?:xml|ids|html?|pdf|md)$", re.I
)

_TABLE = "save the table as CSV UTF-8 or as tab-separated text"
NO_TEXT = {  # by its first bytes, what a file is if it is no text, and the way out
    b"PK\x03\x04": "a .zip archive or a document (.xlsx, .ods, .docx): unpack the archive, or "
    + _TABLE,
    b"\xd0\xcf\x11\xe0": f"an old Excel or Word document: {_TABLE}",
    b"PAR1": f"a Parquet table: {_TABLE}",
    b"SQLite format": f"an SQLite database: {_TABLE}",
    b"%PDF": "a PDF: copy its text into a text file, one sentence per line",
    b"{\\rtf": "an RTF document: save it as plain text, UTF-8",
    b"(\xb5/\xfd": "a Zstandard file: unpack it with `zstd -d`",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"Rar!\x1a": "a RAR archive: unpack it",
    b"ustar": "a tar archive: unpack it with `tar xf`",
    b"<!doctype": "a web page: download the file itself",
    b"<html": "a web page: download the file itself",
    b"<?xml": "XML, such as TMX: save its sentences as two line-aligned files (OPUS calls that "
    "Moses) or as a table",
    b"<tmx": "TMX: save its sentences as two line-aligned files (OPUS calls that Moses)",
    b"<srcset": "SGML of a shared task: keep the lines between <seg> and </seg>",
    b"<refset": "SGML of a shared task: keep the lines between <seg> and </seg>",
}


class LazySequence(Sequence[T]):
    """``item(i)`` for each of the indices, computed anew at every access.

    A slice is a LazySequence too. Of what a file holds, the indices are the numbers of its lines,
    or of ``what`` else is counted in it.
    """

    def __init__(
        self,
        item: Callable[[int], T],
        indices: range | NDArray[np.int64],
        *,
        what: str = "line",
    ) -> None:
        self.item, self.indices, self.what = item, indices, what

    def __len__(self) -> int:
        return len(self.indices)

    @overload
    def __getitem__(self, i: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> LazySequence[T]: ...
    def __getitem__(self, i: SupportsIndex | slice) -> T | LazySequence[T]:
        if isinstance(i, slice):
            return LazySequence(self.item, self.indices[i], what=self.what)
        return self.item(int(self.indices[index(i)]))

    def __iter__(self) -> Iterator[T]:
        return map(self.item, map(int, self.indices))


class TextFile:
    r"""The lines of a text file, UTF-8 or marked as UTF-16, plain or compressed (gzip, bzip2, xz).

    Only ``\n`` ends a line: ``str.splitlines`` would also split at a U+2028 within a sentence, and
    from there on the two files would no longer be line-aligned. (In a file without any, ``\r``
    does, as on old Macs.)

    Raises:
        CourseError: the file does not exist, is damaged, or is no text.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(str(path))  # of a file in a .zip its name, so that the archive is closed
        self.data = _read(path)
        if (i := self.data.find(b"\0")) >= 0:
            raise self.line_error(self.data.count(b"\n", 0, i), _no_text(self.data[:BEGINNING]))
        if b"\n" not in self.data:
            self.data = self.data.replace(b"\r", b"\n")
        self.starts, self.ends = _line_spans(self.data)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def suffixes(self) -> set[str]:
        """``{".csv", ".gz"}`` of a.csv.GZ."""
        return {suffix.lower() for suffix in self.path.suffixes}

    def line_error(self, i: int, message: str, *, what: str = "line") -> CourseError:
        """An error that names line i, or ``what`` else is counted, from 1 on as editors do."""
        return _line_error(self.path, i, message, what=what)

    def line(self, i: int) -> str:
        """Line i, without its newline.

        Raises:
            CourseError: the line is not UTF-8.
        """
        return _decoded(self.data[self.starts[i] : self.ends[i]], self.path, i)


def _line_error(path: Path, i: int, message: str, *, what: str = "line") -> CourseError:
    return CourseError(f"{path}, {what} {i + 1}: {message}")


def _decoded(line: bytes | bytearray, path: Path, i: int) -> str:
    """Line i of a file, of which its newline has been taken away.

    Files that were joined have byte order marks within, which stand for nothing there.
    """
    try:
        return line.decode().removesuffix("\r").replace("\ufeff", "")
    except UnicodeDecodeError:
        raise _line_error(path, i, _expected_utf8(_likely_encoding(line))) from None


def _no_text(start: bytes | bytearray) -> str:
    """What to do about a NUL byte, which no text has, in a file that begins like this."""
    if start.count(b"\0") > len(start) / 5:
        return _expected_utf8("UTF-16")
    return (
        "expected text, got a NUL byte (\\0): is the file damaged, or no text at all? If it is "
        "text, take them out with `tr -d '\\000' < FILE > NEW`"
    )


def _is_utf16(start: bytes | bytearray) -> bool:
    return start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _from_utf16(data: bytes | bytearray, path: Path) -> bytes:
    """The same text as UTF-8."""
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise CourseError(
            f"expected UTF-16 in {path}, as its first two bytes say, got {error.reason} at byte "
            f"{error.start:,}: was it cut off? Save it as UTF-8"
        ) from None


def _refuse(path: Path, start: bytes) -> None:
    """Refuse a file that begins as another kind than text does, and name the way out."""
    small = start.lower().lstrip(b"\xef\xbb\xbf \r\n\t")
    kinds = (kind for kind in NO_TEXT if start.startswith(kind) or small.startswith(kind))
    kind = next(kinds, b"ustar" if start[257:262] == b"ustar" else None)
    if kind:
        raise CourseError(f"expected text in {path}, got {NO_TEXT[kind]}")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BufferedIOBase, BufferedIOBase]]:
    """The file as it is, and its text as bytes: unpacked if it is compressed, whatever its name.

    Raises:
        CourseError: it cannot be read, is damaged, or is no text.
    """
    with _explained(path), path.open("rb") as packed:
        start = packed.peek(BEGINNING)[:BEGINNING]
        opener = next((OPENERS[magic] for magic in OPENERS if re.match(magic, start)), None)
        if opener is None:
            _refuse(path, start)
            yield packed, packed
            return
        with opener(packed) as file:
            _refuse(path, file.peek(BEGINNING)[:BEGINNING])
            yield packed, file


def _read(path: Path) -> bytes | bytearray:
    try:
        with _opened(path) as (packed, file):
            data = file.read() if file is packed else _unpack(path, packed, file)
        return _from_utf16(data, path) if _is_utf16(data) else data
    except MemoryError:
        raise CourseError(
            f"expected {path} to fit into memory, but it does not: take a part of it, such as its "
            "first million lines"
        ) from None


def _unpack(path: Path, packed: BufferedIOBase, file: BufferedIOBase) -> bytearray:
    """What a compressed file holds, if that can be text: zeros may unpack to gigabytes."""
    data = bytearray()
    while block := file.read(BLOCK):
        data += block
        if len(data) > max(ALWAYS_FINE, MOST_TIMES * packed.tell()):
            raise _too_large(path, packed.tell(), len(data))
    return data


def _too_large(path: Path, packed: int, unpacked: int) -> CourseError:
    return CourseError(
        f"expected text in {path}, got {packed:,} bytes that unpack to {unpacked:,}: is it text? "
        "If so, unpack it and give the plain file"
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of reading the file into a CourseError that says what to do."""
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        if reason := getattr(error, "strerror", None):  # of the system, not of what unpacks
            raise CourseError(
                f"expected a text file at {path}, which cannot be read ({reason}): is the path "
                "right?"
            ) from None
        raise CourseError(
            f"expected a {path.suffix} file at {path}, got something else or only a part of one "
            f"({error}): was the download interrupted? Delete the file and download it again"
        ) from None
    except (NotImplementedError, RuntimeError) as error:  # of a zip: its password, or its method
        raise CourseError(
            f"expected a file to unpack at {path}, got one that cannot be ({error}): unpack it "
            "yourself and give the plain file"
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
        "with `iconv -f ENCODING -t UTF-8`, or save it as UTF-8 (in a spreadsheet, as CSV UTF-8)"
    )


def _likely_encoding(line: bytes | bytearray) -> str:
    """A guess: bytes beyond ASCII stand alone among Latin letters, but in runs in other scripts."""
    runs = re.findall(rb"[\x80-\xff]+", line)
    if len(b"".join(runs)) > 2 * len(runs):
        return "one for a script other than Latin (Windows-1251, GB18030, Shift-JIS …)"
    return "Windows-1252 (Latin-1)"


def members(path: Path) -> list[Path]:
    """The files of sentences in a ``.zip``, by name; of any other file, the file alone.

    Left out is what goes with them: folders, README, LICENSE, ``_about.txt``, ``.xml``, ``.ids`` …

    Raises:
        CourseError: it is no ``.zip``, or it unpacks to more than text can.
    """
    if path.suffix.lower() != ".zip":
        return [path]
    with _explained(path), zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if not BESIDES.search(info.filename)]
    if not infos:
        raise CourseError(f"expected sentences in {path}, got none: if it is a document, {_TABLE}")
    for info in infos:
        if info.file_size > max(ALWAYS_FINE, MOST_TIMES * info.compress_size):
            raise _too_large(path, info.compress_size, info.file_size)
    # It has what is used here of a path: name, suffix, suffixes, open.
    return [cast(Path, zipfile.Path(path, name)) for name in sorted(i.filename for i in infos)]


def read_lines(path: Path) -> LazySequence[str]:
    """The lines of a text file; see ``TextFile``.

    Raises:
        CourseError: as in TextFile; for a line that is not UTF-8, when that line is read.
    """
    file = TextFile(path)
    return LazySequence(file.line, range(len(file)))


def stream_lines(path: Path) -> Iterator[str]:
    r"""The lines of ``read_lines`` one after the other, with memory for one line.

    Of UTF-16 it takes the memory for all of them, and so of a file in which ``\r`` ends the lines,
    up to ``LONGEST_LINE`` bytes; a larger one is refused.

    Args:
        path: of the file; ``-`` is standard input.

    Raises:
        CourseError: as in ``read_lines``, but only where the damage is reached; or a line is longer
            than any text.
    """
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise CourseError("expected text from standard input, but it is closed: use a pipe")
        yield from _stream(cast(BufferedIOBase, sys.stdin.buffer), Path("standard input"))
        return
    with _opened(path) as (_, file):
        yield from _stream(file, path)


def _stream(file: BufferedIOBase, path: Path) -> Iterator[str]:
    i = 0
    while line := file.readline(LONGEST_LINE):
        if i == 0 and _is_utf16(line):
            file = BytesIO(_from_utf16(line + file.read(), path))
            line = file.readline(LONGEST_LINE)
        if i == 0 and b"\n" not in line and len(line) < LONGEST_LINE:  # the line is the whole file
            file = BytesIO(line.replace(b"\r", b"\n"))
            line = file.readline()
        if b"\0" in line:
            raise _line_error(path, i, _no_text(line[:BEGINNING]))
        if len(line) == LONGEST_LINE:
            raise _line_error(
                path, i, f"expected a sentence, got more than {LONGEST_LINE:,} bytes: is it text?"
            )
        yield _decoded(line.removesuffix(b"\n"), path, i)
        i += 1


def count_lines(path: Path) -> int | None:
    """How many lines a plain file has; None for what would have to be unpacked or read twice."""
    if path.suffix in (".gz", ".bz2", ".xz") or not path.is_file():
        return None
    with _explained(path), path.open("rb") as file:
        last, ends = b"", {b"\n": 0, b"\r": 0}
        while block := file.read(BLOCK):
            last = block[-1:]
            ends = {end: count + block.count(end) for end, count in ends.items()}
    end = b"\n" if ends[b"\n"] else b"\r"
    return ends[end] + (last not in (b"", end))


def read_pairs(source: Path, target: Path) -> LazySequence[TextPair]:
    """Line i of one file and line i of the other.

    Raises:
        CourseError: as in read_lines, one file has more lines than the other, or they hold tables.
    """
    sources, targets = TextFile(source), TextFile(target)
    for file in (sources, targets):
        first = [file.line(i) for i in range(min(20, len(file)))]
        tables = sum(bool(re.match(r"[^\t]+\t[^\t]|\s*\{\s*\"", line)) for line in first)
        if tables * 2 > len(first):
            raise file.line_error(
                0,
                "expected a sentence on each line, got a table or JSON: if this file has both "
                "sides, give it alone",
            )
    if len(sources) != len(targets):
        longer = source if len(sources) > len(targets) else target
        raise CourseError(
            f"expected as many lines in {source} as in {target}, got {len(sources):,} and "
            f"{len(targets):,}: line {min(len(sources), len(targets)) + 1} of {longer} is the "
            "first without a partner; were blank lines dropped on one side?"
        )
    return LazySequence(lambda i: TextPair(sources.line(i), targets.line(i)), range(len(sources)))
