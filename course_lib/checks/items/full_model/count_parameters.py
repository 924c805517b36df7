"""08.count_parameters: count parameters without building the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.full_model.small_transformer import Fields
from course_lib.model import (
    PRESETS,
    TransformerConfig,
    count_parameters,
    parameter_parts,
)


def _use_config(count: Callable[[TransformerConfig], Any], fields: Fields) -> Any:
    return count(TransformerConfig(**fields))


def _config(draw: Draw, about: str, **more: Any) -> Call:
    """Sizes that all differ, so that none can be confused with another."""
    heads = draw.integer(2, 4)
    fields = {
        "source_vocab": draw.integer(50, 90),
        "target_vocab": draw.integer(100, 150),
        "d_model": 12 * heads,
        "d_ff": draw.integer(51, 99),
        "n_heads": heads,
        "n_layers": draw.integer(2, 6),
        "max_len": draw.integer(200, 300),
    }
    return Call(({**fields, **more},), about=about)


def _published(draw: Draw) -> list[Call]:
    known = ("naive_mt", "fastai_qa", "fastestimator_ted", "einsum_scratch", "wmt14_de_en")
    return [Call((dict(vars(PRESETS[name])),), about=f"the preset {name}") for name in known]


item = Item(
    "08.count_parameters",
    reference=count_parameters,
    use=_use_config,
    tolerance=0.0,
    probes=[
        Probe(
            "the matrices, biases and norms of the blocks are counted, and three tables",
            lambda draw: [_config(draw, "the usual options"), _config(draw, "other sizes")],
        ),
        Probe(
            "a tied table is counted once",
            lambda draw: [
                _config(draw, "tying is 'output'", tying="output"),
                _config(draw, "tying is 'all'", tying="all", source_vocab=70, target_vocab=70),
                _config(draw, "tied, no output bias", tying="output", output_bias=False),
            ],
        ),
        Probe(
            "what the config switches off isn't counted",
            lambda draw: [
                _config(draw, "no bias in attention", attention_bias=False),
                _config(draw, "no bias in feed-forward", feed_forward_bias=False),
                _config(draw, "no bias in the output layer", output_bias=False),
                _config(draw, "norms without parameters", norm_affine=False, final_norm=True),
            ],
        ),
        Probe(
            "what the config adds is counted",
            lambda draw: [
                _config(draw, "a final norm in each stack", norm="pre", final_norm=True),
                _config(draw, "learned positions", positions="learned"),
                _config(draw, "d_head set explicitly", d_head=7),
                _config(draw, "d_head set explicitly, no biases", d_head=20, attention_bias=False),
            ],
        ),
        Probe("the five published systems are counted exactly", _published),
        Probe(
            "models too large to build are counted, too",
            # vocabularies so large that no machine even tries to allocate the tables
            lambda draw: [
                _config(
                    draw, "2⁴⁴ tokens in each vocabulary", source_vocab=2**44, target_vocab=2**44
                )
            ],
        ),
    ],
    hints=(
        "Count one attention, one feed-forward network, one norm. Then: how many of each does an "
        "encoder block have, and a decoder block?",
        "Write down the shapes. All heads together are n_heads · resolved_d_head wide: that is one "
        "side of all four matrices of an attention, and the length of three of its biases. A bias "
        "that is switched off counts 0: in a product, True is 1 and False is 0.",
        "With the usual options, attention is 4D² + 4D, feed-forward 2DF + F + D, a norm 2D. Then "
        "n_layers * (... * attention + feed_forward + ... * norm) for each stack, and the final "
        "norm. Then the tables: rows according to tying, 2 * max_len more if positions are "
        "learned, times D; and the output's bias.",
    ),
)


def _of(config: TransformerConfig, kind: str, part: str) -> int:
    return parameter_parts(config).get(kind, {}).get(part, 0)


@item.misconception(
    "You count a tied table every time it is used.",
    why="One table in three modules is still one table: it is stored, trained and counted once.",
    hint="How many tables are there for each value of tying?",
)
def tied_tables_twice(config: TransformerConfig) -> int:
    return count_parameters(replace(config, tying="none"))


@item.misconception(
    "You count two attentions per layer; an encoder block and a decoder block together have three.",
    why="The decoder block has self-attention and cross-attention, each with its own matrices.",
    hint="List the sublayers of both blocks.",
)
def two_attentions_a_layer(config: TransformerConfig) -> int:
    return count_parameters(config) - _of(config, "attention", "cross")


@item.misconception(
    "You count four norms per layer; an encoder block and a decoder block together have five.",
    why="Each sublayer has a residual connection of its own, and a norm with it.",
    hint="How many sublayers does an encoder block have, and how many does a decoder block have?",
)
def four_norms_a_layer(config: TransformerConfig) -> int:
    return count_parameters(config) - config.n_layers * 2 * config.d_model * config.norm_affine


@item.misconception(
    "You count the attention matrices once per head.",
    why="The heads divide up the columns of the same matrices: with D / H columns each, H heads "
    "together have D.",
    hint="Double n_heads. What gets larger, and what gets smaller?",
)
def matrices_for_each_head(config: TransformerConfig) -> int:
    attention = sum(parameter_parts(config)["attention"].values())
    return count_parameters(config) + (config.n_heads - 1) * attention


@item.misconception(
    "You don't count any biases in the blocks.",
    why="Each projection and both feed-forward layers have one unless the config says otherwise. "
    "They're few, but the count has to be exact.",
    hint="attention_bias and feed_forward_bias are True unless switched off.",
)
def no_biases(config: TransformerConfig) -> int:
    return count_parameters(replace(config, attention_bias=False, feed_forward_bias=False))


@item.misconception(
    "You count all biases, even those that the config switches off.",
    why="One published system has none, and its count is exactly 44,052,480.",
    hint="Three fields of the config end in _bias.",
)
def all_biases(config: TransformerConfig) -> int:
    return count_parameters(
        replace(config, attention_bias=True, feed_forward_bias=True, output_bias=True)
    )


@item.misconception(
    "You don't count the output layer's bias.",
    why="It has one number for each token of the target vocabulary, and it stays when the table is "
    "tied.",
    hint="What is added to h Wᵀ to give the logits?",
)
def output_bias_forgotten(config: TransformerConfig) -> int:
    return count_parameters(replace(config, output_bias=False))


@item.misconception(
    "You count a scale and a shift for each norm, even with norm_affine=False.",
    why="One published system has norms without parameters: 30,720 fewer than usual.",
    hint="Which field of the config says whether a norm has parameters?",
)
def norms_always_learn(config: TransformerConfig) -> int:
    return count_parameters(replace(config, norm_affine=True))


@item.misconception(
    "You don't count the final norm of each stack (final_norm).",
    why="Two stacks, two norms, 2D each: PyTorch's nn.Transformer always has them, the paper's "
    "model never does.",
    hint="What follows the last block if final_norm is True?",
)
def last_norms_forgotten(config: TransformerConfig) -> int:
    return count_parameters(replace(config, final_norm=False))


@item.misconception(
    "You don't count learned positions.",
    why="Sines and cosines are computed, but a learned position table is made of parameters: "
    "max_len rows for each side.",
    hint="positions can be 'sinusoidal' or 'learned'.",
)
def learned_positions_forgotten(config: TransformerConfig) -> int:
    return count_parameters(replace(config, positions="sinusoidal"))


@item.misconception(
    "You count learned positions once; each side has its own table.",
    why="The third position may mean one thing in the source and another in the target.",
    hint="How many embeddings does the model have?",
)
def positions_counted_once(config: TransformerConfig) -> int:
    return count_parameters(config) - _of(config, "embedding", "positions") // 2


@item.misconception(
    "You count positions as parameters although they're sines and cosines.",
    why="What a formula computes isn't trained, and isn't counted.",
    hint="positions can be 'sinusoidal' or 'learned'.",
)
def sines_counted(config: TransformerConfig) -> int:
    return count_parameters(replace(config, positions="learned"))


@item.misconception(
    "You assume that all heads together are D wide, even if d_head says otherwise.",
    why="If d_head is set, H heads have H · E columns: that is the length of three of the biases "
    "and one side of all four matrices.",
    hint="config.resolved_d_head is the width of one head, whatever d_head is.",
)
def width_of_heads_ignored(config: TransformerConfig) -> int:
    usual = replace(config, d_head=None)
    difference = sum(parameter_parts(config)["attention"].values())
    return count_parameters(config) - difference + sum(parameter_parts(usual)["attention"].values())
