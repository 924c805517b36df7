"""Multi-head attention as a sum: each head has its own slice of W^O (section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import Drawing, Panel
from course_lib.viz.drawings.marks import element, label, signed, vector

FIRST, ROW = 85, 48  # the first head's middle, and from one to the next
CELL, WIDE = 44.0, 50.0  # the height and the width of a cell, with room around "−0.35"
MOST_HEADS, MOST_SHOWN = 6, 5
STRIP_AT, SLICE_AT = 72, 178  # the left edges of context and W^O
NUMBERS_AT = 84  # the left edge of the numbers that are added


def draw_head_sum(
    contexts: Float[Tensor, "heads d_head"],
    weight: Float[Tensor, "d_model d_inner"],
    bias: Float[Tensor, " d_model"] | None = None,
    *,
    word: str,
    lit: int,
    numbers: Sequence[int] = (0, 1, 2, 3, 4),
    caption: str = "",
) -> Drawing:
    """Draw one word's output of attention as the sum of what its heads add.

    The contexts of the heads side by side, times W^O, are the same as each head's context times
    its own slice of W^O, added up. Both sides are computed here.

    Args:
        contexts: the context that each head has made for the word, before W^O.
        weight: of ``out_proj``, as ``nn.Linear`` stores it.
        bias: of ``out_proj``.
        word: whose output is drawn.
        lit: the head that the picture is about.
        numbers: which of the output's numbers are shown, at most five.
        caption: one sentence that a person would say.

    Raises:
        ValueError: shapes that do not fit together, numbers that are not in the output, or more
            heads or numbers than there is room for.
    """
    n_heads, d_head = contexts.shape
    d_model = len(weight)
    if weight.shape[1] != n_heads * d_head or (bias is not None and bias.shape != (d_model,)):
        raise ValueError(
            f"expected out_proj's weight with {n_heads} · {d_head} columns and a bias as long as "
            f"its rows, got {tuple(weight.shape)} and {None if bias is None else tuple(bias.shape)}"
        )
    if not 1 <= n_heads <= MOST_HEADS or not 1 <= len(numbers) <= MOST_SHOWN:
        raise ValueError(
            f"expected at most {MOST_HEADS} heads and {MOST_SHOWN} numbers, got {n_heads} and "
            f"{len(numbers)}"
        )
    if not 0 <= lit < n_heads or not all(0 <= i < d_model for i in numbers):
        raise ValueError(
            f"expected a head from 0 to {n_heads - 1} and numbers from 0 to {d_model - 1}, got "
            f"{lit} and {list(numbers)}"
        )
    slices = weight.unflatten(1, (n_heads, d_head))  # (d_model, heads, d_head)
    added = {
        f"head {h}": (slices[:, h] @ contexts[h]).detach() for h in range(n_heads)
    }  # each (d_model,)
    if bias is not None:
        added["bias"] = bias.detach()
    return Drawing(
        _together(n_heads, d_head, d_model, word=word, lit=lit),
        _apart(added, word=word, lit=lit, numbers=numbers),
        caption=caption,
    )


def _together(n_heads: int, d_head: int, d_model: int, *, word: str, lit: int) -> Panel:
    """The contexts side by side, each before its slice of W^O."""
    title, note = "Side by side, times Wᴼ", f"“{word}”: {n_heads} × {d_head} numbers"
    parts = [
        label((STRIP_AT + 28, FIRST - 33), "context", cls="math"),
        label((SLICE_AT + 80, FIRST - 33), "Wᴼ", cls="math"),
    ]
    for h in range(n_heads):
        y, strong = FIRST + h * ROW, h == lit
        fill, border = ("accent", "accent") if strong else ("fill", "line")
        cls = "bold" if strong else None
        text = "page" if strong else None
        parts += [
            label((0, y), f"head {h}", cls=cls, anchor="start"),
            _box(STRIP_AT, y, 56, fill=fill, border=border),
            label((STRIP_AT + 28, y), str(d_head), cls=cls, colour=text),
            label(((STRIP_AT + 56 + SLICE_AT) / 2, y), "×"),
            _box(SLICE_AT, y, 160, fill=fill, border=border),
            label((SLICE_AT + 80, y), f"{d_head} × {d_model}", cls=cls, colour=text),
        ]
    end = FIRST + n_heads * ROW - ROW / 2
    total = f"one row of {n_heads * d_head}, one matrix {n_heads * d_head} × {d_model}"
    parts.append(label((STRIP_AT, end + 16), total, cls="aside", anchor="start"))
    return Panel(
        title=title,
        note=note,
        description=(
            f"For “{word}”, {n_heads} heads with {d_head} numbers each, below each other as one "
            f"long row; beside each its slice of W^O, {d_head} × {d_model}. Head {lit} has the "
            "accent."
        ),
        body="".join(parts),
        height=end + 30,
    )


def _apart(
    added: dict[str, Float[Tensor, " d_model"]], *, word: str, lit: int, numbers: Sequence[int]
) -> Panel:
    """What each head, and the bias, adds to the shown numbers of the output, and their sum."""
    shown = {name: values[list(numbers)].tolist() for name, values in added.items()}
    output = torch.stack(list(added.values())).sum(0).tolist()
    total = [output[i] for i in numbers]
    largest = max(abs(value) for values in [*shown.values(), total] for value in values) or 1.0
    digits = 2 if largest < 10 else 0
    left = NUMBERS_AT
    parts = [
        label((left + WIDE * (k + 0.5), FIRST - 33), f"no. {i}", cls="aside")
        for k, i in enumerate(numbers)
    ]
    for row, (name, values) in enumerate(shown.items()):
        y, strong = FIRST + row * ROW, name == f"head {lit}"
        cls = "bold" if strong else None
        parts.append(label((0, y), name, cls=cls, anchor="start"))
        parts.append(
            vector(
                (left, y - CELL / 2), values, largest=largest, cell=WIDE, height=CELL, digits=digits
            )
        )
        if row:
            parts.append(label((left - 13, y), "+"))
        if strong:
            parts.append(
                _box(left, y, WIDE * len(numbers), fill="none", border="accent", width=2.4)
            )
    y = FIRST + len(shown) * ROW + 10
    line = f"M0 {y - ROW / 2 - 4:.1f}H{left + WIDE * len(numbers):.1f}"
    parts += [
        element("path", d=line, stroke=ink("ink")),
        label((0, y), "output", cls="bold", anchor="start"),
        label((left - 13, y), "="),
        vector((left, y - CELL / 2), total, largest=largest, cell=WIDE, height=CELL, digits=digits),
    ]
    told = "; ".join(
        f"{name} {', '.join(signed(value, digits) for value in values)}"
        for name, values in [*shown.items(), ("output", total)]
    )
    return Panel(
        title="The same, as a sum",
        note=f"{len(numbers)} of the {len(output)} numbers of “{word}”",
        description=f"Numbers {', '.join(map(str, numbers))} of the output: {told}.",
        body="".join(parts),
        height=y + CELL / 2 + 6,
    )


def _box(x: float, y: float, wide: float, *, fill: str, border: str, width: float = 1.0) -> str:
    """A block of numbers that are not shown, its middle at y."""
    return element(
        "rect",
        x=float(x),
        y=float(y - CELL / 2),
        width=float(wide),
        height=CELL,
        fill=ink(fill),
        stroke=ink(border),
        stroke_width=width,
    )
