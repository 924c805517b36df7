"""The diagram of lesson 00, in which your own parts are filled and those of the course outlined."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
_CAPTION = (
    "<p>Filled parts are yours ({own} of {all}); dashed ones are the course's. The sentence is "
    "translated by the course's weights.</p>"
)


def diagram_page(library: Library) -> str:
    """The whole model as a page, which needs no network and no other file."""
    translator = load_translator()
    diagram = model_diagram(translator, SENTENCE, languages=("German", "English"))
    borrowed = [
        f'.md :is(.md-box, .md-small)[data-part="{box}"]'
        for box, names in _BOXES.items()
        if not all(map(library.is_own, names))
    ]
    style = f"<style>{', '.join(borrowed)} {_OUTLINED}</style>" if borrowed else ""
    own = sum(library.is_own(name) for name in PARTS)
    caption = _CAPTION.format(own=own, all=len(PARTS))
    return page(caption + diagram.to_html() + style, title="Your Transformer")
