"""The parts of a model of one stack: what each is called, which lesson builds it, what it does."""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.modern import PrefixConfig, cache_numbers_per_token, parameter_parts
from course_lib.viz.diagram.model_diagram_parts import GREEDY, RESIDUAL, Part, count


@dataclass(frozen=True)
class StackPart(Part):
    """A part of a model of one stack, whose keys and values are its own, not an encoder's."""

    @property
    def stack(self) -> str:
        """What it belongs to, which decides its colour."""
        return "decoder" if self.id == "memory" else super().stack


def one_stack_parts(
    config: PrefixConfig, languages: tuple[str, str] | None = None
) -> tuple[Part, ...]:
    """The parts of this model, each once, in the order in which the words pass through them.

    The sentences name all its parameters, those of a part in all layers together.

    Args:
        config: the model's.
        languages: of source and target, such as ("German", "English"), if they have names.
    """
    c = config.stack
    source, target = languages or ("source", "target")
    sizes = dict.fromkeys(("output", "positions"), 0) | parameter_parts(c)
    norms = sizes["norm"] + sizes.get("final norm", 0)
    layers, heads = count(c.n_layers, "layer"), count(c.n_heads, "head")
    if c.resolved_n_kv_heads != c.n_heads:
        heads += f" with {c.resolved_n_kv_heads} of keys and values"
    where = {"pre": "before", "post": "after", "both": "before and after"}[c.placement]
    if c.norm == "rms":
        norm = "Divides every vector by its root mean square and multiplies it by a learned scale"
    else:
        norm = "Gives every vector mean 0 and standard deviation 1, then a learned scale and shift"
    matrices = "Two matrices" if c.activation == "relu" else "Three matrices, one of them a gate"
    logits = f"Turns the vector of each {target} word into logits, a score for each of the "
    table = "by the table of the embedding: no further" if c.tied else f"{sizes['output']:,}"
    rows = [
        (
            "source",
            f"{source} words",
            "16",
            "The sentence, cut into tokens, stands first in the row that the stack reads. Source "
            f"and target share one vocabulary of {c.vocab:,} tokens.",
        ),
        (
            "target",
            f"{target} words so far",
            "16",
            "A token that says 'begin', and the words that the model has generated itself: each "
            "new one joins the row, and is read in the next step.",
        ),
        (
            "target_embedding",
            "embedding",
            "02",
            f"A table with {c.d_model} numbers for each token of the vocabulary: each id becomes "
            f"a vector. {sizes['embedding']:,} parameters.",
        ),
        *_positions(config, sizes["positions"]),
        (
            "decoder_layers",
            f"layer × {c.n_layers}",
            "16",
            f"The one stack: {layers} with the same parts and different numbers in them, one after "
            "the other.",
        ),
        (
            "norm",
            "norm",
            "17" if c.norm == "rms" else "03",
            f"{norm}, {where} each part, so that many layers can be trained. "
            f"{norms:,} parameters in all.",
        ),
        (
            "decoder_attention",
            "self-attention",
            "16",
            f"In {heads}, {source} words attend to one another, and {target} words to these and to "
            f"the {target} words so far. {sizes['attention']:,} parameters in {layers}.",
        ),
        (
            "memory",
            "keys and values",
            "16",
            f"What attention reads: {cache_numbers_per_token(c)} numbers of each word in each "
            "layer, kept from step to step; a word is filled as far as the last layer's attention "
            "attends to it in this step.",
        ),
        ("residual", "+", "03", RESIDUAL),
        (
            "decoder_feed_forward",
            "feed-forward",
            "03" if c.activation == "relu" else "17",
            f"{matrices}, {c.d_ff:,} numbers wide, change each word's vector without regard to "
            f"the others. {sizes['feed-forward']:,} parameters in {layers}.",
        ),
        (
            "output",
            "output layer",
            "08",
            f"{logits}{c.vocab:,} tokens, {table} parameters."
            if c.tied
            else f"{logits}{c.vocab:,} tokens. {table} parameters.",
        ),
        ("prediction", "next word", "13", GREEDY),
    ]
    return tuple(StackPart(*row) for row in rows)


def _positions(config: PrefixConfig, size: int) -> list[tuple[str, str, str, str]]:
    """The row of the positions, if the model has any."""
    name, lesson = "positions", "01"
    tells = "the model where in the row each word stands."
    if config.positions == "none":
        return []
    if config.positions == "rotary":
        name, lesson = "rotary: in attention", "17"
        text = "Nothing is added: attention turns each query and key by angles that tell " + tells
    elif config.positions == "learned":
        text = f"Adds learned numbers that tell {tells} {size:,} parameters."
    else:
        text = f"Adds a pattern of sines and cosines that tell {tells}"
    return [("target_positions", name, lesson, text)]
