"""Lesson 02: token embedding plus positional encoding."""

from collections.abc import Mapping

from torch.nn import functional as F

from course_lib.errors import CourseError
from course_lib.model import TransformerEmbedding
from course_lib.viz.plots.plot_sum import plot_sum
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact


def embedding_widget(
    embedding: TransformerEmbedding, tokens: Mapping[str, int], *, last_position: int = 50
) -> InteractiveFigure:
    """Pick a token and a position; see both vectors, their sum, and their norms.

    Args:
        embedding: that of a model, trained or not.
        tokens: token → id, for the tokens to choose from.
        last_position: the largest position of the slider.

    Raises:
        CourseError: there are no tokens, or an id is outside the vocabulary.
    """
    table = embedding.tokens.weight.detach().cpu()
    encodings = embedding.positions.table.detach().cpu()
    if not tokens or not 0 <= min(tokens.values()) <= max(tokens.values()) < len(table):
        raise CourseError(
            f"tokens must map at least one token to an id from 0 to {len(table) - 1}, got "
            f"{dict(tokens)}: do tokenizer and embedding belong together?"
        )
    root = table.size(1) ** 0.5

    def draw(token: str, position: int = 3, times_root_d: bool = True) -> DrawnFigure:
        vector = table[tokens[token]] * (root if times_root_d else 1.0)  # (D,)
        encoding = encodings[position]
        scale = f" × {root:.1f}" if times_root_d else ""
        title = f"{token!r}{scale} at position {position}"
        cosine = F.cosine_similarity(vector, vector + encoding, dim=0)
        figure = plot_sum([token], vector[None], encoding[None], title=title)
        figure.set_figheight(3.2)  # a single row would be too thin to see
        return figure, (
            f"{title}: the norm of the token's vector is {vector.norm():.1f}, that of the "
            f"position's {encoding.norm():.1f}, that of the sum {(vector + encoding).norm():.1f}. "
            f"The cosine similarity of token and sum is {cosine:.2f}."
        )

    last = min(last_position, len(encodings) - 1)
    return interact(draw, token=list(tokens), position=(0, last), times_root_d=True)
