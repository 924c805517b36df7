"""The paired bootstrap as a film: sentences are drawn, the difference jumps, a histogram fills."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import (
    Anchor,
    brief,
    element,
    group,
    label,
    number,
    signed,
    text_width,
    token,
)

HEIGHT = 300
COLUMNS, CHIPS = 6, 24  # sentences in a row, and in all
CHIP, STEP_X, STEP_Y, CHIPS_AT = 48.0, 57.6, 42.0, 50.0
BARS_TOP, BARS_BASE, BARS_ROOM = 76.0, 216.0, 132.0
ONE_DRAW = 12.0  # the height of a draw in the histogram, as long as there are few
FEWEST = 20  # draws, for an interval of 95 of 100


def draw_bootstrap(
    draws: Int[Tensor, "draws sentences"],
    scores: Float[Tensor, "2 draws"],
    *,
    observed: tuple[float, float],
    names: tuple[str, str],
    unit: str,
    stops: Sequence[int] = (1, 2, 3, 30, 200),
    caption: str = "",
) -> Film:
    """Draw how two systems are compared on sentences that are drawn with replacement.

    The difference of the scores, its histogram, the share below zero and the interval that holds
    the middle 95 of 100 draws are computed here.

    Args:
        draws: for each draw, the indices of its sentences.
        scores: of the first and of the second system on each draw.
        observed: the two scores on the sentences themselves.
        names: of the two systems, a few letters each.
        unit: what the scores are, such as "BLEU".
        stops: after how many draws there is a frame; another one shows the sentences themselves,
            and the last one all draws.
        caption: one sentence below.

    Raises:
        ValueError: fewer than 20 draws, draws that do not belong to the scores, indices that are
            no sentences, equal differences in all draws, or names for which there is no room.
    """
    n_draws, n = draws.shape
    if n_draws < FEWEST or tuple(scores.shape) != (2, n_draws):
        raise ValueError(
            f"expected at least {FEWEST} draws and a score of two systems for each, got draws of "
            f"shape {tuple(draws.shape)} and scores of shape {tuple(scores.shape)}"
        )
    if draws.min() < 0 or draws.max() >= n:
        raise ValueError(
            f"expected draws of {n} sentences with indices from 0 to {n - 1}, got indices from "
            f"{int(draws.min())} to {int(draws.max())}"
        )
    differences = (scores[0] - scores[1]).double()
    if not bool(differences.isfinite().all()) or float(differences.std()) == 0:
        raise ValueError(
            "expected finite scores whose difference changes from draw to draw, got differences "
            f"from {float(differences.min()):g} to {float(differences.max()):g}"
        )
    axis = _Axis(differences.tolist(), observed[0] - observed[1], names=names, unit=unit)
    stops = sorted({stop for stop in stops if 0 < stop < n_draws} | {n_draws})
    frames = [_itself(n, observed, axis)]
    frames += [_after(stop, draws, scores, axis) for stop in stops]
    return Film(frames, start=-1, seconds=1.8, name="draws", caption=caption)


class _Axis:
    """Where a difference lies in the histogram, and how it is written."""

    def __init__(
        self, values: list[float], observed: float, *, names: tuple[str, str], unit: str
    ) -> None:
        self.values, self.observed, self.names, self.unit = values, observed, names, unit
        deviation = torch.tensor(values).std().item()
        self.digits = max(0, -math.floor(math.log10(2 * deviation)) + 1)
        low, high = min(*values, observed, 0.0), max(*values, observed, 0.0)
        self.bin = _nice((high - low) / 30)
        # Zero is an edge, so that no bar has draws on both sides of it.
        self.first, self.last = math.floor(low / self.bin) - 1, math.floor(high / self.bin) + 1
        self.width = (WIDTH - 2) / (self.last - self.first + 1)
        for name in names:
            if text_width(f"{name} better", 12) > WIDTH / 2 - 20 or text_width(name) > 70:
                raise ValueError(f"expected names of a few letters, got {name!r}")

    def x(self, value: float) -> float:
        return 1 + (value / self.bin - self.first) * self.width

    def text(self, value: float) -> str:
        return signed(value, self.digits)

    def sum_digits(self, pair: Sequence[float]) -> int:
        """So many that the difference of the scores as written is the one that is written."""
        a, b = pair
        for digits in range(self.digits, self.digits + 4):
            if round(round(a, digits) - round(b, digits), digits) == round(a - b, digits):
                return digits
        return self.digits + 4

    def sum_text(self, score: float, pair: Sequence[float]) -> str:
        return signed(score, self.sum_digits(pair))

    def plus(self, value: float, digits: int | None = None) -> str:
        text = signed(value, self.digits if digits is None else digits)
        return text if text.startswith("−") or float(text) == 0 else f"+{text}"


def _nice(width: float) -> float:
    """The next width that people count in: 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(width))
    return next(float(step * power) for step in (1, 2, 5, 10) if step * power >= width)


def _itself(n: int, observed: tuple[float, float], axis: _Axis) -> Frame:
    difference = axis.plus(observed[0] - observed[1])
    first, second = axis.names
    left = Panel(
        title="The test sentences, each once",
        note=_which(n),
        description=f"{_chips_told(torch.arange(n), n)} {_sum_told(observed, n, axis)}",
        body=_chips(Counter(range(n)), n) + _sum(observed, axis),
        height=HEIGHT,
    )
    right = Panel(
        title=f"{first} minus {second}: one number",
        note="How far would it be with other sentences?",
        description=f"An empty axis with a mark at the difference {difference} {axis.unit}.",
        body=_scale(axis) + _observed(axis),
        height=HEIGHT,
    )
    return Frame(
        [left, right],
        f"On the test sentences, {first} minus {second} is {difference} {axis.unit}. One number "
        "cannot say how far it would be with other sentences.",
    )


def _after(
    stop: int, draws: Int[Tensor, "draws sentences"], scores: Float[Tensor, "2 draws"], axis: _Axis
) -> Frame:
    first, second = axis.names
    n_draws, n = draws.shape
    sentences, pair = draws[stop - 1], scores[:, stop - 1].tolist()
    counts = Counter(sentences.tolist())
    last = stop == n_draws
    left = Panel(
        title=f"Draw {stop}, with replacement",
        note=_which(n),
        description=f"{_chips_told(sentences, n)} {_sum_told(pair, n, axis)}",
        body=_chips(counts, n) + _sum(pair, axis),
        height=HEIGHT,
    )
    shown = axis.values[:stop]
    jump = axis.plus(shown[-1])
    told = f"Differences from {axis.text(min(shown))} to {axis.text(max(shown))} {axis.unit}"
    if last:
        below = sum(value < 0 for value in shown)
        low, high = torch.quantile(
            torch.tensor(shown), torch.tensor([0.025, 0.975], dtype=torch.float32)
        ).tolist()
        body = _bars(shown, axis, last=True) + _scale(axis) + _verdict(below, low, high, axis)
        ends = f"{axis.text(low)} to {axis.text(high)}"
        note = ""
        told = f"Histogram of {stop} draws. {told}; {_share(below, stop)} of the draws are below "
        told += f"0; 95 % of them lie from {ends}, around {axis.plus(axis.observed)} on the test "
        told += "sentences themselves."
        says = (
            f"After {stop} draws: {first} loses {_share(below, stop)} of them, and the middle 95 % "
            f"lie from {ends} {axis.unit}."
        )
    else:
        body = _bars(shown, axis, last=False) + _scale(axis)
        note = f"the newest: {jump}"
        told = f"Histogram of {stop} {_draws(stop)}. {told}, the newest {jump}."
        says = (
            f"Draw {stop}: some sentences come twice, some not at all, and the difference is "
            f"{jump} {axis.unit}."
            if stop <= 3
            else f"{stop} draws: the bars are high where differences are frequent."
        )
    right = Panel(
        title=f"{first} minus {second}: {stop} {_draws(stop)}",
        note=note,
        description=told,
        body=body,
        height=HEIGHT,
    )
    return Frame([left, right], says)


def _draws(n: int) -> str:
    return "draw" if n == 1 else "draws"


def _share(part: int, whole: int) -> str:
    """A share in per cent, without a zero for what is merely rare."""
    percent = 100 * part / whole
    return "none" if part == 0 else f"{brief(percent, 0 if percent >= 1 else 1)} %"


def _which(n: int) -> str:
    return f"{n} sentences" if n <= CHIPS else f"{n} sentences; here the first {CHIPS} of them"


def _chips_told(sentences: Int[Tensor, " sentences"], n: int) -> str:
    counts = Counter(sentences.tolist())
    shown = [counts[i] for i in range(min(n, CHIPS))]
    which = f"{n} sentences" if n <= CHIPS else f"the first {CHIPS} of {n} sentences"
    return (
        f"Of {which}, {shown.count(0)} are not drawn, {shown.count(1)} once and "
        f"{sum(count > 1 for count in shown)} more than once."
    )


def _sum_told(pair: Sequence[float], n: int, axis: _Axis) -> str:
    (first, second), (a, b) = axis.names, pair
    digits = axis.sum_digits(pair)
    return (
        f"On all {n}, {first} has {signed(a, digits)} {axis.unit} and {second} "
        f"{signed(b, digits)}: the difference is {axis.plus(a - b, digits)}."
    )


def _chips(counts: Counter[int], n: int) -> str:
    """The first sentences: stacked if drawn several times, dashed and empty if not at all."""
    graphics = []
    for i in range(min(n, CHIPS)):
        x = 1 + i % COLUMNS * STEP_X
        y = CHIPS_AT + i // COLUMNS * STEP_Y
        count = counts[i]
        if count == 0:
            graphics.append(
                element(
                    "rect",
                    x=x,
                    y=y,
                    width=CHIP,
                    height=26,
                    rx=7,
                    fill="none",
                    stroke=ink("hair"),
                    stroke_dasharray="3 3",
                )
                + group(label((x + CHIP / 2, y + 13), str(i + 1), cls="aside"), opacity=0.6)
            )
            continue
        for behind in range(min(count, 4) - 1, 0, -1):
            graphics.append(token((x + 3 * behind, y - 3 * behind), "", width=CHIP))
        if count == 1:
            graphics.append(token((x, y), str(i + 1), width=CHIP))
        else:
            graphics += [
                token((x, y), "", width=CHIP, strong=True),
                label((x + 15, y + 13), str(i + 1), cls="bold"),
                label((x + 36, y + 13), f"×{count}", cls="aside bold"),
            ]
    return "".join(graphics)


def _sum(pair: Sequence[float], axis: _Axis) -> str:
    """Score minus score is the difference, the one thing that is carried to the histogram."""
    y = CHIPS_AT + 4 * STEP_Y + 26
    (first, second), (a, b) = axis.names, pair
    columns = ((0.0, first, axis.sum_text(a, pair)), (88.0, second, axis.sum_text(b, pair)))
    graphics = [
        label((x, y - 10), name, cls="aside", anchor="start")
        + label((x, y + 10), score, anchor="start")
        for x, name, score in columns
    ]
    difference = axis.plus(a - b, axis.sum_digits(pair))
    graphics += [
        label((66, y + 10), "−"),
        label((154, y + 10), "="),
        label((176, y - 10), f"difference in {axis.unit}", cls="aside", anchor="start"),
        label((176, y + 10), difference, cls="bold", anchor="start", colour="accent"),
    ]
    return "".join(graphics)


def _bars(values: Sequence[float], axis: _Axis, *, last: bool) -> str:
    """The histogram: squares that are single draws while there are few of them, then bars."""
    counts = Counter(math.floor(value / axis.bin) for value in values)
    one = min(ONE_DRAW, BARS_ROOM / max(counts.values()))
    newest = math.floor(values[-1] / axis.bin)
    graphics = []
    for index, count in sorted(counts.items()):
        lit = last and index < 0
        graphics.append(
            element(
                "rect",
                x=axis.x(index * axis.bin) + 0.5,
                y=BARS_BASE - one * count,
                width=axis.width - 1,
                height=one * count,
                fill=ink("accent" if lit else "line"),
                fill_opacity=None if lit else 0.55,
            )
        )
    if not last:
        height = max(one, 4.0)
        graphics.append(
            element(
                "rect",
                x=axis.x(newest * axis.bin) + 0.5,
                y=BARS_BASE - one * counts[newest],
                width=axis.width - 1,
                height=height,
                fill=ink("accent"),
            )
        )
    return "".join(graphics)


def _scale(axis: _Axis) -> str:
    """The axis with its zero, who is better on which side, and the difference observed."""
    base = BARS_BASE
    graphics = [_line(0, base, WIDTH, base)]
    step = _nice((axis.last - axis.first) * axis.bin / 6)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    low, high = axis.first * axis.bin, (axis.last + 1) * axis.bin
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        x = axis.x(i * step)
        if 12 <= x <= WIDTH - 12:
            cls = "aside bold" if i == 0 else "aside"
            graphics += [
                _line(x, base, x, base + 4),
                label((x, base + 14), signed(i * step, digits), cls=cls),
            ]
    zero = axis.x(0)
    first, second = axis.names
    graphics.append(_line(zero, BARS_TOP - 26, zero, base, dashes="2 3"))
    sides: tuple[tuple[float, float, str, Anchor], ...] = (
        (zero - 8, zero - 8, second, "end"),
        (zero + 8, WIDTH - zero - 8, first, "start"),
    )
    for x, room, name, anchor in sides:
        words = f"{name} better"
        if text_width(words, 12) <= room:
            graphics.append(label((x, BARS_TOP - 20), words, cls="aside", anchor=anchor))
    return "".join(graphics)


def _observed(axis: _Axis) -> str:
    """The difference on the sentences themselves, before any is drawn."""
    x = axis.x(axis.observed)
    words = axis.plus(axis.observed)
    half = text_width(words) / 2
    return _dot(x, BARS_BASE - 8, "accent") + label(
        (min(max(x, half), WIDTH - half), BARS_BASE - 26), words, cls="bold", colour="accent"
    )


def _dot(x: float, y: float, colour: str) -> str:
    return element("circle", cx=x, cy=float(y), r=5, fill=ink(colour))


def _verdict(below: int, low: float, high: float, axis: _Axis) -> str:
    """The share below zero, at its side, and the interval below the axis."""
    y = BARS_BASE + 36
    ends = f"M{number(axis.x(low))} {y - 6:g}v12m0 -6H{number(axis.x(high))}m0 -6v12"
    words = f"95 % of the draws: {axis.text(low)} to {axis.text(high)}"
    half = text_width(words) / 2
    middle = min(max((axis.x(low) + axis.x(high)) / 2, half), WIDTH - half)
    share = f"{_share(below, len(axis.values))} of the draws lie below 0"
    return (
        element("path", d=ends, fill="none", stroke=ink("ink"), stroke_width=2)
        + _dot(axis.x(axis.observed), y, "ink")
        + label((middle, y + 20), words, cls="bold")
        + label((0, 30), share, cls="bold", anchor="start", colour="accent")
    )


def _line(x1: float, y1: float, x2: float, y2: float, dashes: str | None = None) -> str:
    return element(
        "path",
        d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}",
        fill="none",
        stroke=ink("line"),
        stroke_dasharray=dashes,
    )
