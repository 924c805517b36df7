"""Which numbers of a batch a norm averages together: LayerNorm, BatchNorm and RMSNorm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import Point, element, label, signed, text_width, vector

PADDING = "pad"
LEFT, TOP = 70.0, 66.0  # the upper left corner of the first sentence's block
WIDEST, HEIGHT, APART = 44.0, 24.0, 10.0  # of cells; between the sentences
STRIP, LINE = 26.0, 28.0  # the height of a row of numbers below, and of the line below it
MOST_WORDS, MOST_NUMBERS = 4, 4
LARGEST = 99  # of the numbers in the cells
SPOTS = 2  # after the point, of mean and standard deviation


@dataclass(frozen=True, kw_only=True)
class _Step:
    """Some numbers, and what is worked out from them in the line below."""

    name: str
    numbers: Tensor
    below: str  # the name of what is worked out
    working: str


@dataclass(frozen=True, kw_only=True)
class _Averaged:
    """What one norm does to the numbers that it takes together, step by step.

    Args:
        cells: of the block; they are taken together.
        followed: the index, among them, of the number that is worked out to the end.
    """

    title: str
    note: str
    cells: Bool[Tensor, "batch words d_model"]
    followed: int
    steps: Sequence[_Step]
    statistics: str


def draw_norm_blocks(
    sentences: Sequence[Sequence[str]],
    x: Float[Tensor, "batch words d_model"],
    *,
    lit: int = 0,
    norms: Sequence[str] = ("layer", "batch"),
    caption: str = "",
) -> Drawing:
    """Draw a batch as two blocks of cells, and colour those that each norm averages together.

    Below stands what the norm does to the coloured numbers, computed here, with the working: their
    mean, their standard deviation and, for one of them, the result, before any learned scale.

    Args:
        sentences: two, of as many words each; ``PADDING`` fills up the shorter one.
        x: their vectors.
        lit: which word of the first sentence LayerNorm and RMSNorm are shown at. BatchNorm is
            shown at the last number of all vectors; that word's is the one worked out.
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
    panels = [_panel(makers[norm](sentences, x, lit), sentences, x, lit) for norm in norms]
    return Drawing(*panels, caption=caption, wide=len(panels) > 2)


def _layer(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> _Averaged:
    word, n = sentences[0][lit], x.size(2)
    steps, statistics = _standardised(x[0, lit], n - 1)
    return _Averaged(
        title="LayerNorm: one word's numbers",
        note=f"mean and deviation of the {n} numbers of “{word}”",
        cells=_row(x, lit),
        followed=n - 1,
        steps=steps,
        statistics=statistics,
    )


def _batch(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> _Averaged:
    cells = torch.zeros_like(x, dtype=torch.bool)
    cells[:, :, -1] = True
    padded = any(word == PADDING for sentence in sentences for word in sentence)
    steps, statistics = _standardised(x[cells], lit)
    return _Averaged(
        title="BatchNorm: one number of all words",
        note=f"mean and deviation over {x.shape[0]} × {x.shape[1]} words"
        + (", padding included" if padded else ""),
        cells=cells,
        followed=lit,
        steps=steps,
        statistics=statistics,
    )


def _rms(sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> _Averaged:
    numbers, last = x[0, lit], x.size(2) - 1
    size, after = float(numbers.square().mean().sqrt()), numbers / numbers.square().mean().sqrt()
    result = f"{_short(float(numbers[last]))} / {_short(size)} = {_short(float(after[last]))}"
    return _Averaged(
        title="RMSNorm: the same, but no mean",
        note=f"the {len(numbers)} numbers of “{sentences[0][lit]}” are only scaled",
        cells=_row(x, lit),
        followed=last,
        steps=[
            _Step(name="numbers", numbers=numbers, below="rms", working=_root(numbers, size)),
            _Step(
                name=f"÷ {_short(size)}",
                numbers=after,
                below=_followed(numbers, last),
                working=result,
            ),
        ],
        statistics=f"root mean square {signed(size, SPOTS)}",
    )


def _row(x: Tensor, lit: int) -> Bool[Tensor, "batch words d_model"]:
    """The cells of one word of the first sentence."""
    cells = torch.zeros_like(x, dtype=torch.bool)
    cells[0, lit] = True
    return cells


def _standardised(numbers: Tensor, followed: int) -> tuple[list[_Step], str]:
    """How the numbers come to have mean 0 and standard deviation 1, and what these two were."""
    mean, deviation = float(numbers.mean()), float(numbers.std(correction=0))
    if deviation == 0:
        raise ValueError(
            f"expected numbers that differ, got {numbers.tolist()}: their standard deviation is 0"
        )
    centred = numbers - mean
    after = centred / deviation
    first, *others = numbers.tolist()
    added = " ".join([_short(first), *map(_plus, others)])
    total = _fitting(f"({added})", _short(float(numbers.sum())))
    number = _short(float(numbers[followed]))
    result = f"({number} {_plus(-mean)}) / {_short(deviation)}"
    steps = [
        _Step(
            name="numbers",
            numbers=numbers,
            below="mean",
            working=f"{total} / {len(numbers)} = {_short(mean)}",
        ),
        _Step(
            name=_plus(-mean),
            numbers=centred,
            below="deviation",
            working=_root(centred, deviation),
        ),
        _Step(
            name=f"÷ {_short(deviation)}",
            numbers=after,
            below=_followed(numbers, followed),
            working=f"{result} = {signed(float(after[followed]), SPOTS)}",
        ),
    ]
    return steps, f"mean {_short(mean)}, standard deviation {_short(deviation)}"


def _root(numbers: Tensor, size: float) -> str:
    """How the root of their mean square is worked out."""
    squares = numbers.square()
    added = " + ".join(_short(each) for each in squares.tolist())
    mean = _fitting(
        f"({added}) / {len(numbers)}", f"mean square {signed(float(squares.mean()), SPOTS)}"
    )
    return f"√({mean}) = {_short(size)}"


def _fitting(words: str, shorter: str) -> str:
    """The words, or the shorter ones where there is no room for them and a result."""
    room = WIDTH - LEFT - text_width(" / 8 = −99.99", 12, bold=True)
    return words if text_width(words, 12, bold=True) <= room else shorter


def _followed(numbers: Tensor, at: int) -> str:
    """The name of the line that works out one number to the end."""
    return f"for {_short(float(numbers[at]))}"


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


def _panel(averaged: _Averaged, sentences: Sequence[Sequence[str]], x: Tensor, lit: int) -> Panel:
    n_words, d_model = x.shape[1:]
    body = label((LEFT + WIDEST * d_model / 2, TOP - 11), f"d_model = {d_model}", cls="aside")
    y = TOP
    for b, words in enumerate(sentences):
        body += _block(y, words, x[b], averaged.cells[b])
        middle = (LEFT + WIDEST * d_model + 10, y + n_words * HEIGHT / 2)
        body += label(middle, f"sentence {b + 1}", cls="aside", anchor="start")
        y += n_words * HEIGHT + APART
    body += _outline((LEFT + WIDEST * (d_model - 1), TOP + lit * HEIGHT), WIDEST, HEIGHT)
    y += APART
    for step in averaged.steps:
        body += _strip(y, step, averaged.followed)
        y += STRIP + LINE
    numbers = averaged.steps[0].numbers.tolist()
    told = ", ".join(_short(each) for each in numbers)
    normed = ", ".join(signed(each, SPOTS) for each in averaged.steps[-1].numbers.tolist())
    working = "; ".join(f"{step.below}: {step.working}" for step in averaged.steps)
    return Panel(
        title=averaged.title,
        note=averaged.note,
        description=(
            f"A batch of 2 sentences, {n_words} words and {d_model} numbers a word, "
            f"{' '.join(sentences[0])} and {' '.join(sentences[1])}. "
            f"{len(numbers)} cells are coloured: {told}. "
            f"{averaged.statistics[0].upper()}{averaged.statistics[1:]}. Worked out, {working}. "
            f"After the norm: {normed}."
        ),
        body=body,
        height=y - 2,
    )


def _block(y: float, words: Sequence[str], x: Tensor, coloured: Tensor) -> str:
    """The vectors of a sentence below each other, from this height on."""
    digits = _digits(x, WIDEST)
    graphics = []
    for s, (word, row, lit_row) in enumerate(
        zip(words, x.tolist(), coloured.tolist(), strict=True)
    ):
        top = y + s * HEIGHT
        bold = "aside bold" if any(lit_row) else "aside"
        graphics.append(label((LEFT - 8, top + HEIGHT / 2), word, cls=bold, anchor="end"))
        for i, (value, lit) in enumerate(zip(row, lit_row, strict=True)):
            at = (LEFT + i * WIDEST, top)
            fill = "accent" if lit else "hidden" if word == PADDING else "fill"
            box = element(
                "rect",
                x=at[0],
                y=at[1],
                width=WIDEST,
                height=HEIGHT,
                fill=ink(fill),
                stroke=ink("line"),
            )
            number = label(
                (at[0] + WIDEST / 2, at[1] + HEIGHT / 2),
                signed(value, digits),
                cls="aside bold" if lit else "aside",
                colour="page" if lit else None,
            )
            graphics += [box, number]
    return "".join(graphics)


def _strip(y: float, step: _Step, followed: int) -> str:
    """A row of numbers at this height, and below it what is worked out from them."""
    cell = min(WIDEST, (WIDTH - LEFT - 2) / len(step.numbers))
    strip = vector(
        (LEFT, y),
        step.numbers.tolist(),
        largest=float(step.numbers.abs().max()),
        cell=cell,
        height=STRIP,
        digits=_digits(step.numbers, cell),
    )
    below = y + STRIP + LINE / 2 - 1
    return (
        label((LEFT - 8, y + STRIP / 2), step.name, cls="aside", anchor="end")
        + strip
        + _outline((LEFT + followed * cell, y), cell, STRIP)
        + label((LEFT - 8, below), step.below, cls="aside", anchor="end")
        + label((LEFT, below), step.working, cls="aside bold", anchor="start")
    )


def _outline(at: Point, width: float, height: float) -> str:
    """Around the number that is followed."""
    return element(
        "rect",
        x=at[0],
        y=at[1],
        width=width,
        height=height,
        fill="none",
        stroke=ink("ink"),
        stroke_width=2,
    )


def _short(value: float) -> str:
    """A whole number without its point, others with two digits after it."""
    return signed(value, 0 if value == round(value) else SPOTS)


def _plus(value: float) -> str:
    """The number as it is added: with + or − before it."""
    return f"{'−' if value < 0 else '+'} {_short(abs(value))}"


def _digits(values: Tensor, cell: float) -> int:
    """After the point: none where all are whole numbers, else as many as a cell has room for."""
    if torch.equal(values, values.round()):
        return 0

    def widest(digits: int) -> float:
        words = (signed(each, digits) for each in values.flatten().tolist())
        return max(text_width(each, 12, bold=True) for each in words)

    return next((digits for digits in (2, 1) if widest(digits) <= cell - 2), 0)
