"""How many parameters a Transformer has, by formula: nothing is built to count it."""

from course_lib.model.config import TransformerConfig


def parameter_parts(config: TransformerConfig) -> dict[str, dict[str, int]]:
    """The parameters of ``Transformer(config)`` by kind and part, by formula, without building it.

    A table that is shared (``tying``) is counted once, among the embeddings.

    Returns:
        Kind → part → number; what has no parameters is left out.
    """
    c = config
    d, inner, n = c.d_model, c.n_heads * c.resolved_d_head, c.n_layers
    attention = n * (4 * d * inner + c.attention_bias * (3 * inner + d))
    feed_forward = n * (2 * d * c.d_ff + c.feed_forward_bias * (c.d_ff + d))
    norm = 2 * d * c.norm_affine
    last = norm * c.final_norm
    source, target = c.source_vocab * d, c.target_vocab * d
    tables = {"none": "target", "output": "target and output", "all": "source, target and output"}
    parts = {
        "embedding": {
            "source": 0 if c.tying == "all" else source,
            tables[c.tying]: target,
            "positions": 2 * c.max_len * d * (c.positions == "learned"),
        },
        "attention": {"encoder self": attention, "decoder self": attention, "cross": attention},
        "feed-forward": {"encoder": feed_forward, "decoder": feed_forward},
        "norm": {"encoder": 2 * n * norm + last, "decoder": 3 * n * norm + last},
        "output": {"logits": target * (c.tying == "none") + c.output_bias * c.target_vocab},
    }
    some = {kind: {p: size for p, size in sizes.items() if size} for kind, sizes in parts.items()}
    return {kind: sizes for kind, sizes in some.items() if sizes}


def count_parameters(config: TransformerConfig) -> int:
    """The number of parameters of ``Transformer(config)``, the sum of its ``parameter_parts``."""
    return sum(sum(sizes.values()) for sizes in parameter_parts(config).values())
