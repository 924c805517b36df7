"""Tatoeba's sentences are read from the files that people have of them, in German to English."""

import gzip
import io
import zipfile

import pytest

from course_lib.data import load_corpus
from course_lib.data.everyday import tatoeba
from course_lib.errors import CourseError

# Enough that a hundredth can be held out; each sentence has two translations.
ENGLISH = [f"I have {n} {thing}." for n in range(2, 60) for thing in ("books", "dogs", "hats")]
GERMAN = [f"Ich habe {n} {ding}." for n in range(2, 60) for ding in ("Bücher", "Hunde", "Hüte")]
CREDIT = "CC-BY 2.0 (France) Attribution: tatoeba.org #1 (CK) & #2 (MUIRIEL)"
TWO = "".join(f"{en}\t{de}\n" for en, de in zip(ENGLISH, GERMAN, strict=True))
THREE = "".join(f"{en}\t{de}\t{CREDIT}\n" for en, de in zip(ENGLISH, GERMAN, strict=True))
TURNED = "".join(f"{de}\t{en}\n" for en, de in zip(ENGLISH, GERMAN, strict=True))
TURNED_THREE = "".join(f"{de}\t{en}\t{CREDIT}\n" for en, de in zip(ENGLISH, GERMAN, strict=True))
COMMAS = "".join(f'"{en}","{de}"\r\n' for en, de in zip(ENGLISH, GERMAN, strict=True))
IDS = "".join(
    f"{i}\t{en}\t{i + 9}\t{de}\n" for i, (en, de) in enumerate(zip(ENGLISH, GERMAN, strict=True))
)


def zipped(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return made.getvalue()


FORMS = {
    "deu-eng.zip": zipped(deu__txt=THREE, _about__txt="** Info **\nTab-delimited\n"),
    "deu.zip": zipped(deu__txt=TWO),
    "deu.txt": THREE.encode(),
    "old/deu.txt": TWO.encode(),
    "deu.tsv": THREE.encode(),
    "deu.txt.gz": gzip.compress(THREE.encode()),
    "deu-eng.tsv.gz": gzip.compress(TWO.encode()),
    "turned.tsv": TURNED.encode(),
    "turned.txt.gz": gzip.compress(TURNED_THREE.encode()),
    "from-excel.txt": TWO.replace("\n", "\r\n").encode("utf-8-sig"),
    "saved-in-utf-16.txt": THREE.encode("utf-16"),
    "spreadsheet.csv": COMMAS.encode("utf-8-sig"),
    "Satzpaare.tsv": IDS.encode(),
    "eng_deu.csv": ("English;German\n" + TWO.replace("\t", ";")).encode(),
}


@pytest.fixture
def folder(cache, monkeypatch, own_messages):
    monkeypatch.setattr(tatoeba, "HELD_OUT", {"test": 10, "valid": 5})
    folder = cache / "tatoeba"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_the_file_gives_the_same_splits(folder, name):
    (folder / name.split("/")[-1]).write_bytes(FORMS[name])
    corpus = load_corpus("tatoeba_de_en")
    assert (corpus.source_language, corpus.target_language) == ("German", "English")
    found = {split: [tuple(pair) for pair in corpus.pairs(split)] for split in corpus.splits}
    assert sorted(pair for pairs in found.values() for pair in pairs) == sorted(
        zip(GERMAN, ENGLISH, strict=True)
    )
    assert [len(found[split]) for split in ("test", "valid")] == [10, 5]
    (folder / name.split("/")[-1]).unlink()
    (folder / "deu.txt").write_text(THREE)
    again = load_corpus("tatoeba_de_en")
    assert found == {split: [tuple(pair) for pair in again.pairs(split)] for split in found}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Je suis là.\tIch bin da.\nTu es là.\tDu bist da.\n", "expected German and English"),
        ("Just one column.\nAnd no other.\n", "without a tab"),
        ("", "expected German and English|which is empty"),
        ("\x00\x01\x02", "expected|bytes"),
    ],
)
def test_another_file_is_refused_with_the_way_out(folder, content, expected):
    (folder / "deu.txt").write_text(content)
    with pytest.raises(CourseError, match=expected) as told:
        load_corpus("tatoeba_de_en")
    assert "deu.txt" in str(told.value)


def test_of_several_files_the_user_keeps_one(folder):
    (folder / "deu.txt").write_text(TWO)
    (folder / "deu-eng.zip").write_bytes(FORMS["deu.zip"])
    with pytest.raises(CourseError, match=r"got deu-eng.zip, deu.txt: keep one"):
        load_corpus("tatoeba_de_en")


def test_without_a_file_it_is_downloaded(folder, monkeypatch):
    monkeypatch.setattr(
        tatoeba,
        "download",
        lambda remote, path: path.write_bytes(FORMS["deu-eng.zip"]) and path,
    )
    assert len(load_corpus("tatoeba_de_en").pairs("test")) == 10
    assert [path.name for path in folder.iterdir()] == ["deu-eng.zip"]
