"""08.count_parameters: count parameters without building the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.checks.items.full_model.small_transformer import Fields
from course_lib.model import PRESETS, TransformerConfig, count_parameters


def _use_config(count: Callable[[TransformerConfig], Any], fields: Fields) -> Any:
    total = count(TransformerConfig(**fields))
    if isinstance(total, float) or (isinstance(total, Tensor) and total.is_floating_point()):
        raise WrongResult("expected a whole number, got a float")
    return total


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


_ALL_TIED: dict[str, Any] = {"tying": "all", "source_vocab": 70, "target_vocab": 70}


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
                _config(draw, "tying is 'all'", **_ALL_TIED),
                _config(draw, "tied, no output bias", tying="output", output_bias=False),
                _config(draw, "all tied, positions learned", **_ALL_TIED, positions="learned"),
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
                _config(draw, "a final norm after post-norm blocks", norm="post", final_norm=True),
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
        "Count the parameters of one attention, of one feed-forward network and of one norm. How "
        "many of each does an encoder block have, and how many does a decoder block have?",
        "Write down the shapes. All heads together are n_heads · resolved_d_head wide: that is "
        "one side of all four matrices of an attention, and the length of three of its biases. "
        "What is switched off counts 0, and in a product, Python takes True for 1 and False for 0.",
        "With the usual options, an attention has 4D² + 4D parameters, a feed-forward network 2DF "
        "+ F + D, and a norm 2D. Each stack has n_layers * (... * attention + feed_forward + ... "
        "* norm), and perhaps a final norm. To that add the tables. Their number of rows depends "
        "on tying, learned positions add 2 * max_len rows, and each row has D numbers. The "
        "output's bias comes last.",
    ),
)


@item.switchable
def counting_with(on: frozenset[str]) -> Callable[[TransformerConfig], Any]:
    """count_parameters with these misconceptions."""

    def answer(config: TransformerConfig) -> Any:
        c, width = config, config.n_heads * config.resolved_d_head
        if "width_of_heads_ignored" in on:
            width = c.d_model
        attention = attention_of(c, width)
        feed_forward = 2 * c.d_model * c.d_ff
        if has_bias(c.feed_forward_bias):
            feed_forward += c.d_ff + c.d_model
        norm = (1 if "norms_without_shift" in on else 2) * c.d_model
        if not c.norm_affine and "norms_always_learn" not in on:
            norm = 0
        attentions = 2 if "two_attentions_a_layer" in on else 3
        norms = 4 if "four_norms_a_layer" in on else 5
        total = c.n_layers * (attentions * attention + 2 * feed_forward + norms * norm)
        if "last_norms_always_learn" in on:
            norm = 2 * c.d_model
        last = c.norm == "pre" if "last_norms_of_pre_norm" in on else c.final_norm
        if (last or "last_norms_always" in on) and "last_norms_forgotten" not in on:
            total += 2 * norm
        total += tables_of(c)
        return float(total) if "a_float" in on else total

    def has_bias(wanted: bool) -> bool:
        return (wanted or "all_biases" in on) and "no_biases" not in on

    def attention_of(c: TransformerConfig, width: int) -> int:
        inputs, output = 3 * c.d_model * width, c.d_model * width
        if on & {"matrices_for_each_head", "only_matrices_for_each_head"}:
            inputs, output = inputs * c.n_heads, output * c.n_heads
        elif "only_inputs_for_each_head" in on:
            inputs *= c.n_heads
        last = width if "output_bias_as_wide_as_the_heads" in on else c.d_model
        biases = [3 * width, last] if has_bias(c.attention_bias) else [0, 0]
        if "matrices_for_each_head" in on:
            biases = [c.n_heads * bias for bias in biases]
        if "output_projection_forgotten" in on:
            return inputs + biases[0]
        return inputs + output + sum(biases)

    def tables_of(c: TransformerConfig) -> int:
        target = c.source_vocab if "source_vocab_for_both" in on else c.target_vocab
        rows = c.source_vocab + target
        if c.tying == "all" and not on & {"all_counts_as_output", "tied_tables_twice"}:
            rows = target
        if (c.tying == "none" or "tied_tables_twice" in on) and "output_matrix_forgotten" not in on:
            rows += target
        if (c.positions == "learned" or "sines_counted" in on) and (
            "learned_positions_forgotten" not in on
        ):
            rows += c.max_len * (1 if "positions_counted_once" in on else 2)
        bias = (c.output_bias or "all_biases" in on) and "output_bias_forgotten" not in on
        if "output_bias_tied_away" in on and c.tying != "none":
            bias = False
        length = c.d_model if "output_bias_as_wide_as_the_model" in on else target
        return rows * c.d_model + bias * length

    return answer


item.switch(
    "tied_tables_twice",
    "You count a tied table every time it is used.",
    why="One table in three modules is still one table: it is stored, trained and counted once.",
    hint="How many tables are there for each value of tying?",
)
item.switch(
    "output_bias_tied_away",
    "Where tables are tied, you leave out the bias of the output layer.",
    why="Only the table is shared. The bias, one number for each token of the target's vocabulary, "
    "belongs to the output layer alone.",
    hint="Which parameters does the output layer have, and which of them is the shared table?",
)
item.switch(
    "two_attentions_a_layer",
    "You count two attentions per layer; an encoder block and a decoder block together have three.",
    why="The decoder block has self-attention and cross-attention, each with its own matrices.",
    hint="List the sublayers of both blocks.",
)
item.switch(
    "four_norms_a_layer",
    "You count four norms per layer; an encoder block and a decoder block together have five.",
    why="Each sublayer has a residual connection of its own, and a norm with it.",
    hint="How many sublayers does an encoder block have, and how many does a decoder block have?",
)
item.switch(
    "matrices_for_each_head",
    "You count the attention matrices once per head.",
    why="The heads divide up the columns of the same matrices: with D / H columns each, H heads "
    "together have D.",
    hint="Double n_heads. What gets larger, and what gets smaller?",
    spellings=["only_matrices_for_each_head", "only_inputs_for_each_head"],
)
item.switch(
    "no_biases",
    "You don't count any biases in the blocks.",
    why="Each projection and both feed-forward layers have one unless the config says otherwise. "
    "They're few, but the count has to be exact.",
    hint="attention_bias and feed_forward_bias are True unless switched off.",
)
item.switch(
    "all_biases",
    "You count all biases, even those that the config switches off.",
    why="The config can switch off each kind of bias. In one of the five published systems, "
    "neither the attentions nor the feed-forward networks have any.",
    hint="Three fields of the config end in _bias.",
)
item.switch(
    "output_bias_forgotten",
    "You don't count the output layer's bias.",
    why="It has one number for each token of the target vocabulary, and it stays when the table is "
    "tied.",
    hint="What is added to h Wᵀ to give the logits?",
)
item.switch(
    "norms_always_learn",
    "You count a scale and a shift for each norm, even with norm_affine=False.",
    why="The norms of one published system have no parameters. That makes 30,720 parameters fewer "
    "than the lesson's formula gives.",
    hint="Which field of the config says whether a norm has parameters?",
)
item.switch(
    "last_norms_forgotten",
    "You don't count the final norm of each stack (final_norm).",
    why="If final_norm is True, each of the two stacks ends with one more norm, of 2D parameters. "
    "PyTorch's nn.Transformer always has these two norms, and the paper's model has none.",
    hint="What follows the last block if final_norm is True?",
)
item.switch(
    "learned_positions_forgotten",
    "You don't count learned positions.",
    why="Sines and cosines are computed, but a learned position table is made of parameters: "
    "max_len rows for each side.",
    hint="positions can be 'sinusoidal' or 'learned'.",
)
item.switch(
    "positions_counted_once",
    "You count learned positions once; each side has its own table.",
    why="The third position may mean one thing in the source and another in the target.",
    hint="How many embeddings does the model have?",
)
item.switch(
    "sines_counted",
    "You count positions as parameters although they're sines and cosines.",
    why="What a formula computes isn't trained, and isn't counted.",
    hint="positions can be 'sinusoidal' or 'learned'.",
)
item.switch(
    "width_of_heads_ignored",
    "You assume that all heads together are D wide, even if d_head says otherwise.",
    why="All heads together have n_heads · d_head columns if d_head is set: that is the length of "
    "three of the biases and one side of all four matrices.",
    hint="config.resolved_d_head is the width of one head, whatever d_head is.",
)
item.switch(
    "output_projection_forgotten",
    "You count three projections per attention and leave out the fourth, out_proj.",
    why="Queries, keys and values have a projection each, and one more follows when the heads are "
    "merged.",
    hint="How many linear layers does MultiHeadAttention create?",
)
item.switch(
    "output_bias_as_wide_as_the_heads",
    "You count four attention biases of the same length: all heads together.",
    why="out_proj maps the heads back to D numbers, so its bias has D. You notice only if d_head "
    "is set, and all heads together are wider or narrower than D.",
    hint="How long is the output of each of the four projections?",
)
item.switch(
    "norms_without_shift",
    "You count D parameters for a norm: only its scale or only its shift.",
    why="LayerNorm multiplies each of the D numbers by a learned scale and adds a learned shift.",
    hint="Print the shapes of the parameters of nn.LayerNorm(4).",
)
item.switch(
    "last_norms_always",
    "You always count a final norm in each stack, even if final_norm is False.",
    why="PyTorch's nn.Transformer always has these two norms, but the paper's model has none.",
    hint="Which field of the config says whether the stacks end with a norm?",
)
item.switch(
    "last_norms_of_pre_norm",
    "You decide by norm == 'pre' whether there is a final norm in each stack.",
    why="Pre-norm models usually have one, but here a field of its own says so, and post-norm "
    "blocks may have one, too.",
    hint="Which field of the config says whether the stacks end with a norm?",
)
item.switch(
    "last_norms_always_learn",
    "You count scale and shift of the final norms even with norm_affine=False.",
    why="norm_affine holds for all norms of the model.",
    hint="What does a norm count for in your blocks, and what at the end of a stack?",
)
item.switch(
    "output_bias_as_wide_as_the_model",
    "You count d_model numbers for the output layer's bias.",
    why="It's added to the logits, so it has one number for each token of the target vocabulary.",
    hint="How many outputs does that layer have?",
)
item.switch(
    "output_matrix_forgotten",
    "You count two tables if nothing is tied: the output layer's matrix is missing.",
    why="It has one row for each token of the target vocabulary, and is often one of the largest "
    "matrices. Only a tied output layer has none of its own.",
    hint="How many tables are there for each value of tying?",
)
item.switch(
    "all_counts_as_output",
    "With tying 'all' you count two tables, as for 'output'.",
    why="With 'all' the source embedding, the target embedding and the output layer use one table.",
    hint="How many tables are there for each value of tying?",
)
item.switch(
    "source_vocab_for_both",
    "You use source_vocab for both sides.",
    why="Each language has its own vocabulary. The target's embedding and the output layer have "
    "target_vocab rows.",
    hint="Which fields of the config does your code never use?",
)
item.switch(
    "a_float",
    "Your count is a float, not a whole number.",
    why="A float has about 16 digits, so the count of a very large model would be rounded.",
    hint="Which part of your formula makes a float? The operator / does, even of two whole "
    "numbers, and so does a factor such as 2.0.",
)
