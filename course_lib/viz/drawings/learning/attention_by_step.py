"""How attention sharpens: a row of shares for each of several training steps, below the words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Panel
from course_lib.viz.drawings.marks import element, frame, group, label, number, text_width

TOP = 56.0  # the middle of the first heading
HEADING, WORDS, ROW, GAP = 22.0, 15.0, 25.0, 32.0  # heights: of lines, of a row, between words
STEPS_AT = 34.0  # the right end of the numbers of steps
LEFT, RIGHT = 42.0, WIDTH - 2.0  # of the cells
SMALLEST_CELL, PADDING = 18.0, 3.0  # the width of a cell, and that beside its word
LEAST = 0.05  # the smallest share that is written


def attention_by_step(
    weights: Float[Tensor, "steps targets sources"],
    *,
    steps: Sequence[int],
    sources: Sequence[str],
    targets: Sequence[str],
    asked: Sequence[int],
) -> Panel:
    """Where the model looks before it writes some words, at each of the steps.

    A graphic of the i-th step is there from state i on, for a ``Buildup``.

    Args:
        weights: of cross-attention; the model is given the targets before each.
        steps: updates that the model has had.
        sources: the words that are looked at.
        targets: the words of the right answer.
        asked: which of the targets are shown.

    Raises:
        ValueError: weights that do not belong to the words, or that are no shares of 1; words for
            which there is no room.
    """
    if weights.shape != (len(steps), len(targets), len(sources)):
        raise ValueError(
            f"expected {len(steps)} weights for each of {len(targets)} targets and {len(sources)} "
            f"sources, got shape {tuple(weights.shape)}"
        )
    if bool((weights < 0).any()) or bool(((weights.sum(-1) - 1).abs() > 0.01).any()):
        raise ValueError(
            f"expected rows of weights from 0 to 1 that sum to 1, got sums from "
            f"{float(weights.sum(-1).min()):.2f} to {float(weights.sum(-1).max()):.2f}"
        )
    widths = _widths(sources)
    graphics, told, y = [], [], TOP
    for i in asked:
        given = " ".join(targets[:i])
        if text_width(f"{given} → {targets[i]}", bold=True) > WIDTH - LEFT:
            raise ValueError(f"there is no room for {given!r} before {targets[i]!r}")
        graphics.append(_heading(y, given, targets[i]))
        graphics.append(_shares(y + HEADING, weights[:, i], steps, sources, widths))
        y += HEADING + WORDS + len(steps) * ROW + GAP
        found = [
            f"{count_steps(step)}: "
            + ", ".join(f"{word} {share:.2f}" for word, share in zip(sources, row, strict=True))
            for step, row in zip(steps, weights[:, i].tolist(), strict=True)
        ]
        told.append(f"For “{targets[i]}”, given “{given}”, after {'; '.join(found)}.")
    return Panel(
        title="Where it looks for the next word",
        note="attention in %, when given the right words so far",
        description=" ".join(told),
        body="".join(graphics),
        height=y - GAP + 1,
    )


def count_steps(step: int) -> str:
    """How many steps, in words."""
    return f"{step:,} step" if step == 1 else f"{step:,} steps"


def _widths(sources: Sequence[str]) -> list[float]:
    """Of the cells: what the words leave free is shared out."""
    smallest = [max(SMALLEST_CELL, text_width(word, 12) + PADDING) for word in sources]
    free = RIGHT - LEFT - sum(smallest)
    if free < 0:
        raise ValueError(
            f"{len(sources)} words have no room beside each other in {RIGHT - LEFT:g} pixels: "
            f"{' '.join(sources)!r}"
        )
    return [each + free / len(sources) for each in smallest]


def _heading(y: float, given: str, word: str) -> str:
    """The words that are given, and the one that is to come."""
    parts = [
        element("tspan", f"{given} → ", cls="aside"),
        element("tspan", word, cls="bold", style=f"fill:{ink('english')}"),
    ]
    return element("text", "".join(parts), x=LEFT, y=y + 4.6)


def _shares(
    y: float,
    weights: Float[Tensor, "steps sources"],
    steps: Sequence[int],
    sources: Sequence[str],
    widths: Sequence[float],
) -> str:
    """The sources in a line, and below them a row of cells for each step."""
    lefts = [LEFT + each for each in accumulate(widths, initial=0.0)]
    most = int(weights[-1].argmax())
    graphics = [label((STEPS_AT, y), "steps", cls="aside", anchor="end")]
    for j, word in enumerate(sources):
        graphics.append(label((lefts[j] + widths[j] / 2, y), word, cls="aside", colour="german"))
    top = y + WORDS - 4
    for i, (step, row) in enumerate(zip(steps, weights.tolist(), strict=True)):
        at = top + i * ROW
        cells = [label((STEPS_AT, at + ROW / 2 - 1), f"{step:,}", cls="aside", anchor="end")]
        for share, x, width in zip(row, lefts, widths, strict=False):
            cells += _cell((x, at), share, width - 2)
        if i == len(steps) - 1:
            cells.append(_frame((lefts[most], at), widths[most] - 2))
        graphics.append(group(*cells, data_from=i))
    return "".join(graphics)


def _cell(at: tuple[float, float], share: float, width: float) -> list[str]:
    """A share of attention: the darker, the larger, and written in %."""
    box = element(
        "rect",
        x=at[0],
        y=at[1],
        width=width,
        height=ROW - 3,
        rx=3,
        cls="cell",
        fill=ink("attention"),
        fill_opacity=number(share, 2),
    )
    if share < LEAST:
        return [box]
    middle = (at[0] + width / 2, at[1] + ROW / 2 - 1.5)
    colour = "page" if share > 0.7 else "ink"
    return [box, label(middle, f"{100 * share:.0f}", cls="aside", colour=colour)]


def _frame(at: tuple[float, float], width: float) -> str:
    """Around the largest share of the last step."""
    return frame((at[0] - 0.5, at[1] - 0.5), width + 1, ROW - 2, radius=3.5, border=2)
