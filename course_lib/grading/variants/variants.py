"""Variants of assignments: a set of exercises for each group, and who has which.

The folder that ``write_variants`` makes:

    manifest.json                      which conventions each group has, and the files' hashes
    group_1/06_masks/masks.ipynb       what the students of group 1 get
    group_2/06_masks/masks.ipynb
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.atomic import below, write_atomically
from course_lib.errors import CourseError
from course_lib.grading.results import clean_name, quoted
from course_lib.grading.safe_csv import read_csv
from course_lib.grading.submissions.exercise import Exercise, exercise_file, load_exercise
from course_lib.grading.submissions.submission import (
    SubmissionError,
    find_notebooks,
    read_regular_file,
    read_submission,
)
from course_lib.grading.variants.variant_draw import (
    conventions_by_item,
    draw_variants,
    names_by_item,
)
from course_lib.grading.variants.variant_notebook import STAMP, variant_notebook

MANIFEST, FORMAT = "manifest.json", 1


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What a group gets: the stamp of its notebook, its conventions, and the exercise."""

    group: str
    stamp: str
    conventions: tuple[str, ...]
    exercise: Exercise

    @property
    def note(self) -> str:
        """What a result says of it."""
        if not self.conventions:
            return "Everybody was given the public exercise."
        return f"Graded as the variant of group {self.group}: {', '.join(self.conventions)}."


@dataclass(frozen=True, kw_only=True)
class Variants:
    """The variants of one assignment, and the group of each student where a list says it."""

    assignment: str
    by_group: Mapping[str, Variant]
    groups: Mapping[str, str] | None = None

    def variant_of(self, student: str, folder: Path) -> Variant:
        """The variant that a student was given.

        Without a list of groups it is the one whose stamp is in what was handed in.

        Raises:
            SubmissionError: the list doesn't name the student, or there is no stamp, or there are
                several.
        """
        if self.groups is not None:
            group = self.groups.get(clean_name(student))
            if group is None:
                raise SubmissionError(
                    f"expected a group for {quoted(student)} in the list of groups, got none: add "
                    "a line"
                )
            return self.by_group[group]
        if not any(variant.conventions for variant in self.by_group.values()):
            return next(iter(self.by_group.values()))  # everybody was given the public exercise
        by_stamp = {variant.stamp: variant for variant in self.by_group.values()}
        found = {stamp for stamp in _stamps(folder, self.assignment) if stamp in by_stamp}
        if len(found) != 1:
            raise SubmissionError(
                f"expected the stamp of one variant of {self.assignment} in the notebook, got "
                f"{len(found)}: was the public exercise handed in, or the first cell deleted? Say "
                "which group the student is in with --groups"
            )
        return by_stamp[found.pop()]


def _stamps(folder: Path, assignment: str) -> set[str]:
    """The stamps in the notebooks that a student handed in."""
    found = set()
    for path in find_notebooks(folder, assignment):
        try:
            cells = read_submission(path).cells
        except SubmissionError:
            continue  # grading says what is wrong with it
        found |= {stamp for cell in cells for stamp in STAMP.findall(cell.source)}
    return found


def write_variants(
    exercises: Path, output: Path, assignments: Sequence[str], *, number: int, seed: str
) -> dict[str, list[tuple[str, ...]]]:
    """Write a folder of exercises for each group, and the manifest.

    Args:
        exercises: the folder of the public exercises.
        output: where the groups' folders go; it has no manifest of another seed yet.
        assignments: such as "06_masks". Where no item takes conventions, every group gets the
            public exercise.
        number: of groups.
        seed: such as the name of the term.

    Returns:
        The conventions of each group, by assignment; none for one that is handed out as it is.

    Raises:
        CourseError: there is no such assignment, or the folder is in use.
    """
    drawn: dict[str, list[tuple[str, ...]]] = {}
    data = _earlier(output / MANIFEST, seed, number)
    for assignment in assignments:
        source = exercise_file(exercises, assignment)
        notebook = json.loads(read_regular_file(source))
        lesson = assignment.partition("_")[0]
        taken = conventions_by_item(lesson)
        choices = draw_variants(lesson, number, seed) if taken else []
        drawn[assignment] = choices
        data["assignments"][assignment] = {}
        for group, choice in enumerate(choices or [()] * number, 1):
            stamp = _stamp(seed, assignment, group)
            made = variant_notebook(notebook, choice, stamp)
            text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
            target = below(output, f"group_{group}", assignment, source.name)
            write_atomically(target, text)
            data["assignments"][assignment][str(group)] = {
                "stamp": stamp,
                "conventions": list(choice),
                "items": dict(names_by_item(taken, choice)),
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
    write_atomically(output / MANIFEST, json.dumps(data, indent=1) + "\n")
    return drawn


def _stamp(seed: str, assignment: str, group: int) -> str:
    message = f"{assignment}\n{group}".encode()
    return hmac.new(seed.encode(), message, hashlib.sha256).hexdigest()[:12]


def _earlier(manifest: Path, seed: str, number: int) -> dict[str, Any]:
    """The manifest as it is so far, so that assignments can be added to it later."""
    if not manifest.exists():
        return {"format": FORMAT, "seed": seed, "groups": number, "assignments": {}}
    data = _read(manifest)
    if (data["seed"], data["groups"]) != (seed, number):
        raise CourseError(
            f"expected an empty folder or one of the seed {seed!r} with {number} groups at "
            f"{manifest.parent}, got one of the seed {data['seed']!r} with {data['groups']}: name "
            "another folder with --output"
        )
    return data


def _read(manifest: Path) -> dict[str, Any]:
    try:
        data = json.loads(manifest.read_text(encoding="utf-8"))
        if data["format"] != FORMAT or not isinstance(data["assignments"], dict):
            raise ValueError("another format")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(
            f"expected the manifest that `course assign` writes at {manifest}, and could not read "
            f"it ({type(error).__name__}: {error}): name the folder that it wrote"
        ) from None
    return dict(data)


def load_variants(folder: Path, assignment: str, groups: Path | None = None) -> Variants:
    """The variants of an assignment in a folder that ``write_variants`` wrote.

    Args:
        folder: with the manifest.
        assignment: such as "06_masks".
        groups: a CSV file with the columns ``student`` and ``group``, as spreadsheets save it, or
            with lines ``student,group`` alone.

    Raises:
        CourseError: the folder is another one, a file in it was changed, or the list of groups is
            not one.
    """
    known = _read(folder / MANIFEST)["assignments"]
    if assignment not in known:
        raise CourseError(
            f"expected variants of one of {', '.join(known) or 'no assignment'} in {folder}, got "
            f"{assignment!r}: write them with course assign --assignment {assignment}"
        )
    variants = {}
    for group, entry in known[assignment].items():
        exercise = load_exercise(folder / f"group_{group}", assignment)
        if exercise.sha256 != entry["sha256"]:
            raise CourseError(
                f"the exercise of group {group} in {folder} is not the one that the manifest "
                "names: it was changed after it was made; write it again with course assign"
            )
        names = tuple(entry["conventions"])
        variants[group] = Variant(
            group=group, stamp=entry["stamp"], conventions=names, exercise=exercise
        )
    return Variants(
        assignment=assignment,
        by_group=variants,
        groups=_groups(groups, variants) if groups else None,
    )


def _groups(path: Path, known: Mapping[str, Variant]) -> dict[str, str]:
    """The group of each student in a CSV file."""
    groups: dict[str, str] = {}
    for row in read_csv(path, ("student", "group"), lenient=True):
        student, group = clean_name(row["student"]), row["group"]
        if group not in known:
            raise CourseError(
                f"expected the columns student and group in {path}, with a group from "
                f"{', '.join(known)}, got {list(row.values())}: correct that line, or name the "
                "columns in the first one"
            )
        if groups.setdefault(student, group) != group:
            raise CourseError(
                f"expected one group for each student in {path}, got {groups[student]} and {group} "
                f"for {student!r}: delete the line that is wrong"
            )
    return groups
