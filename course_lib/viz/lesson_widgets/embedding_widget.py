"""Lesson 02: a token and a position become one vector."""

from collections.abc import Mapping

from torch.nn import functional as F

from course_lib.errors import CourseError
from course_lib.model import TransformerEmbedding
from course_lib.viz.plot_sum import plot_sum
from course_lib.viz.interactive_figure import Explorer, Picture, explore


def embedding_widget(
    embedding: TransformerEmbedding, tokens: Mapping[str, int], *, last_position: int = 50
) -> Explorer:
    """Pick a token and a position; see both vectors and their sum, and how long they are.

    Args:
        embedding: of a model, trained or not.
        tokens: the words to pick from, each with its id.
        last_position: to which the slider goes.

    Raises:
        CourseError: there are no tokens, or an id that the embedding does not have.
    """
    table = embedding.tokens.weight.detach().cpu()
    places = embedding.positions.table.detach().cpu()
    if not tokens or not 0 <= min(tokens.values()) <= max(tokens.values()) < len(table):
        raise CourseError(
            f"tokens must map at least one word to an id from 0 to {len(table) - 1}, got "
            f"{dict(tokens)}: do tokenizer and embedding belong together?"
        )
    root = table.size(1) ** 0.5

    def draw(token: str, position: int = 3, times_root_d: bool = True) -> Picture:
        vector = table[tokens[token]] * (root if times_root_d else 1.0)  # (D,)
        place = places[position]
        scale = f" × {root:.1f}" if times_root_d else ""
        title = f"{token!r}{scale} at position {position}"
        alike = F.cosine_similarity(vector, vector + place, dim=0)
        figure = plot_sum([token], vector[None], place[None], title=title)
        figure.set_figheight(3.2)  # a single row would be too thin to be seen
        return figure, (
            f"{title}: the token's vector is {vector.norm():.1f} long, the position's "
            f"{place.norm():.1f}, the sum {(vector + place).norm():.1f}. Between token and sum the "
            f"cosine is {alike:.2f}."
        )

    last = min(last_position, len(places) - 1)
    return explore(draw, token=list(tokens), position=(0, last), times_root_d=True)
