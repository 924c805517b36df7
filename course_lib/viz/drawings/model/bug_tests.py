"""Which test sees which bug: all of them as a matrix, or the first few, one after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import Buildup, Drawing, Panel
from course_lib.viz.drawings.marks import element, label, number, text_width

ROW, HEADS, FIRST = 24.0, 40.0, 64.0  # a row's height; where heads and the first row stand
BETWEEN = 20.0  # two columns
OWN = "its own test"
ALSO = ("also by", "error or NaN in")
KEY = "A test has the number of its bug."
SEEN, ESCAPES = "✓", "✗"


def draw_test_matrix(
    readings: Float[Tensor, "bugs tests"],
    *,
    bugs: Sequence[str],
    tests: Sequence[str],
    usual: int,
    caption: str = "",
) -> Drawing:
    """A row for each bug: whether the usual tests see it, its own test, and others by number.

    Args:
        readings: what a test returns for a bug that it sees: infinite for an error; 0 if it does
            not see it.
        bugs: their names.
        tests: their names: those that everybody has, then each bug's own, in the order of the bugs.
        usual: how many everybody has.
        caption: one sentence below.

    Raises:
        ValueError: readings that do not belong to the names, or a bug without a test of its own.
    """
    n = len(bugs)
    if readings.shape != (n, len(tests)) or usual < 1 or len(tests) != usual + n:
        raise ValueError(
            f"expected readings of {n} bugs by {usual} usual tests and {n} of their own, got "
            f"{len(tests)} tests and shape {tuple(readings.shape)}"
        )
    names, own = _numbered(bugs), tests[usual:]
    right = max(text_width(name) for name in names)
    graphics = []
    for j, test in enumerate(tests[:usual]):
        middle = right + BETWEEN + text_width(test, 12) / 2
        right += BETWEEN + text_width(test, 12)
        graphics.append(label((middle, HEADS), test, cls="aside"))
        graphics += [
            _mark((middle, _height(i)), seen=seen > 0)
            for i, seen in enumerate(readings[:, j].tolist())
        ]
    starts = [right + BETWEEN + 16]
    widest = max(text_width(OWN, 12), *(text_width(test) for test in own))
    starts.append(starts[0] + widest + BETWEEN)
    starts.append(starts[1] + text_width(ALSO[0], 12) + BETWEEN)
    rows = [
        _words(i, test, row)
        for i, (test, row) in enumerate(zip(own, readings[:, usual:].tolist(), strict=True))
    ]
    right = starts[2] + max(text_width(words, 12) for words in (ALSO[1], *(w[2] for w in rows)))
    for x, head in zip(starts, (OWN, *ALSO), strict=True):
        graphics.append(label((x, HEADS), head, cls="aside", anchor="start"))
    for i, (name, row) in enumerate(zip(names, rows, strict=True)):
        graphics.append(_rule(_height(i) - ROW / 2, 0, right))
        graphics.append(label((0, _height(i)), name, anchor="start"))
        graphics.append(_mark((starts[0] - 12, _height(i)), seen=bool(readings[i, usual + i])))
        graphics += [
            label((x, _height(i)), words, cls="aside" if k else None, anchor="start")
            for k, (x, words) in enumerate(zip(starts, row, strict=True))
            if words
        ]
    bottom = _height(n) - ROW / 2
    graphics.append(label((right, bottom + 12), KEY, cls="aside", anchor="end"))
    seen = int((readings[:, :usual] > 0).any(dim=1).sum())
    title = f"The {usual} usual tests see {seen or 'none'} of the {n} bugs"
    return Drawing(
        Panel(
            title=title,
            description=_description(readings, names, tests),
            body="".join(graphics),
            height=bottom + 24,
            width=math.ceil(right),
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
    mark = _mark(at, seen=bool(test))
    words = label(
        (at[0] + 16, at[1]), test or "escapes", anchor="start", colour="soft" if test else None
    )
    return mark + words


def _height(i: int) -> float:
    """The middle of the matrix's row."""
    return FIRST + ROW * i


def _mark(at: tuple[float, float], *, seen: bool) -> str:
    words, colour = (SEEN, "right") if seen else (ESCAPES, "wrong")
    return label(at, words, cls="bold", colour=colour)


def _words(i: int, test: str, row: Sequence[float]) -> list[str]:
    """Of bug i: its own test, and the numbers of those that see it too, by a reading or an error.

    Args:
        i: the bug, from 0.
        test: the name of its own test.
        row: what each bug's own test reads.
    """
    others = [(j + 1, math.isinf(reading)) for j, reading in enumerate(row) if reading and j != i]
    return [test] + [
        ", ".join(str(j) for j, error in others if error == wanted) for wanted in (False, True)
    ]


def _rule(y: float, left: float, right: float) -> str:
    return element("path", d=f"M{number(left)} {number(y)}H{number(right)}", stroke=ink("hair"))


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
