"""What a convention is: other data for some items, and the words that it may make wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from course_lib.checks.engine.item import Item

Arguments = dict[str, Any]
Change = Callable[[Arguments], Arguments]


def unchanged(arguments: Arguments) -> Arguments:
    """The arguments as they are."""
    return arguments


def as_it_is(value: Any, arguments: Arguments) -> Any:
    """The result as it is."""
    return value


@dataclass(frozen=True, kw_only=True)
class Translation:
    """What a convention does to one item.

    Attributes:
        given: from the public arguments of a call, by name, to the variant's.
        understood: from the variant's arguments to those that the public code takes.
        result: from the public code's result, and its arguments, to the variant's result.
        back: from the variant's result to the public one, for probes that compare random results.
        renamed: parameters of a module, from public names to the variant's.
        shown: names of arguments in reports, from the public ones to the variant's.
    """

    given: Change = unchanged
    understood: Change = unchanged
    result: Callable[[Any, Arguments], Any] = as_it_is
    back: Callable[[Any], Any] = lambda result: result
    renamed: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)


Derived = Callable[[Item], Translation | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Convention:
    """A convention of the items that take it. It changes data, and no text.

    Attributes:
        name: a word for it, "true_hides".
        aspect: what it is about; a variant has at most one convention of an aspect.
        paragraph: what a task says of it. It stands alone, and says what of the task's own text,
            which stays as it is, has to be read otherwise.
        touched: words, shapes and code that may be wrong under it. A hint, an explanation or a
            description in which one of them occurs is left out of a variant.
        items: what it does to each item that takes it, by the item's id.
        derived: for one that can be told from an item's signature instead: from a public item to
            what the convention does to it, or None.
        lessons: to which a derived one is limited; without any, items of all lessons may take it.
        apart: names of conventions that are not handed out together with it, since each paragraph
            would be false beside the other.
    """

    name: str
    aspect: str
    paragraph: str
    touched: re.Pattern[str]
    items: Mapping[str, Translation] = field(default_factory=dict)
    derived: Derived | None = None
    lessons: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    def taken(self, item: Item) -> Translation | None:
        """What it does to a public item; None if the item doesn't take it."""
        if self.derived is None:
            return self.items.get(item.id)
        return self.derived(item) if not self.lessons or item.id[:2] in self.lessons else None

    def touches(self, *texts: str) -> bool:
        """Whether one of the texts may be wrong under the convention."""
        return any(self.touched.search(text) for text in texts)


def touched(words: str, also: str = "") -> re.Pattern[str]:
    """A pattern for whole words, "first|last|rows?", and for code or shapes; in any case."""
    whole = rf"(?<!\w)(?:{words})(?!\w)"
    return re.compile(f"{whole}|{also}" if also else whole, re.IGNORECASE)


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A parameter's name, such as "norm.weight", with the module's part renamed."""
    part, dot, rest = name.partition(".")
    return f"{names.get(part, part)}{dot}{rest}"
