"""15.compare: Which of the two has a bug?"""

from __future__ import annotations

import math
import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch.nn import functional as F

from course_lib.checks.items.museum.measured_models import BOS, MEASURED, Batch, PadsAsRows
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
    which_is_right,
)
from course_lib.model import Transformer, TransformerConfig, sinusoidal_positions
from course_lib.training.injected_bugs import inject_bugs

ROW_OF = dict(
    zip(
        (
            "embeddings_from_normal",
            "scores_by_width",
            "positions_without_width",
            "dropout_after_norm",
            "encoder_without_dropout",
            "pads_as_rows",
        ),
        MEASURED,
        strict=False,
    )
)


@dataclass(frozen=True)
class Two:
    """Two untrained models, one of them with a bug.

    Attributes:
        rows: names of the measurements, in the order of the table.
        measured: the results of each model, in that order.
    """

    wrong: str
    bug: str
    _: KW_ONLY
    configs: dict[str, TransformerConfig]
    rows: list[str]
    measured: dict[str, list[float]]

    @property
    def honest(self) -> str:
        return "B" if self.wrong == "A" else "A"

    @property
    def row(self) -> int:
        """The number of the measurement that shows the bug, from 1."""
        return self.rows.index(ROW_OF[self.bug]) + 1

    @property
    def expected(self) -> float:
        """What a right model of this size has in that row."""
        config = self.configs[self.wrong]
        table = sinusoidal_positions(64, config.d_model)
        return {
            "embeddings_from_normal": math.log(config.target_vocab),
            "scores_by_width": math.sqrt(config.d_model / config.n_heads),
            "positions_without_width": F.cosine_similarity(table[10], table[30], dim=0).item(),
            "dropout_after_norm": 0.0,
            "encoder_without_dropout": config.residual_dropout,
            "pads_as_rows": 0.0,
        }[self.bug]


def _make(drawn: random.Random) -> Two:
    wrong, bug = drawn.choice("AB"), drawn.choice([*BUGS])
    needs_dropout = bug in ("dropout_after_norm", "encoder_without_dropout")
    rows = drawn.sample([*MEASURED], len(MEASURED))
    shapes = drawn.sample([(32, 2), (64, 4), (48, 3), (64, 8), (96, 4), (128, 8)], 2)
    vocabs = drawn.sample([30, 90, 300, 900], 2)
    configs, measured = {}, {}
    for letter, (d_model, n_heads), vocab in zip("AB", shapes, vocabs, strict=True):
        always = needs_dropout and letter == wrong
        dropout = drawn.choice([0.1, 0.2, 0.3] if always else [0.0, 0.1, 0.2, 0.3])
        config = TransformerConfig(
            source_vocab=vocab,
            target_vocab=vocab,
            d_model=d_model,
            d_ff=2 * d_model,
            n_heads=n_heads,
            n_layers=2,
            max_len=64,
            tying="output",
            source_embedding_dropout=dropout,
            target_embedding_dropout=dropout,
            residual_dropout=dropout,
        )
        model = (PadsAsRows if (letter, bug) == (wrong, "pads_as_rows") else Transformer)(config)
        if letter == wrong and bug != "pads_as_rows":
            inject_bugs([bug], model)
        target = torch.randint(2, 30, (8, 9))
        target[:, 0] = BOS
        batch = Batch(torch.randint(2, vocab, (8, 9)), target)
        configs[letter] = config
        with torch.no_grad():
            measured[letter] = [MEASURED[row](model, batch) for row in rows]
    return Two(wrong, bug, configs=configs, rows=rows, measured=measured)


def _show(run: Two) -> Outcome:
    configs = {
        letter: {
            "V": config.target_vocab,
            "d_model": config.d_model,
            "n_heads": config.n_heads,
            "dropout": config.residual_dropout,
        }
        for letter, config in run.configs.items()
    }
    lines = [f"{'':50}{'A':>8}{'B':>8}"]
    for name in configs["A"]:
        lines.append(f"{name:50}" + "".join(f"{configs[letter][name]:>8}" for letter in "AB"))
    lines.append("")
    for n, row in enumerate(run.rows, 1):
        a, b = (run.measured[letter][n - 1] for letter in "AB")
        lines.append(f"{f'{n}. {row}':50}{a:8.3f}{b:8.3f}")
    return Outcome(text="\n".join(lines), values={"config": configs, "measured": run.measured})


BUGS = {
    "embeddings_from_normal": "the embeddings, which are also the output's weights, begin with "
    "variance 1",
    "scores_by_width": "scores are divided by the root of `d_model`",
    "positions_without_width": "the frequencies of the positions leave out the division by "
    "`d_model`",
    "dropout_after_norm": "dropout comes after the norm, on the residual stream itself",
    "encoder_without_dropout": "the encoder has no dropout",
    "pads_as_rows": "the encoder's mask hides the rows of the padding, not its columns",
}
PROPERTIES = (
    "For each row, work out what a right model with these sizes gives, before you look at the "
    "number. Does every number of the model that you think has a bug fit its sizes?"
)
run = NumberedRun(
    id="15.compare",
    make=_make,
    show=_show,
    questions={
        "honest": which_is_right(lambda run: run.honest, look=PROPERTIES),
        "row": Number(
            what="the row that shows the bug",
            right=lambda run: run.row,
            look="Two different numbers in a row prove nothing, since the two models have "
            "different sizes. Look for the number that can't belong to a right model of its size. "
            "Give the number that stands before the row's name.",
        ),
        "expected": Number(
            what="what a right model of that size has in that row",
            right=lambda run: run.expected,
            look="It follows from the sizes of that model: V for an entropy, a head's width for "
            "a divisor, `d_model` for positions, the dropout for zeros in the input. A norm leaves "
            "no zeros, and padding changes nothing.",
            within=0.006,  # two decimals
        ),
        "error": Choice(
            options=BUGS,
            right=lambda run: run.bug,
            look={
                "embeddings_from_normal": "Then the logits would be so far apart that the model is "
                "sure of one word at each position, and the entropy would be far below ln V.",
                "scores_by_width": "Then the divisor would be the root of `d_model`, and not that "
                "of `d_model` / `n_heads`.",
                "positions_without_width": "Then the encodings of two positions would be nearly "
                "the same: all columns but two would stand still. Compare with the formula.",
                "dropout_after_norm": "Then, in training mode, about as many numbers of the "
                "encoder's output would be 0 as the dropout says.",
                "encoder_without_dropout": "Then, in training mode, no number of the encoder's "
                "input would be 0, although the model's dropout isn't 0.",
                "pads_as_rows": "Then pads behind a source would change what the encoder says of "
                "the words before them.",
            },
        ),
    },
    says=lambda run: (
        f"Row {run.row} of model {run.wrong} has {run.measured[run.wrong][run.row - 1]:.2f}, and a "
        f"right model of its size {run.expected:.2f}: {BUGS[run.bug]}. No other row shows it."
    ),
)
item = own_number_item(
    run,
    hints=(
        "The two models differ in size, so most of their numbers may differ. Which rows must be 0 "
        "in every right model, and which depend on the sizes?",
        "Before training, all words are about equally probable, so the entropy of the predictions "
        "is about ln V. A score is divided by the root of a head's width. Dropout after the "
        "embeddings leaves zeros in the encoder's input, but the norm at the encoder's end leaves "
        "none in its output.",
        "table = sinusoidal_positions(64, d_model), imported from course_lib.model, is the right "
        "table: F.cosine_similarity(table[10], table[30], dim=0), with F from torch.nn.functional. "
        "math.log(V) and math.sqrt(d_model / n_heads) are two other rows.",
    ),
)
