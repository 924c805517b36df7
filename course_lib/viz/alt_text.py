"""A picture in words, for readers who do not see it: every plot brings its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Picture = TypeVar("Picture", Axes, Figure)
MOST_NAMED = 8  # lines or bars that are put in words one by one
COLOUR_BAR = "<colorbar>"  # what matplotlib itself calls the axes of a palette


def tell(picture: Picture, words: str) -> Picture:
    """Give a picture its words, kept as its ``label``, which matplotlib draws nowhere."""
    picture.set_label(words)
    return picture


def describe(picture: Axes | Figure) -> str:
    """What a plot of the course says of itself; a figure without own words joins its axes'.

    Raises:
        ValueError: nobody gave the picture words.
    """
    parts = [picture] if picture.get_label() or isinstance(picture, Axes) else picture.axes
    words = [str(part.get_label()) for part in parts]
    told = [text for text in words if text and text != COLOUR_BAR]
    if not told:
        raise ValueError(
            "a picture needs words, got one without: was it drawn by hand? then say what is seen, "
            "with one number from it, as in show_figure(picture, 'Two lines up to 16.')"
        )
    return " ".join(told)


def sentence(title: str, what: str, parts: Mapping[str, str]) -> str:
    """Title, what is drawn, and its parts by name, of which a long list keeps both ends."""
    names = list(parts)
    left_out = len(names) - MOST_NAMED
    if left_out > 0:
        names = [*names[: MOST_NAMED // 2], "", *names[-MOST_NAMED // 2 :]]
    listed = "; ".join(f"{n} {parts[n]}" if n else f"{left_out} more between" for n in names)
    heading = " ".join(title.split())
    stop = "" if not heading or heading[-1] in ".!?" else "."
    return f"{heading}{stop} {what}: {listed}.".strip()


def from_to(values: np.ndarray) -> str:
    """Both ends of a line; where it is broken, of what there is."""
    there = values[np.isfinite(values)]
    return (
        f"from {number(float(there[0]))} to {number(float(there[-1]))}"
        if there.size
        else "without a value"
    )


def number(value: float) -> str:
    """Three digits are enough to be told; whole thousands are not rounded."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value + 0.0:.3g}"
