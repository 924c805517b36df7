"""Tatoeba's sentences, German to English, from the files of manythings.org."""

from __future__ import annotations

import re
from pathlib import Path

from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.download import RemoteFile, cache_folder, download
from course_lib.data.everyday.connected_splits import connected_splits
from course_lib.data.file_corpus import first_of, open_pairs
from course_lib.data.pairs import TextPair
from course_lib.errors import CourseError

ARCHIVE = "deu-eng.zip"
# The file is made anew every few months, so nobody can publish a checksum of it.
REMOTE = RemoteFile((f"https://www.manythings.org/anki/{ARCHIVE}",))
HELD_OUT = {"test": 2000, "valid": 500}  # pairs
LOOKED_AT = 500  # pairs by which the languages of the columns are told
_COMMON = {
    "de": re.compile(r"\b(?:ich|ist|du|das|der|die|nicht|ein|er|es|wir|hat|sie|zu)\b", re.I),
    "en": re.compile(r"\b(?:i|is|you|the|it|not|a|he|that|we|has|this|was|to)\b", re.I),
}


def tatoeba_corpus() -> Corpus:
    """German to English: short sentences of everyday life from tatoeba.org (CC BY 2.0 FR).

    The file is the one of manythings.org/anki, in ``cache_folder()/tatoeba``: ``deu-eng.zip`` as it
    is downloaded, or what was in it, ``deu.txt``, plain or ``.gz``, with two columns or with a
    third for the attribution, under any name, with either language first. If there is none, it is
    downloaded. Its sentences have several translations, so the splits are those of
    ``connected_splits``.

    Raises:
        CourseError: the file cannot be downloaded, it is damaged or not of these languages, or
            there are several.
    """
    splits = tatoeba_splits()
    return text_corpus(
        "tatoeba_de_en",
        ("de", "en"),
        splits={name: first_of(some) for name, some in splits.items()},
    )


def tatoeba_splits() -> dict[str, list[TextPair]]:
    """The pairs of the file, divided; those of ``HELD_OUT`` share no sentence with "train".

    Raises:
        CourseError: as in ``tatoeba_corpus``.
    """
    return connected_splits(read_tatoeba(tatoeba_file()), HELD_OUT, rest="train")


def tatoeba_file() -> Path:
    """The file in the cache, downloaded if there is none.

    Raises:
        CourseError: there are several, or it cannot be downloaded.
    """
    folder = cache_folder() / "tatoeba"
    found = sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.is_file() and {*path.suffixes} & {".zip", ".txt", ".tsv", ".csv", ".gz"}
    )
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise CourseError(
            f"expected one file of German and English sentences in {folder}, got {names}: keep one"
        )
    return found[0] if found else download(REMOTE, folder / ARCHIVE)


def read_tatoeba(path: Path) -> list[TextPair]:
    """The pairs of a file, German first whichever column it stands in.

    Raises:
        CourseError: as in ``open_pairs``, or the file is not of these languages.
    """
    pairs = [TextPair(*pair) for pair in open_pairs(path).pairs]
    looked_at = pairs[:: max(1, len(pairs) // LOOKED_AT)]

    def found(language: str, side: int) -> int:
        return sum(bool(_COMMON[language].search(pair[side])) for pair in looked_at)

    as_it_is = min(found("de", 0), found("en", 1))
    swapped = min(found("de", 1), found("en", 0))
    if 4 * max(as_it_is, swapped) < len(looked_at):  # of true pairs it is more than half
        first = f"{pairs[0].source_text!r} and {pairs[0].target_text!r}" if pairs else "no pair"
        raise CourseError(
            f"expected German and English sentences in {path}, got {first}: delete the file, and "
            f"{ARCHIVE} will be downloaded; for other languages give the file with --train"
        )
    return [TextPair(*pair[::-1]) for pair in pairs] if swapped > as_it_is else pairs
