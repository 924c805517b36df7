"""The scores of causal attention all at once, and block by block."""

from __future__ import annotations

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import element, label, number

TOP, LEFT = 52.0, 0.0
SIDE = 224.0  # of the square of all scores
KEPT = SIDE + 22  # where the kept numbers of the rows stand


def draw_score_blocks(
    length: int, block: int, *, lit: tuple[int, int], caption: str = ""
) -> Drawing:
    """Draw the square of scores twice: as one matrix, and as blocks of which one exists at a time.

    Hatched is the future, which no query may see. Blocks that lie in it wholly are never computed.

    Args:
        length: of the text; a multiple of ``block``.
        block: queries, and keys, of a block.
        lit: row and column of the block that exists just now.
        caption: one sentence that a person would say.

    Raises:
        ValueError: blocks that do not fill the square, or a lit block in the future.
    """
    count = length // block
    row, column = lit
    if length % block or not 0 <= column <= row < count:
        raise ValueError(
            f"expected a length that is a multiple of block={block}, and a block at or below the "
            f"diagonal, got length={length} and lit={lit}"
        )
    size = SIDE / count
    return Drawing(_whole(length), _blocks(length, block, lit, size=size), caption=caption)


def _square(x: float, y: float, size: float, *, fill: str, stroke: str, border: float = 1) -> str:
    return element(
        "rect",
        x=x,
        y=y,
        width=size,
        height=size,
        fill=ink(fill),
        stroke=ink(stroke),
        stroke_width=border,
    )


def _future(x: float, y: float, size: float) -> str:
    """The upper triangle of a square, hatched."""
    d = f"M{number(x)} {number(y)}h{number(size)}v{number(size)}z"
    return element("path", d=d, fill=ink("hidden"))


def _axes(length: int) -> str:
    words = label((LEFT, TOP - 9), f"{length:,} keys →", cls="aside", anchor="start")
    return words + label(
        (LEFT, TOP + SIDE + 13), f"{length:,} queries ↓", cls="aside", anchor="start"
    )


def _whole(length: int) -> Panel:
    graphics = _square(LEFT, TOP, SIDE, fill="accent", stroke="accent")
    graphics += _square(LEFT, TOP, SIDE, fill="none", stroke="accent", border=2.4)
    graphics += element(
        "path", d=f"M{LEFT:g} {TOP:g}h{SIDE:g}v{SIDE:g}z", fill=ink("page"), stroke=ink("accent")
    )
    graphics += _future(LEFT, TOP, SIDE)
    graphics += label((KEPT, TOP + 12), "in memory:", cls="aside", anchor="start")
    graphics += label(
        (KEPT, TOP + 31), f"{length**2:,}", cls="bold", anchor="start", colour="accent"
    )
    return Panel(
        title="All scores at once",
        description=f"A square of {length:,} by {length:,} scores, {length**2:,} numbers, all of "
        "them in memory; the half above the diagonal is the future, which is computed and masked.",
        body=graphics + _axes(length),
        height=TOP + SIDE + 26,
    )


def _blocks(length: int, block: int, lit: tuple[int, int], *, size: float) -> Panel:
    count = length // block
    graphics = []
    for i in range(count):
        for j in range(count):
            x, y = LEFT + j * size, TOP + i * size
            if j > i:
                graphics.append(_square(x, y, size, fill="hidden", stroke="hair"))
            elif (i, j) == lit:
                graphics.append(_square(x, y, size, fill="accent", stroke="accent", border=2.4))
            else:
                done = (i, j) < lit
                graphics.append(_square(x, y, size, fill="fill" if done else "page", stroke="line"))
            if i == j:
                graphics.append(_future(x, y, size))
    row = lit[0]
    words = label((KEPT, TOP + row * size - 11), "its rows keep", cls="aside", anchor="start")
    graphics.append(words)
    y = TOP + row * size
    for k, word in enumerate("mls"):
        x = KEPT + k * 22
        graphics.append(
            element(
                "rect",
                x=x,
                y=y,
                width=16,
                height=size,
                rx=2,
                fill=ink("page"),
                stroke=ink("accent"),
                stroke_width=2,
            )
        )
        graphics.append(label((x + 8, y + size / 2), word, cls="math"))
    computed = count * (count + 1) // 2
    graphics.append(label((KEPT, TOP + 12), "in memory:", cls="aside", anchor="start"))
    words = f"{block**2:,}"
    graphics.append(label((KEPT, TOP + 31), words, cls="bold", anchor="start", colour="accent"))
    return Panel(
        title="One block after the other",
        description=(
            f"The same square in {count} by {count} blocks of {block:,} by {block:,} scores. "
            f"{computed} of {count**2} blocks are computed, the others lie in the future. One "
            f"exists at a time, {block**2:,} numbers: row {row}, column {lit[1]}. Beside "
            "its row stand the three things that its queries keep: m, the largest score, l, the "
            "sum of the weights, and s, the sum of weighted values."
        ),
        body="".join(graphics) + _axes(length),
        height=TOP + SIDE + 26,
        width=WIDTH,
    )
