"""Where the parameters of a Transformer are, and what would change with other sizes."""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass, replace

import torch

from course_lib.model import Transformer, TransformerConfig, parameter_parts

CLEAR = 1.15  # how many times the largest part is as large as the next, at least
AROUND_HALF = 3.0  # attention's share is at least so many points away from 50 %
# A model of these sizes is built for its parameters' names and shapes; as no other size is among
# them, each can be replaced by the real one.
D_MODEL, D_FF, VOCAB = 2, 3, 5


@dataclass(frozen=True)
class Counts:
    """Where the parameters of a config are, its norms left out."""

    attention: int
    feed_forward: int
    _: KW_ONLY
    tables: int

    @classmethod
    def of(cls, config: TransformerConfig) -> Counts:
        kinds = {kind: sum(each.values()) for kind, each in parameter_parts(config).items()}
        tables = kinds["embedding"] + kinds["output"]
        return cls(kinds["attention"], kinds["feed-forward"], tables=tables)

    @property
    def total(self) -> int:
        """Of the three together."""
        return self.attention + self.feed_forward + self.tables

    @property
    def share(self) -> float:
        """Of attention, in per cent."""
        return 100 * self.attention / self.total

    @property
    def most(self) -> str:
        """The part that has the most; "" if it isn't clear."""
        sizes = {
            "attention": self.attention,
            "feed_forward": self.feed_forward,
            "tables": self.tables,
        }
        largest, second = sorted(sizes, key=lambda part: -sizes[part])[:2]
        return largest if sizes[largest] > CLEAR * sizes[second] else ""


def conclusion(config: TransformerConfig) -> str:
    """What is true of a config, by name; "" if it isn't clear."""
    counts, c = Counts.of(config), config
    more_tokens = replace(c, source_vocab=2 * c.source_vocab, target_vocab=2 * c.target_vocab)
    deeper = replace(c, n_layers=2 * c.n_layers)
    if counts.most == "attention" and abs(counts.share - 50) > AROUND_HALF:
        return "over_half" if counts.share > 50 else "largest"
    if counts.most == "feed_forward":
        return {"feed_forward": "feed_forward", "tables": "until_vocab"}.get(
            Counts.of(more_tokens).most, ""
        )
    if counts.most == "tables":
        most = Counts.of(deeper).most
        return "tables" if most == "tables" else most and "until_depth"
    return ""


def draw_config(drawn: random.Random, wanted: str) -> TransformerConfig:
    """A config of which this is true."""
    config = None
    while config is None or conclusion(config) != wanted:
        d_model, vocab = drawn.choice([128, 256, 384, 512, 768]), 100 * drawn.randint(20, 500)
        config = TransformerConfig(
            source_vocab=vocab,
            target_vocab=vocab,
            d_model=d_model,
            d_ff=d_model * drawn.choice([1, 2, 3, 4]),
            n_layers=drawn.randint(2, 12),
            tying=drawn.choice(["none", "output", "all"]),
        )
    return config


def shapes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's parameters by name, a shared one once."""
    real = {D_MODEL: config.d_model, D_FF: config.d_ff, VOCAB: config.target_vocab}
    sizes = replace(config, d_model=D_MODEL, n_heads=1, d_ff=D_FF)
    with torch.random.fork_rng(devices=[]):
        model = Transformer(replace(sizes, source_vocab=VOCAB, target_vocab=VOCAB))
    return {
        name: tuple(real[size] for size in parameter.shape)
        for name, parameter in model.named_parameters()
    }
