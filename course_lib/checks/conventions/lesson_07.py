"""Blocks: masks and the order of axes."""

from __future__ import annotations

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.masks_otherwise import Masks, mask_conventions

_TURNED = (
    (
        "In this course True always means: may attend. You never have to invert a mask.",
        "The attention that you call takes True for a key that may be attended to; your block's "
        "mask has the meaning of your conventions.",
    ),
)
_INVERTED = {
    "Your block inverts the mask before it passes it on.": (
        "Your mask has the opposite meaning when it reaches attention."
    ),
    "You invert a mask before you pass it on.": (
        "Your masks have the opposite meaning when they reach attention."
    ),
}


def _edits(symptom: str) -> tuple[tuple[str, str], ...]:
    return (*_TURNED, (symptom, _INVERTED[symptom]))


_BLOCK, _DECODER = _INVERTED
CONVENTIONS = (
    *mask_conventions(
        {
            "07.encoder_block": Masks(),
            "07.decoder_block": Masks(
                ("target_mask", "memory_mask"), edits={"all": _edits(_DECODER)}
            ),
            "07.pre_norm_encoder_block": Masks(edits={"all": _edits(_BLOCK)}),
        }
    ),
    *axis_conventions(
        {
            "07.encoder_block": Axes(),
            "07.decoder_block": Axes(("x", "memory")),
            "07.pre_norm_encoder_block": Axes(),
        }
    ),
)
