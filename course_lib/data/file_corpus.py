"""A corpus of your own text files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.json_files import is_json, open_json
from course_lib.data.languages import language_in_name, language_name, languages_in_name
from course_lib.data.pairs import TextPair
from course_lib.data.table_files import Columns, Table, open_table, parse_columns
from course_lib.data.text_files import TextFile, members, read_pairs
from course_lib.errors import CourseError

Paths = str | Path | Sequence[str | Path]
"""Two line-aligned files, or one file with both sides (a table, or JSON); each may be compressed.

A ``.zip`` stands for the files in it.
"""


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def open_pairs(paths: Paths, columns: Columns | None = None) -> Table:
    """The pairs of two line-aligned files, or of one file with both sides.

    Args:
        paths: of the files.
        columns: of source and target, if one path is given; see ``file_corpus``.

    Raises:
        CourseError: as in ``read_pairs``, ``open_json`` or ``open_table``; these are other files.
    """
    given = [member for path in _paths(paths) for member in members(path)]
    match given:
        case [one, other]:
            first, second, how = one, other, ""
            if len(_paths(paths)) == 1:  # a .zip, so the user has not named them in their order
                first, second = _in_order(one, other, columns)
                how = f"{first.name} is the source, {second.name} the target"
            return Table(read_pairs(first, second), file_languages([first.name, second.name]), how)
        case [path]:
            file = TextFile(path)
            table = (open_json if is_json(file) else open_table)(file, columns)
            named = table.languages or file_languages([path.name])
            if named and not table.languages and table.swapped:
                named = named[::-1]
            return table._replace(languages=named)
        case other_number:
            raise CourseError(
                "expected two line-aligned files or one with both sides, got "
                f"{', '.join(map(str, other_number)) or 'none'}: unpack or name those that you mean"
            )


def _in_order(one: Path, other: Path, columns: Columns | None) -> tuple[Path, Path]:
    """The file of the source and that of the target."""
    if columns is None:
        return one, other
    names = {"1": one, "2": other, language_in_name(one): one, language_in_name(other): other}
    found = [names.get(column) for column in columns]
    if found not in ([one, other], [other, one]):
        raise CourseError(
            f"expected the columns 1,2 or 2,1 or the languages in the names of {one} and {other}, "
            f"got {','.join(columns)}"
        )
    return (one, other) if found[0] == one else (other, one)


def file_languages(paths: Sequence[str | Path]) -> tuple[str, str] | None:
    """The language codes of source and target, if the names of the files show them.

    ``train.de.gz`` with ``train.en.gz`` and ``train.de-en.tsv`` do.
    """
    match _paths(paths):
        case [source, target]:
            codes = language_in_name(source), language_in_name(target)
            return (codes[0], codes[1]) if codes[0] and codes[1] else None
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
    columns: str | Columns | None = None,
    tell: Callable[[str], None] = print,
) -> Corpus:
    """A corpus of text files, cleaned as described in ``text_corpus``.

    Args:
        train: source and target file, or one file with both sides: a table (see ``open_table``)
            or JSON; a ``.zip`` stands for the files in it.
        valid: the same for the validation split, if there is one.
        test: the same for the test split.
        name: of the corpus; by default the training file's name up to the first dot.
        languages: codes of source and target; by default taken from the training files' names.
        held_out: further test splits, by name.
        columns: of source and target in a file with both sides, by number or name, such as "2,1" or
            "de,en"; by default the two that hold text, in their order. Of two files, the first is
            the source's in any case.
        tell: called with a sentence about how a file is read, if there is a choice, and about the
            pairs that were removed, if there are any.

    Raises:
        CourseError: a file is missing or damaged, two files are not line-aligned, or two splits
            have different languages.
    """
    files = {"train": train, "valid": valid, "test": test, **(held_out or {})}
    given = {split: paths for split, paths in files.items() if paths is not None}
    both = parse_columns(columns)
    if both and all(len(_paths(paths)) == 2 for paths in given.values()):
        raise CourseError(
            f"expected a file with both sides for the columns {','.join(both)}, got two files: "
            "give the source's file first and then the target's, without columns"
        )
    opened = {split: open_pairs(paths, both) for split, paths in given.items()}
    found = languages or opened["train"].languages
    for split, (_, here, how, _) in opened.items():
        if how:
            tell(f"{_paths(given[split])[0].name}: {how}")
        if found and here and not languages and here != found:
            raise CourseError(
                f"expected {_direction(found)} in {split} as in train, got {_direction(here)}: "
                "were the two files swapped?"
            )
    return text_corpus(
        name or _paths(train)[0].name.split(".")[0],
        found or ("source", "target"),
        splits={split: first_of(pairs) for split, (pairs, *_) in opened.items()},
        tell=tell,
    )


def first_of(pairs: Sequence[TextPair]) -> Callable[[int | None], Sequence[TextPair]]:
    """A split for ``text_corpus``: a function from a size to the first pairs."""
    return lambda size: pairs[:size]


def _direction(languages: tuple[str, str]) -> str:
    return f"{language_name(languages[0])} to {language_name(languages[1])}"
