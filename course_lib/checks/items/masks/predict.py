"""06.predict: Which outputs move when one token is replaced?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import attention_matmul

PADS, WIDTH = 3, 16
FARTHEST = 6  # positions that a window gets to the right, through three layers
MOVES, STILL = 1e-3, 1e-6


@dataclass(frozen=True)
class Change:
    """Outputs of a stack of attention layers, before and after one vector was replaced.

    Attributes:
        mask: the name of the mask that all layers have.
        side: on which the pads stand.
        word, pad: the positions whose vectors were replaced.
        before, after_word, after_pad: outputs, (position, d_model).
    """

    mask: str
    layers: int
    _: KW_ONLY
    side: str
    word: int
    pad: int
    before: Tensor
    after_word: Tensor
    after_pad: Tensor

    @property
    def moved(self) -> tuple[int, int]:
        """How many outputs move when the word is replaced, and when the pad is."""
        return _moved(self.before, self.after_word), _moved(self.before, self.after_pad)

    @property
    def decoder(self) -> int:
        """How many outputs the word would move under a decoder's mask."""
        return len(self.before) - self.word


def _moved(before: Tensor, after: Tensor) -> int:
    return int(((before - after).abs().amax(-1) > MOVES).sum())


def _make(drawn: random.Random) -> Change:
    mask, layers = drawn.choice([*MASKS]), drawn.choice([1, 2, 3])
    side, length = drawn.choice(["left", "right"]), drawn.choice([11, 12, 13, 14])
    pads = range(PADS) if side == "left" else range(length - PADS, length)
    word = drawn.randint(PADS if side == "left" else 1, length - FARTHEST - 2)  # not to the end
    pad = drawn.choice(pads[:2])
    real = torch.tensor([position not in pads for position in range(length)])
    while True:
        weights = torch.randn(layers, 3, WIDTH, WIDTH) / WIDTH**0.5
        x, other = torch.randn(length, WIDTH), torch.randn(WIDTH)
        inputs = [x, x.index_put((torch.tensor(word),), other)]
        inputs.append(x.index_put((torch.tensor(pad),), other))
        before, *after = _outputs(torch.stack(inputs), weights, _mask(mask, real))
        moves = (torch.stack(after) - before).abs().amax(-1)
        if ((moves < STILL) | (moves > 2 * MOVES)).all():
            return Change(
                mask,
                layers,
                side=side,
                word=word,
                pad=pad,
                before=before,
                after_word=after[0],
                after_pad=after[1],
            )


def _mask(name: str, real: Tensor) -> Tensor:
    """True = may attend, (query, key)."""
    square = torch.ones(len(real), len(real), dtype=torch.bool)
    causal = square.tril()
    return {
        "none": square,
        "padding": square & real,
        "causal": causal,
        "both": causal & real,
        "two": causal.triu(-1),
        "three": causal.triu(-2),
    }[name]


def _outputs(x: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Attention, residual and norm in each layer; x (run, position, d_model)."""
    for projections in weights:
        query, key, value = ((x @ one)[:, None] for one in projections)  # one head
        context, _ = attention_matmul(query, key, value, mask[None, None])
        x = F.layer_norm(x + context[:, 0], (WIDTH,))
    return x


def _show(run: Change) -> Outcome:
    length = len(run.before)
    pads, words = " ".join(["pad"] * PADS), " ".join(["word"] * (length - PADS))
    row = f"{pads} {words}" if run.side == "left" else f"{words} {pads}"
    return Outcome(
        text=(
            f"{row}\n"
            f"{length} positions, counted from 0; layers: {run.layers}\n"
            f"one run with another vector for the word at position {run.word},\n"
            f"one run with another vector for the pad at position {run.pad}"
        ),
        values={
            "before": run.before,
            "after": run.after_word,
            "after_pad": run.after_pad,
            "layers": run.layers,
        },
    )


MASKS = {
    "none": "there is no mask",
    "padding": "the mask hides the pads, and nothing else",
    "causal": "the mask hides the future, and nothing else",
    "both": "the mask hides the pads and the future",
    "two": "a window: each query sees itself and the one token before it",
    "three": "a window: each query sees itself and the two tokens before it",
}
SAYS = {
    "none": "Nothing is masked: word and pad moved all {word} outputs, so what a word becomes "
    "depends on the padding.",
    "padding": "Only pads are masked: the word moved all {word} outputs, also those before it, "
    "and the pad only its own, as no query sees it.",
    "causal": "Only the future is masked: the word moved {word} outputs and the pad {pad}, each "
    "its own and all that follow.",
    "both": "Pads and the future are masked: the word moved its own output and all that follow, "
    "{word}, and the pad only its own, as no query sees it.",
    "two": "A window of two tokens: in {layers}, the word moved its own output and one more to "
    "the right for each layer, {word} in all.",
    "three": "A window of three tokens: in {layers}, the word moved its own output and two more "
    "to the right for each layer, {word} in all.",
}
run = NumberedRun(
    id="06.predict",
    make=_make,
    show=_show,
    questions={
        "moved": Number(
            what="how many outputs move with the word",
            right=lambda run: run.moved[0],
            look='Count the positions in which `run["before"]` and `run["after"]` differ by more '
            "than 0.001 in one of their numbers. Outputs at pads count, too.",
        ),
        "moved_pad": Number(
            what="how many outputs move with the pad",
            right=lambda run: run.moved[1],
            look='Count the positions in which `run["before"]` and `run["after_pad"]` differ by '
            "more than 0.001 in one of their numbers. The pad's own position counts, too.",
        ),
        "mask": Choice(
            options=MASKS,
            right=lambda run: run.mask,
            look={
                "none": "Then each of the two changes would move all outputs.",
                "padding": "Then the word would move outputs on its left, too, and the pad would "
                "move its own output alone.",
                "causal": "Then each of the two changes would move its own output and all that "
                "come after it, up to the last.",
                "both": "Then the word would move its own output and all that come after it, and "
                "the pad its own alone.",
                "two": "Then a change would get one position further to the right in each layer, "
                "and no further.",
                "three": "Then a change would get two positions further to the right in each "
                "layer, unless the row ends before.",
            },
        ),
    },
    says=lambda run: (
        SAYS[run.mask].format(
            word=run.moved[0],
            pad=run.moved[1],
            layers=f"{run.layers} layer{'s' if run.layers > 1 else ''}",
        )
        + f" Under a decoder's mask, the word would move {run.decoder}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "For each of the six masks, write down which outputs the word would move, and which the "
        "pad. Where do two of them differ?",
        "Which outputs move, and not only how many? Do some lie before the change? Does the last "
        "one move? And what does a second layer see that the first one has moved?",
        '`(run["before"] - run["after"]).abs().amax(-1) > 0.001` says which outputs move. Compare '
        'its last True with the position of the word, and divide by `run["layers"]`; then do the '
        "same with the pad.",
    ),
)
