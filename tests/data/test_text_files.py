import gzip
import json
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
    read_json_lines,
    read_lines,
    read_pairs,
    read_tsv,
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
def test_utf_16_is_named_before_its_newlines_are_counted(write, encoding):
    path = write("a.de", "\ufeff".encode(encoding) + "eins\nzwei\n".encode(encoding))
    if encoding == "utf-16":
        path.write_bytes("eins\nzwei\n".encode(encoding))
    with pytest.raises(CourseError, match=r"line 1: expected UTF-8.*probably UTF-16"):
        read_lines(path)
    unmarked = write("b.de", "eins\nzwei\n".encode("utf-16-be"))
    with pytest.raises(CourseError, match=r"line 1: expected UTF-8.*probably UTF-16"):
        read_lines(unmarked)


def test_a_gz_that_is_something_else_or_incomplete_is_named(write):
    path = write("whole.de.gz", SENTENCES)
    for content in (b"<html>", path.read_bytes()[:-12], path.read_bytes()[:40]):
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


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_a_tsv_has_two_columns_and_quotation_marks_mean_nothing(write, name):
    pairs = read_tsv(write(name, ['"Ja\tYes', "\t", 'Nein"\tNo"']))
    assert list(pairs) == [('"Ja', "Yes"), ("", ""), ('Nein"', 'No"')]


@pytest.mark.parametrize(("line", "columns"), [("", 1), ("ein Haus", 1), ("a\tb\tc", 3)])
def test_a_tsv_line_without_two_columns_is_named(own_messages, write, line, columns):
    pairs = read_tsv(write("a.tsv", ["a\tb", line]))
    with pytest.raises(CourseError, match=rf"a\.tsv, line 2: expected .* got {columns} columns"):
        list(pairs)


@pytest.mark.parametrize("nested", [False, True])
def test_json_lines_give_the_texts_of_the_first_two_keys(write, nested):
    rows = [{"zh": text, "en": text[::-1]} for text in SENTENCES]
    lines = [json.dumps({"id": 1, "translation": row} if nested else row) for row in rows]
    assert list(read_json_lines(write("a.jsonl", lines))) == [tuple(row.values()) for row in rows]


def test_with_given_json_keys_other_fields_do_not_matter(write):
    path = write("a.jsonl", ['{"id": "7", "en": "dog", "de": "Hund"}'])
    assert list(read_json_lines(path, ("de", "en"))) == [("Hund", "dog")]
    with pytest.raises(CourseError, match=r"line 1: .* got 3 \(id, en, de\): keep only the source"):
        read_json_lines(path)


def test_an_empty_json_file_has_no_keys(write):
    with pytest.raises(CourseError, match=r"expected an object with two texts, got 0"):
        read_json_lines(write("a.jsonl", b""))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"de": "c"}', "expected texts under 'de' and 'en', got de"),
        ('{"de": "c", "en": null}', "expected texts under 'de' and 'en', got de"),
        ('{"de": "c", "en"', "expected a JSON object on each line, got .*delimiter"),
        ("", "expected a JSON object on each line, got ''"),
        ("[1, 2]", r"expected a JSON object on each line, got '\[1, 2\]'"),
        ('{"translation": "c"}', "expected a JSON object on each line, got"),
    ],
)
def test_a_json_line_without_the_two_texts_is_named(own_messages, write, line, message):
    pairs = read_json_lines(write("a.jsonl", ['{"de": "a", "en": "b"}', line]))
    assert pairs[0] == ("a", "b")
    with pytest.raises(CourseError, match=rf"a\.jsonl, line 2: {message}"):
        pairs[1]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nO\xf9\n", "line 2: expected UTF-8, .* probably Windows-1252"),
        (
            "a\n".encode("utf-16"),
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
    with pytest.raises(CourseError, match="with gunzip and give the plain"):
        read_lines(bomb)
    assert sum(1 for _ in stream_lines(bomb)) == 1 << 16


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_file_that_does_not_fit_into_memory_is_to_be_taken_in_part(write, monkeypatch, name):
    def full(path):
        raise MemoryError

    monkeypatch.setattr(text_files.gzip, "open", full)
    monkeypatch.setattr(Path, "read_bytes", full)
    with pytest.raises(CourseError, match=f"{name} to fit into memory, but .*: take a part of it"):
        read_lines(write(name, ["a"]))


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"de": ' + "1" * 5000 + ', "en": "a"}',
        '{"de": "\\ud800", "en": "a"}',
        '{"de": "a\\udc00 b", "en": "a"}',
    ],
    ids=["brackets", "digits", "half a character", "the other half"],
)
def test_json_that_is_no_pair_of_texts_is_named_by_its_line(write, own_messages, line):
    path = write("a.jsonl", ['{"de": "\\ud83d\\ude00", "en": "smile"}', line])
    pairs = read_json_lines(path, ("de", "en"))
    assert pairs[0].source_text == "\N{GRINNING FACE}"
    with pytest.raises(CourseError, match=r"a.jsonl, line 2: expected .{1,400}$"):
        _ = pairs[1]
