"""Lesson 13: the tree of a beam search, for any width and length penalty."""

from collections.abc import Callable, Sequence

from course_lib.errors import CourseError
from course_lib.viz.plots.plot_beam import Branch, plot_beam, told
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

# (sentence, width, length penalty) → the branches looked at, and the tokens of the best one.
Search = Callable[[str, int, float], tuple[Sequence[Branch], Sequence[str]]]
MAX_BEAMS = 5
END = "<eos>"  # is left out of the translation


def beam_widget(search: Search, sentences: Sequence[str]) -> InteractiveFigure:
    """Choose a sentence, move the width and the length penalty; see the tree of the search.

    Args:
        search: from (sentence, width, length penalty) to the branches that a search has looked at
            and the tokens of the best one.
        sentences: the sentences to choose from.

    Raises:
        CourseError: there is no sentence.
    """
    if not sentences:
        raise CourseError("expected at least one sentence to translate, got none")

    def draw(sentence: str, width: int = 3, length_penalty: float = 0.6) -> DrawnFigure:
        branches, best = search(sentence, width, length_penalty)
        translation = " ".join(token for token in best if token != END)
        title = f"{sentence} → {translation}\nwidth {width}, length penalty {length_penalty:.1f}"
        ax = plot_beam(branches, best=best, title=title)
        ended = [branch for branch in branches if branch.fate == "ended"]
        probability = next(b.probability for b in branches if b.tokens == tuple(best))
        return ax, (
            f"The tree shows {len(branches)} prefixes, {len(ended)} of them complete. The "
            f"best is {translation!r}, with probability {told(probability)}."
        )

    penalties = (0.0, 2.0, 0.1)
    return interact(draw, sentence=list(sentences), width=(1, MAX_BEAMS), length_penalty=penalties)
