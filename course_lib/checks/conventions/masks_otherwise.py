"""What a mask holds: the conventions that all lessons with masks share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.conventions.changes import Function, on, value, words
from course_lib.checks.conventions.convention import (
    Convention,
    Edits,
    Translation,
    as_it_is,
    unchanged,
)

# For texts of items whose scores have a column, not a row, for each query.
ROWS_ARE_COLUMNS = words(
    {
        "row": "column",
        "rows": "columns",
        "Row": "Column",
        "Rows": "Columns",
        "column": "row",
        "columns": "rows",
        "Column": "Row",
        "Columns": "Rows",
    }
)


@dataclass(frozen=True)
class Masks:
    """Where an item has masks: arguments of these names, or its result.

    ``edits`` are phrases of its texts, by the convention's name or for "all" of them.
    """

    arguments: tuple[str, ...] = ("mask",)
    result: bool = False
    edits: Mapping[str, Edits] = field(default_factory=dict)


def _translated(boolean: Function, *, inverted: bool) -> Function:
    """Translate a mask; a wrong answer may hold numbers, or be additive, which has one meaning."""

    def there(mask: Any) -> Any:
        if not isinstance(mask, Tensor):
            raise TypeError(f"expected a mask, got {type(mask).__name__}")
        if mask.dtype == torch.bool:
            return boolean(mask)
        return 1 - mask if inverted and bool((mask >= 0).all()) else mask

    return there


def mask_conventions(items: Mapping[str, Masks]) -> tuple[Convention, ...]:
    """The conventions of what a mask holds, for items of one lesson."""
    here = {"In this course": "In this task", "in this course": "in this task"}

    def convention(
        name: str, sentence: str, there: Function, back: Function, text: Mapping[str, str]
    ) -> Convention:
        translations = {
            item: Translation(
                on(**dict.fromkeys(masks.arguments, there)) if masks.arguments else unchanged,
                on(**dict.fromkeys(masks.arguments, back)) if masks.arguments else unchanged,
                value(there) if masks.result else as_it_is,
                edits=(*masks.edits.get("all", ()), *masks.edits.get(name, ())),
            )
            for item, masks in items.items()
        }
        return Convention(name, "mask", sentence, translations, words({**text, **here}))

    integers = {"a boolean": "an int64", "boolean": "int64", "booleans": "integers (int64)"}
    return (
        convention(
            "true_hides",
            "A mask is boolean, and **True means hidden**: the key gets no weight. "
            "False means that it may be attended to.",
            _translated(lambda mask: ~mask, inverted=True),
            lambda mask: ~mask,
            {"True": "False", "False": "True"},
        ),
        convention(
            "ones_attend",
            "A mask is of integers, `torch.int64`: **1 means may attend, 0 means hidden**.",
            _translated(lambda mask: mask.long(), inverted=False),
            lambda mask: mask != 0,
            {"True": "1", "False": "0", "torch.bool": "torch.int64", **integers},
        ),
        convention(
            "ones_hide",
            "A mask is of integers, `torch.int64`: **1 means hidden, 0 means may attend**.",
            _translated(lambda mask: (~mask).long(), inverted=True),
            lambda mask: mask == 0,
            {"True": "0", "False": "1", "torch.bool": "torch.int64", **integers},
        ),
    )
