"""Lesson 06: build masks for your own batch, and see the weights that remain."""

import math
import zlib
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.model import causal_mask, masked_softmax, padding_mask
from course_lib.viz.plots.heatmaps import plot_attention
from course_lib.viz.style import styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

PAD, PAD_ID = "<pad>", 0
MAX_SENTENCES, MAX_WORDS = 3, 7
MAX_CHARACTERS_BELOW = 26  # number of words times the longest of them, side by side under a panel
D_HEAD = 8


def mask_widget(sentences: str = "we like tea / cats drink cold milk") -> InteractiveFigure:
    """Type a batch, switch the masks on and off; see the weights. Masked cells are hatched.

    Queries and keys are random, but always the same for the same word.

    Args:
        sentences: the batch to start with, with a slash between two sentences.
    """

    @styled
    def draw(
        sentences: str, padding: bool = True, causal: bool = True, pad_side: str = "right"
    ) -> DrawnFigure:
        rows = read_batch(sentences, pad_left=pad_side == "left")
        tokens = torch.tensor([[PAD_ID if word == PAD else 1 for word in row] for row in rows])
        mask = _mask(tokens, padding=padding, causal=causal)  # (B, 1, S, S)
        weights = masked_softmax(scores_of(rows), mask[:, 0])  # (B, S, S)
        figure = Figure(figsize=(1.2 + 3.3 * max(2, len(rows)), 3.6), layout="constrained")
        for i, ax in enumerate(figure.subplots(1, max(2, len(rows)))):
            if i >= len(rows):
                ax.set_axis_off()
                continue
            title = f"sentence {i}"
            plot_attention(weights[i], rows[i], rows[i], mask=mask[i], title=title, ax=ax)
            if max(map(len, rows[i])) * len(rows[i]) > MAX_CHARACTERS_BELOW:
                ax.tick_params(axis="x", labelrotation=90)
        is_pad = tokens == PAD_ID
        on_pads = (weights * is_pad[:, None, :]).sum(-1)[~is_pad].mean() + 0.0
        empty = int((~mask).all(-1).sum())
        return figure, (
            f"The mask allows {int(mask.sum())} of {mask.numel()} pairs of query and key; {empty} "
            f"{'query has' if empty == 1 else 'queries have'} no key left. In {len(rows)} "
            f"{'sentence' if len(rows) == 1 else 'sentences'}, words put {on_pads:.2f} of their "
            "attention weight on pads."
        )

    return interact(
        draw, sentences=sentences, padding=True, causal=True, pad_side=["right", "left"]
    )


def read_batch(text: str, *, pad_left: bool) -> list[list[str]]:
    """The words of each sentence, padded to one length.

    Raises:
        CourseError: there is no sentence, or more text than can be drawn.
    """
    rows = [words for part in text.split("/") if (words := part.split())]
    if not rows or len(rows) > MAX_SENTENCES or max(map(len, rows)) > MAX_WORDS:
        raise CourseError(
            f"type one to {MAX_SENTENCES} sentences of at most {MAX_WORDS} words, with / between "
            f"them, got {len(rows)} with {max(map(len, rows), default=0)} words in the longest"
        )
    length = max(map(len, rows))
    pads = [[PAD] * (length - len(row)) for row in rows]
    return [pad + row if pad_left else row + pad for row, pad in zip(rows, pads, strict=True)]


def scores_of(rows: Sequence[Sequence[str]]) -> Float[Tensor, "batch query key"]:
    """Scaled scores of random queries and keys, which depend only on the words."""

    def vectors(word: str) -> Tensor:
        generator = torch.Generator().manual_seed(zlib.crc32(word.encode()))
        return torch.randn(2, D_HEAD, generator=generator)

    both = torch.stack([torch.stack([vectors(word) for word in row]) for row in rows])
    query, key = both.unbind(2)  # (B, S, d_head) each
    return query @ key.mT / math.sqrt(D_HEAD)


def _mask(tokens: Tensor, *, padding: bool, causal: bool) -> Bool[Tensor, "batch 1 query key"]:
    mask = torch.ones(len(tokens), 1, tokens.size(1), tokens.size(1), dtype=torch.bool)
    if padding:
        mask = mask & padding_mask(tokens, PAD_ID)
    return mask & causal_mask(tokens.size(1)) if causal else mask
