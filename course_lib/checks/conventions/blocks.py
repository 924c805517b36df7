"""Blocks: masks and the order of axes."""

from __future__ import annotations

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.convention import Edits
from course_lib.checks.conventions.masks_otherwise import Masks, mask_conventions

_TURNED = (
    (
        "In this course True always means: may attend. Only nn.MultiheadAttention wants the "
        "inverse.",
        "The attention that you call takes masks as the lesson has them; your block's mask has the "
        "meaning of your conventions.",
    ),
)
_LESSONS_PARTS = {
    "07.encoder_block": (
        (
            "each as LayerNorm(x + Sublayer(x)).",
            "each as LayerNorm(x + Sublayer(x)); the sublayers are the course's, and "
            "take masks and axes as the lesson has them.",
        ),
        ("self.self_attention(..., mask)", "self.self_attention(...)"),
        (
            "There are two sublayers, each used as LayerNorm(x + Sublayer(x)).",
            "There are two sublayers, each used as LayerNorm(x + Sublayer(x)): what do they take, "
            "and what is your block given?",
        ),
    ),
    "07.decoder_block": (
        (
            "`FeedForward(d_model, d_ff, 0.0)` and `nn.LayerNorm(d_model)`.",
            "`FeedForward(d_model, d_ff, 0.0)` and `nn.LayerNorm(d_model)`; these take masks and "
            "axes as the lesson has them.",
        ),
        (
            "There are three sublayers, each used as LayerNorm(x + Sublayer(x)).",
            "There are three sublayers, each used as LayerNorm(x + Sublayer(x)): what do they "
            "take, and what is your block given?",
        ),
    ),
    "07.pre_norm_encoder_block": (
        (
            "with the same parts as `EncoderBlock` in another order:",
            "with the same parts as `EncoderBlock`, which take masks and axes as the lesson has "
            "them, in another order:",
        ),
        (
            "Each sublayer is used as x + Sublayer(LayerNorm(x)). What is never normalised?",
            "Each sublayer is used as x + Sublayer(LayerNorm(x)): what does it take, and what is "
            "your block given? What is never normalised?",
        ),
    ),
}
_MOVED = "Move the axes of the vectors first, and those of the result back. In between: "
_AXES = {
    "07.encoder_block": (
        ("x = self.norm_1(x + self.dropout(", f"{_MOVED}x = self.norm_1(x + self.dropout("),
    ),
    "07.decoder_block": (
        ("In forward, the middle line is x", f"{_MOVED}the middle line of forward is x"),
    ),
    "07.pre_norm_encoder_block": (
        ("y = self.norm_1(x), then", f"{_MOVED}y = self.norm_1(x), then"),
    ),
}
_NOT_ROWS = (
    ("one row per source token", "one vector per source token"),
    ("the target's rows unless", "the target's vectors unless"),
    ("How many rows should the result have?", "How many positions should the result have?"),
)
_INVERTED = {
    "Your block inverts the mask before it passes it on.": (
        "Your mask has the opposite meaning when it reaches attention."
    ),
    "You invert a mask before you pass it on.": (
        "Your masks have the opposite meaning when they reach attention."
    ),
}


def _edits(item: str, symptom: str) -> Edits:
    return (*_TURNED, (symptom, _INVERTED[symptom]), *_LESSONS_PARTS[item])


def _moved(item: str) -> Edits:
    return (*_LESSONS_PARTS[item], *_AXES[item])


_BLOCK, _DECODER = _INVERTED
CONVENTIONS = (
    *mask_conventions(
        {
            "07.encoder_block": Masks(edits={"all": _edits("07.encoder_block", _BLOCK)}),
            "07.decoder_block": Masks(
                ("target_mask", "memory_mask"), edits={"all": _edits("07.decoder_block", _DECODER)}
            ),
            "07.pre_norm_encoder_block": Masks(
                edits={"all": _edits("07.pre_norm_encoder_block", _BLOCK)}
            ),
        }
    ),
    *axis_conventions(
        {
            "07.encoder_block": Axes(edits=_moved("07.encoder_block")),
            "07.decoder_block": Axes(
                ("x", "memory"), edits=(*_moved("07.decoder_block"), *_NOT_ROWS)
            ),
            "07.pre_norm_encoder_block": Axes(edits=_moved("07.pre_norm_encoder_block")),
        }
    ),
)
