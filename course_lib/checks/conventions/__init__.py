"""The conventions of all lessons, and items under some of them."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.checks.conventions import (
    attention_einsum,
    attention_matmul,
    batching,
    blocks,
    decoding,
    embeddings,
    feed_forward,
    full_model,
    honest_numbers,
    masks,
    positional_encoding,
    reading_attention,
    training,
    two_sentences,
)
from course_lib.checks.conventions.convention import Convention
from course_lib.checks.conventions.variant_item import forgets, under
from course_lib.checks.engine.item import Item
from course_lib.errors import CourseError

# In this order they are applied: a later one describes what the earlier ones have made.
CONVENTIONS: dict[str, tuple[Convention, ...]] = {
    "01": positional_encoding.CONVENTIONS,
    "02": embeddings.CONVENTIONS,
    "03": feed_forward.CONVENTIONS,
    "04": attention_matmul.CONVENTIONS,
    "05": attention_einsum.CONVENTIONS,
    "06": masks.CONVENTIONS,
    "07": blocks.CONVENTIONS,
    "08": full_model.CONVENTIONS,
    "09": batching.CONVENTIONS,
    "10": two_sentences.CONVENTIONS,
    "11": training.CONVENTIONS,
    "12": honest_numbers.CONVENTIONS,
    "13": decoding.CONVENTIONS,
    "14": reading_attention.CONVENTIONS,
}
# Why other items take none, by their kind or by their id.
WITHOUT = {
    "written": "a person marks it",
    "bug": "it shows code with one wrong line",
    "02.embedding_std": "it asks for one number, which the model's width fixes",
}
__all__ = ["CONVENTIONS", "WITHOUT", "Convention", "chosen", "conventions_of", "under_conventions"]


def conventions_of(item_id: str) -> tuple[Convention, ...]:
    """The conventions that an item takes, in the order in which they are applied."""
    found = CONVENTIONS.get(item_id.split(".")[0], ())
    return tuple(each for each in found if item_id in each.items)


def chosen(item_id: str, names: Sequence[str]) -> tuple[Convention, ...]:
    """The item's conventions of these names, in the order in which they are applied.

    Raises:
        CourseError: the item takes no convention of such a name, or two are about the same.
    """
    known = {each.name: each for each in conventions_of(item_id)}
    for name in names:
        if name not in known:
            raise CourseError(
                f"conventions of {item_id} must be among {', '.join(known) or 'none at all'}, got "
                f"{name!r}: is this check from a notebook of an older course?",
                see="the-check-is-from-an-older-course",
            )
    found = tuple(each for each in known.values() if each.name in names)
    if len({each.aspect for each in found}) < len(found):
        raise CourseError(
            f"conventions of {item_id} must differ in what they are about, got {', '.join(names)}: "
            "copy the check from your notebook again"
        )
    return found


def under_conventions(item: Item, names: Sequence[str]) -> Item:
    """A public item under its conventions of these names; without any, the item itself.

    Raises:
        CourseError: as for ``chosen``.
    """
    public, found = item, chosen(item.id, names)
    for convention in found:
        item = under(item, convention)
    if len(found) > 1:
        item.misconceptions.append(forgets(found, public.reference))
    return item
