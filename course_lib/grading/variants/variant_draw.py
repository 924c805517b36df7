"""Choose the conventions of each group's assignment.

One choice holds for a whole assignment, so that items that build on each other agree.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from course_lib.checks import load_items
from course_lib.checks.conventions import CONVENTIONS, Convention, conventions_of
from course_lib.errors import CourseError

MOST_OF_AN_ITEM = 3  # conventions
Choice = tuple[str, ...]  # names of conventions, in the order in which they are applied
Taken = Mapping[str, Sequence[Convention]]  # the conventions of each item, by its id


def draw_variants(lesson: str, number: int, seed: str) -> list[Choice]:
    """So many choices of conventions for a lesson, as different as they can be.

    Every item that takes conventions has one to three in each choice. The same seed gives the same
    choices everywhere.

    Args:
        lesson: such as "06".
        number: of groups.
        seed: any text, such as the name of the term.

    Raises:
        CourseError: the lesson takes no conventions, or the number is less than one.
    """
    if number < 1:
        raise CourseError(f"--variants must be at least 1, got {number}")
    taken = conventions_by_item(lesson)
    choices = candidates(taken)
    if not choices:
        raise CourseError(
            f"lesson {lesson} has no variants: its items take no conventions; hand out its "
            "exercise as it is"
        )
    choices.sort(key=lambda choice: _order(seed, lesson, choice))
    used: Counter[tuple[str, Choice]] = Counter()
    drawn: list[Choice] = []
    for _ in range(number):
        best = min(
            choices,
            key=lambda c: (c in drawn, sum(used[each] for each in names_by_item(taken, c))),
        )
        drawn.append(best)
        used.update(names_by_item(taken, best))
    return drawn


def conventions_by_item(lesson: str) -> Taken:
    """The items of a lesson that take conventions, and which."""
    found = {item.id: conventions_of(item) for item in load_items(lesson).values()}
    return {item_id: conventions for item_id, conventions in found.items() if conventions}


def names_by_item(taken: Taken, choice: Choice) -> list[tuple[str, Choice]]:
    """What a choice means for each item that takes conventions, as (item, names)."""
    return [
        (item_id, tuple(each.name for each in conventions if each.name in choice))
        for item_id, conventions in taken.items()
    ]


def candidates(taken: Taken) -> list[Choice]:
    """All choices that give each item one to three conventions."""
    conventions = [each for each in CONVENTIONS if any(each in own for own in taken.values())]
    aspects: dict[str, list[str | None]] = {}
    for each in conventions:
        aspects.setdefault(each.aspect, [None]).append(each.name)
    found = []
    for names in product(*aspects.values()) if conventions else ():
        choice = tuple(each.name for each in conventions if each.name in names)
        if any(set(each.apart) & set(choice) for each in conventions if each.name in choice):
            continue
        if all(1 <= len(own) <= MOST_OF_AN_ITEM for _, own in names_by_item(taken, choice)):
            found.append(choice)
    return found


def _order(seed: str, lesson: str, choice: Choice) -> bytes:
    return hmac.digest(seed.encode(), "\n".join((lesson, *choice)).encode(), hashlib.sha256)
