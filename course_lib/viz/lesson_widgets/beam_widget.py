"""Lesson 12: the tree of a beam search, with its width and its length penalty to move."""

from collections.abc import Callable, Sequence

from course_lib.errors import CourseError
from course_lib.viz.plot_beam import Branch, plot_beam
from course_lib.viz.interactive_figure import Explorer, Picture, explore

# From a sentence, a width and a length penalty: what was looked at, and the best of it.
Search = Callable[[str, int, float], tuple[Sequence[Branch], Sequence[str]]]


def beam_widget(
    search: Search, sentences: Sequence[str], *, most_beams: int = 5, end: str = "<eos>"
) -> Explorer:
    """Choose a sentence, move the width and the length penalty; the tree redraws.

    Args:
        search: from (sentence, width, length penalty) to the branches that a search has looked at
            and the words of the best one.
        sentences: what may be translated.
        most_beams: the largest width.
        end: the end token, which a translation is shown without.

    Raises:
        CourseError: there is no sentence.
    """
    if not sentences:
        raise CourseError("expected at least one sentence to search a translation of, got none")

    def draw(sentence: str, width: int = 3, length_penalty: float = 0.6) -> Picture:
        branches, best = search(sentence, width, length_penalty)
        said = " ".join(word for word in best if word != end)
        title = f"{sentence} → {said}\nwidth {width}, length penalty {length_penalty:.1f}"
        ax = plot_beam(branches, best=best, title=title)
        ended = [branch for branch in branches if branch.fate == "ended"]
        found = next(b.probability for b in branches if b.words == tuple(best))
        return ax, (
            f"{len(branches)} beginnings were looked at, {len(ended)} of them ended. The best is "
            f"{said!r}, with probability {found:.2g}."
        )

    penalties = (0.0, 2.0, 0.1)
    return explore(draw, sentence=list(sentences), width=(1, most_beams), length_penalty=penalties)
