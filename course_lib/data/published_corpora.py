"""Published corpora by name: TED talks, Multi30k, WMT14, questions from giga-fren.

Each is downloaded once and kept in ``cache_folder()``.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from course_lib.data.corpus import Corpus
from course_lib.data.download import RemoteFile, cache_folder, download
from course_lib.data.file_corpus import file_corpus
from course_lib.data.hugging_face_corpus import hub_corpus
from course_lib.errors import CourseError

TED_ARCHIVE = "qi18naacl-dataset.tar.gz"
TED = RemoteFile(
    (
        f"http://www.phontron.com/data/{TED_ARCHIVE}",
        # The first address has been out of order at times.
        f"https://web.archive.org/web/20240301220426if_/http://www.phontron.com/data/{TED_ARCHIVE}",
    ),
    sha256="216a86c3df4d4f522856fe9b920ff5be6b394d769cc88974ae8f9f5546953bbc",
    size=131_005_909,
)
LARGEST_PAIR = 1 << 30  # bytes that the files of a language pair may unpack to: ten times the most
TED_PAIRS = (
    *(("az", "en"), ("az_tr", "en"), ("be", "en"), ("be_ru", "en"), ("es", "pt"), ("fr", "pt")),
    *(("gl", "en"), ("gl_pt", "en"), ("he", "pt"), ("it", "pt"), ("pt", "en"), ("ru", "en")),
    *(("ru", "pt"), ("tr", "en")),
)

# A commit of github.com/multi30k/dataset, and the checksums of its files by name. Both are as other
# projects that download them state them: the authors publish none.
MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MULTI30K_ADDRESS = f"https://github.com/multi30k/dataset/raw/{MULTI30K_COMMIT}/data/task1/raw/"
# train.en comes last: once it is there, all the others are too.
MULTI30K_SHA256 = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
}


def ted_corpus(source: str, target: str) -> Corpus:
    """TED talks in one of the 14 language pairs of Qi et al. (2018, aclanthology.org/N18-2084).

    Language pairs, file names and checksum are those of the TensorFlow dataset
    ``ted_hrlr_translate`` and of ``neulab/ted_hrlr`` on the Hugging Face hub. The archive has files
    such as ``datasets/pt_to_en/{pt,en}.{train,dev,test}`` with 51,785 / 1,193 / 1,803 pairs. If the
    source is two languages (``az_tr``), only the training file mixes them: it is called
    ``az-tr.train``, but the others ``az.dev`` and ``az.test``. ``grammar_pt_en`` is a stand-in for
    Portuguese to English that needs no download.

    Raises:
        CourseError: the archive is damaged, or it is not in the cache and cannot be downloaded.
    """
    folder = cache_folder() / "ted" / f"{source}_to_{target}"
    first = source.split("_")[0]
    names = {
        "train": (f"{source.replace('_', '-')}.train", f"{target}.train"),
        "valid": (f"{first}.dev", f"{target}.dev"),
        "test": (f"{first}.test", f"{target}.test"),
    }
    if not folder.exists():
        archive = download(TED, folder.parent / TED_ARCHIVE)
        _unpack(archive, folder, names=[name for pair in names.values() for name in pair])
    train, valid, test = ([folder / name for name in pair] for pair in names.values())
    return file_corpus(
        train, valid, test=test, name=f"ted_{source}_{target}", languages=(source, target)
    )


def _unpack(archive: Path, folder: Path, *, names: list[str]) -> None:
    """Unpack the named files of ``datasets/FOLDER`` from the archive, all or none.

    Raises:
        CourseError: the archive is damaged, lacks a file, or has a link instead of one.
    """
    inside = PurePosixPath("datasets") / folder.name
    wanted = {inside / name for name in names}
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder.parent) as scratch,
            tarfile.open(archive, "r:gz") as tar,
        ):
            draft = Path(scratch) / folder.name
            draft.mkdir()
            members = (member for member in tar if PurePosixPath(member.name) in wanted)
            for member in _bounded(members, archive):
                file = tar.extractfile(member) if member.isreg() else None
                if file is None:
                    raise tarfile.TarError(f"{member.name} is no plain file")
                with (draft / PurePosixPath(member.name).name).open("wb") as copy:
                    shutil.copyfileobj(file, copy)
            found = {path.name for path in draft.iterdir()}
            if missing := [path for path in sorted(wanted) if path.name not in found]:
                raise CourseError(f"expected {missing[0]} in {archive}: is it another archive?")
            if not folder.exists():  # another process may have been faster
                draft.replace(folder)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # not what a damaged archive is
            raise CourseError(
                f"expected to unpack {archive} into {folder}, got {error}: is the disk full, or "
                "the folder read-only?"
            ) from None
        raise CourseError(
            f"expected the archive of {TED.addresses[0]} at {archive}, got something else or only "
            f"a part of it ({error}): delete it and download it again"
        ) from None


def _bounded(members: Iterable[tarfile.TarInfo], archive: Path) -> Iterator[tarfile.TarInfo]:
    """The members, as long as they fit together into ``LARGEST_PAIR``."""
    size = 0
    for member in members:
        size += member.size
        if size > LARGEST_PAIR:
            raise CourseError(
                f"expected at most {LARGEST_PAIR:,} bytes of text for a language pair in "
                f"{archive}, got {size:,}: is it another archive?"
            )
        yield member


def multi30k_corpus() -> Corpus:
    """Multi30k, German to English (Elliott et al. 2016): 29,000 descriptions of photographs.

    Looks in ``cache_folder()/multi30k`` for ``{train,val,test*}.{de,en}``, plain or ``.gz``, and
    downloads them if the training files are missing. If there are several test sets, the first by
    name is ``test`` and the others keep their names.

    Raises:
        CourseError: the files are not in the cache and cannot be downloaded.
    """
    folder = cache_folder() / "multi30k"
    if not all(path.exists() for path in _sides(folder, "train")):
        for name, sha256 in MULTI30K_SHA256.items():
            download(RemoteFile((MULTI30K_ADDRESS + name,), sha256=sha256), folder / name)
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
    """The German and the English file, uncompressed if there is one, else ``.gz``."""
    plain = [folder / f"{stem}.{side}" for side in ("de", "en")]
    return [path if path.exists() else path.with_name(path.name + ".gz") for path in plain]


def wmt14_corpus() -> Corpus:
    """WMT14, German to English (Bojar et al. 2014): 4.5 million pairs from parliament, news, web.

    *Attention Is All You Need* trains on this corpus in the other direction, English to German. It
    is the dataset ``wmt/wmt14`` of the Hugging Face hub with the configuration ``de-en``.

    Raises:
        CourseError: as in ``hub_corpus``.
    """
    return hub_corpus("wmt/wmt14", "de-en", name="wmt14_de_en")
