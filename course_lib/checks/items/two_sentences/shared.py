"""What several items of this lesson need."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from course_lib import training
from course_lib.checks.draw import Draw
from course_lib.data import Batch, teacher_forcing


class Toy(nn.Module):
    """Stands in for a Transformer, in a thousandth of its time: reads a source and a word."""

    device = torch.device("cpu")

    def __init__(self, source_vocab: int, target_vocab: int, width: int) -> None:
        super().__init__()
        self.source_words = nn.Embedding(source_vocab, width)
        self.target_words = nn.Embedding(target_vocab, width)
        self.output = nn.Linear(width, target_vocab)
        self.modes: list[bool] = []

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Source (B, S) and what is read of the target (B, T) to logits (B, T, V)."""
        self.modes.append(self.training)
        nearness = 1 / torch.arange(1.0, source.size(1) + 1)  # so that the words' order matters
        memory = (self.source_words(source) * nearness[:, None]).mean(dim=1, keepdim=True)
        logits: Tensor = self.output(torch.tanh(memory + self.target_words(target)))
        return logits


SIZES = (12, 10, 6)  # of the stand-in: words of the source, words of the target, width


def toy_model(weights: Mapping[str, Tensor]) -> Toy:
    toy = Toy(*SIZES)
    toy.load_state_dict(dict(weights))
    return toy


def draw_batch(draw: Draw, *lengths: int, pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """Sources and targets with so many words; <bos> is 1 and <eos> 2."""
    longest = max(lengths)
    source = draw.ids(len(lengths), longest, low=4, high=11)
    target = torch.full((len(lengths), longest + 2), pad_id)
    for row, length in enumerate(lengths):
        source[row, length:] = pad_id
        words = draw.ids(length, low=4, high=9).tolist()
        target[row, : length + 2] = torch.tensor([1, *words, 2])
    return source, target


def loss_of(model: nn.Module, batch: Batch, pad_id: int) -> Tensor:
    decoder_input, labels = teacher_forcing(batch.target, pad_id)
    return training.masked_cross_entropy(model(batch.source, decoder_input), labels, pad_id)
