"""Alt texts: every plot says in words what it shows, for readers who cannot see it.

The same words are the visible caption, so they are sentences: what is plotted against what, in
which unit, and the first and last, or smallest and largest, values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

AxesOrFigure = TypeVar("AxesOrFigure", Axes, Figure)
MOST_NAMED = 8  # parts of a list that are described one by one
MOST_LINES = 4  # lines of which each gets its own range; of more, only the ends are given
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
    return titled(title, f"{what}: {listed}.")


def titled(title: str, sentence: str) -> str:
    """A title, and a sentence that starts with a capital unless it starts with a name in code."""
    heading = " ".join(title.split())
    stop = "" if not heading or heading[-1] in ".!?" else "."
    first = sentence.split(maxsplit=1)[0].rstrip(":,")
    if first.isalpha() and len(first) > 1:
        sentence = sentence[0].upper() + sentence[1:]
    return f"{heading}{stop} {sentence}".strip()


def line_sentence(
    curves: Mapping[str, np.ndarray], *, title: str, x_label: str, y_label: str
) -> str:
    """What a line plot shows: the range of each line; of many lines, where they start and end."""
    what = f"{y_label} against {x_label}"
    if len(curves) <= MOST_LINES:
        ranges = {name: value_range(values) for name, values in curves.items()}
        listed = ranges.values() if len(ranges) == 1 else (f"{n} {r}" for n, r in ranges.items())
        return titled(title, f"{what}: {'; '.join(listed)}.")
    drawn = {name: v[np.isfinite(v)] for name, v in curves.items() if np.isfinite(v).any()}
    if not drawn:
        return titled(title, f"{what}: {len(curves)} lines without a value.")
    starts = sorted(float(values[0]) for values in drawn.values())
    ends = {name: float(values[-1]) for name, values in drawn.items()}
    low, high = min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)
    return titled(
        title,
        f"{what}: {len(curves)} lines, which start between {short_number(starts[0])} and "
        f"{short_number(starts[-1])} and end between {short_number(ends[low])} ({low}) and "
        f"{short_number(ends[high])} ({high}).",
    )


def extremes(numbers: Mapping[str, float], decimals: int) -> str:
    """The smallest and the largest number with their names: ``smallest 0.5 (a), largest 2.0 (b)``.

    Args:
        numbers: name → number, at least one.
        decimals: how many decimals are written; numbers that look alike count as equal.
    """
    texts = {name: f"{round(x, decimals) + 0.0:.{decimals}f}" for name, x in numbers.items()}
    ends = [texts[pick(numbers, key=numbers.__getitem__)] for pick in (min, max)]
    named = []
    for end in ends:
        first, *others = (name for name, text in texts.items() if text == end)
        named.append(f"{end} ({first}{f' and {len(others)} more' if others else ''})")
    if ends[0] == ends[1]:
        return named[0] if len(texts) == 1 else f"{ends[0]} everywhere"
    return f"smallest {named[0]}, largest {named[1]}"


def value_range(values: np.ndarray) -> str:
    """The first and the last finite value of a curve, and how far it goes beyond them."""
    finite = values[np.isfinite(values)].astype(float)
    if not finite.size:
        return "without a value"
    first, last, low, high = finite[0], finite[-1], finite.min(), finite.max()
    if short_number(low) == short_number(high):
        return f"at {short_number(last)}"
    visible = 0.05 * (high - low)  # a smaller bump is not worth a word
    beyond = [f"at least {short_number(low)}"] if low < min(first, last) - visible else []
    beyond += [f"at most {short_number(high)}"] if high > max(first, last) + visible else []
    ends = f"from {short_number(first)} to {short_number(last)}"
    return f"{ends} ({', '.join(beyond)})" if beyond else ends


def listed(names: Sequence[str]) -> str:
    """At least one name, as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def short_number(value: float) -> str:
    """Three significant digits; from 1,000 on, rounded to a whole number."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value + 0.0:.3g}"
