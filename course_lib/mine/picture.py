"""The diagram of lesson 00, in which your own parts are filled and those of the course outlined."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.errors import CourseError
from course_lib.mine.parts import PARTS
from course_lib.training import load_translator
from course_lib.viz import model_diagram
from course_lib.viz.web.live_html import page

if TYPE_CHECKING:
    from course_lib.mine.library import Library

SENTENCE = "Der alte Hund sieht die Katze."
# From the diagram's parts to those that are written in exercises; a part of several is the
# learner's when all of them are.
_BOXES = {
    "source": ("collate",),
    "target": ("teacher_forcing",),
    "memory": ("align",),
    "source_embedding": ("TransformerEmbedding",),
    "target_embedding": ("TransformerEmbedding",),
    "source_positions": ("sinusoidal_positions",),
    "target_positions": ("sinusoidal_positions",),
    "encoder_layers": ("EncoderBlock",),
    "decoder_layers": ("DecoderBlock",),
    "norm": ("EncoderBlock", "DecoderBlock"),
    "residual": ("EncoderBlock", "DecoderBlock"),
    "encoder_attention": ("MultiHeadAttention", "padding_mask"),
    "decoder_attention": ("MultiHeadAttention", "decoder_mask"),
    "cross_attention": ("MultiHeadAttention", "padding_mask"),
    "encoder_feed_forward": ("FeedForward",),
    "decoder_feed_forward": ("FeedForward",),
    "output": ("Transformer",),
    "prediction": ("greedy_decode",),
}
_OUTLINED = "{ background: var(--back) !important; border: 1.5px dashed var(--soft) !important; }"
_CAPTION = "<p>Filled parts are yours ({own} of {all}); dashed ones are the course's. {weights}</p>"
_OWN_WEIGHTS = "The sentence is translated by the weights of your run."
_COURSE_WEIGHTS = (
    "The sentence is translated by the course's own model, which has pre-norm: its norms come "
    "before each sublayer, and yours after it. When you have trained yours, it is drawn instead."
)


def diagram_page(library: Library, run: Path | None = None) -> str:
    """The whole model as a page, which needs no network and no other file.

    Args:
        library: whose parts are whose.
        run: the folder of a run of the learner's, if there is one.
    """
    translator, weights = load_translator(), _COURSE_WEIGHTS
    if run is not None:
        with suppress(CourseError):  # nothing to show yet, or it is damaged: training tells
            translator, weights = load_translator(run), _OWN_WEIGHTS
    diagram = model_diagram(translator, SENTENCE, languages=("German", "English"))
    borrowed = [
        f'.md :is(.md-box, .md-small)[data-part="{box}"]'
        for box, names in _BOXES.items()
        if not all(map(library.is_own, names))
    ]
    style = f"<style>{', '.join(borrowed)} {_OUTLINED}</style>" if borrowed else ""
    own = sum(library.is_own(name) for name in PARTS)
    caption = _CAPTION.format(own=own, all=len(PARTS), weights=weights)
    return page(caption + diagram.to_html() + style, title="Your Transformer")
