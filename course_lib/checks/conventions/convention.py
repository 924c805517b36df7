"""What a convention is: how an item may be asked otherwise, as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Arguments = dict[str, Any]
Change = Callable[[Arguments], Arguments]
Rewrite = Callable[[str], str]
Edits = tuple[tuple[str | re.Pattern[str], str], ...]


def unchanged(arguments: Arguments) -> Arguments:
    """The arguments as they are."""
    return arguments


def as_it_is(value: Any, arguments: Arguments) -> Any:
    """The result as it is."""
    return value


def same_text(text: str) -> str:
    """The text as it is."""
    return text


@dataclass(frozen=True)
class Translation:
    """What a convention does to one item.

    Attributes:
        given: from the public arguments of a call, by name, to the variant's.
        understood: from the variant's arguments to those that the public code takes.
        result: from the public code's result, and its arguments, to the variant's result.
        back: from the variant's result to the public one, for probes that compare random results.
        renamed: parameters of a module, from public names to the variant's.
        shown: names of arguments in reports, from the public ones to the variant's.
        edits: (old, new) phrases of the item's texts; old may be a pattern. One that is nowhere is
            an error, since the texts have changed.
        left_out: names of misconceptions that are none here, or of which the text isn't true.
    """

    given: Change = unchanged
    understood: Change = unchanged
    result: Callable[[Any, Arguments], Any] = as_it_is
    back: Callable[[Any], Any] = lambda result: result
    renamed: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    edits: Edits = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Convention:
    """A convention of some items of a lesson.

    Attributes:
        name: a word for it, "true_hides".
        aspect: what it is about; a variant has at most one convention of an aspect.
        sentence: how a task states it.
        items: its translation for each item that takes it, by the item's id.
        rewrite: for all texts of these items, such as the order of axes in shapes.
        apart: names of conventions that are not handed out together with it, since each sentence
            would be false beside the other.
    """

    name: str
    aspect: str
    sentence: str
    items: Mapping[str, Translation]
    rewrite: Rewrite = same_text
    apart: tuple[str, ...] = ()

    def rewritten(self, text: str, item_id: str) -> str:
        """A text of an item, as this convention has it."""
        for old, new in self.items[item_id].edits:
            text = edited(text, old, new)
        return self.rewrite(text)

    def missing_phrases(self, texts: Sequence[str], item_id: str) -> list[str]:
        """The phrases to be edited that are in none of an item's texts, nor what they become."""
        return [
            str(getattr(old, "pattern", old))
            for old, new in self.items[item_id].edits
            if not any(edited(text, old, new) != text or (new and new in text) for text in texts)
        ]


def edited(text: str, old: str | re.Pattern[str], new: str) -> str:
    """The text with a phrase replaced, or what fits a pattern."""
    return text.replace(old, new) if isinstance(old, str) else old.sub(new, text)


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A parameter's name, such as "norm.weight", with the module's part renamed."""
    part, dot, rest = name.partition(".")
    return f"{names.get(part, part)}{dot}{rest}"
