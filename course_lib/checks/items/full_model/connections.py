"""Transformers whose parts may be connected wrongly, and how far a change of one part reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn

from course_lib.model import Transformer, TransformerConfig, causal_mask

Side = Literal["source", "target"]
M = TypeVar("M", bound=nn.Module)
LENGTH = 6  # tokens of source and target


@dataclass(frozen=True)
class Error:
    """How a model is connected.

    Attributes:
        name: "" if it is right, else "tables", "tying", "early", "paired", "same_input" or
            "positions".
        side: of the embedding or of the stack that is concerned.
    """

    name: str = ""
    side: Side = "source"

    def is_(self, name: str, side: Side) -> bool:
        return (self.name, self.side) == (name, side)

    def build(self, config: TransformerConfig) -> Transformer:
        """The parts, untrained; with weights so large that changes reach far."""
        if self.name == "tying":
            config = replace(config, tying="none" if config.tying == "output" else "output")
        return _larger(Transformer(config).eval())


@dataclass
class Sentence:
    """Ids (1, LENGTH) of both sides, none of them on both."""

    source: Tensor
    target: Tensor

    @classmethod
    def draw(cls, n_ids: int) -> Sentence:
        ids = torch.randperm(n_ids - 1) + 1  # 0 is the pad
        return cls(ids[None, :LENGTH], ids[None, LENGTH : 2 * LENGTH])


@torch.no_grad()
def _larger(module: M) -> M:
    """The same module, its projections larger."""
    for name, parameter in module.named_parameters():
        if name.endswith("proj.weight"):
            parameter.mul_(2)
    return module


@torch.no_grad()
def outputs(model: Transformer, sentence: Sentence, error: Error) -> list[Tensor]:
    """At the last position: what the encoder leaves, and each decoder block (D,); logits (V,)."""
    x = start = _embedded(model, sentence, error, "source")
    left = [x]  # by the embedding, and by each encoder block
    for layer in model.encoder.layers:
        x = layer(start if error.is_("same_input", "source") else x)
        left.append(x)
    columns = [x]
    y = start = _embedded(model, sentence, error, "target")
    for number, layer in enumerate(model.decoder.layers, 1):
        memory = {"early": left[-2], "paired": left[number]}.get(error.name, x)
        y = start if error.is_("same_input", "target") else y
        y = layer(y, memory, causal_mask(LENGTH))
        columns.append(y)
    return [column[0, -1] for column in (*columns, model.output(y))]


def _embedded(model: Transformer, sentence: Sentence, error: Error, side: Side) -> Tensor:
    """(1, LENGTH, D)."""
    tables = {"source": model.source_embedding, "target": model.target_embedding}
    tokens: Tensor = getattr(sentence, side)
    if error.is_("tables", side):
        embedding = tables["target" if side == "source" else "source"]
    else:
        embedding = tables[side]
    bare: Tensor = embedding.tokens(tokens) * embedding.scale
    return bare if error.is_("positions", side) else embedding(tokens)


def _reverse(side: Side, model: Transformer, sentence: Sentence) -> None:
    tokens: Tensor = getattr(sentence, side)
    setattr(sentence, side, torch.cat([tokens[:, :-1].flip(1), tokens[:, -1:]], dim=1))


def _last_row(side: Side, model: Transformer, sentence: Sentence) -> None:
    table: Tensor = getattr(model, f"{side}_embedding").tokens.weight
    table[getattr(sentence, side)[0, -1]] = torch.randn(table.size(1)) * table.std()


def _absent_rows(model: Transformer, sentence: Sentence) -> None:
    table = model.target_embedding.tokens.weight
    rows = torch.ones(len(table), dtype=torch.bool)
    rows[sentence.source], rows[sentence.target] = False, False
    table[rows] = torch.randn_like(table[rows]) * table.std()


def _block(stack: str, number: int, model: Transformer, sentence: Sentence) -> None:
    layers = getattr(model, stack).layers
    fresh = _larger(type(layers[number])(model.config))
    layers[number].load_state_dict(fresh.state_dict())


CHANGES: dict[str, Callable[[Transformer, Sentence], None]] = {
    "source: all but the last reversed": partial(_reverse, "source"),
    "source table: row of the last token": partial(_last_row, "source"),
    "encoder: all of the first block": partial(_block, "encoder", 0),
    "encoder: all of the last block": partial(_block, "encoder", -1),
    "target: all but the last reversed": partial(_reverse, "target"),
    "target table: row of the last token": partial(_last_row, "target"),
    "target table: rows of absent tokens": _absent_rows,
    "decoder: all of the first block": partial(_block, "decoder", 0),
    "decoder: all of the last block": partial(_block, "decoder", -1),
}


@torch.no_grad()
def changes(model: Transformer, sentence: Sentence, error: Error) -> Tensor:
    """How far each change moves each output, in per cent of its length: (change, output)."""
    before, moved = outputs(model, sentence, error), []
    weights = [parameter.clone() for parameter in model.parameters()]
    for change in CHANGES.values():
        changed = replace(sentence)
        change(model, changed)
        after = outputs(model, changed, error)
        for parameter, weight in zip(model.parameters(), weights, strict=True):
            parameter.copy_(weight)
        moved.append([100 * (b - a).norm() / a.norm() for a, b in zip(before, after, strict=True)])
    return torch.tensor(moved)
