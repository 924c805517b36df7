import os
import zipfile
from pathlib import Path

import pytest

from course_lib.data import file_corpus
from course_lib.data.file_corpus import file_languages
from course_lib.errors import CourseError


@pytest.fixture
def files(write):
    """Line-aligned German and English files."""

    def files(split, *sources, suffix=""):
        return [
            write(f"{split}.de{suffix}", list(sources)),
            write(f"{split}.en{suffix}", [source.upper() for source in sources]),
        ]

    return files


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_become_splits_with_names_and_languages(files, suffix):
    corpus = file_corpus(
        files("train", "ja", "öl", suffix=suffix),
        files("valid", "oh", suffix=suffix),
        test=files("test", "nu", suffix=suffix),
    )
    assert (corpus.name, corpus.splits) == ("train", ("train", "valid", "test"))
    assert (corpus.source_language, corpus.target_language) == ("German", "English")
    assert list(corpus.pairs("train", 10, seed=3)) == [("ja", "JA"), ("öl", "ÖL")]
    assert corpus.pairs("test")[0].source == ("nu",)


def test_held_out_sources_are_removed_from_train(files):
    messages = []
    corpus = file_corpus(
        tuple(map(str, files("train", "a", "b", "c", "d"))),
        files("valid", "b"),
        test=files("test", "c"),
        held_out={"test_2017": files("test_2017", "d")},
        name="mine",
        tell=messages.append,
    )
    assert list(corpus.pairs("train")) == [("a", "A")]
    assert messages == [
        "mine, train: kept 1 of 4 pairs: 1 also in valid (first: line 2), "
        "1 also in test (first: line 3), 1 also in test_2017 (first: line 4)"
    ]


def test_valid_and_test_may_be_missing(files):
    assert file_corpus(files("train", "a")).splits == ("train",)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("train.de-en.tsv", "Hund\tdog"),
        ("train.de-en.tsv.gz", "Hund\tdog"),
        ("train.jsonl", '{"de": "Hund", "en": "dog"}'),
        ("train.json.gz", '{"translation": {"de": "Hund", "en": "dog"}}'),
    ],
)
def test_one_file_may_hold_both_sides(write, name, line):
    path = write(name, [line])
    for paths in (path, str(path), [path]):
        corpus = file_corpus(paths)
        assert list(corpus.pairs("train")) == [("Hund", "dog")]
        assert (corpus.source_language, corpus.target_language) == ("German", "English")


@pytest.mark.parametrize(
    ("paths", "languages"),
    [
        (["a/train.tok.de.gz", "a/train.tok.en.gz"], ("de", "en")),
        (["de.train", "en.train"], ("de", "en")),
        (["train.src", "train.en"], None),
        (["train.de", "train.tgt"], None),
        ("train.tsv", None),
        ("train.foo-bar.tsv", None),
        ("train.zh-en.tsv.gz", ("zh", "en")),
    ],
)
def test_languages_are_known_if_the_names_show_both(paths, languages):
    assert file_languages(paths) == languages


def test_files_whose_names_show_no_language_have_a_source_and_a_target(write):
    pair = write("a.src", ["x"]), write("a.tgt", ["y"])
    corpus = file_corpus(pair, languages=("fr", "pt"))
    assert (corpus.source_language, corpus.target_language) == ("French", "Portuguese")
    corpus = file_corpus(pair, pair)
    assert (corpus.source_language, corpus.target_language) == ("source", "target")


def test_a_split_with_its_sides_swapped_is_an_error(files):
    train, valid = files("train", "a"), files("valid", "b")[::-1]
    message = "expected German to English in valid as in train, got English to German.*swapped"
    with pytest.raises(CourseError, match=message):
        file_corpus(train, valid)
    assert file_corpus(train, valid, languages=("de", "en")).splits == ("train", "valid")


def test_columns_are_of_the_files_with_both_sides(files, write):
    table = write("train.tsv", ["1\tYES\tja", "2\tOIL\töl"])
    corpus = file_corpus(table, files("valid", "oh"), columns="3,2", tell=lambda text: None)
    assert list(corpus.pairs("train")) == [("ja", "YES"), ("öl", "OIL")]
    assert list(corpus.pairs("valid")) == [("oh", "OH")]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names open files on Linux alone")
def test_a_zip_is_closed_once_it_is_read(tmp_path, own_messages):
    path = tmp_path / "de-en.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.de", "ja\n")
        archive.writestr("a.en", "yes\n")
    corpus = file_corpus(path, tell=lambda text: None)
    descriptors = [file for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    still_open = [os.readlink(file) for file in descriptors]
    assert str(path) not in still_open
    assert list(corpus.pairs("train")) == [("ja", "yes")]


@pytest.mark.parametrize(("paths", "got"), [([], "none"), (["a", "b", "c"], "a, b, c")])
def test_another_number_or_kind_of_files_is_an_error(paths, got):
    message = f"expected two line-aligned files or one with both sides, got {got}: unpack or name"
    with pytest.raises(CourseError, match=message):
        file_corpus([Path(path) for path in paths])


def test_blank_lines_dropped_on_one_side_are_found_before_training(write):
    source = write("train.de", ["eins", "", "drei"])
    with pytest.raises(CourseError, match="got 3 and 2: line 3 of .*blank lines dropped"):
        file_corpus([source, write("train.en", ["one", "three"])])
