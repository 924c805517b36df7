"""17.count_parameters: Count a published model to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.modern import config as modern
from course_lib.modern import counts
from course_lib.modern.published_models.presets import PRESETS

NAMES = {
    "smollm2_135m": "SmolLM2-135M",
    "llama_3_2_1b": "Llama 3.2 1B",
    "qwen3_0_6b": "Qwen3-0.6B",
    "gemma_3_270m": "Gemma 3 270M",
}


def _use_config(count: Callable[[Any], Any], fields: dict[str, Any]) -> Any:
    total = count(modern.DecoderConfig(**fields))
    if isinstance(total, float) or (isinstance(total, Tensor) and total.is_floating_point()):
        raise WrongResult("expected a whole number, got a float")
    return total


def _config(draw: Draw, about: str, **more: Any) -> Call:
    """Sizes that all differ, so that none can be confused with another."""
    fields = {
        "vocab": draw.integer(100, 150),
        "d_model": 24 * draw.integer(2, 3),
        "d_ff": draw.integer(151, 199),
        "n_heads": 6,
        "n_layers": draw.integer(3, 5),
    }
    return Call(({**fields, **more},), about=about)


def _published(*names: str) -> list[Call]:
    return [Call((dict(vars(PRESETS[name])),), about=NAMES[name]) for name in names]


item = Item(
    "17.count_parameters",
    reference=counts.count_parameters,
    use=_use_config,
    tolerance=0.0,
    probes=[
        Probe(
            "table, attention, gated network and norms are counted, and a tied table once",
            lambda draw: [
                _config(draw, "as many heads of keys as of queries"),
                _config(draw, "other sizes, nothing tied", tied=False),
            ],
        ),
        Probe(
            "keys and values have heads of their own",
            lambda draw: [
                _config(draw, "two heads of keys and values", n_kv_heads=2),
                _config(draw, "a single one", n_kv_heads=1),
            ],
        ),
        Probe(
            "the width of a head is what the configuration says",
            lambda draw: [
                _config(draw, "d_head 20", d_head=20),
                _config(draw, "d_head 6, three heads of keys", d_head=6, n_kv_heads=3),
            ],
        ),
        Probe(
            "norms of queries and keys, and norms after the sublayers, are counted where they are",
            lambda draw: [
                _config(draw, "qk_norm", qk_norm=True),
                _config(draw, "qk_norm, d_head 20, two heads of keys", **_QK_NORM),
                _config(draw, 'placement "both"', placement="both"),
            ],
        ),
        Probe(
            "published models are counted to the last digit",
            lambda draw: _published(*NAMES),
        ),
        Probe(
            "models too large to build are counted, too",
            # No machine even tries to allocate such a table, or makes so many modules in time, even
            # on the device "meta", where they have no numbers.
            lambda draw: [
                _config(draw, "2⁴⁴ tokens", vocab=2**44, tied=False),
                _config(draw, "200,000 blocks", n_layers=200_000),
            ],
        ),
    ],
    hints=(
        "List the matrices of one block with the two sides of each. Which of them depend on "
        "n_heads, which on resolved_n_kv_heads, and which on neither?",
        "q_proj and out_proj join D with all heads of queries, k_proj and v_proj join D with all "
        "heads of keys. A gated network has three matrices. An RMSNorm has one vector. Then think "
        "of what isn't in a block.",
        "SmolLM2-135M in numbers: q_proj is 576 · 576, k_proj 576 · 192, a matrix of the network "
        "576 · 1536, a norm 576, and the table 49,152 · 576. How often does each occur in 30 "
        "blocks, and which occur once? The sum is 134,515,008.",
    ),
)
_QK_NORM: dict[str, Any] = {"qk_norm": True, "d_head": 20, "n_kv_heads": 2}


@item.switchable
def counting_with(on: frozenset[str]) -> Callable[[Any], Any]:
    """count_parameters with these misconceptions."""

    def answer(config: modern.DecoderConfig) -> Any:
        c = config
        layers = 1 if "one_layer" in on else c.n_layers
        total = layers * (attention(c) + network(c) + norms(c)) + tables(c)
        if "last_norm_forgotten" not in on:
            total += norm(c.d_model)
        return float(total) if "a_float" in on else total

    def attention(c: modern.DecoderConfig) -> int:
        d_head = c.resolved_d_head
        if on & {"width_of_heads_ignored", "width_of_heads_ignored_everywhere"}:
            d_head = c.d_model // c.n_heads
        queries, keys = c.n_heads * d_head, c.resolved_n_kv_heads * d_head
        if "four_squares" in on:
            return 4 * c.d_model**2 + biases(c, queries, keys) + qk(c)
        if "heads_of_keys_ignored" in on:
            keys = queries
        output = queries * c.d_model
        if "output_is_square" in on:
            output = c.d_model**2
        if "output_forgotten" in on:
            output = 0
        if "output_as_wide_as_the_keys" in on:
            output = keys * c.d_model
        values = 0 if "keys_are_values" in on else keys
        return c.d_model * (queries + keys + values) + output + biases(c, queries, keys) + qk(c)

    def biases(c: modern.DecoderConfig, queries: int, keys: int) -> int:
        return queries + 2 * keys + c.d_model if "biases_counted" in on else 0

    def qk(c: modern.DecoderConfig) -> int:
        if not c.qk_norm or "qk_norm_forgotten" in on:
            return 0
        if "qk_norm_for_each_head" in on:
            return (c.n_heads + c.resolved_n_kv_heads) * c.resolved_d_head
        if "one_qk_norm" in on:
            return c.resolved_d_head
        if "width_of_heads_ignored_everywhere" in on:
            return 2 * (c.d_model // c.n_heads)
        return 2 * (c.d_model if "qk_norm_as_wide_as_the_model" in on else c.resolved_d_head)

    def network(c: modern.DecoderConfig) -> int:
        width = -(-2 * c.d_ff // 3) if "width_reduced_again" in on else c.d_ff
        more = 2 * width + c.d_model if "biases_counted" in on else 0
        return (2 if "gate_forgotten" in on else 3) * c.d_model * width + more

    def norm(d_model: int) -> int:
        return (2 if "norms_with_a_shift" in on else 1) * d_model

    def norms(c: modern.DecoderConfig) -> int:
        both = c.placement == "both" and "norms_after_forgotten" not in on
        count = 1 if "one_norm_a_block" in on else 4 if both else 2
        return count * norm(c.d_model)

    def tables(c: modern.DecoderConfig) -> int:
        tied = (c.tied or "always_tied" in on) and "tied_table_twice" not in on
        positions = c.max_len * c.d_model if "positions_counted" in on else 0
        bias = c.vocab if "output_bias_counted" in on else 0
        return (1 if tied else 2) * c.vocab * c.d_model + positions + bias

    return answer


item.switch(
    "tied_table_twice",
    "You count the table twice, also where it is tied.",
    why="A tied table is one matrix with two uses: it is stored, trained and counted once. In a "
    "small model with a large vocabulary it is a good part of all parameters.",
    hint="What does tie_word_embeddings say, and how is this field called here?",
)
item.switch(
    "always_tied",
    "You count one table, also where nothing is tied.",
    why="Without tying, the output layer has a matrix of its own, with a row for each token.",
    hint="Which field says whether the output layer shares the table?",
)
item.switch(
    "qk_norm_forgotten",
    "You don't count the norms of queries and keys.",
    why="With qk_norm, each attention has two more RMSNorms. They are few parameters, but the "
    "count has to be exact; Qwen3 and Gemma 3 have them.",
    hint="Which field adds something to the attention besides its four matrices?",
)
item.switch(
    "qk_norm_for_each_head",
    "You count a norm for each head of queries and keys.",
    why="All heads of queries share one weight, and so do all heads of keys.",
    hint="Which shape has the weight of q_norm? The task's table says how long it is.",
)
item.switch(
    "one_qk_norm",
    "You count one norm for queries and keys together.",
    why="Each of the two has its own weight.",
    hint="How many norms does qk_norm stand for?",
)
item.switch(
    "qk_norm_as_wide_as_the_model",
    "You count D numbers for each norm of queries and keys.",
    why="They work on one head at a time, so their weight is as long as a head is wide.",
    hint="Which vectors are normalised there: those of D numbers, or those of one head?",
)
item.switch(
    "width_of_heads_ignored",
    "You assume that a head is D / H wide, even if the configuration says otherwise.",
    why="head_dim is a field of its own: all heads together may be wider than the model, as in "
    "Qwen3-0.6B, or narrower.",
    hint="config.resolved_d_head is the width of one head, whatever d_head is.",
    spellings=["width_of_heads_ignored_everywhere"],
)
item.switch(
    "four_squares",
    "You count 4 · D · D for each attention.",
    why="That holds for the model of 2017. Here the heads of keys may be fewer than those of "
    "queries, and a head's width is a field of its own, so hardly one of the four is square.",
    hint="Write the two sides of each of the four matrices in terms of D, the two numbers of heads "
    "and the width of a head.",
)
item.switch(
    "output_is_square",
    "You count D · D for the output projection.",
    why="It leads from all heads together back to D. That is square only if H heads of the given "
    "width happen to be D wide.",
    hint="How many inputs does out_proj have, and how many outputs?",
)
item.switch(
    "heads_of_keys_ignored",
    "You count as many heads of keys and values as of queries.",
    why="num_key_value_heads is often smaller: several heads of queries share one of keys. That "
    "makes k_proj and v_proj smaller, and the cache.",
    hint="How many outputs does k_proj have? config.resolved_n_kv_heads says how many heads.",
)
item.switch(
    "output_as_wide_as_the_keys",
    "You count the output projection as if it joined the heads of keys.",
    why="The context has as many heads as the queries: each query gets one, whoever's keys it "
    "looked at.",
    hint="How many heads are merged after attention: those of queries or those of keys?",
)
item.switch(
    "keys_are_values",
    "You count one matrix for keys and values together.",
    why="They share their number of heads, and not their matrix: k_proj and v_proj are two.",
    hint="List the four projections of an attention.",
)
item.switch(
    "output_forgotten",
    "You count three projections for each attention and leave out the fourth, out_proj.",
    why="Queries, keys and values have a projection each, and one more follows when the heads are "
    "merged.",
    hint="List the four projections of an attention.",
)
item.switch(
    "gate_forgotten",
    "You count two matrices for each feed-forward network; a gated one has three.",
    why="Gate and value each lead from D to d_ff, and the third matrix leads back.",
    hint="Which matrices does SwiGLU have?",
)
item.switch(
    "width_reduced_again",
    "You take two thirds of d_ff.",
    why="Whoever chose the configuration has done that already: intermediate_size is the width "
    "that the network has.",
    hint="Is config.d_ff the width of the gated network, or of one without a gate?",
)
item.switch(
    "norms_with_a_shift",
    "You count two vectors for each norm.",
    why="That's LayerNorm, with weight and bias. RMSNorm has a weight alone.",
    hint="Which parameters did rms_norm take?",
)
item.switch(
    "last_norm_forgotten",
    "You don't count the final norm.",
    why="With the norms before the sublayers, nothing would normalise what the last block gives, "
    "so one more norm stands between it and the output layer.",
    hint="What lies between the last block and the logits?",
)
item.switch(
    "one_norm_a_block",
    "You count one norm for each block.",
    why="Attention and the feed-forward network have one each.",
    hint="How many sublayers does a block have?",
)
item.switch(
    "norms_after_forgotten",
    'You don\'t count the norms after the sublayers where placement is "both".',
    why="Gemma normalises what goes into a sublayer and also what comes out of it: that makes four "
    "norms a block.",
    hint="What do the two values of placement mean in the task?",
)
item.switch(
    "biases_counted",
    "You count biases.",
    why="These models have none in attention and feed-forward: bias is False unless the "
    "configuration says otherwise.",
    hint="Which field says whether linear layers have a bias?",
)
item.switch(
    "output_bias_counted",
    "You count a bias of the output layer.",
    why="The output layer is a matrix alone here, the transposed table or one of its own.",
    hint="How are the logits computed from the last vectors?",
)
item.switch(
    "positions_counted",
    "You count a table of positions.",
    why="Rotary positions are computed, not learned: a rotation has no parameters, however long "
    "the text may be.",
    hint="What does max_len change in a model with rotary positions?",
)
item.switch(
    "one_layer",
    "You count a single block.",
    why="Each of the n_layers blocks has parameters of its own.",
    hint="Which part of your sum has to be multiplied by n_layers?",
)
