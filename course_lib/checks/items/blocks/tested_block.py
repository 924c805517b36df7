"""How many outputs of a decoder block move with each of several changes, seen from outside."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.model import FeedForward, MultiHeadAttention, causal_mask

WIDTH, DROPOUT, PADS = 32, 0.1, 2  # d_model, its rate, and pads at the end of the source
MOVES, STILL = 1e-3, 1e-5
TRAINING = "nothing, in training mode"
Inputs = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Tested:
    """How many outputs of a decoder block move with each of several changes.

    Attributes:
        words: of the target, and of the source with its pads.
        changes: what is changed, in the order of the lines.
        moved: outputs that move, for each change.
        expected: outputs that a right block moves.
    """

    words: int
    changes: list[str]
    _: KW_ONLY
    moved: list[int]
    expected: list[int]

    @property
    def wrong_lines(self) -> list[int]:
        """Lines that show an error, counted from 1."""
        pairs = zip(self.moved, self.expected, strict=True)
        return [line for line, (moved, expected) in enumerate(pairs, 1) if moved != expected]


class _Block:
    """A post-norm decoder block that may have an error."""

    def __init__(self, error: str) -> None:
        self.error = error
        self.attention, self.cross = MultiHeadAttention(WIDTH, 4), MultiHeadAttention(WIDTH, 4)
        self.feed_forward = FeedForward(WIDTH, 4 * WIDTH, 0.0)

    def __call__(self, x: Tensor, memory: Tensor, *, training: bool = False) -> Tensor:
        """From x (1, T, D) and memory (1, S, D) to (1, T, D)."""

        def drop(y: Tensor) -> Tensor:
            return F.dropout(y, DROPOUT, training=training or self.error == "dropout")

        n = x.size(1)
        causal, real = causal_mask(n), (torch.arange(n) < n - PADS)[None, None, None]
        future = None if self.error == "future" else causal
        x = _norm(x + drop(self.attention(x, x, x, future)))
        asked = x if self.error == "itself" else memory
        mask = {"causal": causal, "itself": causal, "pads": None}.get(self.error, real)
        found = drop(self.cross(x, asked, asked, mask))
        x = _norm(found if self.error == "residual" else x + found)
        return _norm(x + drop(self.feed_forward(x)))


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


@torch.no_grad()
def tested_block(
    error: str, *, words: int, word: int, source_word: int, order: list[int]
) -> Tested:
    """What the tests of a block show.

    Args:
        error: of the block; "" for a right one.
        words: of the target.
        word, source_word: positions of the words that are replaced.
        order: of the lines: tests by their index, not all of them perhaps.
    """
    while True:
        pairs = _inputs(words, word, source_word)
        changes = [[*pairs][n] for n in order]
        far = [
            torch.stack([_moves(block, name, *pairs[name]) for name in changes])
            for block in (_Block(error), _Block(""))
        ]
        if all(((each < STILL) | (each > 2 * MOVES)).all() for each in far):
            moved, expected = ((each > MOVES).sum(-1).tolist() for each in far)
            return Tested(words, changes, moved=moved, expected=expected)


def _inputs(words: int, word: int, source_word: int) -> dict[str, tuple[Inputs, Inputs]]:
    """By the name of a change: target and memory before it, and after it."""
    (x, memory), new = torch.randn(2, 1, words, WIDTH), torch.randn(WIDTH)
    pad, zero = words - PADS, torch.zeros_like(memory)

    def replaced(old: Tensor, position: int) -> Tensor:
        return torch.cat([old[:, :position], new[None, None], old[:, position + 1 :]], 1)

    before = (x, memory)
    turned = torch.cat([memory[:, :pad].flip(1), memory[:, pad:]], 1)
    return {
        "nothing": (before, before),
        TRAINING: (before, before),
        f"target word {word}": (before, (replaced(x, word), memory)),
        f"source word {source_word}": (before, (x, replaced(memory, source_word))),
        f"the pad at position {pad} of the source": (before, (x, replaced(memory, pad))),
        "the order of the source words": (before, (x, turned)),
        f"target word {word}, while the memory is all 0": ((x, zero), (replaced(x, word), zero)),
    }


def _moves(block: _Block, change: str, before: Inputs, after: Inputs) -> Tensor:
    """How far each output moves, (T,)."""
    training = change == TRAINING
    outputs = [block(*inputs, training=training) for inputs in (before, after)]
    return (outputs[0] - outputs[1]).abs().amax(-1)[0]
