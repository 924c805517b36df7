"""Lesson 04: attention, step by step, for one query."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plots.attention_summary import top_keys
from course_lib.viz.plots.heatmaps import KEY_AXIS, QUERY_AXIS
from course_lib.viz.style import REFERENCE, styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

MAX_NUMBERED_BARS = 24
# Scores, scaled scores, weights and context.
STAGES = [COLOURS[name].light for name in ("positive", "positive", "attention", "positive")]


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
        ("1 scores\nquery · key", scores, tokens),
        (f"2 scaled\nscores / {root:.3g}", scores / root, tokens),
        ("3 weights\nsoftmax", weights, tokens),
        ("4 context\nweights @ values", context, names),
    ]

    @styled
    def draw(query: int = start, steps: int = 4) -> DrawnFigure:
        rows = max(len(tokens), min(len(names), MAX_NUMBERED_BARS))
        figure = Figure(figsize=(8.8, 1.6 + 0.24 * rows), layout="constrained")
        # Scores and scaled scores share a scale, so that the effect of the division shows.
        x_limits = _limits(scores[query]), _limits(scores[query]), (0.0, 1.25), _limits(context)
        panels = zip(figure.subplots(1, 4), stages, x_limits, STAGES, strict=True)
        for i, (ax, (title, matrix, labels), limits, colour) in enumerate(panels):
            _draw_bars(ax, matrix[query].numpy(), colour)
            ax.set(title=title, xlim=limits, xlabel=title.split()[1].rstrip("s"))
            ax.title.set_fontsize(11)
            ax.set_visible(i < steps)
            named = i in (0, 3) and len(labels) <= MAX_NUMBERED_BARS
            ax.set_yticks(range(len(labels)) if named else [], labels if named else [])
        figure.axes[0].set_ylabel(KEY_AXIS)
        figure.suptitle(f"{QUERY_AXIS}: {query} {tokens[query]}", x=0.01, ha="left", fontsize=13)
        row = stages[min(steps, 3) - 1][1][query]
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


def _limits(values: Tensor) -> tuple[float, float]:
    """Ends of an axis, with a margin for the number at the end of a bar."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    margin = 0.5 * (high - low or 1.0)
    return low - margin * (low < 0), high + margin


def _draw_bars(ax: Axes, values: np.ndarray, colour: str) -> None:
    """Draw a bar for each number, and the number at its end if there is room for all."""
    bars = ax.barh(range(len(values)), values, color=colour)
    if len(values) <= MAX_NUMBERED_BARS:
        ax.bar_label(bars, fmt="{:.2f}", padding=3, fontsize=8.5)
        ax.set_xticks([])  # the numbers are written at the bars
    ax.axvline(0, color=REFERENCE, linewidth=1)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
