"""The attention explorer of a whole model: a tab for each kind of attention."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.model import AttentionRecord
from course_lib.modern import prefix_mask
from course_lib.viz.explorer.explorer import AttentionExplorer, explore_attention
from course_lib.viz.explorer.explorer_data import AttentionKind, Language
from course_lib.viz.plots.plot_alignment import Link

KIND_OF: dict[str, AttentionKind] = {"encoder": "self", "decoder": "causal", "cross": "cross"}
LANGUAGES: dict[str, tuple[Language, Language]] = {  # of the queries and of the keys
    "encoder": ("german", "german"),
    "decoder": ("english", "english"),
    "cross": ("english", "german"),
}
BOS, PAD = "<bos>", "<pad>"


def explore_model(
    record: AttentionRecord,
    written: Sequence[str],
    source: Sequence[str],
    *,
    products: Collection[AttentionKind] = (),
    gold: Collection[Link] = (),
    title: str = "Attention",
) -> AttentionExplorer:
    """Explore all that a model has attended to: encoder, decoder and cross-attention as tabs.

    A row of the decoder is named after the token that it writes, as in `Translator.attend`. What
    it reads to do so are BOS and the tokens written before: they are the columns of the decoder's
    self-attention. Keys that are padding are masked.

    A decoder-only model that has read ``source``, BOS and what was written in one row has one kind
    of attention: there a token is named after itself, and the reader can choose to see what the
    target (B) attends to in the source (A), and the other three quarters.

    Args:
        record: of one forward pass on one sentence pair.
        written: the English token that each step of the decoder writes, usually up to EOS.
        source: the German tokens that the encoder reads.
        products: the kinds ("self" for the encoder, "causal" for the decoder, "cross") of which
            the queries and keys are stored as well, so that a click on a cell shows each product
            of query · key. That costs about as many bytes as the weights times
            4 d_head / (number of tokens).
        gold: right links (source index, index in ``written``), shown with the cross-attention.
        title: what is shown, for the heading and the alt text.

    Raises:
        CourseError: the record holds several sentences, or ``products`` names an unknown kind.
        ValueError: nothing was recorded, or the tokens do not fit the weights.
    """
    if unknown := set(products) - set(KIND_OF.values()):
        raise CourseError(
            f"products may name {', '.join(KIND_OF.values())}, got {sorted(unknown)[0]!r}: the "
            "encoder's attention is called self, the decoder's causal"
        )
    if record.kinds == ("decoder",) and record.decoder.size(-1) == len(source) + len(written):
        return _one_stack(
            record, written, source, inside="self" in products, gold=gold, title=title
        )
    columns = {"encoder": source, "decoder": [BOS, *written[:-1]], "cross": source}
    shown = []
    for part in record.kinds or ("encoder",):  # the record says what is missing
        weights = _of_one_pair(getattr(record, part))
        inside = KIND_OF[part] in products
        real = np.array([token != PAD for token in columns[part]])
        explorer = explore_attention(
            weights,
            source if part == "encoder" else written,
            columns[part],
            kind=KIND_OF[part],
            queries=record.queries(part)[:, 0] if inside else None,
            keys=record.keys(part)[:, 0] if inside else None,
            mask=None if real.all() else real,
            languages=LANGUAGES[part],
            gold=gold if part == "cross" else (),
            title=title,
        )
        shown.append(explorer.data)
    return AttentionExplorer(*shown)


def _one_stack(
    record: AttentionRecord,
    written: Sequence[str],
    source: Sequence[str],
    *,
    inside: bool,
    gold: Collection[Link],
    title: str,
) -> AttentionExplorer:
    """Source and target in one row: the first sees itself, the second is causal."""
    tokens = [*source, BOS, *written[:-1]]
    mask = prefix_mask(torch.tensor([len(source)]), len(tokens))
    return explore_attention(
        _of_one_pair(record.decoder),
        tokens,
        kind="self",
        queries=record.queries("decoder")[:, 0] if inside else None,
        keys=record.keys("decoder")[:, 0] if inside else None,
        mask=mask & torch.tensor([token != PAD for token in tokens]),
        second_sentence=len(source),
        gold=[(key, len(source) + step) for key, step in gold],
        title=title,
    )


def _of_one_pair(weights: Tensor) -> Tensor:
    """(layers, heads, query, key), of a record's (layers, batch, heads, query, key)."""
    if weights.size(1) != 1:
        raise CourseError(
            "the explorer shows one sentence pair, got a record of a batch of "
            f"{weights.size(1)}: run the model on source[:1], target[:1]"
        )
    return weights[:, 0]
