"""A corpus of your own text files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.languages import language_in_name, language_name, languages_in_name
from course_lib.data.pairs import TextPair
from course_lib.data.text_files import json_keys, read_json_lines, read_pairs, read_tsv
from course_lib.errors import CourseError

Paths = str | Path | Sequence[str | Path]
"""Two line-aligned files, or one ``.tsv`` or ``.jsonl`` file; each may be compressed (``.gz``)."""


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def _is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".jsonl", ".json"))


def open_pairs(paths: Paths) -> Sequence[TextPair]:
    """The pairs of two line-aligned files, or of one file with both sides.

    Raises:
        CourseError: as in ``read_pairs``, ``read_tsv`` and ``read_json_lines``, or these are other
            files than that.
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
    """The language codes of source and target, if the names of the files or JSON keys show them.

    ``train.de.gz`` with ``train.en.gz``, ``train.de-en.tsv`` and ``{"de": …, "en": …}`` do.
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
    """A corpus of text files, cleaned as described in ``text_corpus``.

    Args:
        train: source and target file, or one ``.tsv`` or ``.jsonl`` file with both sides.
        valid: the same for the validation split, if there is one.
        test: the same for the test split.
        name: of the corpus; by default the training file's name up to the first dot.
        languages: codes of source and target; by default taken from the training files' names.
        held_out: further test splits, by name.
        tell: called with a sentence about the pairs that were removed, if there are any.

    Raises:
        CourseError: a file is missing or damaged, two files are not line-aligned, or two splits
            have different languages.
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
    """A split for ``text_corpus``: a function from a size to the first pairs."""
    return lambda size: pairs[:size]


def _direction(languages: tuple[str, str]) -> str:
    return f"{language_name(languages[0])} to {language_name(languages[1])}"
