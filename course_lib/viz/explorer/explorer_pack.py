"""What the attention explorer shows, packed for the browser, which unpacks it in ``unpack.js``."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.viz.explorer.explorer_constants import QUANTISATION_LEVELS
from course_lib.viz.explorer.explorer_data import AttentionData

_SPECIAL = re.compile(r"<[^<>]+>|\[[A-Z]+\]")
_LEVEL = 6  # of deflate: the highest takes several times as long for about one byte in a hundred


def word_numbers(tokens: Sequence[str], second_sentence: int | None = None) -> list[int]:
    """The word that each token belongs to, counted from 0.

    It knows "▁der" and "Ġder" (a word starts here), "##er" (the word continues) and "d@@" (it
    continues in the next token). Special tokens such as <eos> are words of their own. Without any
    of these marks every token is a word. A second sentence begins with a word of its own.
    """
    special = [_SPECIAL.fullmatch(token) is not None for token in tokens]
    if any(token.startswith(("▁", "Ġ")) for token in tokens):
        begins = [token.startswith(("▁", "Ġ")) for token in tokens]
    elif any(token.startswith("##") for token in tokens):
        begins = [not token.startswith("##") for token in tokens]
    else:
        begins = [True, *(not token.endswith("@@") for token in tokens[:-1])]
    numbers = [0]
    for i in range(1, len(tokens)):
        numbers.append(
            numbers[-1] + (begins[i] or special[i] or special[i - 1] or i == second_sentence)
        )
    return numbers


def pack(*shown: AttentionData) -> bytes:
    """Everything that the browser needs, deflated: a header in JSON, then the numbers.

    Each number becomes an integer from 0 to QUANTISATION_LEVELS, two bytes long, so a weight is off
    by at most 7.6e-6. All high bytes come before all low bytes: deflate compresses them better.
    Tokens that several kinds of attention share cost next to nothing a second time.

    Args:
        shown: one or more kinds of attention of one sentence or sentence pair.
    """
    planes: list[bytes] = []
    header = {
        "title": shown[0].title,
        "pad": shown[0].pad,
        "attentions": [_header(data, planes) for data in shown],
    }
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return zlib.compress(b"".join([struct.pack("<I", len(text)), text, *planes]), _LEVEL)


def _header(data: AttentionData, planes: list[bytes]) -> dict[str, Any]:
    """What is known of one kind of attention; its numbers are appended to the planes, those of
    the weights first, then each that the header gives limits for, in the same order.
    """
    arrays: dict[str, np.ndarray] = {}
    if data.queries is not None and data.keys is not None:
        arrays = {"queries": data.queries, "keys": data.keys}  # the scores are their products
    elif data.scores is not None:
        arrays = {"scores": data.scores}
    planes.append(_planes(data.weights.clip(0, 1), 0, 1))
    limits = {name: (float(array.min()), float(array.max())) for name, array in arrays.items()}
    planes.extend(_planes(array, *limits[name]) for name, array in arrays.items())
    hidden = (~data.allowed).ravel().astype(np.uint8) + ord("0")
    second = data.second_sentence
    known = {
        "secondSentence": second,
        "languages": data.languages,
        "layerNames": data.layer_names or None,
        "headNames": data.head_names or None,
    }
    return {
        "kind": data.kind,
        "shape": data.weights.shape,
        "queryTokens": data.query_tokens,
        "keyTokens": data.key_tokens,
        "queryWords": word_numbers(data.query_tokens, second),
        "keyWords": word_numbers(data.key_tokens, second),
        "masked": "" if data.allowed.all() else hidden.tobytes().decode("ascii"),
        "gold": data.gold,
        "dHead": data.d_head,
        "limits": limits,
    } | {name: value for name, value in known.items() if value is not None}


def _planes(values: np.ndarray, low: float, high: float) -> bytes:
    levels = np.rint((values - low) * (QUANTISATION_LEVELS / ((high - low) or 1)))
    flat = levels.astype("<u2").ravel()
    return (flat >> 8).astype(np.uint8).tobytes() + (flat & 255).astype(np.uint8).tobytes()
