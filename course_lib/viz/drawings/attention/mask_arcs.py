"""Who may look at whom: arcs over the words, and below them the same as a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from jaxtyping import Bool
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Panel
from course_lib.viz.drawings.marks import arc, element, group, label, sign, token, token_width

Language = Literal["german", "english"]
WORDS_AT = 118  # the top of the words' boxes
MASK_AT, MASK_CELL = 162, 15
PADDING = "pad"


def self_attention_arcs(
    title: str,
    words: Sequence[str],
    mask: Bool[Tensor, "words words"],
    *,
    language: Language,
    lit: int,
) -> Panel:
    """The arcs of one sentence to itself: those of one word in magenta, all others grey.

    A dashed arc with × goes to the first word that the lit one may not look at.

    Args:
        title: what the picture says.
        words: with ``PADDING`` for padding, which looks at nothing here.
        mask: True = may attend; rows look, columns are looked at.
        language: of the words.
        lit: the index of the word that the picture is about.
    """
    middles, row = _in_a_row(words, language, WORDS_AT, lit)
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
    hidden = [j for j in range(len(words)) if not mask[lit, j]]
    if hidden:
        end = middles[hidden[0]]
        height = _rise(middles[lit] - end) * 0.72
        start = (middles[lit], top)
        strong += [
            arc(start, end, height=height, colour="soft", dashes="3 4", head=False),
            sign(((middles[lit] + end) / 2, top - height), "×", radius=8),
        ]
    seen = [word for j, word in enumerate(words) if mask[lit, j]]
    return Panel(
        title=title,
        description=f"Of {', '.join(words)}, {words[lit]} may look at {', '.join(seen)}.",
        body=group(*quiet, opacity=0.5) + "".join(strong) + row + _square(words, words, mask, lit),
        height=MASK_AT + MASK_CELL * len(words) + 8,
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

    Args:
        title: what the picture says.
        targets: the words that look.
        sources: the words that are looked at, with ``PADDING`` for padding.
        mask: True = may attend.
        languages: of the targets and of the sources.
        lit: the index of the target that the picture is about.
    """
    above, upper = _in_a_row(targets, languages[0], 46, lit)
    below, lower = _in_a_row(sources, languages[1], WORDS_AT, None)
    lines = []
    for i in sorted(range(len(targets)), key=lambda i: i == lit):  # the lit one above the others
        strong = i == lit
        lines += [
            _line(above[i], below[j], strong=strong) for j in range(len(sources)) if mask[i, j]
        ]
    seen = [word for j, word in enumerate(sources) if mask[lit, j]]
    return Panel(
        title=title,
        description=f"{targets[lit]} may look at {', '.join(seen)} of {', '.join(sources)}.",
        body="".join(lines) + upper + lower + _square(targets, sources, mask, lit),
        height=MASK_AT + MASK_CELL * len(targets) + 8,
    )


def _line(above: float, below: float, *, strong: bool) -> str:
    d = f"M{above:.1f} 73C{above:.1f} 96 {below:.1f} 94 {below:.1f} 116"
    return element(
        "path",
        d=d,
        fill="none",
        stroke=ink("accent" if strong else "line"),
        stroke_width=2.4 if strong else 1,
        stroke_opacity=None if strong else 0.5,
    )


def _in_a_row(
    words: Sequence[str], language: Language, y: float, lit: int | None
) -> tuple[list[float], str]:
    """Words in a row over the panel: their middles, and their boxes."""
    widths = [token_width(word) for word in words]
    gap = min(26, (WIDTH - 8 - sum(widths)) / max(1, len(words) - 1))
    x = (WIDTH - sum(widths) - gap * (len(words) - 1)) / 2
    middles, boxes = [], []
    for i, (word, width) in enumerate(zip(words, widths, strict=True)):
        kind: Literal["german", "english", "padding"] = "padding" if word == PADDING else language
        boxes.append(token((x, y), word, language=kind, width=width, strong=i == lit))
        middles.append(x + width / 2)
        x += width + gap
    return middles, "".join(boxes)


def _rise(distance: float) -> float:
    return min(76, 14 + abs(distance) * 0.36)


def _square(rows: Sequence[str], columns: Sequence[str], mask: Tensor, lit: int) -> str:
    """The mask: a row for each word that looks, hatched where it may not."""
    x, graphics = WIDTH / 2 - len(columns) * MASK_CELL / 2 + 20, []
    for i, word in enumerate(rows):
        y = MASK_AT + i * MASK_CELL
        cls = "aside bold" if i == lit else "aside"
        graphics.append(label((x - 6, y + MASK_CELL / 2), word, cls=cls, anchor="end"))
        for j in range(len(columns)):
            colour = ("accent" if i == lit else "hair") if mask[i, j] else "hidden"
            graphics.append(
                element(
                    "rect",
                    x=x + j * MASK_CELL,
                    y=float(y),
                    width=MASK_CELL,
                    height=MASK_CELL,
                    fill=ink(colour),
                    stroke=ink("page"),
                    stroke_width=1.5,
                )
            )
    return "".join(graphics)
