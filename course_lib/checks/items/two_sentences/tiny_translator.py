"""A tiny translator that trains in a tenth of a second, for the items that show how a run went."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.data import (
    BOS,
    EOS,
    PAD,
    Batch,
    EncodedPair,
    SentencePair,
    Vocabulary,
    collate,
    teacher_forcing,
)

PAD_ID, BOS_ID, EOS_ID = range(3)
WIDTH = 16


# Groups of sentence pairs: within a group, the words so far don't tell what comes next.
ORDERS = (
    (
        ("ich möchte ein bier", "i want a beer ."),
        ("ich möchte eine cola", "i want a coke ."),
        ("ich möchte einen tee", "i want a tea ."),
        ("ich möchte ein wasser", "i want a water ."),
        ("ich möchte einen saft", "i want a juice ."),
    ),
    (
        ("wo ist der kaffee", "where is the coffee ?"),
        ("wo ist die milch", "where is the milk ?"),
        ("wo ist das brot", "where is the bread ?"),
        ("wo ist die suppe", "where is the soup ?"),
    ),
    (
        ("zwei eier bitte", "two eggs please ."),
        ("zwei äpfel bitte", "two apples please ."),
        ("zwei brote bitte", "two loaves please ."),
    ),
    (("danke", "thanks ."), ("prost", "cheers !"), ("zahlen bitte", "the bill please .")),
    (
        ("haben sie noch einen tisch für zwei", "do you still have a table for two ?"),
        ("was können sie uns heute empfehlen", "what can you recommend to us today ?"),
    ),
)


def draw_order_pairs(drawn: random.Random) -> list[SentencePair]:
    """Six to nine pairs of different lengths, in random order."""
    pairs = [
        pair
        for group, (least, most) in zip(
            ORDERS, ((2, 3), (1, 2), (1, 2), (1, 1), (1, 1)), strict=True
        )
        for pair in drawn.sample(group, drawn.randint(least, most))
    ]
    drawn.shuffle(pairs)
    return [SentencePair(tuple(s.split()), tuple(t.split())) for s, t in pairs]


class TinyTranslator(nn.Module):
    """Reads the words so far, and a source without its order; one hidden layer.

    Its numbers are float64, so that every machine draws the same curves. At first it hardly reads
    its source, as the small Transformers of lesson 10 do.
    """

    def __init__(self, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.source = nn.Embedding(source_vocab, WIDTH, padding_idx=PAD_ID)
        self.way = nn.Linear(WIDTH, WIDTH, bias=False)
        self.last, self.so_far = (
            nn.Embedding(target_vocab, WIDTH),
            nn.Embedding(target_vocab, WIDTH),
        )
        self.output = nn.Linear(WIDTH, target_vocab)
        self.double()  # before they are drawn: the last digits of float32 differ between machines
        with torch.no_grad():
            for weights, std in (
                (self.source.weight, 0.005),
                (self.way.weight, 0.03),
                (self.last.weight, 1.0),
                (self.so_far.weight, 1.0),
                (self.output.weight, 0.1),
            ):
                weights.normal_(std=std)
            self.source.weight[PAD_ID] = 0
            self.output.bias.zero_()

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Source (B, S) and decoder input (B, T) to logits (B, T, V)."""
        read = self.way(self.source(source).sum(dim=1, keepdim=True))
        words = self.last(target) + self.so_far(target).cumsum(dim=1)
        logits: Tensor = self.output(torch.tanh(read + words))
        return logits


class Momentum:
    """SGD with momentum by hand: the first use of torch.optim takes a second to load."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float = 0.0) -> None:
        self.lr, self.weight_decay = lr, weight_decay
        self.velocities = {weight: torch.zeros_like(weight) for weight in model.parameters()}

    def clear_gradients(self) -> None:
        for weight in self.velocities:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for weight, velocity in self.velocities.items():
            if weight.grad is not None:
                velocity.mul_(0.9).add_(weight.grad).add_(weight, alpha=self.weight_decay)
                weight.sub_(self.lr * velocity)


class Task:
    """Sentence pairs as a batch, in the vocabularies of these pairs, or of those given."""

    def __init__(self, pairs: Sequence[SentencePair], *, of: Task | None = None) -> None:
        self.pairs = list(pairs)
        if of is None:
            sides = [p.source for p in pairs], [p.target for p in pairs]
            self.german = Vocabulary.from_sentences(sides[0], specials=(PAD,))
            self.english = Vocabulary.from_sentences(sides[1], specials=(PAD, BOS, EOS))
        else:
            self.german, self.english = of.german, of.english
        encoded = [
            EncodedPair(
                self.german.encode(p.source), [BOS_ID, *self.english.encode(p.target), EOS_ID]
            )
            for p in pairs
        ]
        self.batch: Batch = collate(encoded, PAD_ID)
        self.decoder_input, self.labels = teacher_forcing(self.batch.target, PAD_ID)

    def new_model(self) -> TinyTranslator:
        return TinyTranslator(len(self.german), len(self.english))

    def costs(
        self, model: nn.Module, source: Tensor, *, shifted: bool = True
    ) -> tuple[Tensor, Tensor]:
        """What each label costs (B, T), in nats, and whether it is a real one (B, T)."""
        labels = self.labels if shifted else self.decoder_input
        logits = model(source, self.decoder_input)
        costs = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return costs.view_as(labels), labels != PAD_ID

    @torch.no_grad()
    def translated(self, model: nn.Module, source: Tensor) -> int:
        """How many sentences come out right, word for word, when the model reads its own words."""
        written = torch.full((len(self.pairs), 1), BOS_ID)
        longest = self.batch.target.size(1)
        for _ in range(longest - 1):
            best = model(source, written)[:, -1].argmax(-1, keepdim=True)
            written = torch.cat([written, best], dim=1)
        wrong = (written != self.batch.target) & (self.batch.target != PAD_ID)
        return int((~wrong.any(dim=1)).sum())
