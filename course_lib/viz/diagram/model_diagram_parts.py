"""The parts of the model diagram: what each is called, which lesson builds it, what it does."""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.model import TransformerConfig

LESSONS = {
    "01": "01_positional_encoding",
    "02": "02_embeddings",
    "03": "03_feed_forward",
    "04": "04_attention_matmul",
    "06": "06_masks",
    "07": "07_blocks",
    "08": "08_full_model",
    "09": "09_batching",
    "13": "13_decoding",
    "14": "14_reading_attention",
    "16": "16_one_stack",
    "17": "17_todays_block",
}
# Sentences about parts that every model has.
RESIDUAL = (
    "The line around a part carries the vectors past it unchanged, and what the part computed is "
    "added to them."
)
GREEDY = (
    "Softmax turns the logits into probabilities, and greedy decoding takes the most probable word."
)


@dataclass(frozen=True)
class Part:
    """One part, the lesson that builds it, and a sentence that says what it does."""

    id: str
    name: str
    lesson: str
    text: str

    @property
    def link(self) -> str:
        """The notebook of its lesson, beside the lesson that shows the diagram."""
        return f"{LESSONS[self.lesson]}.ipynb"

    @property
    def stack(self) -> str:
        """What it belongs to, which decides its colour."""
        if self.id in ("norm", "residual"):
            return "small"
        if self.id in ("output", "prediction"):
            return "output"
        return "encoder" if self.id.startswith(("source", "encoder", "memory")) else "decoder"


def parts_of(
    config: TransformerConfig, languages: tuple[str, str] | None = None
) -> tuple[Part, ...]:
    """The parts of this model, each once, in the order in which the words pass through them.

    Args:
        config: the model's.
        languages: of source and target, such as ("German", "English"), if they have names.
    """
    c = config
    source, target = languages or ("source", "target")
    flow = " flows into ".join(languages or ("the source", "the target"))
    width, heads, layers = f"{c.d_model} numbers", count(c.n_heads, "head"), c.n_layers
    where = "before" if c.norm == "pre" else "after"
    learned = ", then a learned scale and shift" if c.norm_affine else ""
    stack = f"{count(layers, 'layer')} with the same parts and different numbers in them"
    positions = "a pattern of sines and cosines" if c.positions == "sinusoidal" else "numbers"
    return (
        Part(
            "source",
            f"{source} words",
            "09",
            f"The sentence, cut into tokens; each is one of the {c.source_vocab:,} of the "
            "vocabulary, and becomes its number there, its id.",
        ),
        Part(
            "source_embedding",
            "embedding",
            "02",
            f"A table with {width} for each word of the vocabulary: each id becomes a vector.",
        ),
        Part(
            "source_positions",
            "positions",
            "01",
            f"Adds {positions} that tell the model where in the sentence each word stands.",
        ),
        Part(
            "encoder_layers",
            f"layer × {layers}",
            "07",
            f"The encoder: {stack}, one after the other.",
        ),
        Part(
            "norm",
            "norm",
            "03",
            f"Gives every vector mean 0 and standard deviation 1{learned}, {where} each part, so "
            "that many layers can be trained.",
        ),
        Part(
            "encoder_attention",
            "self-attention",
            "04",
            f"Each {source} word attends to all {source} words, in {heads} at the same time, and "
            "takes in what it finds there.",
        ),
        Part("residual", "+", "03", RESIDUAL),
        Part(
            "encoder_feed_forward",
            "feed-forward",
            "03",
            f"Two matrices, {c.d_ff:,} numbers wide in between, change each word's vector without "
            "regard to the other words.",
        ),
        Part(
            "memory",
            "memory",
            "14",
            f"One vector for each {source} word, which now knows the others; a word is filled as "
            "far as the last layer's cross-attention attends to it in this step.",
        ),
        Part(
            "target",
            f"{target} words so far",
            "09",
            "A token that says 'begin', and the words that the model has generated itself: each "
            "new one joins them, and is read in the next step.",
        ),
        Part(
            "target_embedding",
            "embedding",
            "02",
            f"A second table, with {width} for each of {c.target_vocab:,} {target} words.",
        ),
        Part(
            "target_positions",
            "positions",
            "01",
            f"Adds {positions} that tell the model where each {target} word stands.",
        ),
        Part(
            "decoder_layers",
            f"layer × {layers}",
            "07",
            f"The decoder: {stack}, one after the other.",
        ),
        Part(
            "decoder_attention",
            "masked self-attention",
            "06",
            f"Each {target} word attends to itself and to the words before it; a mask hides the "
            "words after it, which the model has to predict.",
        ),
        Part(
            "cross_attention",
            "cross-attention",
            "07",
            f"Each {target} word asks, and the memory answers: here {flow}.",
        ),
        Part(
            "decoder_feed_forward",
            "feed-forward",
            "03",
            f"Two matrices, {c.d_ff:,} numbers wide in between, change each word's vector without "
            "regard to the other words.",
        ),
        Part(
            "output",
            "output layer",
            "08",
            f"Turns each vector into logits, a score for each of the {c.target_vocab:,} {target} "
            "words; those of the last vector decide about the next word.",
        ),
        Part("prediction", "next word", "13", GREEDY),
    )


def count(number: int, noun: str) -> str:
    """Such as "1 layer" or "2 layers"."""
    return f"{number} {noun}{'s' * (number != 1)}"
