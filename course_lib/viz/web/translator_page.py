"""A trained model as one HTML page that translates by itself: no Python, no network, no other file.

The model is inside the page, because a page that is opened from a disk may not read a second file.
What the page computes is in ``course_lib/assets/translator``.
"""

from __future__ import annotations

import base64
import html
import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from course_lib.errors import CourseError
from course_lib.model import Transformer, TransformerConfig
from course_lib.viz.web.bundles import bundle

ASSETS = Path(__file__).parents[2] / "assets" / "translator"
MODEL = ASSETS / "transformer.js"  # the whole model; the page shows its text, too
# Word order, a separable verb, two meanings of a word, and a word that the grammar does not have.
EXAMPLES = (
    ("Der alte Hund sieht die Katze.", "the old dog sees the cat."),
    (
        "Dem freundlichen Studenten kann Paul einen Hammer zeigen.",
        "paul can show a hammer to the friendly student.",
    ),
    ("Jeden Tag steht Lena auf.", "every day lena gets up."),
    ("Ich bleibe am Montag auf der grünen Bank.", "i stay on the green bench on monday."),
    ("Wir sind in diese Bank gelaufen.", "we ran into this bank."),
    ("Die Birne kann leuchten, wenn sie kaputt ist.", "the bulb can shine when it is broken."),
    ("Das Eichhörnchen schläft.", "the squirrel sleeps."),
)

HALF_LIMIT = float(np.finfo(np.float16).max)

Text = tuple[str, str]  # a German sentence and its English translation


def translator_page(
    model: Transformer,
    source_words: Sequence[str],
    target_words: Sequence[str],
    *,
    sentences: Sequence[Text] = (),
) -> str:
    """The page as text.

    Args:
        model: of vocabularies of words, with the choices of the preset ``small`` or, instead of
            its ``norm`` and ``final_norm``, others.
        source_words, target_words: in the order of their ids, special tokens included.
        sentences: with their right translations; a button of the page picks one at random.

    Raises:
        CourseError: the page's script cannot compute this model.
    """
    packed = pack_model(model, source_words, target_words, sentences=sentences)
    # No value contains a mark or ends a script element: a test looks at the page.
    marks = {
        "known": f"{sum(not word.startswith('<') for word in source_words):,}",
        "style": (ASSETS / "translator.css").read_text("utf-8"),
        "source": html.escape(MODEL.read_text("utf-8"), quote=False),
        "model": base64.b64encode(packed).decode("ascii"),
        "script": bundle("translator"),
    }
    page = (ASSETS / "translator.html").read_text("utf-8")
    for mark, text in marks.items():
        page = page.replace(f"<!--{mark}-->", text)
    return page


def pack_model(
    model: Transformer,
    source_words: Sequence[str],
    target_words: Sequence[str],
    *,
    sentences: Sequence[Text] = (),
) -> bytes:
    """A JSON header and all weights, deflated; ``unpackModel`` in weights.js reads it.

    The weights are 16-bit floating-point numbers, little-endian. All high bytes come before all low
    bytes: deflate compresses them better.

    Raises:
        CourseError: as `translator_page`.
    """
    _check(model.config)
    tensors = {
        name: value.detach().cpu().numpy().reshape(-1, value.shape[-1])  # a bias is one row
        for name, value in model.named_parameters()
    }
    numbers = np.concatenate([value.ravel() for value in tensors.values()])
    largest = np.abs(numbers).max()
    if not largest <= HALF_LIMIT:  # NaN compares false
        raise CourseError(
            f"the page stores weights as 16-bit floating-point numbers, at most {HALF_LIMIT:,.0f}, "
            f"got a model whose largest is {largest}: did its training diverge?"
        )
    halves = numbers.astype("<f2")
    if not np.array_equal(halves, numbers):
        raise CourseError(
            "the page stores weights as 16-bit floating-point numbers, got a model whose weights "
            "need 32: round them with model.half().float(), which changes its logits a little"
        )
    header = {
        "config": {
            name: getattr(model.config, name)
            for name in "d_model n_heads n_layers max_len norm final_norm norm_eps".split()
        }
        | {"bos_id": target_words.index("<bos>"), "eos_id": target_words.index("<eos>")},
        "tensors": [(name, *value.shape) for name, value in tensors.items()],
        "sourceWords": list(source_words),
        "targetWords": list(target_words),
        "examples": EXAMPLES,
        "sentences": list(sentences),
    }
    text = json.dumps(header, ensure_ascii=False).encode("utf-8")
    bits = halves.view("<u2")
    planes = (bits >> 8).astype(np.uint8).tobytes() + (bits & 255).astype(np.uint8).tobytes()
    return zlib.compress(struct.pack("<I", len(text)) + text + planes, 9)


def _check(config: TransformerConfig) -> None:
    """Refuse a model with choices that transformer.js does not make."""
    expected = {
        "norm_affine": True,
        "activation": "relu",
        "positions": "sinusoidal",
        "layout": "interleaved",
        "scale_embeddings": True,
        "tying": "none",
        "attention_bias": True,
        "feed_forward_bias": True,
        "output_bias": True,
    }
    for name, value in expected.items():
        if getattr(config, name) != value:
            raise CourseError(
                f"the page's script computes models with {name}={value!r}, got "
                f"{getattr(config, name)!r}: choose a model of the preset 'small'"
            )
