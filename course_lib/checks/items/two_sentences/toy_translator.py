"""A tiny stand-in for a Transformer, and batches for it, for the items of lesson 10."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from course_lib import training
from course_lib.checks.engine import Draw
from course_lib.data import Batch, teacher_forcing


class ToyTranslator(nn.Module):
    """Stands in for a Transformer in a thousandth of its time.

    A logit depends on the whole source and on the target token at its own position.
    """

    device = torch.device("cpu")

    def __init__(self, source_vocab: int, target_vocab: int, width: int) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocab, width)
        self.target_embedding = nn.Embedding(target_vocab, width)
        self.output = nn.Linear(width, target_vocab)
        self.modes: list[bool] = []

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Source (B, S) and decoder input (B, T) to logits (B, T, V)."""
        self.modes.append(self.training)
        position_weights = 1 / torch.arange(1.0, source.size(1) + 1)  # so that word order matters
        memory = (self.source_embedding(source) * position_weights[:, None]).mean(
            dim=1, keepdim=True
        )
        logits: Tensor = self.output(torch.tanh(memory + self.target_embedding(target)))
        return logits


SIZES = (12, 10, 6)  # of the stand-in: source vocabulary, target vocabulary, width


def toy_translator(weights: Mapping[str, Tensor]) -> ToyTranslator:
    """A stand-in with these weights."""
    model = ToyTranslator(*SIZES)
    model.load_state_dict(dict(weights))
    return model


def draw_batch(draw: Draw, *lengths: int, pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """Sources and targets of these lengths, padded; <bos> is 1 and <eos> 2.

    With a pad_id other than 0, every target has a real token 0.
    """
    longest = max(lengths)
    source = draw.ids(len(lengths), longest, low=4, high=11)
    target = torch.full((len(lengths), longest + 2), pad_id)
    for row, length in enumerate(lengths):
        source[row, length:] = pad_id
        tokens = draw.ids(length, low=4, high=9).tolist()
        if pad_id:
            tokens[0] = 0
        target[row, : length + 2] = torch.tensor([1, *tokens, 2])
    return source, target


def loss_of(model: nn.Module, batch: Batch, pad_id: int) -> Tensor:
    """The loss with teacher forcing, in nats per token."""
    decoder_input, labels = teacher_forcing(batch.target, pad_id)
    return training.masked_cross_entropy(model(batch.source, decoder_input), labels, pad_id)
