"""What ``course similar`` does: read what was handed in as text, and list pairs that stand out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from tqdm.auto import tqdm

from course_lib.grading.class_run.class_run import students_in
from course_lib.grading.class_run.grade import encodable, read_hand_in
from course_lib.grading.options import SimilarOptions
from course_lib.grading.reports.similarity import (
    FEWEST,
    MOST_SOURCE,
    Similarity,
    find_similar_pairs,
    names_in,
    split_words,
    tokenize_source,
)
from course_lib.grading.reports.similarity_file import SIMILAR_FILE, store_pairs
from course_lib.grading.results import list_names, shown_text
from course_lib.grading.submissions.exercise import Exercise, exercises_folder, load_exercise
from course_lib.grading.submissions.submission import SubmissionError
from course_lib.grading.submissions.transplant import Transplant
from course_lib.training.runs.handed_in_run import digest_of_weights

_MOST_NAME, _MOST_PAIRS = 32, 40  # in the table; the file has all
_MOST_SOURCE = 200_000  # characters of a submission, so that nobody holds up the others
HINT = (
    "This is a hint for a person, and deducts nothing. Read both before you think anything of it: "
    "people who learn together, or from the same page, write alike."
)


def find_similar(options: SimilarOptions) -> tuple[Similarity, int]:
    """Compare the submissions, store the pairs, and tell how many submissions were read.

    Raises:
        CourseError: there is nothing to compare, or the pairs can't be written.
    """
    exercise = load_exercise(options.exercises or exercises_folder(), options.assignment)
    known = frozenset().union(*(names_in(cell.source) for cell in exercise.cells if cell.is_code))
    submissions = {}
    files: dict[str, list[str]] = {}
    cut: list[str] = []
    students = students_in(options.incoming)
    for student in tqdm(students, desc="reading", unit="submission", delay=2, leave=False):
        try:
            hand_in = read_hand_in(options.incoming / student, exercise)
        except SubmissionError:
            continue  # course grade tells who could not be read
        name = encodable(student)
        submissions[name], is_cut = _tokens(hand_in.transplant, known)
        if is_cut:
            cut.append(name)
        if hand_in.transplant.answered:  # untouched ones are the same by nature
            files.setdefault(hand_in.submission.sha256, []).append(name)
            if weights := digest_of_weights(hand_in.with_run):
                files.setdefault(weights, []).append(name)
    pairs = (pair for names in files.values() for pair in combinations(names, 2))
    same = tuple(dict.fromkeys(pairs))
    similar = find_similar_pairs(submissions, _released(exercise, known))
    others = tuple(pair for pair in similar.pairs if (pair.first, pair.second) not in same)
    found = replace(similar, pairs=others, identical=same, cut=tuple(cut))
    store_pairs(options.results / exercise.assignment, found)
    return found, len(submissions)


def _tokens(
    transplanted: Transplant, known: frozenset[str]
) -> tuple[Mapping[str, list[str]], bool]:
    """What a learner wrote: the tokens of their own cells, and the words of their answers; and
    whether something was left out of it. Short cells come first, so that no long one hides them.
    """
    cells: dict[str, list[str]] = {}
    left, is_cut = _MOST_SOURCE, False
    theirs = [cell for cell in transplanted.cells if not cell.ours]
    for cell in sorted(theirs, key=lambda cell: len(cell.source)):
        source = cell.source[: min(left, MOST_SOURCE)]
        cells.setdefault(cell.name, []).extend(tokenize_source(source, known))
        left -= len(source)
        is_cut = is_cut or len(source) < len(cell.source)
    for item, text in transplanted.written.items():
        cells[f"{item} (words)"] = split_words(text)
        is_cut = is_cut or len(text) > MOST_SOURCE
    return cells, is_cut


def _released(exercise: Exercise, known: frozenset[str]) -> list[list[str]]:
    return [
        tokenize_source(cell.source, known) if cell.is_code else split_words(cell.source)
        for cell in exercise.cells
    ]


def similar_table(found: Similarity, submissions: int) -> str:
    """The pairs as text, or that none stands out, or that the class is too small."""
    same = [
        f"{shown_text(a, _MOST_NAME)} and {shown_text(b, _MOST_NAME)}" for a, b in found.identical
    ]
    lines = [f"Identical files: {pair}" for pair in same[:_MOST_PAIRS]]
    if len(same) > _MOST_PAIRS:
        lines.append(f"… and {len(same) - _MOST_PAIRS} more in {SIMILAR_FILE}")
    if found.cut:
        lines.append(
            f"Of the long work of these, only a part was compared: {list_names(found.cut)}"
        )
    return "\n".join([*lines, *([""] if lines else []), _rare(found, submissions)])


def _rare(found: Similarity, submissions: int) -> str:
    """The pairs that agree in what is rare."""
    if submissions < FEWEST:
        return (
            f"{submissions} submissions could be read, and only in a class of {FEWEST} or more can "
            "one tell what is rare."
        )
    if not found.pairs:
        return (
            f"No pair among {submissions} submissions stands out. Usually a student's highest "
            f"share with anybody is {found.usual:.0%}."
        )
    lines = [
        f"{p.share:5.0%}  {p.surprise:6.0f} bits  {shown_text(p.first, _MOST_NAME)} and "
        f"{shown_text(p.second, _MOST_NAME)}: {', '.join(p.where)}"
        for p in found.pairs[:_MOST_PAIRS]
    ]
    more = len(found.pairs) - _MOST_PAIRS
    pairs = "1 pair" if len(found.pairs) == 1 else f"{len(found.pairs)} pairs"
    agree = "agrees" if len(found.pairs) == 1 else "agree"
    return "\n".join(
        [
            f"{pairs} among {submissions} submissions {agree} in what few others "
            f"wrote. Usually a student's highest share with anybody is {found.usual:.0%}.",
            "",
            *lines,
            *([f"… and {more} more in {SIMILAR_FILE}"] if more > 0 else []),
            "",
            HINT,
        ]
    )
