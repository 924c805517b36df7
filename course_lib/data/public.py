"""Corpora that others have published, by name, fetched once and kept in ``cache_folder()``."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath

from course_lib.data.corpus import Corpus
from course_lib.data.download import cache_folder, download
from course_lib.data.file_corpora import file_corpus
from course_lib.data.hub import hub_corpus
from course_lib.data.questions import questions_corpus
from course_lib.errors import CourseError

TED_ARCHIVE = "qi18naacl-dataset.tar.gz"
TED_ADDRESSES = [
    f"http://www.phontron.com/data/{TED_ARCHIVE}",
    # The archive has been gone from the first address at times.
    f"https://web.archive.org/web/20240301220426if_/http://www.phontron.com/data/{TED_ARCHIVE}",
]
TED_SHA256 = "216a86c3df4d4f522856fe9b920ff5be6b394d769cc88974ae8f9f5546953bbc"  # 131,005,909 bytes
TED_PAIRS = (
    *(("az", "en"), ("az_tr", "en"), ("be", "en"), ("be_ru", "en"), ("es", "pt"), ("fr", "pt")),
    *(("gl", "en"), ("gl_pt", "en"), ("he", "pt"), ("it", "pt"), ("pt", "en"), ("ru", "en")),
    *(("ru", "pt"), ("tr", "en")),
)

MULTI30K_ADDRESS = "https://github.com/multi30k/dataset/raw/master/data/task1/raw/"
# train.en comes last: where it is, nothing is left to fetch.
MULTI30K_FILES = (
    *("train.de.gz", "val.de.gz", "val.en.gz"),
    *("test_2016_flickr.de.gz", "test_2016_flickr.en.gz", "train.en.gz"),
)


def ted_corpus(source: str, target: str) -> Corpus:
    """TED talks in one of the 14 pairs of Qi et al. 2018 (https://aclanthology.org/N18-2084).

    Pairs, file names and checksum are those of the TensorFlow dataset ``ted_hrlr_translate`` and of
    ``neulab/ted_hrlr`` on the hub: ``datasets/pt_to_en/{pt,en}.{train,dev,test}`` in one archive,
    51,785 / 1,193 / 1,803 pairs. Where a source is two languages (``az_tr``), only the training
    file mixes them: ``az-tr.train``, but ``az.dev`` and ``az.test``.

    Raises:
        CourseError: the archive is neither there nor to be had, or damaged.
    """
    folder = cache_folder() / "ted" / f"{source}_to_{target}"
    first = source.split("_")[0]
    names = {
        "train": (f"{source.replace('_', '-')}.train", f"{target}.train"),
        "valid": (f"{first}.dev", f"{target}.dev"),
        "test": (f"{first}.test", f"{target}.test"),
    }
    if not folder.exists():
        archive = download(TED_ADDRESSES, folder.parent / TED_ARCHIVE, sha256=TED_SHA256)
        _unpack(archive, folder, names=[name for pair in names.values() for name in pair])
    train, valid, test = ([folder / name for name in pair] for pair in names.values())
    return file_corpus(
        train, valid, test=test, name=f"ted_{source}_{target}", languages=(source, target)
    )


def _unpack(archive: Path, folder: Path, *, names: list[str]) -> None:
    """Take the named files of ``datasets/FOLDER`` out of the archive, all or none.

    Raises:
        CourseError: the archive is damaged, lacks a file, or has a link in its place.
    """
    inside = PurePosixPath("datasets") / folder.name
    wanted = {inside / name for name in names}
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder.parent) as scratch,
            tarfile.open(archive, "r:gz") as tar,
        ):
            members = (member for member in tar if PurePosixPath(member.name) in wanted)
            tar.extractall(scratch, members=members, filter="data")
            missing = [path for path in sorted(wanted) if not (Path(scratch) / path).is_file()]
            if missing:
                raise CourseError(f"expected {missing[0]} in {archive}: is it another archive?")
            (Path(scratch) / inside).replace(folder)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise CourseError(
            f"expected the archive of {TED_ADDRESSES[0]} at {archive}, got something else or a "
            f"part of it ({error}): delete it and fetch it again"
        ) from None


def multi30k_corpus() -> Corpus:
    """Multi30k, German to English (Elliott et al. 2016): 29,000 descriptions of photographs.

    Looks in ``cache_folder()/multi30k`` for ``{train,val,test*}.{de,en}``, plain or ``.gz``, and
    fetches them if the training files are missing. Of several tests, the first in order of name is
    ``test``; the others keep their names.

    Raises:
        CourseError: the files are neither there nor to be had.
    """
    folder = cache_folder() / "multi30k"
    if not all(path.exists() for path in _sides(folder, "train")):
        for name in MULTI30K_FILES:
            download([MULTI30K_ADDRESS + name], folder / name)
    found = [path.name.removesuffix(".gz") for path in folder.glob("test*")]
    tests = sorted({name.removesuffix(".de") for name in found if name.endswith(".de")})
    return file_corpus(
        _sides(folder, "train"),
        _sides(folder, "val"),
        test=_sides(folder, tests[0]) if tests else None,
        held_out={test: _sides(folder, test) for test in tests[1:]},
        name="multi30k",
    )


def _sides(folder: Path, stem: str) -> list[Path]:
    """The German and English file, plain where there is one."""
    plain = [folder / f"{stem}.{side}" for side in ("de", "en")]
    return [path if path.exists() else path.with_name(path.name + ".gz") for path in plain]


PUBLIC: dict[str, Callable[[], Corpus]] = {
    "multi30k": multi30k_corpus,
    "questions_fr_en": questions_corpus,
    "wmt14_de_en": partial(hub_corpus, "wmt/wmt14", "de-en", name="wmt14_de_en"),
    **{f"ted_{pair[0]}_{pair[1]}": partial(ted_corpus, *pair) for pair in TED_PAIRS},
}
