"""A corpus of the user's own files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.languages import language_in_name, language_name, languages_in_name
from course_lib.data.pairs import TextPair
from course_lib.data.text_files import json_keys, read_json_lines, read_pairs, read_tsv
from course_lib.errors import CourseError

Paths = str | Path | Sequence[str | Path]
"""Two line-aligned files, or one ``.tsv`` or ``.jsonl``; each may be ``.gz``."""


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def _is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".jsonl", ".json"))


def open_pairs(paths: Paths) -> Sequence[TextPair]:
    """The pairs of two line-aligned files, or of one file with both sides.

    Raises:
        CourseError: as ``read_pairs``, ``read_tsv`` and ``read_json_lines``, or another number or
            kind of files.
    """
    match _paths(paths):
        case [source, target]:
            return read_pairs(source, target)
        case [path] if _is_json(path):
            return read_json_lines(path)
        case [path] if path.name.removesuffix(".gz").endswith(".tsv"):
            return read_tsv(path)
        case other:
            raise CourseError(
                "expected two line-aligned files or one .tsv or .jsonl, "
                f"got {', '.join(map(str, other)) or 'none'}"
            )


def file_languages(paths: Paths) -> tuple[str, str] | None:
    """The codes of source and target, where the files' names or keys tell them.

    ``train.de.gz`` and ``train.en.gz``, ``train.de-en.tsv`` and ``{"de": …, "en": …}`` do.
    """
    match _paths(paths):
        case [source, target]:
            codes = language_in_name(source), language_in_name(target)
            return (codes[0], codes[1]) if codes[0] and codes[1] else None
        case [path] if _is_json(path):
            return json_keys(path)
        case path:
            return languages_in_name(path[0])


def file_corpus(
    train: Paths,
    valid: Paths | None = None,
    *,
    test: Paths | None = None,
    name: str | None = None,
    languages: tuple[str, str] | None = None,
    held_out: dict[str, Paths] | None = None,
    tell: Callable[[str], None] = print,
) -> Corpus:
    """A corpus of text files; ``train`` is cleaned as in ``text_corpus``.

    Args:
        train: source and target file, or one ``.tsv`` or ``.jsonl`` file with both.
        valid: likewise, if there is one.
        test: likewise.
        name: of the corpus; else how the training file's name begins.
        languages: their codes; else as the training files tell.
        held_out: further test splits.
        tell: is given a sentence where pairs were left out.

    Raises:
        CourseError: a file is missing, damaged or not aligned with its partner, or two splits have
            different languages.
    """
    files = {"train": train, "valid": valid, "test": test, **(held_out or {})}
    given = {split: paths for split, paths in files.items() if paths is not None}
    opened = {split: open_pairs(paths) for split, paths in given.items()}
    named = {split: file_languages(paths) for split, paths in given.items()}
    found = languages or named["train"]
    for split, here in named.items():
        if found and here and not languages and here != found:
            raise CourseError(
                f"expected {_direction(found)} in {split} as in train, got {_direction(here)}: "
                "were the two files swapped?"
            )
    return text_corpus(
        name or _paths(train)[0].name.split(".")[0],
        found or ("source", "target"),
        splits={split: first_of(pairs) for split, pairs in opened.items()},
        tell=tell,
    )


def first_of(pairs: Sequence[TextPair]) -> Callable[[int | None], Sequence[TextPair]]:
    """A split for ``text_corpus``: the first so many of the pairs, or all."""
    return lambda size: pairs[:size]


def _direction(languages: tuple[str, str]) -> str:
    return f"{language_name(languages[0])} to {language_name(languages[1])}"
