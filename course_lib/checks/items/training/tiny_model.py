"""A tiny model that trains in a tenth of a second: which word comes next, after two words?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from course_lib.data import load_corpus

WIDTH, DROPOUT, WORDS = 48, 0.1, 80


class TinyModel(nn.Module):
    """From the two words before it to the logits of a word.

    Its numbers are float64 and its dropout is `torch.rand`, so that every machine draws the same
    curves.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Embedding(2 * WORDS, WIDTH)  # a table for each of the two
        self.hidden, self.output = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WORDS)
        self.double()
        with torch.no_grad():  # again: the last digits of float32 differ between machines
            self.before.weight.normal_()

    def forward(self, words: Tensor, *, dropout: bool) -> Tensor:
        """Words (N, 2) to logits (N, V)."""
        x = self.before(words + torch.tensor([0, WORDS])).sum(dim=1)
        for layer in (self.hidden, self.output):
            if dropout:
                x = x * (torch.rand(x.shape, dtype=x.dtype) > DROPOUT) / (1 - DROPOUT)
            x = layer(x) if layer is self.output else torch.tanh(layer(x))
        return x


class Adam:
    """Adam by hand, as in lesson 11: the first use of torch.optim takes a second to load."""

    def __init__(self, model: nn.Module) -> None:
        self.t = 0
        self.means = {w: (torch.zeros_like(w), torch.zeros_like(w)) for w in model.parameters()}

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """Move each weight, and clear its gradient."""
        self.t += 1
        for weight, (m, v) in self.means.items():
            assert weight.grad is not None
            m.lerp_(weight.grad, 1 - 0.9)
            v.lerp_(weight.grad**2, 1 - 0.98)
            scale = (v / (1 - 0.98**self.t)).sqrt() + 1e-9
            weight.sub_(lr * m / (1 - 0.9**self.t) / scale)
            weight.grad = None


@cache
def sentences() -> tuple[list[list[int]], list[list[int]]]:
    """English sentences of the course's grammar as ids, to train on and to validate.

    1 begins and ends a sentence; rare words share one id, 0.
    """
    corpus = load_corpus("grammar_de_en")
    splits = [[p.target for p in corpus.pairs(*each)] for each in (("train", 200), ("valid", 120))]
    common = Counter(word for target in splits[0] for word in target).most_common(WORDS - 2)
    ids = {word: i for i, (word, _) in enumerate(common, 2)}
    train, valid = ([[1, 1, *(ids.get(w, 0) for w in t), 1] for t in split] for split in splits)
    return train, valid


def examples(drawn: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    """The two words before each word (N, 2), and the word (N,)."""
    windows = torch.tensor([ids[i : i + 3] for ids in drawn for i in range(len(ids) - 2)])
    return windows[:, :2], windows[:, 2]
