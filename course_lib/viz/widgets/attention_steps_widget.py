"""Lesson 04: attention, step by step, for one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.viz.drawings.marks import signed
from course_lib.viz.plots.attention_summary import top_keys
from course_lib.viz.plots.heatmaps import draw_matrix
from course_lib.viz.style import ACCENT, INK, PAGE, SOFT, STYLE, Quantity, brightness, styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

# Inches: height and width of a cell, from one column to the next, the most for all rows.
CELL, WIDE, GAP, MOST_HEIGHT, LEGIBLE, LEAST_WIDTH = 0.3, 0.85, 0.3, 7.2, 0.2, 6.96


@dataclass(frozen=True)
class Stage:
    """One step's numbers: a row for each query, and the names of its columns."""

    name: str
    values: Tensor
    _: KW_ONLY
    names: Sequence[str]
    quantity: Quantity = "value"

    def row(self, query: int) -> Stage:
        """The numbers of one query alone."""
        return replace(self, values=self.values[query])


def attention_steps_widget(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    tokens: Sequence[str],
    *,
    value_names: Sequence[str] | None = None,
    start: int = 0,
) -> InteractiveFigure:
    """Pick a query and follow it step by step: scores, scaled scores, weights, context.

    Args:
        query: one head of one sentence, (token, d_head); leading axes of size 1 are dropped.
        key: (token, d_head).
        value: (token, d_value).
        tokens: one for each query and key.
        value_names: one for each column of the values; by default the indices.
        start: index of the query that is shown first.

    Raises:
        CourseError: the shapes of the tensors do not match each other or the tokens.
    """
    query, key, value = (_one_head(x.detach().cpu().float()) for x in (query, key, value))
    names = [str(i) for i in range(value.size(1))] if value_names is None else value_names
    expected = (len(tokens), len(tokens), len(tokens), len(names), key.size(1))
    got = (len(query), len(key), len(value), value.size(1), query.size(1))
    if expected != got:
        raise CourseError(
            f"expected query and key ({len(tokens)} tokens, d_head) and value "
            f"({len(tokens)} tokens, {len(names)} names), got {tuple(query.shape)}, "
            f"{tuple(key.shape)} and {tuple(value.shape)}: do the tokens belong to these vectors?"
        )
    root = key.size(1) ** 0.5
    scores = query @ key.T  # (query, key)
    weights = (scores / root).softmax(dim=-1)
    context = weights @ value
    stages = [
        Stage("score", scores, names=tokens),
        Stage(f"÷ {root:.3g}", scores / root, names=tokens),
        Stage("weight", weights, names=tokens, quantity="attention"),
        Stage("context", context, names=names),
    ]

    def draw(query: int = start, steps: int = 4) -> DrawnFigure:
        answer = _answers(scores[query])
        figure = _draw_stages([stage.row(query) for stage in stages], answer, steps=steps)
        asks = f"{tokens[query]!r} asks"
        best = float(weights[query].max())
        if steps < 3:
            title = f"{asks}: its query against every key"
        elif len(answer) == 1:
            title = f"{asks}, {tokens[answer[0]]!r} answers: {best:.2f}"
        else:
            title = f"{asks}, {len(answer)} keys answer alike: {best:.2f} each"
        figure.suptitle(title, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"])
        row = stages[min(steps, 3) - 1].values[query]
        verb = "attends most to" if steps > 2 else "matches best"
        text = f"Step {steps} of 4: {tokens[query]!r} {verb}: {top_keys(row, tokens)}."
        if steps == 4:
            text += f" The largest entries of its context: {top_keys(context[query], names)}."
        return figure, text

    return interact(
        draw, query=[(f"{i} {token}", i) for i, token in enumerate(tokens)], steps=(1, 4)
    )


def _one_head(x: Tensor) -> Tensor:
    if x.ndim < 2 or x[..., 0, 0].numel() != 1:
        raise CourseError(
            f"query, key and value must have shape (length, width), got {tuple(x.shape)}: "
            "pick one sentence and one head first, such as query[0, 0]"
        )
    return x.reshape(x.shape[-2:])


def _answers(scores: Tensor) -> list[int]:
    """The keys with the highest score: one, or several that score alike."""
    return (scores >= scores.max() - 1e-4).nonzero().flatten().tolist()


@styled
def _draw_stages(rows: Sequence[Stage], answer: Sequence[int], *, steps: int) -> Figure:
    """A column of cells for each stage, a row for each key; the context below its names."""
    longest = max(len(word) for stage in rows for word in stage.names)
    left, cells = 0.4 + 0.09 * longest, max(len(stage.names) for stage in rows)
    cell = min(CELL, MOST_HEIGHT / cells)
    width, height = 2 * left + 4 * (WIDE + GAP) + GAP, 1.0 + cell * cells
    figure = Figure(figsize=(max(LEAST_WIDTH, width), height))
    x = left
    for i, stage in enumerate(rows):
        x += left + GAP if i == 3 else 0  # room for the names of the values
        tall = cell * len(stage.names)
        bottom = 0.1 + cell * cells - tall
        across, up = figure.get_size_inches()
        ax = figure.add_axes((x / across, bottom / up, WIDE / across, tall / up))
        # Scores and scaled scores share a scale, so that the effect of the division shows.
        largest = float(rows[0 if i < 2 else i].values.abs().max()) or 1.0
        limits = (0.0, 1.0) if stage.quantity == "attention" else (-largest, largest)
        _draw_cells(ax, stage, answer if i < 3 else [], limits, room=cell)
        ax.tick_params(labelleft=i in (0, 3))
        ax.set_visible(i < steps)
        x += WIDE + GAP
    return figure


def _draw_cells(
    ax: Axes, stage: Stage, answer: Sequence[int], limits: tuple[float, float], *, room: float
) -> None:
    """One column: each number in its cell but zeros, the answer's row in the accent colour."""
    numbers = stage.values.numpy()
    image = draw_matrix(ax, np.ma.MaskedArray(numbers[:, None]), limits, quantity=stage.quantity)
    ax.set_title(stage.name, fontsize=11, color=SOFT, loc="center")
    ax.set_xticks([])
    legible = room >= LEGIBLE
    ax.set_yticks(range(len(stage.names)) if legible else [], stage.names if legible else [])
    ax.tick_params(length=0, labelcolor=INK)
    for row, number in enumerate(numbers.tolist()):
        text = signed(number, 2)
        if legible and float(f"{number:.2f}") != 0:
            dark = brightness(image.cmap(image.norm(number))) < 0.55
            colour = PAGE if dark else INK if row in answer or not answer else SOFT
            ax.text(0, row, text, ha="center", va="center", color=colour)
    if len(answer) == len(numbers):
        return  # all alike
    for row in answer:
        frame = Rectangle(
            (-0.5, row - 0.5), 1, 1, fill=False, edgecolor=ACCENT, linewidth=2, zorder=5
        )
        ax.add_patch(frame).set_clip_on(False)
        if legible:
            ax.get_yticklabels()[row].set(color=ACCENT, fontweight="bold")
