"""Which test sees which bug: all of them as a matrix, or the first few, one after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import Buildup, Drawing, Panel
from course_lib.viz.drawings.marks import element, label, number, text_width

CELL, BETWEEN = 21.0, 12.0  # a cell, and the space between the usual tests and the others
ROW = 24.0
SLANT = -45  # degrees
KEY = "seen: ■ by a number, E by an error or NaN"
SEEN, ESCAPES = "✓", "✗"


def draw_test_matrix(
    readings: Float[Tensor, "bugs tests"],
    *,
    bugs: Sequence[str],
    tests: Sequence[str],
    usual: int,
    caption: str = "",
) -> Drawing:
    """A row for each bug, a column for each test, and a mark where the test sees the bug.

    Args:
        readings: what a test returns for a bug that it sees: infinite for an error; 0 if it does
            not see it.
        bugs: their names.
        tests: their names.
        usual: how many tests, from the first on, are those that everybody has. They are framed.
        caption: one sentence below.

    Raises:
        ValueError: readings that do not belong to the names.
    """
    if readings.shape != (len(bugs), len(tests)) or not 0 < usual < len(tests):
        raise ValueError(
            f"expected readings of {len(bugs)} bugs by {len(tests)} tests, more than the {usual} "
            f"usual ones, got shape {tuple(readings.shape)}"
        )
    names = _numbered(bugs)
    left = max(text_width(name, 12) for name in names) + 10
    # The upper end of a slanted name, and what it takes to its right.
    reach = [text_width(name, 12, bold=i < usual) / math.sqrt(2) for i, name in enumerate(tests)]
    top = 40 + max(reach)
    middles = [left + CELL * (j + 0.5) + (BETWEEN if j >= usual else 0) for j in range(len(tests))]
    bottom, right = top + CELL * len(bugs), middles[-1] + CELL / 2
    graphics = [
        _slanted(x, top - 8, name, i < usual)
        for i, (x, name) in enumerate(zip(middles, tests, strict=True))
    ]
    for i, name in enumerate(names):
        y = top + CELL * (i + 0.5)
        graphics.append(label((left - 10, y), name, cls="aside", anchor="end", colour="ink"))
        graphics.append(_rule(y + CELL / 2, left, right))
        graphics += [
            _mark((x, y), reading)
            for x, reading in zip(middles, readings[i].tolist(), strict=True)
            if reading
        ]
    graphics.append(_frame(left, top, CELL * usual, bottom - top))
    graphics.append(label((left, bottom + 20), KEY, cls="aside", anchor="start"))
    seen = int((readings[:, :usual] > 0).any(dim=1).sum())
    title = f"The {usual} usual tests see {seen or 'none'} of the {len(bugs)} bugs"
    return Drawing(
        Panel(
            title=title,
            description=_description(readings, names, tests),
            body="".join(graphics),
            height=bottom + 30,
            width=math.ceil(max(right, *(x + r for x, r in zip(middles, reach, strict=True)))),
        ),
        caption=caption,
        wide=True,
    )


def draw_test_order(
    order: Sequence[str],
    sees: Mapping[str, Set[int]],
    *,
    bugs: Sequence[str],
    start: int = 1,
    caption: str = "",
) -> Buildup:
    """One test after the other: which bugs are seen, and by which test first.

    Args:
        order: the tests, the first that is used first; at least two.
        sees: test -> indices of the bugs that it sees.
        bugs: their names.
        start: with how many tests it begins.
        caption: one sentence below.
    """
    names = _numbered(bugs)
    left = max(text_width(name) for name in names) + 28
    right = left + 16 + max(text_width(test) for test in order)
    found: set[int] = set()
    first: dict[int, int] = {}  # bug -> the first test that sees it
    titles = []
    for k, test in enumerate(order):
        first |= dict.fromkeys(sees[test] - found, k)
        found |= sees[test]
        count = f"{k + 1} test{'s' if k else ''} see{'' if k else 's'}"
        titles.append(f"{count} {len(found)} of {len(bugs)} bugs")
    last = len(order) - 1
    graphics = [
        _during(label((0, 40), title, cls="bold", anchor="start", colour="accent"), k, k, last=last)
        for k, title in enumerate(titles)
    ]
    for i, name in enumerate(names):
        y = 68 + ROW * i
        k = first.get(i, last + 1)
        graphics.append(_rule(y + ROW / 2, 0, right) + label((0, y), name, anchor="start"))
        if k:
            graphics.append(_during(_verdict((left, y)), 0, k - 1, last=last))
        if k <= last:
            graphics.append(_during(_verdict((left, y), order[k]), k, last, last=last))
    return Buildup(
        Panel(
            title="Which bugs are seen, and by which test first",
            description=" ".join(
                f"{name}: {order[first[i]] if i in first else 'escapes'}."
                for i, name in enumerate(names)
            ),
            body="".join(graphics),
            height=68 + ROW * len(names),
            width=math.ceil(right),
        ),
        says=[f"{t}. The newest: {test}." for t, test in zip(titles, order, strict=True)],
        start=start - 1,
        name="tests",
        caption=caption,
        wide=True,
    )


def _numbered(bugs: Sequence[str]) -> list[str]:
    return [f"{i}. {name}" for i, name in enumerate(bugs, start=1)]


def _during(graphics: str, start: int, end: int, *, last: int) -> str:
    """What is there from one state to another; the last state is stored."""
    stored = end >= last
    return element(
        "g",
        graphics,
        data_from=start,
        data_to=None if stored else end,
        cls=None if stored else "off",
    )


def _verdict(at: tuple[float, float], test: str = "") -> str:
    """A mark, and the test that sees the bug; without one, it escapes."""
    look = (SEEN, "right") if test else (ESCAPES, "wrong")
    mark = label(at, look[0], cls="bold", colour=look[1])
    words = label(
        (at[0] + 16, at[1]), test or "escapes", anchor="start", colour="soft" if test else None
    )
    return mark + words


def _frame(left: float, top: float, width: float, height: float) -> str:
    return element(
        "rect",
        x=left,
        y=top,
        width=width,
        height=height,
        rx=4,
        fill=ink("none"),
        stroke=ink("accent"),
        stroke_width=2,
    )


def _rule(y: float, left: float, right: float) -> str:
    return element("path", d=f"M{number(left)} {number(y)}H{number(right)}", stroke=ink("hair"))


def _slanted(x: float, y: float, name: str, lit: bool) -> str:
    words = label(
        (0, 0),
        name,
        cls="aside bold" if lit else "aside",
        anchor="start",
        colour="accent" if lit else "ink",
    )
    return element("g", words, transform=f"translate({number(x)} {number(y)}) rotate({SLANT})")


def _mark(at: tuple[float, float], reading: float) -> str:
    if math.isinf(reading):
        return label(at, "E", cls="aside bold", colour="soft")
    side = CELL - 7
    corner = (at[0] - side / 2, at[1] - side / 2)
    return element(
        "rect", x=corner[0], y=corner[1], width=side, height=side, rx=2, fill=ink("attention")
    )


def _description(
    readings: Float[Tensor, "bugs tests"], bugs: Sequence[str], tests: Sequence[str]
) -> str:
    sentences = []
    for name, row in zip(bugs, readings.tolist(), strict=True):
        seen = [
            test + (" (by an error)" if math.isinf(reading) else "")
            for test, reading in zip(tests, row, strict=True)
            if reading
        ]
        sentences.append(f"{name}: {', '.join(seen) or 'no test'}.")
    return " ".join(sentences)
