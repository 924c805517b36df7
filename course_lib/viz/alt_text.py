"""Alt texts: every plot says in words what it shows, for readers who cannot see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

AxesOrFigure = TypeVar("AxesOrFigure", Axes, Figure)
MOST_NAMED = 8  # lines or bars that are described one by one
COLOUR_BAR = "<colorbar>"  # matplotlib's own label for the axes of a colour bar


def set_alt_text(picture: AxesOrFigure, text: str) -> AxesOrFigure:
    """Store a picture's alt text as its ``label``, which matplotlib does not draw."""
    picture.set_label(text)
    return picture


def describe(picture: Axes | Figure) -> str:
    """The alt text of a plot; a figure without one of its own joins those of its axes.

    Raises:
        ValueError: there is no alt text.
    """
    parts = [picture] if picture.get_label() or isinstance(picture, Axes) else picture.axes
    labels = [str(part.get_label()) for part in parts]
    texts = [label for label in labels if label and label != COLOUR_BAR]
    if not texts:
        raise ValueError(
            "a picture needs an alt text, got one without: did you draw it yourself? then say what "
            "it shows, with one number from it, as in show_figure(picture, 'Two lines up to 16.')"
        )
    return " ".join(texts)


def alt_sentence(title: str, what: str, parts: Mapping[str, str]) -> str:
    """Title, what is drawn, and its parts by name; of a long list, the first and last few."""
    names = list(parts)
    left_out = len(names) - MOST_NAMED
    if left_out > 0:
        names = [*names[: MOST_NAMED // 2], "", *names[-MOST_NAMED // 2 :]]
    listed = "; ".join(f"{n} {parts[n]}" if n else f"{left_out} more in between" for n in names)
    heading = " ".join(title.split())
    stop = "" if not heading or heading[-1] in ".!?" else "."
    return f"{heading}{stop} {what}: {listed}.".strip()


def value_range(values: np.ndarray) -> str:
    """The first and the last finite value of a curve."""
    finite = values[np.isfinite(values)]
    return (
        f"from {short_number(float(finite[0]))} to {short_number(float(finite[-1]))}"
        if finite.size
        else "without a value"
    )


def short_number(value: float) -> str:
    """Three significant digits; from 1,000 on, rounded to a whole number."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value + 0.0:.3g}"
