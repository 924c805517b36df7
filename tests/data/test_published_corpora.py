import errno
import gzip
import hashlib
import io
import re
import tarfile
from dataclasses import replace

import pytest

from course_lib.data import corpus_registry, download, load_corpus, published_corpora, questions
from course_lib.errors import CourseError


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0)


def archive_of(files, root="datasets"):
    """A .tar.gz of texts by path; a text that begins with -> is a link."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"{root}/{name}")
            if text.startswith("->"):
                info.type, info.linkname = tarfile.SYMTYPE, text.removeprefix("->")
            info.size = 0 if info.issym() else len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return archive.getvalue()


def ted_files(source="pt", train="pt", target="en"):
    return {
        f"{source}_to_{target}/{name}": text
        for name, text in {
            f"{train}.train": "não\nsim\nolá\n",
            f"{target}.train": "no\nyes\nhello\n",
            f"{train.split('-')[0]}.dev": "pão\n",
            f"{target}.dev": "bread\n",
            f"{train.split('-')[0]}.test": "maçã\n",
            f"{target}.test": "apple\n",
            f"{train}.train.r0.5": "unused\n",
        }.items()
    }


def put_archive(cache, content):
    (cache / "ted").mkdir(parents=True)
    (cache / "ted" / published_corpora.TED_ARCHIVE).write_bytes(content)


def test_there_are_fourteen_ted_pairs():
    names = [name for name in corpus_registry.PUBLISHED_CORPORA if name.startswith("ted_")]
    assert len(names) == len(set(published_corpora.TED_PAIRS)) == 14
    assert {"ted_pt_en", "ted_az_tr_en", "ted_he_pt"} < set(names)


@pytest.mark.parametrize("root", ["datasets", "./datasets"])
def test_a_ted_pair_is_unpacked_from_an_archive_in_the_cache(cache, root):
    put_archive(cache, archive_of(ted_files() | ted_files("ru", "ru"), root))
    corpus = load_corpus("ted_pt_en")
    assert (corpus.name, corpus.splits) == ("ted_pt_en", ("train", "valid", "test"))
    assert (corpus.source_language, corpus.target_language) == ("Portuguese", "English")
    assert list(corpus.pairs("train", 2)) == [("não", "no"), ("sim", "yes")]
    assert corpus.pairs("valid")[0] == ("pão", "bread")
    assert corpus.pairs("test")[0] == ("maçã", "apple")
    assert {path.name for path in (cache / "ted").iterdir()} == {
        "pt_to_en",
        published_corpora.TED_ARCHIVE,
    }
    assert len(list((cache / "ted" / "pt_to_en").iterdir())) == 6


def test_a_source_of_two_languages_is_mixed_in_training_only(cache):
    put_archive(cache, archive_of(ted_files("gl_pt", "gl-pt")))
    corpus = load_corpus("ted_gl_pt_en")
    assert corpus.source_language == "Galician and Portuguese"
    assert (len(corpus.pairs("train")), len(corpus.pairs("valid"))) == (3, 1)


def test_a_ted_archive_is_downloaded_if_it_is_missing(cache, server, monkeypatch):
    server.files["/ted.tar.gz"] = archive_of(ted_files())
    here = replace(published_corpora.TED, addresses=(f"{server.address}/ted.tar.gz",))
    monkeypatch.setattr(published_corpora, "TED", here)
    with pytest.raises(CourseError, match=r"expected 131,005,909 bytes, got \d+"):
        load_corpus("ted_pt_en")
    here = replace(here, size=None)
    monkeypatch.setattr(published_corpora, "TED", here)
    with pytest.raises(CourseError, match="expected sha256 216a86c3df4d"):
        load_corpus("ted_pt_en")
    monkeypatch.setattr(published_corpora, "TED", replace(here, sha256=None))
    assert len(load_corpus("ted_pt_en").pairs("train")) == 3
    asked = len(server.asked)
    load_corpus("ted_pt_en")
    assert len(server.asked) == asked


def test_offline_the_path_of_the_archive_and_its_addresses_are_named(cache, monkeypatch):
    nowhere = replace(published_corpora.TED, addresses=("http://127.0.0.1:9/ted.tar.gz",))
    monkeypatch.setattr(published_corpora, "TED", nowhere)
    path = re.escape(str(cache / "ted" / "qi18naacl-dataset.tar.gz"))
    with pytest.raises(CourseError, match=f"{path} is missing .*127.0.0.1:9/ted.tar.gz"):
        load_corpus("ted_pt_en")


def test_an_archive_that_points_outside_its_folder_is_refused(cache, tmp_path):
    (tmp_path / "secret").write_text("secret\n" * 3)
    put_archive(cache, archive_of(ted_files() | {"pt_to_en/pt.train": f"->{tmp_path / 'secret'}"}))
    with pytest.raises(CourseError, match="expected the archive of http.*pt.train is no plain"):
        load_corpus("ted_pt_en")
    assert not (cache / "ted" / "pt_to_en").exists()


def test_paths_that_leave_the_folder_are_never_unpacked(cache, tmp_path):
    put_archive(cache, archive_of(ted_files() | {"pt_to_en/../../../../evil": "evil"}))
    load_corpus("ted_pt_en")
    assert not list(tmp_path.rglob("evil"))


def test_an_archive_that_is_damaged_or_another_is_named(cache):
    whole = archive_of(ted_files())
    put_archive(cache, whole)
    archive = cache / "ted" / published_corpora.TED_ARCHIVE
    for content in (b"<html>", whole[:200]):
        archive.write_bytes(content)
        with pytest.raises(CourseError, match=f"at {archive}, got .*: delete it and download"):
            load_corpus("ted_pt_en")
    archive.write_bytes(whole)
    with pytest.raises(CourseError, match=r"expected datasets/fr_to_pt/fr.dev in .*another archi"):
        load_corpus("ted_fr_pt")
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


def test_a_full_disk_is_not_taken_for_a_damaged_archive(cache, monkeypatch):
    put_archive(cache, archive_of(ted_files()))

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(published_corpora.shutil, "copyfileobj", full)
    with pytest.raises(CourseError, match="expected to unpack .*No space left.*is the disk full"):
        load_corpus("ted_pt_en")


def test_multi30k_is_read_from_the_cache_plain_or_gz(cache, write):
    lines = {"train": ["Hund", "Katze"], "val": ["Haus"], "test_2017": ["b"], "test_2016": ["a"]}
    for i, (split, sources) in enumerate(lines.items()):
        for side in ("de", "en"):
            name = f"cache/multi30k/{split}.{side}" + (".gz" if i % 2 else "")
            write(name, [source + side for source in sources])
    corpus = load_corpus("multi30k")
    assert corpus.splits == ("train", "valid", "test", "test_2017")
    assert (corpus.source_language, corpus.target_language) == ("German", "English")
    assert list(corpus.pairs("train")) == [("Hundde", "Hunden"), ("Katzede", "Katzeen")]
    assert [pair.source_text for pair in corpus.pairs("test")] == ["ade"]


def test_multi30k_needs_no_test_files(cache, write):
    for split in ("train", "val"):
        for side in ("de", "en"):
            write(f"cache/multi30k/{split}.{side}", [split])
    assert load_corpus("multi30k").splits == ("train", "valid")


def test_an_archive_that_unpacks_to_more_than_any_text_is_refused(cache, monkeypatch):
    monkeypatch.setattr(published_corpora, "LARGEST_PAIR", 20)
    put_archive(cache, archive_of(ted_files()))
    with pytest.raises(CourseError, match=r"expected at most 20 bytes .*pair in .*, got \d+: is"):
        load_corpus("ted_pt_en")
    assert [path.name for path in (cache / "ted").iterdir()] == [published_corpora.TED_ARCHIVE]


def test_multi30k_is_downloaded_if_it_is_missing(cache, server, monkeypatch):
    monkeypatch.setattr(published_corpora, "MULTI30K_ADDRESS", f"{server.address}/")
    with pytest.raises(CourseError, match=r"multi30k/train\.de\.gz is missing .*HTTP Error 404"):
        load_corpus("multi30k")
    for split in ("train", "val", "test_2016_flickr"):
        for side in ("de", "en"):
            server.files[f"/{split}.{side}.gz"] = gzip.compress(f"{split} {side}\n".encode())
    with pytest.raises(CourseError, match=r"train\.de\.gz is missing .*expected sha256 726e39b2"):
        load_corpus("multi30k")
    known = {
        name: hashlib.sha256(server.files[f"/{name}"]).hexdigest()
        for name in published_corpora.MULTI30K_SHA256
    }
    monkeypatch.setattr(published_corpora, "MULTI30K_SHA256", known)
    corpus = load_corpus("multi30k")
    assert corpus.splits == ("train", "valid", "test")
    assert list(corpus.pairs("test")) == [("test_2016_flickr de", "test_2016_flickr en")]


def test_every_file_that_is_downloaded_is_known_by_size_or_checksum():
    assert published_corpora.MULTI30K_COMMIT in published_corpora.MULTI30K_ADDRESS
    checksums = [*published_corpora.MULTI30K_SHA256.values(), published_corpora.TED.sha256]
    assert len(set(checksums)) == 7
    assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in checksums)
    assert questions.REMOTE.size and re.fullmatch("[0-9a-f]{32}", questions.REMOTE.md5_of_start)
