"""Cross-attention with six heads of which one knows what they do, and what ablations cost."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

SENTENCES, WORDS, VOCAB, HEADS = 60, 8, 30, 6
NAMES = [f"{layer}.{head}" for layer in range(2) for head in range(3)]
# The first sentence; the others have word orders of their own.
GERMAN = (
    "dass (that)|der (the)|Hund (dog)|heute (today)|in (in)|Rom (Rome)|schläft (sleeps)|.".split(
        "|"
    )
)
ENGLISH = "that|the|dog|sleeps|in|Rome|today|.".split("|")
ORDER = (0, 1, 2, 6, 4, 5, 3, 7)  # target word -> source word


@dataclass(frozen=True)
class Heads:
    """Cross-attention of two layers with three heads each, on sentences with known translations.

    Attributes:
        scores: of the attention, (heads, sentences, target, source).
        gains: what each head adds to the logit of a word that has all its weight.
        known: what the rest of the model adds to the logit of the right word.
        smoothing: the probability that all words share, as label smoothing teaches it.
        needs: the head in layer 1 that attends to what another, in layer 0, has found.
        words: the right translation of each source word, (sentences, source).
        order: the source word of each target word, (sentences, target).
    """

    why: str
    scores: Tensor
    _: KW_ONLY
    gains: Tensor
    known: float
    smoothing: float
    needs: tuple[int, int] | None
    words: Tensor
    order: Tensor

    def maps(self, ablated: Collection[int] = ()) -> Tensor:
        """The weights of all heads, (heads, sentences, target, source)."""
        scores = self.scores.clone()
        if self.needs and self.needs[1] in ablated:
            scores[self.needs[0]] = 0.0  # nothing was found, so all words are alike
        return scores.softmax(-1)

    def loss(self, ablated: Collection[int] = ()) -> float:
        """Nats a word, without the output of these heads."""
        one_hot = F.one_hot(self.words, VOCAB).float()  # (sentences, source, vocabulary)
        gains = self.gains.clone()
        gains[list(ablated)] = 0.0
        logits = torch.einsum("h,hnts,nsv->ntv", gains, self.maps(ablated), one_hot)
        labels = self.words.gather(1, self.order)  # (sentences, target)
        logits += self.known * F.one_hot(labels, VOCAB)
        right = logits.softmax(-1).gather(-1, labels[..., None])
        return -((1 - self.smoothing) * right + self.smoothing / VOCAB).log().mean().item()

    @cached_property
    def losses(self) -> Tensor:
        """(heads, heads): without both heads; on the diagonal, without this one alone."""
        table = torch.zeros(HEADS, HEADS)
        for i in range(HEADS):
            for j in range(HEADS):
                table[i, j] = self.loss({i, j})
        return table

    @cached_property
    def whole(self) -> float:
        """The loss of the whole model."""
        return self.loss()

    @property
    def entropies(self) -> Tensor:
        """Mean entropy of each head's maps, (heads,)."""
        return torch.special.entr(self.maps()).sum(-1).mean((1, 2))

    @property
    def sharpest(self) -> int:
        """The head with the lowest mean entropy."""
        return int(self.entropies.argmin())

    @property
    def alone(self) -> Tensor:
        """The ablation effect of each head, (heads,)."""
        return self.losses.diagonal() - self.whole

    @cached_property
    def extra(self) -> Tensor:
        """What two heads cost together beyond the sum of what each costs alone, (heads, heads)."""
        return (self.losses - self.whole - self.alone[:, None] - self.alone[None, :]).triu(1)

    @property
    def unsubtracted(self) -> float:
        """The same number for whoever forgets to subtract the loss of the whole model."""
        upper = torch.ones(HEADS, HEADS).triu(1) > 0
        numbers = (self.extra - self.whole)[upper]
        return float(numbers[numbers.abs().argmax()])

    @property
    def pair(self) -> tuple[int, int]:
        """The two heads for which that is furthest from 0."""
        i, j = divmod(int(self.extra.abs().argmax()), HEADS)
        return i, j


def draw_heads(why: str, drawn: random.Random) -> Heads:
    """Heads of which the sentence of this name in ``14.conclude`` is true."""
    words = torch.stack([torch.randperm(VOCAB)[:WORDS] for _ in range(SENTENCES)])
    order = torch.stack([torch.randperm(WORDS) for _ in range(SENTENCES)])
    order[0] = torch.tensor(ORDER)
    aligned = F.one_hot(order, WORDS).float()  # (sentences, target, source)
    patterns = torch.stack(
        [aligned, aligned.roll(1, -2), aligned.roll(-1, -2), aligned.roll(1, -1)]
    )
    # All heads attend to something; the sharpest to the aligned word, whoever does the work.
    kinds = [drawn.choice([0, 1, 2, 3]) for _ in range(HEADS)]
    sharp = [drawn.uniform(2.0, 3.5) for _ in range(HEADS)]
    most = drawn.uniform(0.9, 1.8) if why == "none" else 0.3
    gains = torch.tensor([drawn.uniform(0.1, most) for _ in range(HEADS)])
    first, second = drawn.randrange(3), drawn.randrange(3, HEADS)
    if why in ("redundant", "apart") and drawn.random() < 0.5:
        first, second = drawn.sample(range(HEADS), 2)
    others = [head for head in range(HEADS) if head not in (first, second)]
    star = first if why == "sharpest" else drawn.choice(others)
    strong = [drawn.uniform(5.0, 7.5), drawn.uniform(5.0, 7.5)]
    known = drawn.uniform(5.0, 5.5) if why == "none" else 0.0
    if why in ("another", "sharpest"):
        gains[first] = strong[0]
        kinds[first], sharp[first] = 0, drawn.uniform(4.5, 5.0)
    if why in ("redundant", "series", "apart"):
        gains[[first, second]] = torch.tensor(strong)
        kinds[first] = kinds[second] = 0
        sharp[first], sharp[second] = drawn.uniform(4.5, 5.0), drawn.uniform(4.5, 5.0)
    if why == "series":
        gains[first] = 0.3  # it writes no word, only where the word stands
    kinds[star], sharp[star] = 0, drawn.uniform(7.0, 8.0)
    noise = 0.4 * torch.randn(HEADS, SENTENCES, WORDS, WORDS)
    scores = patterns[kinds] * torch.tensor(sharp)[:, None, None, None] + noise
    if why == "apart":
        odd = (words.gather(1, order) % 2 == 1)[None, :, :, None]  # each looks at half of the words
        mine = torch.stack([odd[0], ~odd[0]])
        scores[[first, second]] *= mine
    needs = (second, first) if why == "series" else None
    return Heads(
        why,
        scores,
        gains=gains,
        known=known,
        smoothing=drawn.uniform(0.04, 0.08),
        needs=needs,
        words=words,
        order=order,
    )
