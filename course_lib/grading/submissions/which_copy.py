"""Which of several copies of a notebook a student means, as far as their names tell.

The rule: of notebooks with equally many answers, one in a folder that is named after the assignment
counts, and of these the one with the released name, unless the name of another says that it is
later ("masks (1)", "masks-2", "masks_final", "attempt_2/masks"); a name that says older, backup or
copy ("masks_old", "masks-Copy1", "backup/masks") counts last.
"""

from __future__ import annotations

import re
from pathlib import PurePath

# Words in names that people and programs give: Jupyter's "masks-Copy1", Colab's "Copy of masks".
_EARLIER = frozenset(
    "old older copy kopie copie copia cópia backup bak save saved archive orig original draft "
    "first previous before wip test tests scratch blank empty template untouched".split()
)
_LATER = frozenset(
    "final finished last latest new newer newest fixed corrected improved done complete completed "
    "submit submitted submission resubmission resubmitted".split()
)
_DATE = re.compile(r"\d{4}[-_. ]?\d\d[-_. ]?\d\d")  # says when, not whether it is later
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_IN_BRACKETS = re.compile(r"\((\d{1,4})\)$")  # of a browser, for a second download
_VERSION = re.compile(r"(?<![^\W\d_])(?:v|ver|version|attempt|try)[ _.-]?(\d{1,4})$")
_AT_THE_END = re.compile(r"(?<!\d)(\d{1,2})$")  # "masks-1" of Canvas, "masks 2" of macOS

Age = tuple[int, int]  # below (0, 0) for what a name calls earlier, above it for later
SortKey = tuple[Age, bool, int, Age, bool, list[int], str]


def sort_key(path: PurePath, released: str, *, assignment: str) -> SortKey:
    """What sorts copies of a notebook; the last one counts.

    Args:
        path: of the copy, below the student's folder.
        released: the name of the notebook as it was released, without its ending.
        assignment: such as "06_masks".
    """
    stem, released = path.stem.casefold(), released.casefold()
    folders = [_age(folder.casefold()) for folder in path.parts[:-1]]
    worst, best = min(folders, default=(0, 0)), max(folders, default=(0, 0))
    in_folders = worst if worst < (0, 0) else best  # "final" in the folder "old" is old
    depth = -len(folders) if in_folders == (0, 0) else 0
    named = any(f"{normal_name(each)}_".startswith(f"{assignment}_") for each in path.parts[:-1])
    numbers = [int(digits) for digits in re.findall(r"\d+", path.stem)]
    age = _age_of_file(stem, released)
    return in_folders, named, depth, age, stem == released, numbers, stem


def normal_name(name: str) -> str:
    """A folder's name as assignments are written: "06 Masks" is "06_masks"."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _age_of_file(stem: str, released: str) -> Age:
    added = stem.removeprefix(released).strip()
    age = _age(added)
    if age == (0, 0) and added != stem and (number := _AT_THE_END.search(_DATE.sub(" ", added))):
        return 1, int(number[1])
    return age


def _age(name: str) -> Age:
    words = _WORDS.findall(_DATE.sub(" ", name))
    number = next((int(word) for word in reversed(words) if word.isdecimal()), 0)
    if not _EARLIER.isdisjoint(words):
        return -1, number
    if not _LATER.isdisjoint(words):
        return 2, number
    if in_brackets := _IN_BRACKETS.search(name):
        return 1, int(in_brackets[1])
    if version := _VERSION.search(name):
        return 1 if int(version[1]) > 1 else -1, int(version[1])
    return 0, 0
