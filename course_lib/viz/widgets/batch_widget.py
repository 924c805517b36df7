"""Lesson 09: how much of a batch is padding, for any token budget."""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.errors import CourseError
from course_lib.viz.plots.plot_padding import padding_share, plot_padding
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

PAD_ID = 0
MAX_SENTENCES = 200  # so that redraws keep up with the slider

Batcher = Callable[[Sequence[int], int], Sequence[Sequence[int]]]


def batch_widget(lengths: Sequence[int], bucket: Batcher) -> InteractiveFigure:
    """Move the token budget; see the padding in batches in corpus order, and bucketed by length.

    Args:
        lengths: of each source sentence, in the order of the corpus.
        bucket: from (lengths, max_tokens) to batches of indices, such as the library's ``bucket``
            or your own.

    Raises:
        CourseError: no lengths, too many, or one that is not positive; or batches that do not
            contain each sentence once.
    """
    if not 1 <= len(lengths) <= MAX_SENTENCES or min(lengths) < 1:
        raise CourseError(
            f"expected the positive lengths of 1 to {MAX_SENTENCES} sentences, got {len(lengths)} "
            f"of which the shortest is {min(lengths, default=0)}: select some, as in lengths[:150]"
        )

    longest = max(lengths)
    low, step = 4 * longest, max(1, longest // 2)
    start, high = low + 4 * step, max(low + 10 * step, sum(lengths) // 2)

    def draw(max_tokens: int = start) -> DrawnFigure:
        bucketed = bucket(lengths, max_tokens)
        if sorted(i for batch in bucketed for i in batch) != list(range(len(lengths))):
            raise CourseError(
                f"the batches must contain each of the {len(lengths)} sentences once, got "
                f"{sum(map(len, bucketed))} indices: is one missing, or in two batches?"
            )
        orders = {"in corpus order": in_order(lengths, max_tokens), "bucketed": bucketed}
        filled = {name: [_fill(lengths, b) for b in batches] for name, batches in orders.items()}
        before, after = (padding_share(batches, PAD_ID) for batches in filled.values())
        title = f"At most {max_tokens} tokens per batch: {before:.0%} padding, bucketed {after:.0%}"
        return plot_padding(filled, PAD_ID, title=title), (
            f"With at most {max_tokens} tokens per batch, {len(orders['in corpus order'])} batches "
            f"in corpus order are {before:.1%} padding; {len(bucketed)} bucketed ones {after:.1%}."
        )

    return interact(draw, max_tokens=(low, high, step))


def in_order(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Batches of consecutive sentences, each filled up to the token budget, padding included."""
    batches: list[list[int]] = []
    for i, length in enumerate(lengths):
        longest = max([length, *(lengths[j] for j in batches[-1])]) if batches else length
        if batches and (len(batches[-1]) + 1) * longest <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _fill(lengths: Sequence[int], batch: Sequence[int]) -> np.ndarray:
    """A batch as ids, (B, S): 1 for each token, and padding on the right."""
    row_lengths = np.array([lengths[i] for i in batch])
    return (np.arange(max(row_lengths)) < row_lengths[:, None]).astype(int)
