"""Modules of a student's own that a notebook imports: they are not run, so a person must know."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from course_lib.grading.results import shown_text
from course_lib.grading.submissions.submission import SubmissionError, read_regular_file
from course_lib.grading.submissions.transplant import CodeCell

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+\.*(\w+)|import[ \t]+([^\n#;]+))", re.MULTILINE)
_FILE = re.compile(r"(?<![\w/\\])[\w/\\]+\.py\b")  # %run my_layers.py, open("my_layers.py")
_TAKEN = re.compile(r"(?<![\w.])(\w+)\.(\w+)")
_TAKEN_BY_IMPORT = re.compile(r"\bfrom[ \t]+(\w+)[ \t]+import\b[ \t]*(\([^)]*|[^\n#(]*)")
_RENAMED = re.compile(r"\b(\w+)[ \t]+as\b")
_MOST_CHARACTERS = 500_000  # of a submission that are looked at
_MOST, _MOST_NAME = 5, 80
_MOST_READ, _MOST_BYTES = 50, 100_000  # files, of which there may be thousands, and of each


def own_modules(cells: Sequence[CodeCell], folders: Iterable[Path]) -> tuple[str, ...]:
    """The files and folders with Python in these folders that a learner's cells name; sorted.

    Not a file of which the cells import names that are not in it, and nothing else: whatever they
    lack, it is not that file.
    """
    there: dict[str, Path] = {}
    for folder in folders:
        there |= {name.partition(".")[0]: folder / name for name in _modules_in(folder)}
    for installed in ("course_lib", "torch", "numpy", "matplotlib", *sys.stdlib_module_names):
        there.pop(installed, None)
    if not there:
        return ()
    source = "\n".join(cell.source for cell in cells if not cell.ours)[:_MOST_CHARACTERS]
    named = {Path(file.replace("\\", "/")).stem for file in _FILE.findall(source)}
    for module, several in _IMPORT.findall(source):
        named |= {module, *(re.split(r"\W", part.strip())[0] for part in several.split(","))}
    taken, needed = _taken(source), list[str]()
    for number, name in enumerate(sorted(named & there.keys())):
        if number >= _MOST_READ or _may_use(there[name], taken.get(name, set())):
            needed.append(shown_text(there[name].name, _MOST_NAME))
        if len(needed) == _MOST:
            break
    return tuple(needed)


def _taken(source: str) -> dict[str, set[str]]:
    """By module, the names that a source takes from it; "*" where that can't be told."""
    taken: dict[str, set[str]] = {}
    for module, name in _TAKEN.findall(source):
        taken.setdefault(module, set()).add(name)
    for module, names in _TAKEN_BY_IMPORT.findall(source):
        words = re.findall(r"[\w*]+", re.sub(r"\bas\s+\w+", "", names))
        taken.setdefault(module, set()).update(words)
    for module in _RENAMED.findall(source):
        taken.setdefault(module, set()).add("*")
    return taken


def _may_use(path: Path, taken: AbstractSet[str]) -> bool:
    """Whether a module has any of the names that are taken from it, as far as one can tell."""
    if path.suffix != ".py" or not taken or taken & {"*", "py"}:
        return True
    try:
        text = read_regular_file(path, most=_MOST_BYTES).decode("utf-8", "replace")
    except SubmissionError:
        return True
    return "import *" in text or not taken.isdisjoint(re.findall(r"\w+", text))


def _modules_in(folder: Path) -> list[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    files = [e.name for e in entries if e.name.endswith(".py") and e.is_file(follow_symlinks=False)]
    return [
        *files,
        *(e.name for e in entries if e.is_dir(follow_symlinks=False) and _has_python(e)),
    ]


def _has_python(entry: os.DirEntry[str]) -> bool:
    try:
        return any(inner.name.endswith(".py") for inner in os.scandir(entry.path))
    except OSError:
        return False
