"""Lesson 08: the parameters, memory and compute of a Transformer of any size."""

from course_lib.model import TransformerConfig, count_parameters, parameter_parts
from course_lib.model.config import Tying
from course_lib.viz.plots.plot_treemap import plot_treemap
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

BYTES = 4 * 4  # per parameter, in float32: weight, gradient, and the two moments of Adam


def flops_per_token(config: TransformerConfig) -> int:
    """Floating-point operations of one forward pass for one source and one target token.

    Each entry of a weight matrix takes part in one multiplication and one addition. Not counted
    are query · key and weights · value, which grow with the length of the sentence, and all
    elementwise operations.
    """
    c = config
    attention = 4 * c.d_model * c.n_heads * c.resolved_d_head
    feed_forward = 2 * c.d_model * c.d_ff
    # A block of the encoder has one attention, one of the decoder two.
    blocks = c.n_layers * (3 * attention + 2 * feed_forward)
    return 2 * (blocks + c.d_model * c.target_vocab)


def config_widget() -> InteractiveFigure:
    """Move the sizes; see where the parameters sit, and what they cost in memory and compute.

    It starts at the paper's base model, whose vocabulary is shared by both languages.
    """

    def draw(
        d_model: int = 512,
        d_ff: int = 2048,
        n_heads: int = 8,
        n_layers: int = 6,
        vocabulary: int = 37_000,
        tying: Tying = "all",
    ) -> DrawnFigure:
        config = TransformerConfig(
            source_vocab=vocabulary,
            target_vocab=vocabulary,
            d_model=d_model,
            d_ff=d_ff,
            n_heads=n_heads,
            n_layers=n_layers,
            tying=tying,
        )
        count = count_parameters(config)
        parts = parameter_parts(config)
        memory, flops = BYTES * count / 1e9, flops_per_token(config) / 1e6
        sizes = {kind: sum(part.values()) for kind, part in parts.items()}
        kind = max(sizes, key=sizes.__getitem__)
        title = f"{kind} is {sizes[kind] / count:.0%} of {count:,} parameters".capitalize()
        title += f"\n{memory:.2f} GB to train, {flops:,.0f} million FLOPs for a pair of tokens"
        ax = plot_treemap(parts, title=title, accent=kind)
        return ax, (
            f"{count:,} parameters, of which {sizes[kind] / count:.0%} {kind}. In float32, "
            f"weights, gradients and Adam's two moments take {memory:.2f} GB. A forward pass takes "
            f"{flops:,.0f} million floating-point operations for one source and one target token."
        )

    return interact(
        draw,
        d_model=(64, 1024, 64),
        d_ff=(128, 4096, 128),
        n_heads=[1, 2, 4, 8, 16, 32],  # each divides every d_model
        n_layers=(1, 24),
        vocabulary=(1_000, 100_000, 1_000),
        tying=["none", "output", "all"],
    )
