"""Who may look at whom: arcs over the words, below them the same as a mask, and what it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Panel
from course_lib.viz.drawings.marks import (
    arc,
    element,
    frame,
    group,
    label,
    number,
    sign,
    signed,
    text_width,
    token,
    token_width,
)

Language = Literal["german", "english"]
WORDS_AT = 118  # the top of the words' boxes
MASK_AT, MASK_ROW = 152, 16
LEAST_GAP, WIDEST_GAP = 3, 22  # between two words
PADDING = "pad"


def self_attention_arcs(
    title: str,
    words: Sequence[str],
    mask: Bool[Tensor, "words words"],
    *,
    language: Language | Sequence[Language],
    lit: int,
) -> Panel:
    """The arcs of one sentence to itself: those of one word in magenta, all others grey.

    A dashed arc with × goes to each word that the lit one may not look at. Below stands the mask,
    each column under its word; the rows of padding are muted, since nothing uses them.

    Args:
        title: what the picture says.
        words: with ``PADDING`` for padding, which looks at nothing here.
        mask: True = may attend; rows look, columns are looked at.
        language: of all words, or of each.
        lit: the index of the word that the picture is about.

    Raises:
        ValueError: the words are too long for a row.
    """
    middles, edges, row = _in_a_row(words, language, WORDS_AT, lit, left=_beside(words))
    quiet, strong = [], []
    top = WORDS_AT - 4
    for i, word in enumerate(words):
        for j in range(len(words)):
            if word != PADDING and mask[i, j] and i != j:
                height = _rise(middles[i] - middles[j])
                start = (middles[i], top)
                if i == lit:
                    strong.append(arc(start, middles[j], height=height, colour="accent", width=2.4))
                else:
                    quiet.append(arc(start, middles[j], height=height, width=1, head=False))
    if mask[lit, lit]:
        strong.append(arc((middles[lit], top), middles[lit], height=13, colour="accent", width=2.4))
    for j, end in enumerate(middles):
        if not mask[lit, j]:
            height = _rise(middles[lit] - end) * 0.72
            start = (middles[lit], top)
            strong += [
                arc(start, end, height=height, colour="soft", dashes="3 4", head=False),
                sign(((middles[lit] + end) / 2, top - height), "×", radius=8),
            ]
    seen = [word for j, word in enumerate(words) if mask[lit, j]]
    return Panel(
        title=title,
        description=f"Of {', '.join(words)}, {words[lit]} may look at {', '.join(seen)}."
        + _unused(words),
        body=group(*quiet, opacity=0.5) + "".join(strong) + row + _table(words, edges, mask, lit),
        height=MASK_AT + MASK_ROW * len(words) + 4,
    )


def cross_attention_lines(
    title: str,
    targets: Sequence[str],
    sources: Sequence[str],
    mask: Bool[Tensor, "targets sources"],
    *,
    languages: tuple[Language, Language],
    lit: int,
) -> Panel:
    """The lines from the words of one sentence, above, to those of another, below.

    As in ``self_attention_arcs``, with the mask below.

    Args:
        title: what the picture says.
        targets: the words that look, with ``PADDING`` for padding, which looks at nothing here.
        sources: the words that are looked at, with ``PADDING`` for padding.
        mask: True = may attend.
        languages: of the targets and of the sources.
        lit: the index of the target that the picture is about.

    Raises:
        ValueError: the words are too long for a row.
    """
    left = _beside(targets)
    above, _, upper = _in_a_row(targets, languages[0], 46, lit, left=left)
    below, edges, lower = _in_a_row(sources, languages[1], WORDS_AT, None, left=left)
    lines = []
    for i in sorted(range(len(targets)), key=lambda i: i == lit):  # the lit one above the others
        look = {"colour": "accent", "width": 2.4} if i == lit else {"opacity": 0.5}
        if targets[i] != PADDING:
            lines += [_line(above[i], below[j], **look) for j in range(len(sources)) if mask[i, j]]
    for j, end in enumerate(below):
        if not mask[lit, j]:
            lines += [
                _line(above[lit], end, colour="soft", dashes="3 4"),
                sign((end, 103), "×", radius=8),
            ]
    seen = [word for j, word in enumerate(sources) if mask[lit, j]]
    return Panel(
        title=title,
        description=f"{targets[lit]} may look at {', '.join(seen)} of {', '.join(sources)}."
        + _unused(targets),
        body="".join(lines) + upper + lower + _table(targets, edges, mask, lit),
        height=MASK_AT + MASK_ROW * len(targets) + 4,
    )


def masked_row(
    title: str,
    words: Sequence[str],
    scores: Float[Tensor, " words"],
    mask: Bool[Tensor, " words"],
    *,
    language: Language,
    lit: int,
) -> Panel:
    """One row of a mask at work: hidden scores become −∞, and softmax gives them no weight.

    Args:
        title: what the picture says.
        words: the keys, with ``PADDING`` for padding.
        scores: of the lit word's query with each key.
        mask: the row of the lit word, True = may attend.
        language: of the words.
        lit: the index of the word that asks; it may attend to itself.

    Raises:
        ValueError: the words are too long for a row, or the lit word is hidden from itself.
    """
    if not mask[lit]:
        raise ValueError(f"expected that {words[lit]} may attend to itself, got {mask.tolist()}")
    _, edges, row = _in_a_row(words, language, 46, lit, left=_beside(["masked"]))
    masked = scores.masked_fill(~mask, -math.inf)
    powers, weights = masked.exp(), masked.softmax(0)
    parts, told = [row], []
    for i, (name, power, values, digits) in enumerate(
        (
            ("score", "", scores, 2),
            ("masked", "", masked, 2),
            ("e", "masked", powers, 1),
            ("weight", "", weights, 3),
        )
    ):
        y, numbers = 95.0 + 30 * i, [_short(value, digits) for value in values.tolist()]
        raised = element("tspan", power, dy=-5) if power else ""
        parts.append(
            element(
                "text", name + raised, x=edges[0] - 6, y=y + 4.6, cls="aside", text_anchor="end"
            )
        )
        for j, (written, ends, may) in enumerate(
            zip(numbers, pairwise(edges), mask.tolist(), strict=True)
        ):
            share = float(weights[j] / weights.max()) if name == "weight" else None
            parts.append(
                _numbered(written, ends, y=y, is_hidden=not may, is_lit=j == lit, share=share)
            )
        told.append(f"{name}{f' to the {power}' if power else ''} {', '.join(numbers)}")
    seen = [_short(value, 1) for value in powers[mask].tolist()]
    worked = (
        f"{words[lit]}: {_short(float(powers[lit]), 1)} ÷ ({' + '.join(seen)}) = "
        f"{_short(float(weights[lit]), 3)}"
    )
    parts.append(label((2, 224), worked, cls="aside bold", anchor="start", colour="accent"))
    return Panel(
        title=title,
        note=f"the row of “{words[lit]}” on its way through softmax",
        description=f"The query of {words[lit]} with the keys {', '.join(words)}: "
        f"{'; '.join(told)}.",
        body="".join(parts),
        height=236,
    )


def _short(value: float, digits: int) -> str:
    """A number, −∞ or, where softmax gives nothing, 0."""
    if value == -math.inf:
        return "−∞"
    return signed(value, digits if value else 0)


def _numbered(
    words: str,
    edges: tuple[float, float],
    *,
    y: float,
    is_hidden: bool,
    is_lit: bool,
    share: float | None,
) -> str:
    """A number in a cell: plain, or hatched, or a weight, which is framed if it is the lit one.

    Args:
        words: the number.
        edges: of the cell, left and right.
        y: its middle.
        is_hidden: the mask hides it.
        is_lit: it stands in the lit word's column.
        share: of the largest weight, if it is one.
    """
    left, right = edges
    weight = share is not None and not is_hidden
    fill = "hidden" if is_hidden else "attention" if weight else "none"
    cell = _cell(left, y - 11, right - left, 22, colour=fill, opacity=share if weight else None)
    if is_lit and weight:
        cell += frame((left + 0.5, y - 12), right - left - 1, 24)
    if is_hidden:  # no line runs through it
        middle, width = (left + right) / 2, text_width(words, 12) + 8
        cell += _cell(middle - width / 2, y - 8, width, 16, colour="page")
    dark = weight and share is not None and share > 0.6
    colour = "page" if dark else "accent" if is_lit else None
    cls = "aside bold" if is_lit or weight else "aside"
    return cell + label(((left + right) / 2, y), words, cls=cls, colour=colour)


def _line(
    above: float,
    below: float,
    *,
    colour: str = "line",
    width: float = 1,
    opacity: float | None = None,
    dashes: str | None = None,
) -> str:
    d = f"M{number(above)} 73C{number(above)} 96 {number(below)} 94 {number(below)} 116"
    return element(
        "path",
        d=d,
        fill="none",
        stroke=ink(colour),
        stroke_width=float(width),
        stroke_opacity=opacity,
        stroke_dasharray=dashes,
    )


def _in_a_row(
    words: Sequence[str],
    language: Language | Sequence[Language],
    y: float,
    lit: int | None,
    *,
    left: float,
) -> tuple[list[float], list[float], str]:
    """Words in a row: their middles, the edges of a column for each, and their boxes."""
    languages = [language] * len(words) if isinstance(language, str) else language
    widths = [token_width(word) for word in words]
    n_gaps = max(1, len(words) - 1)
    gap = min(WIDEST_GAP, (WIDTH - 2 - left - sum(widths)) / n_gaps)
    if gap < LEAST_GAP:
        raise ValueError(f"expected words that fit into {WIDTH} pixels, got {', '.join(words)}")
    x = left + (WIDTH - 2 - left - sum(widths) - gap * (len(words) - 1)) / 2
    middles, edges, boxes = [], [x], []
    for i, (word, width, own) in enumerate(zip(words, widths, languages, strict=True)):
        kind: Literal["german", "english", "padding"] = "padding" if word == PADDING else own
        boxes.append(token((x, y), word, language=kind, width=width, strong=i == lit))
        middles.append(x + width / 2)
        x += width + gap
        edges.append(x - gap / 2)
    edges[-1] -= gap / 2
    return middles, edges, "".join(boxes)


def _beside(rows: Sequence[str]) -> float:
    """The room that the words beside the mask need."""
    return max(text_width(word, 12, bold=True) for word in rows) + 14


def _unused(rows: Sequence[str]) -> str:
    return " The rows of padding are never used." if PADDING in rows else ""


def _rise(distance: float) -> float:
    return min(76, 14 + abs(distance) * 0.36)


def _table(rows: Sequence[str], edges: Sequence[float], mask: Tensor, lit: int) -> str:
    """The mask: a row for each word that looks, hatched where it may not."""
    graphics = []
    for i, word in enumerate(rows):
        y = MASK_AT + i * MASK_ROW
        cls = "aside bold" if i == lit else "aside"
        graphics.append(label((edges[0] - 6, y + MASK_ROW / 2), word, cls=cls, anchor="end"))
        seen = "accent" if i == lit else "hair"
        cells = [
            _cell(x, y, end - x, MASK_ROW, colour=seen if may else "hidden")
            for (x, end), may in zip(pairwise(edges), mask[i].tolist(), strict=True)
        ]
        if word == PADDING:
            middle, width = (edges[0] + edges[-1]) / 2, text_width("never used", 12) + 8
            graphics += [
                group(*cells, cls="muted"),
                _cell(middle - width / 2, y + 1, width, MASK_ROW - 2, colour="page"),
                label((middle, y + MASK_ROW / 2), "never used", cls="aside"),
            ]
        else:
            graphics += cells
    return "".join(graphics)


def _cell(
    x: float, y: float, width: float, height: int, *, colour: str, opacity: float | None = None
) -> str:
    return element(
        "rect",
        x=x,
        y=float(y),
        width=width,
        height=height,
        fill=ink(colour),
        fill_opacity=opacity,
        stroke=ink("page"),
        stroke_width=1.5,
    )
