import json
import tracemalloc

import pytest

from course_lib.data import read_json_lines, read_tsv
from course_lib.errors import CourseError
from tests.data.test_text_files import SENTENCES


def test_of_a_csv_only_where_rows_begin_is_kept(write):
    lines = ["en;de", *(f'{i};"{"a" * 200}\n""b"""' for i in range(2000))]
    path = write("a.csv", lines)
    read_tsv(path)  # imports and caches
    tracemalloc.start()
    pairs = read_tsv(path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    text = "a" * 200 + ' "b"'
    assert held < 2 * path.stat().st_size
    assert (len(pairs), pairs[-1], pairs[0]) == (2000, ("1999", text), ("0", text))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_a_tsv_has_two_columns_and_quotation_marks_mean_nothing(write, name):
    pairs = read_tsv(write(name, ['"Ja\tYes', "\t", 'Nein"\tNo"']))
    assert list(pairs) == [('"Ja', "Yes"), ("", ""), ('Nein"', 'No"')]


@pytest.mark.parametrize(("line", "columns"), [("ein Haus", 1), ("a\tb\tc", 3)])
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
        (
            '{"de": "c", "en"',
            "expected a JSON object on each line, or one .*delimiter",
        ),
        ("[1, 2]", r"expected a JSON object, got '\[1, 2\]'"),
        ('{"translation": "c"}', "expected texts under 'de' and 'en', got translation"),
        ("{}", "expected texts under 'de' and 'en', got none"),
    ],
)
def test_a_json_line_without_the_two_texts_is_named(own_messages, write, line, message):
    pairs = read_json_lines(write("a.jsonl", ['{"de": "a", "en": "b"}', line]))
    assert pairs[0] == ("a", "b")
    with pytest.raises(CourseError, match=rf"a\.jsonl, line 2: {message}"):
        pairs[1]


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
