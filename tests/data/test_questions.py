import csv
import io
import re
import tarfile

import pytest

from course_lib.data import download, load_corpus, questions
from course_lib.errors import CourseError

LINES = [
    ("Qu’est-ce que la lumière? Une onde.", "What is light ? A wave."),
    ("Une phrase.", "What is not a question."),
    ("Où est-il?", "Is it here?"),
    ("Il est là!", "Where is it?"),
    ("D'où venons-nous, « nous »?", 'Where did "we" come from, then?'),
]
ASKED = [
    ("Qu’est-ce que la lumière?", "What is light ?"),
    ("D'où venons-nous, « nous »?", 'Where did "we" come from, then?'),
]


def archive_of(**sides):
    """The archive, with the texts of its two files."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        folder = tarfile.TarInfo("giga-fren")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for side, text in sides.items():
            content = text if isinstance(text, bytes) else text.encode()
            info = tarfile.TarInfo(f"giga-fren/giga-fren.release2.fixed.{side}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return archive.getvalue()


def sides(lines):
    french, english = zip(*lines, strict=True)
    return {"fr": "".join(f"{x}\n" for x in french), "en": "".join(f"{x}\n" for x in english)}


@pytest.fixture
def put(cache):
    """Write a file to the folder in the cache."""

    def put(name, content):
        folder = cache / "giga-fren"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        return folder / name

    return put


def everything(corpus):
    return [pair for split in corpus.splits for pair in corpus.pairs(split)]


@pytest.mark.parametrize("order", [1, -1])
def test_questions_are_taken_from_the_archive_and_kept_as_a_table(put, order):
    texts = sides(LINES + [(f"Quoi {i}?", f"What {i}?") for i in range(18)])
    archive = put("giga-fren.tgz", archive_of(**dict(list(texts.items())[::order])))
    corpus = load_corpus("questions_fr_en")
    assert (corpus.source_language, corpus.target_language) == ("French", "English")
    assert corpus.splits == ("train", "valid", "test")
    assert [len(corpus.pairs(split)) for split in corpus.splits] == [18, 1, 1]
    assert [tuple(corpus.pairs(split)[0]) for split in ("valid", "test")] == ASKED
    archive.unlink()
    assert everything(load_corpus("questions_fr_en")) == everything(corpus)
    assert {path.name for path in archive.parent.iterdir()} == {"questions_easy.csv"}


def test_the_table_of_the_fast_ai_lesson_can_be_read(put):
    text = io.StringIO()
    rows = [(en, fr) for fr, en in ASKED] + [(f"What, {i}?", f"Quoi, {i}?") for i in range(38)]
    csv.writer(text).writerows([("en", "fr"), *rows])
    put("questions_easy.csv", b"\xef\xbb\xbf" + text.getvalue().encode())
    corpus = load_corpus("questions_fr_en")
    assert list(corpus.pairs("valid", 1)) == ASKED[:1]
    assert list(corpus.pairs("train", 1)) == [("Quoi, 0?", "What, 0?")]
    assert len(everything(corpus)) == 40


def test_long_questions_are_not_trained_on(put, capsys):
    rows = [f"quoi {'x ' * length}?,what?\n" for length in (1, 2, 3, 100)]
    put("questions_easy.csv", ("fr,en\n" + "".join(rows)).encode())
    assert len(load_corpus("questions_fr_en").pairs("train")) == 1
    assert "1 with more than 30 words on a side" in capsys.readouterr().out


def test_the_archive_is_downloaded_if_it_is_missing(cache, server, monkeypatch):
    here = download.RemoteFile((f"{server.address}/giga-fren.tgz",))
    monkeypatch.setattr(questions, "REMOTE", here)
    path = re.escape(str(cache / "giga-fren" / "giga-fren.tgz"))
    with pytest.raises(CourseError, match=f"{path} is missing and could not be downloaded from"):
        load_corpus("questions_fr_en")
    server.files["/giga-fren.tgz"] = archive_of(**sides(LINES * 2))
    assert [tuple(pair) for pair in load_corpus("questions_fr_en").pairs("valid")] == ASKED[:1]


@pytest.mark.parametrize("damage", ["a page", "a part"])
def test_a_damaged_archive_is_named(put, damage):
    content = b"<html>" if damage == "a page" else archive_of(**sides(LINES))[:150]
    archive = put("giga-fren.tgz", content)
    with pytest.raises(CourseError, match=f"at {archive}, got something else or only a part"):
        load_corpus("questions_fr_en")
    assert not archive.with_name("questions_easy.csv").exists()


@pytest.mark.parametrize(
    ("files", "got"),
    [
        ({}, "got neither: is it another"),
        ({"en": "What?\n"}, r"got 1 lines of giga-fren.release2.fixed.en: is"),
        ({"en": "What?\n", "fr": "Quoi?\nQui?\n"}, "fixed.en and 2 lines of .*fixed.fr: is"),
    ],
)
def test_sides_that_do_not_line_up_are_an_error(put, files, got):
    put("giga-fren.tgz", archive_of(**files))
    with pytest.raises(CourseError, match=f"expected as many lines of .*{got}"):
        load_corpus("questions_fr_en")


def test_bytes_that_are_not_utf_8_are_an_error(put):
    put("giga-fren.tgz", archive_of(en=b"What?\n", fr=b"O\xf9?\n"))
    with pytest.raises(CourseError, match="expected the archive of .*utf-8.*delete it"):
        load_corpus("questions_fr_en")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected the columns fr and en in .*, got an empty file"),
        (b"a,b\n1,2\n", "expected the columns fr and en in .*, got a, b"),
        (b"fr,en\nO\xf9?,Where?\n", "which cannot be read .*utf-8.*made again from giga-fren.tgz"),
    ],
)
def test_another_table_is_named(put, content, message):
    put("questions_easy.csv", content)
    with pytest.raises(CourseError, match=message):
        load_corpus("questions_fr_en")


def test_a_table_that_cannot_be_written_is_named(put, monkeypatch):
    folder = put("giga-fren.tgz", archive_of(**sides(LINES))).parent

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course_lib.atomic.os.replace", full)
    with pytest.raises(CourseError, match=r"could not write .*questions_easy.csv .*read-only"):
        load_corpus("questions_fr_en")
    assert [path.name for path in folder.iterdir()] == ["giga-fren.tgz"]
