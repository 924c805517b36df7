import bz2
import gzip
import lzma
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import (
    TextPair,
    count_lines,
    read_lines,
    read_pairs,
    stream_lines,
    text_files,
)
from course_lib.errors import CourseError

SENTENCES = [
    "Größere Füße, „süß“ gesagt: ẞ",
    "Amanhã não há pão, só maçãs.",
    "L’œuvre naïve où Noël s’arrêta.",
    "我们明天不去北京。",
    "שלום עולם مرحبا بالعالم",
    "👩‍👩‍👧‍👦 und 🇵🇹 und 👍🏽",
    "e\u0301 is not é, nor a\u0308 ä",
    "हिन्दी में क्ष",
]


@pytest.mark.parametrize("name", ["lines.txt", "lines.txt.gz"])
def test_lines_of_every_script_come_back_as_they_were(write, name):
    assert list(read_lines(write(name, SENTENCES))) == SENTENCES


def test_only_a_newline_ends_a_line(write):
    lines = [f"before{char}after" for char in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r"]
    assert list(read_lines(write("a.txt", lines))) == lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"\n\na", ["", "", "a"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\r\rb\r", ["a", "", "b"]),
        (b"a\rb", ["a", "b"]),
        (b"a\n\rb", ["a", "\rb"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        (b"\xef\xbb\xbf\nb", ["", "b"]),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_line_ends_and_byte_order_marks_belong_to_no_line(write, name, content, lines):
    path = write(name, content)
    assert list(read_lines(path)) == list(stream_lines(path)) == lines
    assert count_lines(path) == (None if name.endswith(".gz") else len(lines))


LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"))


@given(
    st.lists(LINE.filter(lambda line: not line.endswith("\r"))),
    st.integers(min_value=1, max_value=9),
)
def test_any_text_comes_back_however_the_file_is_searched(lines, block):
    whole = "".join(line + "\n" for line in lines).encode()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "BLOCK", block)
        path = Path(folder, "a.txt.gz")
        path.write_bytes(gzip.compress(whole))
        found = list(read_lines(path))
    assert found == whole.decode("utf-8-sig").split("\n")[:-1]


def test_lines_can_be_read_in_any_order_and_in_slices(write):
    lines = read_lines(write("a.txt", list("abcdef")))
    assert (len(lines), lines[4], lines[-1], lines[np.int64(0)]) == (6, "e", "f", "a")
    assert list(lines[1:5][::2]) == ["b", "d"]
    assert "c" in lines and lines.index("c") == 2
    with pytest.raises(IndexError):
        lines[6]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/fd")
def test_a_pipe_is_read_like_a_file():
    read, write = os.pipe()
    os.write(write, b"a\nb\n")
    os.close(write)
    assert list(read_lines(Path(f"/dev/fd/{read}"))) == ["a", "b"]
    os.close(read)


@pytest.mark.parametrize(
    ("text", "encoding", "likely"),
    [
        ("schön", "latin-1", r"Windows-1252 \(Latin-1\)"),
        ("“größer”", "cp1252", r"Windows-1252 \(Latin-1\)"),
        ("Привет, мир", "cp1251", "other than Latin"),
        ("我们明天不去北京", "gb18030", "other than Latin"),
    ],
)
def test_a_line_in_another_encoding_is_named(own_messages, write, text, encoding, likely):
    path = write("a.de", b"gut\n" + text.encode(encoding) + b"\ngut\n")
    lines = read_lines(path)
    assert lines[2] == "gut"
    with pytest.raises(CourseError, match=rf"a\.de, line 2: expected UTF-8.*probably .*{likely}"):
        lines[1]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read_if_it_is_marked_and_named_if_it_is_not(write, encoding):
    text = "eins\nzwei\u2028Ċ🙂\n"
    mark = "" if encoding == "utf-16" else "\ufeff"
    path = write("a.de", (mark + text).encode(encoding))
    assert list(read_lines(path)) == list(stream_lines(path)) == text.split("\n")[:-1]
    unmarked = write("b.de", text.encode("utf-16-be"))
    for read in (read_lines, stream_lines):
        with pytest.raises(CourseError, match=r"line 1: expected UTF-8.*probably UTF-16"):
            list(read(unmarked))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        CourseError, match=r"expected UTF-16 in .*a\.de.*at byte 2\d: was it cut off"
    ):
        read_lines(path)


@pytest.mark.parametrize("where", [2, 999, 100_000])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_nul_byte_is_named_by_its_line_wherever_it_stands(write, own_messages, where, name):
    path = write(name, [*["gut"] * where, "sch\0n", "gut"])
    for read in (read_lines, stream_lines):
        with pytest.raises(
            CourseError, match=rf"{name}, line {where + 1}: .* a NUL byte .* `tr -d"
        ):
            list(read(path))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_byte_order_marks_within_and_line_ends_of_old_macs_belong_to_no_line(write, name):
    joined = write(name, "\ufeffeins\n\ufeffzwei\n \ufeff\n".encode())
    assert list(read_lines(joined)) == list(stream_lines(joined)) == ["eins", "zwei", " "]
    mac = write(name, "\ufeffeins\rzwei\r".encode())
    assert list(read_lines(mac)) == list(stream_lines(mac)) == ["eins", "zwei"]
    both = write(name, "eins\rzwei\r".encode("utf-16"))
    assert list(read_lines(both)) == list(stream_lines(both)) == ["eins", "zwei"]


@pytest.mark.parametrize("text", ["BZh", "BZh9", "Rar! Wie selten."])
def test_a_text_may_begin_with_the_letters_of_an_archive(write, text):
    path = write("a.de", [text])
    assert list(read_lines(path)) == list(stream_lines(path)) == [text]


@pytest.mark.parametrize("text", ["schön\n", ""])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_what_is_compressed_is_known_by_its_bytes_and_not_by_its_name(write, pack, text):
    path = write("a.de", pack(text.encode()))
    assert list(read_lines(path)) == list(stream_lines(path)) == text.splitlines()


@pytest.mark.parametrize(
    ("start", "way_out"),
    [
        (b"PK\x03\x04\x14\0", "document .*save the table as CSV UTF-8"),
        (b"\xd0\xcf\x11\xe0\xa1", "old Excel or Word document: save"),
        (b"PAR1\x15", "Parquet table: save"),
        (b"%PDF-1.7", "copy its text"),
        (b"Rar!\x1a\x07", "a RAR archive: unpack it"),
        (b"{\\rtf1\\ansi", "save it as plain text"),
        (b"\x28\xb5\x2f\xfd", "`zstd -d`"),
        (b"a" * 257 + b"ustar", "`tar xf`"),
        (b"\n<!DOCTYPE html>", "web page: download the file itself"),
        (b"\xef\xbb\xbf<?xml version", "two line-aligned files"),
    ],
)
def test_another_kind_of_file_is_refused_with_the_way_out(write, start, way_out):
    for path in (write("a.de", start), write("b.de", gzip.compress(start))):
        for read in (read_lines, stream_lines):
            with pytest.raises(CourseError, match=f"expected text in {path}, got .*{way_out}"):
                list(read(path))


def test_a_gz_that_is_incomplete_is_named(write):
    path = write("whole.de.gz", SENTENCES)
    for content in (path.read_bytes()[:-12], path.read_bytes()[:40]):
        write("part.de", content).rename(path)
        with pytest.raises(
            CourseError, match=r"expected a .gz file at .*whole\.de\.gz.*interrupted"
        ):
            read_lines(path)


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path):
    for path in (tmp_path / "none.de", tmp_path / "none.de.gz", tmp_path):
        with pytest.raises(CourseError, match=f"expected a text file at {path}, .*path right"):
            read_lines(path)


def test_line_i_of_one_side_goes_with_line_i_of_the_other(write):
    pairs = read_pairs(write("a.de", ["eins", "", "drei"]), write("a.en.gz", ["one", "two", ""]))
    assert list(pairs) == [("eins", "one"), ("", "two"), ("drei", "")]
    assert isinstance(pairs[0], TextPair)


def test_sides_of_different_length_are_an_error_that_names_the_first_line_alone(write):
    long, short = write("a.de", ["a"] * 1201), write("a.en", ["b"] * 1199)
    with pytest.raises(CourseError, match=r"1,201 and 1,199: line 1200 of \S+a\.de is the first"):
        read_pairs(long, short)
    with pytest.raises(CourseError, match=r"1,199 and 1,201: line 1200 of \S+a\.de is the first"):
        read_pairs(short, long)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nO\xf9\n", "line 2: expected UTF-8, .* probably Windows-1252"),
        (
            "a\n".encode("utf-16-le"),
            "line 1: expected UTF-8, got bytes of another encoding, prob",
        ),
        (b"a\n" + b"x" * 50, "line 2: expected a sentence, got more than 40 bytes: is it text"),
    ],
)
def test_a_stream_names_the_line_that_is_no_text(write, monkeypatch, name, content, message):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 40)
    with pytest.raises(CourseError, match=f"{name}, {message}"):
        list(stream_lines(write(name, content)))


def test_a_stream_gives_the_lines_before_the_damage(write):
    path = write("a.txt.gz", [str(i) for i in range(100_000)])
    path.write_bytes(path.read_bytes()[:-100])
    lines = []
    with pytest.raises(CourseError, match="expected a .gz file at .*only a part of one"):
        lines.extend(stream_lines(path))
    assert lines[:3] == ["0", "1", "2"]
    with pytest.raises(CourseError, match="none.txt, which cannot be read"):
        list(stream_lines(path.with_name("none.txt")))


def test_a_pipe_is_not_read_twice_to_count_its_lines(tmp_path):
    pytest.importorskip("fcntl", reason="Windows has no such pipes")
    os.mkfifo(tmp_path / "pipe")
    assert count_lines(tmp_path / "pipe") is None


def test_a_gz_that_unpacks_to_more_than_text_can_is_refused(write, monkeypatch):
    monkeypatch.setattr(text_files, "ALWAYS_FINE", 1 << 14)
    monkeypatch.setattr(text_files, "BLOCK", 1 << 13)
    assert len(read_lines(write("fine.gz", b"a\n" * (1 << 13)))) == 1 << 13
    bomb = write("bomb.gz", b"a\n" * (1 << 16))
    with pytest.raises(CourseError, match=r"bomb.gz, got [\d,]+ bytes that unpack to [\d,]+: is"):
        read_lines(bomb)
    with pytest.raises(CourseError, match="unpack it and give the plain file"):
        read_lines(bomb)
    assert sum(1 for _ in stream_lines(bomb)) == 1 << 16


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_file_that_does_not_fit_into_memory_is_to_be_taken_in_part(write, monkeypatch, name):
    def full(path):
        raise MemoryError

    monkeypatch.setattr(text_files, "_opened", full)
    with pytest.raises(CourseError, match=f"{name} to fit into memory, but .*: take a part of it"):
        read_lines(write(name, ["a"]))
