"""Lesson 09: how many pads a batch holds, with the token budget to move."""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.errors import CourseError
from course_lib.viz.plot_padding import padding_share, plot_padding
from course_lib.viz.interactive_figure import Explorer, Picture, explore

PAD_ID = 0
MOST_SENTENCES = 200  # so that a redraw keeps up with the slider

Batcher = Callable[[Sequence[int], int], Sequence[Sequence[int]]]


def batch_widget(lengths: Sequence[int], bucket: Batcher) -> Explorer:
    """Drag the token budget; see the pads in batches as the sentences come, and bucketed.

    Args:
        lengths: of each sentence, in the order of the corpus.
        bucket: from (lengths, max_tokens) to batches of indices, such as the library's ``bucket``
            or your own.

    Raises:
        CourseError: no lengths, too many, or one that is not positive; or batches that do not hold
            each sentence once.
    """
    if not 1 <= len(lengths) <= MOST_SENTENCES or min(lengths) < 1:
        raise CourseError(
            f"expected the positive lengths of 1 to {MOST_SENTENCES} sentences, got {len(lengths)} "
            f"of which the shortest is {min(lengths, default=0)}: take a part, as in lengths[:150]"
        )

    longest = max(lengths)
    low, step = 4 * longest, max(1, longest // 2)
    start, high = low + 4 * step, max(low + 10 * step, sum(lengths) // 2)

    def draw(max_tokens: int = start) -> Picture:
        bucketed = bucket(lengths, max_tokens)
        if sorted(i for batch in bucketed for i in batch) != list(range(len(lengths))):
            raise CourseError(
                f"the batches must hold each of the {len(lengths)} sentences once, got "
                f"{sum(map(len, bucketed))} indices: is one lost, or in two batches?"
            )
        orders = {"as they come": in_order(lengths, max_tokens), "bucketed": bucketed}
        filled = {name: [_fill(lengths, b) for b in batches] for name, batches in orders.items()}
        title = f"At most {max_tokens} cells a batch, {len(lengths)} sentences"
        before, after = (padding_share(batches, PAD_ID) for batches in filled.values())
        return plot_padding(filled, PAD_ID, title=title), (
            f"With at most {max_tokens} cells a batch, {len(orders['as they come'])} batches hold "
            f"{before:.1%} pads as the sentences come; bucketed, {len(bucketed)} hold {after:.1%}."
        )

    return explore(draw, max_tokens=(low, high, step))


def in_order(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Batches of neighbours: a sentence joins the one before it as long as the cells suffice."""
    batches: list[list[int]] = []
    for i, length in enumerate(lengths):
        longest = max([length, *(lengths[j] for j in batches[-1])]) if batches else length
        if batches and (len(batches[-1]) + 1) * longest <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _fill(lengths: Sequence[int], batch: Sequence[int]) -> np.ndarray:
    """A batch as ids, (B, S): 1 for each word, and pads on the right."""
    inside = [lengths[i] for i in batch]
    return (np.arange(max(inside)) < np.array(inside)[:, None]).astype(int)
