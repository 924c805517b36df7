"""The conventions by which items may be asked otherwise, and items under some of them."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.checks.conventions import axes, masks, names, order, units
from course_lib.checks.conventions.convention import Convention
from course_lib.checks.conventions.variant_item import forgets, under
from course_lib.checks.engine.item import Item
from course_lib.errors import CourseError

# In this order they are applied: a later one changes what the earlier ones have made.
CONVENTIONS: tuple[Convention, ...] = (
    *masks.CONVENTIONS,
    *names.CONVENTIONS,
    *units.BEFORE_AXES,
    *order.BEFORE_AXES,
    *axes.CONVENTIONS,
    *units.CONVENTIONS,
    *order.CONVENTIONS,
)
# Items that could take the conventions of an aspect and don't, with the reason.
REFUSED = {("03.add_norm", "axes"): "the sublayer that it is given has the lesson's axes"}
# Why other items take none, by their kind.
WITHOUT = {
    "written": "a person marks it",
    "bug": "it shows code with one wrong line",
    "cases": "its cases are about the course's own function",
    "experiment": "it is about the course's own function",
    "predict": "every run has numbers of its own",
    "compare": "every run has numbers of its own",
    "conclude": "every run has numbers of its own",
    "run": "every run has numbers of its own",
}
__all__ = ["CONVENTIONS", "WITHOUT", "Convention", "chosen", "conventions_of", "under_conventions"]


def conventions_of(item: Item) -> tuple[Convention, ...]:
    """The conventions that a public item takes, in the order in which they are applied."""
    if item.bug is not None:
        return ()
    return tuple(
        each
        for each in CONVENTIONS
        if (item.id, each.aspect) not in REFUSED and each.taken(item) is not None
    )


def chosen(item: Item, names: Sequence[str]) -> tuple[Convention, ...]:
    """The item's conventions of these names, in the order in which they are applied.

    Raises:
        CourseError: the item takes no convention of such a name, or two are about the same.
    """
    known = {each.name: each for each in conventions_of(item)}
    for name in names:
        if name not in known:
            raise CourseError(
                f"conventions of {item.id} must be among {', '.join(known) or 'none at all'}, got "
                f"{name!r}: is this check from a notebook of an older course?",
                see="the-check-is-from-an-older-course",
            )
    found = tuple(each for each in known.values() if each.name in names)
    if len({each.aspect for each in found}) < len(found):
        raise CourseError(
            f"conventions of {item.id} must differ in what they are about, got {', '.join(names)}: "
            "copy the check from your notebook again"
        )
    return found


def under_conventions(item: Item, names: Sequence[str]) -> Item:
    """A public item under its conventions of these names; without any, the item itself.

    Raises:
        CourseError: as for ``chosen``.
    """
    public, found = item, chosen(item, names)
    for convention in found:
        item = under(item, convention)
    if len(found) > 1:
        item.misconceptions.insert(0, forgets(found, public.reference))
    return item
