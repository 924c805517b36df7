"""Lesson 08: from the sizes of a Transformer to its parameters, its memory and its work."""

from course_lib.model import TransformerConfig, count_parameters, parameter_parts
from course_lib.model.config import Tying
from course_lib.viz.plot_treemap import plot_treemap
from course_lib.viz.interactive_figure import Explorer, Picture, explore

BYTES = 4 * 4  # float32: the weight, its gradient, and the two averages that Adam keeps of it


def work_per_token(config: TransformerConfig) -> int:
    """Floating-point operations of one forward pass for one source and one target token.

    Each number in a weight matrix is multiplied and added once, which makes two. Left out are
    query · key and weights · value, which grow with the length of the sentence, and all that is
    done number by number.
    """
    c = config
    attention = 4 * c.d_model * c.n_heads * c.head_width
    feed_forward = 2 * c.d_model * c.d_ff
    # A block of the encoder has one attention, one of the decoder two.
    blocks = c.n_layers * (3 * attention + 2 * feed_forward)
    return 2 * (blocks + c.d_model * c.target_vocab)


def config_widget() -> Explorer:
    """Move the sizes; see where the parameters sit, and what they cost in memory and work.

    It starts at the paper's base model, whose vocabulary both languages share.
    """

    def draw(
        d_model: int = 512,
        d_ff: int = 2048,
        n_heads: int = 8,
        n_layers: int = 6,
        vocabulary: int = 37_000,
        tying: Tying = "all",
    ) -> Picture:
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
        memory, work = BYTES * count / 1e9, work_per_token(config) / 1e6
        cost = f"{memory:.2f} GB to train, {work:,.0f} million operations for a pair of tokens"
        ax = plot_treemap(parts, title=f"{cost}\nParameters")
        (kind, largest) = max(
            ((kind, sum(some.values())) for kind, some in parts.items()), key=lambda pair: pair[1]
        )
        return ax, (
            f"{count:,} parameters, of which {largest / count:.0%} {kind}. In float32, weights, "
            f"gradients and Adam's two averages take {memory:.2f} GB. One source and one target "
            f"token take {work:,.0f} million operations forward."
        )

    return explore(
        draw,
        d_model=(64, 1024, 64),
        d_ff=(128, 4096, 128),
        n_heads=[1, 2, 4, 8, 16, 32],  # each divides every d_model
        n_layers=(1, 24),
        vocabulary=(1_000, 100_000, 1_000),
        tying=["none", "output", "all"],
    )
