"""What a mask holds. An item takes these conventions if it is given a mask or returns one."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.conventions.changes import Function, on, value
from course_lib.checks.conventions.convention import (
    Convention,
    Derived,
    Translation,
    as_it_is,
    touched,
)
from course_lib.checks.conventions.reordering import annotations_of
from course_lib.checks.engine.item import Item

_TOUCHED = touched(
    "True|False|true|false|bool|booleans?|invert(?:s|ed)?|inverse|'and'|'or'|masks",
    also=r"~|[&|]|, mask\b|mask ==|masked_fill\(mask",
)


def _translated(boolean: Function, *, inverted: bool) -> Function:
    """Translate a mask; a wrong answer may hold numbers, or be additive, which has one meaning."""

    def there(mask: object) -> Tensor:
        if not isinstance(mask, Tensor):
            raise TypeError(f"expected a mask, got {type(mask).__name__}")
        if mask.dtype == torch.bool:
            return boolean(mask)
        return 1 - mask if inverted and bool((mask >= 0).all()) else mask

    return there


def _taken(there: Function, back: Function) -> Derived:
    def taken(item: Item) -> Translation | None:
        arguments, result = annotations_of(item.reference)
        names = [name for name in arguments if name == "mask" or name.endswith("_mask")]
        returned = "bool" in getattr(result, "dtypes", ())
        if not names and not returned:
            return None
        return Translation(
            given=on(**dict.fromkeys(names, there)),
            understood=on(**dict.fromkeys(names, back)),
            result=value(there) if returned else as_it_is,
        )

    return taken


def _convention(name: str, paragraph: str, there: Function, back: Function) -> Convention:
    scope = (
        "This holds for every mask that your code is given or returns. Parts of the course that "
        "you call, such as `MultiHeadAttention`, keep the lesson's masks: translate a mask before "
        "you pass it to them."
    )
    return Convention(
        name=name,
        aspect="mask",
        paragraph=f"{paragraph} {scope}",
        touched=_TOUCHED,
        derived=_taken(there, back),
    )


CONVENTIONS = (
    _convention(
        "true_hides",
        "A mask is boolean, and **True means hidden**: that key gets no weight. False means that "
        "it may be attended to. Where the task says True or False of a mask, read the opposite.",
        _translated(lambda mask: ~mask, inverted=True),
        lambda mask: ~mask,
    ),
    _convention(
        "ones_attend",
        "A mask holds integers, `torch.int64`: **1 means that a key may be attended to, 0 that it "
        "is hidden**. Where the task calls a mask boolean, read int64; for True read 1, and for "
        "False read 0.",
        _translated(lambda mask: mask.long(), inverted=False),
        lambda mask: mask != 0,
    ),
    _convention(
        "ones_hide",
        "A mask holds integers, `torch.int64`: **1 means that a key is hidden, 0 that it may be "
        "attended to**. Where the task calls a mask boolean, read int64; for True read 0, and for "
        "False read 1.",
        _translated(lambda mask: (~mask).long(), inverted=True),
        lambda mask: mask == 0,
    ),
)
