"""One word's way through attention in four frames, with its numbers (section 3.2.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import (
    Anchor,
    Point,
    arrow,
    element,
    flow,
    frame,
    label,
    matrix,
    signed,
    step_dots,
    text_width,
    token,
    vector,
)

TITLES = ("Ask: q, k and v", "Compare: q with every k", "Share: softmax", "Mix: the context")
MOST_WORDS = 5
MOST = {"d_model": 4, "d_k": 4, "d_v": 2}
SMALL, CELL, WIDE = 17.0, 22.0, 36.0  # cells in "Ask", those that are compared, and the context
ROW, LOW_ROW = 38, 30  # from one word to the next; in "Ask", below the matrices
BAR_AT, BAR = 186, 94  # where the bars of the weights begin, and how long a weight of 1 is


class _Attention(NamedTuple):
    """What is drawn: all that comes before the context of one word."""

    words: Sequence[str]
    asking: int
    x: Tensor
    matrices: Sequence[Tensor]
    made: Sequence[Tensor]  # q, k and v
    scores: Tensor
    scaled: Tensor
    powers: Tensor
    weights: Tensor
    context: Tensor

    @property
    def asks(self) -> str:
        """The word whose query is drawn."""
        return self.words[self.asking]

    @property
    def root(self) -> str:
        return f"√{self.made[1].shape[1]}"

    @property
    def most(self) -> int:
        """The word with the largest weight: its numbers are worked out."""
        return int(self.weights.argmax())

    def scaled_text(self, i: int) -> str:
        whole = torch.equal(self.scaled, self.scaled.round())
        return signed(float(self.scaled[i]), 0 if whole else 2)


def draw_attention(
    words: Sequence[str],
    x: Float[Tensor, "words d_model"],
    w_q: Float[Tensor, "d_model d_k"],
    w_k: Float[Tensor, "d_model d_k"],
    w_v: Float[Tensor, "d_model d_v"],
    *,
    asking: int,
    caption: str = "",
) -> Film:
    """Draw how one word attends: its query meets all keys, softmax shares 1 out, values are mixed.

    All that follows from x and the three matrices is computed here, and one number of each step is
    worked out below it.

    Args:
        words: at most five, each of a few letters.
        x: the vectors that come in, at most four whole numbers each.
        w_q: the matrix that makes queries, at most four each, of whole numbers.
        w_k: the matrix that makes keys.
        w_v: the matrix that makes values, at most two each.
        asking: the index of the word whose query is drawn.
        caption: one sentence below.

    Raises:
        ValueError: more words or numbers than there is room for, or numbers that do not fit into
            a cell or a line.
    """
    matrices = (w_q, w_k, w_v)
    _require_room(words, x, matrices)
    q, k, v = made = [x @ each for each in matrices]
    _require_whole([x, *matrices, *made])
    scores = q[asking] @ k.T
    scaled = scores / math.sqrt(k.shape[1])
    powers, weights = scaled.exp(), torch.softmax(scaled, dim=-1)
    if powers.max() >= 1000:
        raise ValueError(f"expected scaled scores below 6.9, got {scaled.tolist()}")
    shown = _Attention(
        words, asking, x, matrices, made, scores, scaled, powers, weights, weights @ v
    )
    asks, most = words[asking], words[shown.most]
    says = (
        "1. From each word's vector x, three matrices make a query, a key and a value.",
        f"2. The query of “{asks}” meets every key: the dot product is large where the two agree.",
        "3. Softmax turns the scaled scores into shares of 1.",
        f"4. The shares mix the values into the context of “{asks}”, most of it from “{most}”.",
    )
    panels = (_ask(shown), _compare(shown), _share(shown), _mix(shown))
    return Film(
        [Frame([panel], told) for panel, told in zip(panels, says, strict=True)],
        seconds=2.6,
        name="frame",
        caption=caption,
        together=True,
    )


def _require_room(words: Sequence[str], x: Tensor, matrices: Sequence[Tensor]) -> None:
    """Refuse what is too large to be drawn."""
    n = len(words)
    if not 1 <= n <= MOST_WORDS or len(x) != n:
        raise ValueError(
            f"expected at most {MOST_WORDS} words and as many rows of x, got {n} words and "
            f"{len(x)} rows"
        )
    sizes = x.shape[1], matrices[0].shape[1], matrices[2].shape[1]
    if any(size > most for size, most in zip(sizes, MOST.values(), strict=True)):
        raise ValueError(
            f"expected at most {', '.join(f'{name} {most}' for name, most in MOST.items())}, got "
            f"{sizes}"
        )


def _require_whole(tensors: Iterable[Tensor]) -> None:
    """Refuse numbers that do not fit into a cell."""
    for each in tensors:
        if not torch.equal(each, each.round()) or each.min() < -9 or each.max() > 99:
            raise ValueError(
                f"expected whole numbers from -9 to 99, also in q, k and v, got {each.tolist()}"
            )


def _ask(shown: _Attention) -> Panel:
    """The words' x beside its three products, each below its matrix, as written by hand."""
    top, n = 46.0, len(shown.words)
    depth = SMALL * shown.x.shape[1]
    rows = [top + depth + 38 + LOW_ROW * i for i in range(n)]
    names = ("Q", "K", "V")
    largest = float(max(each.abs().max() for each in (shown.x, *shown.made[:2])))
    widest = [largest, largest, float(shown.made[2].abs().max())]
    lefts = [147.0]
    for each in shown.made[:2]:
        lefts.append(lefts[-1] + SMALL * each.shape[1] + 10)
    parts = [label((70 + depth / 2, rows[0] - 23), "x", cls="math")]
    for y, values in zip(rows, shown.x.tolist(), strict=True):
        parts.append(_strip((70, y), values, largest=largest, cell=SMALL))
    for i, (name, at) in enumerate(zip(names, lefts, strict=True)):
        made, weights = shown.made[i], shown.matrices[i]
        middle = at + SMALL * made.shape[1] / 2
        parts += [
            _small((2, 58 + 20 * i), f"{name.lower()} = x W", name, anchor="start"),
            _small((middle, 31), "W", name),
            _block((at, top), weights.tolist(), largest=widest[i], cell=SMALL),
            label((middle, rows[0] - 23), name.lower(), cls="math"),
        ]
        for y, values in zip(rows, made.tolist(), strict=True):
            parts.append(_strip((at, y), values, largest=widest[i], cell=SMALL))
    query = shown.made[0][shown.asking]
    j, y = int(query.abs().argmax()), rows[shown.asking]
    parts += [
        _frame((70, y - SMALL / 2), depth, SMALL),
        _frame((lefts[0] + SMALL * j, top), SMALL, depth),
        _frame((lefts[0] + SMALL * j, y - SMALL / 2), SMALL, SMALL),
        _worked(
            rows[-1] + 30,
            f"q: {_products(shown.x[shown.asking], shown.matrices[0][:, j])}",
            query[j],
        ),
    ]
    told = "; ".join(
        f"{word}: x {_listed(shown.x[i])}, "
        + ", ".join(f"{c} {_listed(each[i])}" for c, each in zip("qkv", shown.made, strict=True))
        for i, word in enumerate(shown.words)
    )
    return _panel(
        shown,
        0,
        f"x times W_Q is q, x times W_K is k, x times W_V is v. {told}.",
        rows=rows,
        parts=parts,
    )


def _compare(shown: _Attention) -> Panel:
    """The query above the keys, and what each dot product is."""
    q, k, _ = shown.made
    rows = [112.0 + ROW * i for i in range(len(shown.words))]
    largest = float(max(q.abs().max(), k.abs().max()))
    width = CELL * k.shape[1]
    asks = token((2, 34), shown.asks, language="english", width=62, strong=True)
    parts = [
        asks,
        _strip((72, 47), q[shown.asking].tolist(), largest=largest, cell=CELL),
        label((168, 47), "q", cls="math", anchor="start"),
        label((181, 47), f"the query of “{shown.asks}”", cls="aside", anchor="start"),
        label((72 + width / 2, 84), "k", cls="math"),
        label((206, 84), "q·k", cls="math"),
        label((252, 84), f"÷ {shown.root}", cls="math"),
        label((308, 84), "scaled", cls="math"),
    ]
    for i, y in enumerate(rows):
        colour = "accent" if i == shown.most else None
        parts += [
            _strip((72, y), k[i].tolist(), largest=largest, cell=CELL),
            label((206, y), signed(float(shown.scores[i])), cls="bold", colour=colour),
            arrow((232, y), (272, y)),
            label((308, y), shown.scaled_text(i), cls="bold", colour=colour),
        ]
    for y in (47, rows[shown.most]):
        parts.append(_frame((72, y - CELL / 2), width, CELL))
    i = shown.most
    parts.append(
        _worked(
            rows[-1] + 38,
            f"q·k: {_products(q[shown.asking], k[i])}",
            shown.scores[i],
            then=f"{signed(float(shown.scores[i]))} ÷ {shown.root} = {shown.scaled_text(i)}",
        )
    )
    told = ", ".join(signed(score) for score in shown.scores.tolist())
    scaled = ", ".join(shown.scaled_text(i) for i in range(len(rows)))
    return _panel(
        shown,
        1,
        f"The query of {shown.asks}, {_listed(q[shown.asking])}, above the keys. Scores {told}; "
        f"divided by {shown.root}: {scaled}.",
        rows=rows,
        parts=parts,
    )


def _share(shown: _Attention) -> Panel:
    """Softmax: e to each score, and its share of their sum as a bar."""
    rows = [74.0 + ROW * i for i in range(len(shown.words))]
    total, power = (float(each) for each in (shown.powers.sum(), shown.powers[shown.most]))
    divided, end = f"weight: {power:.3f} ÷ {total:.3f}", rows[-1] + 22
    parts = [
        label((86, 42), "scaled", cls="math"),
        _small((148, 42), "e", "scaled", up=True),
        label((WIDTH - 6, 42), "weight", cls="math", anchor="end"),
    ]
    for i, y in enumerate(rows):
        weight, strong = float(shown.weights[i]), i == shown.most
        look = {"cls": "bold" if strong else None, "colour": "accent" if strong else None}
        parts += [
            label((86, y), shown.scaled_text(i)),
            label((172, y), f"{float(shown.powers[i]):.3f}", anchor="end", **look),
            _bar(y, 1, fill=ink("fill")),
            _bar(y, weight, fill=ink("attention"), cls="cell"),
            label((WIDTH - 6, y), f"{weight:.3f}", anchor="end", **look),
        ]
    rule = f"M118 {end:g}H172M{WIDTH - 50} {end:g}H{WIDTH - 6}"
    parts += [
        element("path", d=rule, stroke=ink("line")),
        label((86, end + 14), "sum", cls="aside"),
        label((172, end + 14), f"{total:.3f}", anchor="end"),
        label((WIDTH - 6, end + 14), f"{float(shown.weights.sum()):.3f}", anchor="end"),
        _worked(end + 38, divided, shown.weights[shown.most], digits=3),
    ]
    return _panel(
        shown,
        2,
        f"Softmax: e to each scaled score, divided by their sum {total:.3f}. "
        f"Bars of the weights: {_told(shown)}.",
        rows=rows,
        parts=parts,
        height=end + 50,
    )


def _bar(y: float, share: float, **look: str) -> str:
    """A bar around the height ``y``."""
    return element("rect", x=BAR_AT, y=y - 11, width=BAR * share, height=22, rx=3, **look)


def _mix(shown: _Attention) -> Panel:
    """The values flow together, as wide as their weights."""
    v, rows = shown.made[2], [74.0 + ROW * i for i in range(len(shown.words))]
    most = float(v.abs().max())
    width, middle = CELL * v.shape[1], (rows[0] + rows[-1]) / 2
    left = WIDTH - 4 - WIDE * len(shown.context)
    j = int(shown.context.abs().argmax())
    parts = [
        label((94, 42), "weight", cls="math"),
        label((150 + width / 2, 42), "v", cls="math"),
        label(((left + WIDTH - 4) / 2, middle - 32), "context", cls="math"),
        label(((left + WIDTH - 4) / 2, middle + 32), f"of “{shown.asks}”", cls="aside"),
    ]
    for i, y in enumerate(rows):
        weight = float(shown.weights[i])
        parts += [
            label((94, y), f"{weight:.3f}", cls="bold" if i == shown.most else None),
            label((134, y), "·"),
            flow(
                (150 + width + 6, y),
                (left - 2, middle + (i - (len(rows) - 1) / 2) * 10),
                width=20 * weight,
                colour="attention",
            ),
            _strip((150, y), v[i].tolist(), largest=most, cell=CELL),
            _frame((150 + CELL * j, y - CELL / 2), CELL, CELL),
        ]
    added = " + ".join(
        f"{float(weight):.3f}·{signed(float(value))}"
        for weight, value in zip(shown.weights, v[:, j], strict=True)
    )
    corner = (left, middle - WIDE / 2)
    parts += [
        vector(corner, shown.context.tolist(), largest=most, cell=WIDE, digits=2),
        _frame((corner[0] + WIDE * j, corner[1]), WIDE, WIDE),
        _worked(rows[-1] + 60, f"context: {added}", shown.context[j], digits=2),
    ]
    told = ", ".join(signed(c, 2) for c in shown.context.tolist())
    return _panel(
        shown,
        3,
        f"The values flow, as wide as their weights, into the context {told}.",
        rows=rows,
        parts=parts,
        height=rows[-1] + 72,
    )


def _panel(
    shown: _Attention,
    step: int,
    description: str,
    *,
    rows: Sequence[float],
    parts: Sequence[str],
    height: float = 0,
) -> Panel:
    """A step: its dots, a box for each word, and what is computed."""
    tokens = "".join(
        token((2, y - 13), word, language="english", width=62, strong=i == shown.asking)
        for i, (word, y) in enumerate(zip(shown.words, rows, strict=True))
    )
    return Panel(
        title=TITLES[step],
        description=description,
        body=step_dots(step, len(TITLES)) + tokens + "".join(parts),
        height=height or rows[-1] + 40,
    )


def _strip(at: Point, values: Sequence[float], *, largest: float, cell: float) -> str:
    """A vector with its numbers, from the middle of its left edge."""
    return _block((at[0], at[1] - cell / 2), [values], largest=largest, cell=cell)


def _block(at: Point, rows: Sequence[Sequence[float]], *, largest: float, cell: float) -> str:
    """A matrix with its numbers."""
    return matrix(at, rows, largest=largest, cell=cell, digits=0, quiet_zeros=True)


def _frame(at: Point, width: float, height: float) -> str:
    """Around the cells of the number that is worked out."""
    return frame(at, width, height, radius=2)


def _small(
    at: Point, words: str, small: str, *, anchor: Anchor = "middle", up: bool = False
) -> str:
    """Words with a smaller one below, or above, the line."""
    index = element("tspan", escape(small), dy=-5 if up else 4, style="font-size:12px")
    return element(
        "text",
        escape(words) + index,
        x=float(at[0]),
        y=at[1] + 4.6,
        cls="math",
        text_anchor=None if anchor == "start" else anchor,
    )


def _products(a: Tensor, b: Tensor) -> str:
    """A dot product as a sum of products."""
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return " + ".join(f"{signed(one)}·{signed(other)}" for one, other in pairs).replace("+ −", "− ")


def _worked(y: float, sum_: str, value: Tensor, *, then: str = "", digits: int = 0) -> str:
    """A line that works one number out.

    Raises:
        ValueError: it is too long.
    """
    words = f"{sum_} = {signed(float(value), digits)}" + (f"; {then}" if then else "")
    if text_width(words, 12, bold=True) > WIDTH - 4:
        raise ValueError(f"expected a sum that fits into a line, got {words}: take smaller numbers")
    return label((2, y), words, cls="aside bold", anchor="start", colour="accent")


def _listed(values: Tensor) -> str:
    """A vector in words."""
    return f"({', '.join(signed(value) for value in values.tolist())})"


def _told(shown: _Attention) -> str:
    """The weights in words."""
    pairs = zip(shown.words, shown.weights.tolist(), strict=True)
    return ", ".join(f"{word} {weight:.3f}" for word, weight in pairs)
