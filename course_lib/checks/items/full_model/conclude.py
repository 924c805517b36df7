"""08.conclude: Where are most of the parameters?"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import torch

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.model import Transformer, TransformerConfig, parameter_parts

CLEAR = 1.15  # how many times the largest part is as large as the next, at least
AROUND_HALF = 3.0  # attention's share is at least so many points away from 50 %
SHOWN = 15  # parameters in the text
# A model of these sizes is built for its parameters' names and shapes; as no other size is among
# them, each can be replaced by the real one.
D_MODEL, D_FF, VOCAB = 2, 3, 5


@dataclass(frozen=True)
class Counts:
    """Where the parameters of a config are."""

    attention: int
    feed_forward: int
    tables: int
    total: int

    @classmethod
    def of(cls, config: TransformerConfig) -> Counts:
        kinds = {kind: sum(each.values()) for kind, each in parameter_parts(config).items()}
        tables = kinds["embedding"] + kinds["output"]
        return cls(kinds["attention"], kinds["feed-forward"], tables, sum(kinds.values()))

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


def _conclusion(config: TransformerConfig) -> str:
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


def _make(drawn: random.Random) -> TransformerConfig:
    wanted, config = drawn.choice([*CONCLUSIONS]), None
    while config is None or _conclusion(config) != wanted:
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


def _show(config: TransformerConfig) -> Outcome:
    named = shapes(config)
    first = [*named.items()][:SHOWN]
    text = [f"{name:50}{shape}" for name, shape in first]
    text.append(f"… and {len(named) - SHOWN} more, all in run['shapes']")
    return Outcome(text="\n".join(text), values={"shapes": named})


CONCLUSIONS = {
    "over_half": "more than half of the parameters are in attention, as your friend concludes",
    "largest": "attention has more than each of the others, but less than half of all parameters",
    "feed_forward": "the feed-forward networks have the most, and still would with twice the "
    "tokens in both vocabularies",
    "until_vocab": "the feed-forward networks have the most, but with twice the tokens in both "
    "vocabularies the tables would",
    "tables": "the tables have the most, and still would with twice as many blocks",
    "until_depth": "the tables have the most, but with twice as many blocks they no longer would",
}
TABLES = "Twice the tokens double the tables, and change nothing in the blocks."
BLOCKS = (
    "Twice the blocks double attention and feed-forward alike, and change nothing in the tables."
)
run = NumberedRun(
    id="08.conclude",
    make=_make,
    show=_show,
    questions={
        "share": Number(
            what="attention's share of all parameters, in per cent",
            right=lambda config: Counts.of(config).share,
            look="A shape of (512, 512) is 262,144 parameters. Add up those whose name has "
            "“attention” in it, biases too, and divide by the sum of all.",
            within=0.5,
        ),
        "conclusion": Choice(
            options=CONCLUSIONS,
            right=_conclusion,
            look={
                "over_half": "Then attention's share would be above 50 %.",
                "largest": "Then each of the two other sums would be smaller than attention's.",
                "feed_forward": f"{TABLES} Then the feed-forward networks would have more than "
                "twice what the tables have now, and more than attention.",
                "until_vocab": f"{TABLES} Then the feed-forward networks would have more than the "
                "tables now, and less than twice as much.",
                "tables": f"{BLOCKS} Then the tables would have more than twice what attention "
                "has, and more than twice what the feed-forward networks have.",
                "until_depth": f"{BLOCKS} Then the tables would have the most now, but less than "
                "twice as much as one of the two others.",
            },
        ),
    },
    says=lambda config: _says(config, Counts.of(config)),
)


def _says(config: TransformerConfig, counts: Counts) -> str:
    others = [100 * part / counts.total for part in (counts.feed_forward, counts.tables)]
    return (
        f"With D = {config.d_model}, F = {config.d_ff}, {config.n_layers} blocks and "
        f"V = {config.target_vocab:,}, attention has {counts.share:.0f} % of your {counts.total:,} "
        f"parameters, the feed-forward networks {others[0]:.0f} %, the tables {others[1]:.0f} %."
    )


item = own_number_item(
    run,
    hints=(
        "Sort the names into four kinds: attention, feed-forward, norm, and the tables with the "
        "output layer. Which sizes occur in the shapes of each kind?",
        "The number of parameters of a shape is the product of its sizes. Add them up for each "
        "kind. Then double the sums that grow with V, or those that grow with N, and compare "
        "again.",
        'sum(math.prod(shape) for name, shape in run["shapes"].items() if "attention" in name); '
        'and so on with "feed_forward", and with what is in neither stack.',
    ),
)
