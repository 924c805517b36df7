"""Which numbers of a batch a norm averages together: LayerNorm, BatchNorm and RMSNorm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import Point, element, label, signed, text_width, vector

PADDING = "pad"
LEFT, TOP = 74.0, 92.0  # the upper left corner of the block's front
FRONT, ROW = 136.0, 34.0  # the width of its front; the largest height of a word's row
DEPTH: Point = (27, -16)  # from one sentence to the next
MOST_WORDS, MOST_NUMBERS = 4, 4
LARGEST = 99  # of the numbers in the cells
SPOTS = 2  # after the point, of mean and standard deviation


@dataclass(frozen=True, kw_only=True)
class _Averaged:
    """What one norm does to the numbers that it takes together."""

    title: str
    note: str
    before: Tensor
    after: Tensor
    statistics: str


def draw_norm_blocks(
    sentences: Sequence[Sequence[str]],
    x: Float[Tensor, "batch words d_model"],
    *,
    lit: int = 0,
    norms: Sequence[str] = ("layer", "batch"),
    caption: str = "",
) -> Drawing:
    """Draw a batch as a block of cells, and colour those that each norm averages together.

    Below each block stand the coloured numbers, their mean and standard deviation, which are
    computed here, and the numbers after the norm, before any learned scale.

    Args:
        sentences: two, of as many words each; ``PADDING`` fills up the shorter one.
        x: their vectors.
        lit: which word of the first sentence LayerNorm and RMSNorm are shown at. BatchNorm is
            shown at the last number of all vectors.
        norms: "layer", "batch" and "rms", or some of them: a panel for each.
        caption: one sentence below.

    Raises:
        ValueError: there is no room for so many words or numbers, they do not belong together, or
            a norm is unknown.
    """
    _check(sentences, x, lit)
    makers = {"layer": _layer, "batch": _batch, "rms": _rms}
    if unknown := [norm for norm in norms if norm not in makers]:
        raise ValueError(f"expected norms among {', '.join(makers)}, got {', '.join(unknown)}")
    panels = []
    for norm in norms:
        averaged = makers[norm](sentences, x, lit)
        coloured = torch.zeros_like(x, dtype=torch.bool)
        if norm == "batch":
            coloured[:, :, -1] = True
        else:
            coloured[0, lit] = True
        panels.append(_panel(averaged, sentences, x, coloured))
    return Drawing(*panels, caption=caption, wide=len(panels) > 2)


def _layer(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> _Averaged:
    numbers = x[0, lit]
    after, statistics = _standardised(numbers)
    word = sentences[0][lit]
    return _Averaged(
        title="LayerNorm: one word's numbers",
        note=f"mean of the {len(numbers)} numbers of “{word}”",
        before=numbers,
        after=after,
        statistics=statistics,
    )


def _batch(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> _Averaged:
    numbers = x[:, :, -1].flatten()
    after, statistics = _standardised(numbers)
    padded = any(word == PADDING for sentence in sentences for word in sentence)
    return _Averaged(
        title="BatchNorm: one number of all words",
        note=f"mean over {x.shape[0]} × {x.shape[1]} words"
        + (", padding included" if padded else ""),
        before=numbers,
        after=after,
        statistics=statistics,
    )


def _rms(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> _Averaged:
    numbers = x[0, lit]
    size = float(numbers.square().mean().sqrt())
    return _Averaged(
        title="RMSNorm: the same, but no mean",
        note=f"the {len(numbers)} numbers of “{sentences[0][lit]}” are only scaled",
        before=numbers,
        after=numbers / size,
        statistics=f"root mean square {signed(size, SPOTS)}",
    )


def _standardised(numbers: Tensor) -> tuple[Tensor, str]:
    """The numbers with mean 0 and standard deviation 1, and what was subtracted and divided by."""
    mean, deviation = float(numbers.mean()), float(numbers.std(correction=0))
    if deviation == 0:
        raise ValueError(
            f"expected numbers that differ, got {numbers.tolist()}: their standard deviation is 0"
        )
    words = f"mean {_short(mean)}, standard deviation {_short(deviation)}"
    return (numbers - mean) / deviation, words


def _check(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> None:
    n_words, d_model = x.shape[1:]
    if len(sentences) != 2 or {len(each) for each in sentences} != {n_words} or len(x) != 2:
        raise ValueError(
            f"expected two sentences and x (2, words, d_model), got {tuple(x.shape)} and sentences "
            f"of {[len(each) for each in sentences]} words: fill up the shorter with {PADDING!r}"
        )
    if not 1 <= n_words <= MOST_WORDS or not 2 <= d_model <= MOST_NUMBERS:
        raise ValueError(
            f"there is room for {MOST_WORDS} words of {MOST_NUMBERS} numbers, got {n_words} of "
            f"{d_model}"
        )
    if not float(x.abs().max()) < LARGEST:
        raise ValueError(
            f"expected numbers below {LARGEST}, which fit into a cell, got {float(x.abs().max()):g}"
        )
    if not 0 <= lit < n_words:
        raise ValueError(f"lit must be the index of one of {n_words} words, got {lit}")
    room = LEFT - 8
    for word in (word for sentence in sentences for word in sentence):
        if text_width(word, 12) > room:
            raise ValueError(f"expected words of at most {room:g} pixels, got {word!r}")


def _panel(
    averaged: _Averaged, sentences: Sequence[Sequence[str]], x: Tensor, coloured: Tensor
) -> Panel:
    n_words, d_model = x.shape[1:]
    below = TOP + n_words * ROW + 16
    cell = min(ROW, (WIDTH - LEFT - 1) / len(averaged.before))
    after = below + 56 + cell
    body = _cuboid(sentences, x, coloured)
    body += label((LEFT + FRONT / 2, below), f"d_model = {d_model}", cls="aside")
    for words, y in (("before", below + 22), ("after", after)):
        body += label((LEFT - 8, y + cell / 2), words, cls="aside", anchor="end")
    body += _strip((LEFT, below + 22), averaged.before, cell)
    body += label((LEFT, below + 39 + cell), averaged.statistics, cls="aside bold", anchor="start")
    body += _strip((LEFT, after), averaged.after, cell)
    told = ", ".join(_short(each) for each in averaged.before.tolist())
    normed = ", ".join(signed(each, SPOTS) for each in averaged.after.tolist())
    return Panel(
        title=averaged.title,
        note=averaged.note,
        description=(
            f"A block of 2 sentences, {n_words} words and {d_model} numbers a word, "
            f"{' '.join(sentences[0])} in front, {' '.join(sentences[1])} behind. "
            f"{int(coloured.sum())} cells are coloured: {told}. "
            f"{averaged.statistics[0].upper()}{averaged.statistics[1:]}. "
            f"After the norm: {normed}."
        ),
        body=body,
        height=after + cell + 2,
    )


def _strip(at: Point, numbers: Tensor, cell: float) -> str:
    largest = float(numbers.abs().max())
    return vector(at, numbers.tolist(), largest=largest, cell=cell, digits=_digits(numbers))


def _cuboid(sentences: Sequence[Sequence[str]], x: Tensor, coloured: Tensor) -> str:
    """The block seen from the front, from above and from the right, with the numbers in sight."""
    n_sentences, n_words, d_model = x.shape
    width, (dx, dy) = FRONT / d_model, DEPTH
    right = LEFT + FRONT
    digits = _digits(x)
    graphics = []

    def face(at: Point, along: Point, down: Point, *, lit: bool, shade: float) -> Point:
        """One face of a cell, from its corner; returns its middle."""
        corners = [
            at,
            (at[0] + along[0], at[1] + along[1]),
            (at[0] + along[0] + down[0], at[1] + along[1] + down[1]),
            (at[0] + down[0], at[1] + down[1]),
        ]
        points = " ".join(f"{a:g},{b:g}" for a, b in corners)
        # An opaque ground, so that a cell behind does not shine through.
        graphics.append(element("polygon", points=points, fill=ink("page")))
        graphics.append(
            element(
                "polygon",
                points=points,
                fill=ink("accent" if lit else "fill"),
                fill_opacity=f"{shade}" if lit else None,
                stroke=ink("line"),
                stroke_linejoin="round",
            )
        )
        return (corners[0][0] + corners[2][0]) / 2, (corners[0][1] + corners[2][1]) / 2

    def write(at: Point, number: float, *, lit: bool) -> None:
        words = signed(number, digits)
        cls = "aside bold" if lit else "aside"
        graphics.append(label(at, words, cls=cls, colour="page" if lit else None))

    for b in reversed(range(n_sentences)):
        y = TOP + b * dy
        for i in range(d_model):
            lit = bool(coloured[b, 0, i])
            at = (LEFT + i * width + b * dx, y)
            face((at[0] + dx, y + dy), (width, 0), (-dx, -dy), lit=lit, shade=0.75)
        for s in range(n_words):
            lit = bool(coloured[b, s, -1])
            at = (right + b * dx, y + s * ROW)
            middle = face(at, (dx, dy), (0, ROW), lit=lit, shade=0.9)
            if b > 0:  # the front shows those of the first sentence
                write(middle, float(x[b, s, -1]), lit=lit)
    for s in range(n_words):
        for i in range(d_model):
            lit = bool(coloured[0, s, i])
            middle = face(
                (LEFT + i * width, TOP + s * ROW), (width, 0), (0, ROW), lit=lit, shade=1.0
            )
            write(middle, float(x[0, s, i]), lit=lit)
    back = (right + n_sentences * dx + 8, TOP + n_sentences * dy)
    graphics.append(label((0, TOP - 8), "sentence 1", cls="aside", anchor="start"))
    graphics.append(label((back[0], back[1] - 8), "sentence 2", cls="aside", anchor="start"))
    for s in range(n_words):
        middle_y = TOP + s * ROW + ROW / 2
        front_bold = "aside bold" if bool(coloured[0, s].any()) else "aside"
        back_bold = "aside bold" if bool(coloured[1, s].any()) else "aside"
        graphics.append(label((LEFT - 8, middle_y), sentences[0][s], cls=front_bold, anchor="end"))
        at = (back[0], middle_y + n_sentences * dy)
        graphics.append(label(at, sentences[1][s], cls=back_bold, anchor="start"))
    return "".join(graphics)


def _short(value: float) -> str:
    """A whole number without its point, others with two digits after it."""
    return signed(value, 0 if value == round(value) else SPOTS)


def _digits(values: Tensor) -> int:
    """After the point: none where all are whole numbers, or where there is no room for any."""
    is_whole = torch.equal(values, values.round())
    return 0 if is_whole or float(values.abs().max()) >= 9.95 else 1
