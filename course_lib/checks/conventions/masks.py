"""Masks: what they hold, where queries and keys are, the order of parameters."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from course_lib.checks.conventions.changes import self_inverse, shapes, swapped, value
from course_lib.checks.conventions.convention import Convention, Edits, Translation
from course_lib.checks.conventions.masks_otherwise import (
    ROWS_ARE_COLUMNS,
    Masks,
    mask_conventions,
)

_TURNED = swapped(-2, -1)


def _turned_mask(mask: Tensor) -> Tensor:
    """With keys before queries, if the mask has both axes."""
    return _TURNED(mask) if mask.ndim > 2 else mask


_CODE_OF_TRIANGLE = "torch.ones(1, 1, size, size, dtype=torch.bool) and then .tril() or .triu()."
_TRIANGLE = (
    "Start with a square of True and keep one triangle. Which one, and does it include the "
    "diagonal?",
    "Start with a square of one value and change one triangle. Which one, and does it include the "
    "diagonal?",
)
_COMPARED = (
    "(tokens ... pad_id)[:, None, None, :], with the right comparison in place of the dots.",
    "Index the result of the right comparison with None where an axis is missing.",
)
_WORD_OF_MASKED = (
    "In nn.MultiheadAttention True means masked; in this course True means: may attend.",
    "In this task True means: may attend.",
)
_BOOLEANS = ("Return True and False.", "Return booleans.")
_WHICH_IS_HIDDEN = ("which tokens are not padding?", "which tokens are padding?")
_ROW_0 = (
    ("row 0 is True for key 0 only", "row 0 has True for key 0 only"),
    ("Count the True values in row 0.", "For how many keys of row 0 does your mask hold True?"),
)
_OR = (
    "Which operator means 'and' for boolean tensors?",
    "Which operators combine boolean tensors, and which of them do you need here?",
)
_OF_INTEGERS = (
    (
        "Compare the tokens with pad_id: that gives (batch, seq), True where the token is real.",
        "Compare the tokens with pad_id, and turn the result into integers: that gives (batch, "
        "seq), True where the token is real.",
    ),
    ("holds the numbers 1 and 0 instead of booleans.", "has another dtype than int64."),
    (" masked_fill doesn't accept a mask of numbers, and ~ doesn't invert one.", ""),
    (", and what is that of a comparison?", "?"),
)
_TRIANGLE_OF_INTEGERS = (
    ("Your mask holds numbers, 1 and 0, instead of booleans.", "Your mask isn't int64."),
)
_BOTH_OF_INTEGERS = (
    ("holds the numbers 1 and 0 instead of booleans.", "has another dtype than int64."),
    (
        " masked_fill doesn't accept a mask of numbers, and ~ doesn't invert one: of floats it's "
        "an error, of the integers 1 and 0 it gives -2 and -1.",
        "",
    ),
    (" Which operator means 'and' for boolean tensors?", ""),
)


def _integers(*edits: tuple[str, str]) -> dict[str, Edits]:
    return {"ones_attend": edits, "ones_hide": edits}


_ANY_CODE = (_CODE_OF_TRIANGLE, "torch.ones and torch.zeros make squares, .tril() and .triu() cut.")


def _keys_then_queries(axes: Sequence[str]) -> list[str] | None:
    if tuple(axes) == ("1", "1", "batch", "seq"):  # a wrong mask
        return ["1", "1", "seq", "batch"]
    ends = {"query", "key", "quer", "S", "T", "size", "1", "seq"}
    if len(axes) < 2 or not ends.issuperset(axes[-2:]) or axes[0] not in ("B", "batch", "1", "…"):
        return None
    return [*axes[:-2], axes[-1], axes[-2]] if len(axes) > 2 else None


CONVENTIONS: tuple[Convention, ...] = (
    *mask_conventions(
        {
            "06.padding_mask": Masks(
                (),
                result=True,
                edits={
                    "all": (_COMPARED, _BOOLEANS),
                    "true_hides": (_WHICH_IS_HIDDEN,),
                    "ones_attend": _OF_INTEGERS,
                    "ones_hide": (*_OF_INTEGERS, _WHICH_IS_HIDDEN),
                },
            ),
            "06.causal_mask": Masks(
                (),
                result=True,
                edits={
                    "all": (_TRIANGLE, _ANY_CODE, _WORD_OF_MASKED, _BOOLEANS, *_ROW_0),
                    **_integers(*_TRIANGLE_OF_INTEGERS),
                },
            ),
            "06.decoder_mask": Masks(
                (),
                result=True,
                edits={
                    "all": (_BOOLEANS,),
                    "true_hides": (_OR,),
                    **_integers(*_BOTH_OF_INTEGERS),
                },
            ),
            "06.masked_softmax": Masks(),
        }
    ),
    Convention(
        "keys_then_queries",
        "scores",
        "Scores, masks and weights are (…, key, query): **a column for each query**, whose weights "
        "sum to one.",
        {
            "06.padding_mask": Translation(
                result=value(_turned_mask),
                edits=(
                    _COMPARED,
                    (
                        "batch axis would be treated as queries",
                        "batch axis would be taken for keys",
                    ),
                ),
            ),
            "06.causal_mask": Translation(
                result=value(_TURNED),
                edits=(
                    ("on and below the diagonal", "on and above the diagonal"),
                    _TRIANGLE,
                    _ANY_CODE,
                ),
            ),
            "06.decoder_mask": Translation(result=value(_TURNED)),
            "06.masked_softmax": self_inverse(
                _TURNED,
                "scores",
                "mask",
                result=value(_TURNED),
                edits=(("the last axis of `scores`", "the last but one axis of `scores`"),),
            ),
        },
        lambda text: ROWS_ARE_COLUMNS(shapes(_keys_then_queries)(text)),
    ),
)
