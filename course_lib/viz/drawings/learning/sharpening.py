"""How probabilities sharpen: for each target word that of the right word, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import (
    element,
    group,
    label,
    number,
    text_width,
    token,
    token_width,
)

FIRST, ROW, BAR = 50.0, 36.0, 18.0  # the top of the first row, from one to the next, a bar's height
NUMBER = 38.0  # room for a probability
NARROWEST = 120.0  # a bar for 1
MOST_WORDS = 10


def draw_sharpening(
    pairs: Sequence[tuple[str, Sequence[str]]],
    probabilities: Float[Tensor, "epochs sentences words"],
    *,
    epochs: Sequence[int],
    start: int | None = None,
    caption: str = "",
) -> Film:
    """Draw the probability of each right word, a frame for each epoch and a panel for each pair.

    Lit are the words that nobody can know without the source: other targets that begin alike go on
    with another word. A dotted line shows how far a model that is blind to the source gets there,
    computed here from the targets.

    Args:
        pairs: the source as it is read, and the words of its target, its end included.
        probabilities: of the right word, given the right words before it.
        epochs: that the probabilities belong to, ascending.
        start: the frame that is shown first; by default the one in which the lit words are
            furthest behind the others, or the last if none is lit.
        caption: one sentence below.

    Raises:
        ValueError: probabilities that do not belong to the words and epochs or are none, or words
            for which there is no room.
    """
    targets = [tuple(words) for _, words in pairs]
    sizes = (len(epochs), len(pairs), len(targets[0]) if targets else 0)
    if tuple(probabilities.shape) != sizes or len({len(words) for words in targets}) != 1:
        raise ValueError(
            f"expected probabilities for {sizes[0]} epochs, {sizes[1]} sentences and "
            f"{' or '.join(map(str, sorted({len(words) for words in targets})))} words, got shape "
            f"{tuple(probabilities.shape)}"
        )
    if not bool(((probabilities >= 0) & (probabilities <= 1)).all()):
        raise ValueError(
            f"expected probabilities from 0 to 1, got {float(probabilities.min()):g} to "
            f"{float(probabilities.max()):g}"
        )
    if sorted(set(epochs)) != list(epochs):
        raise ValueError(f"expected epochs in ascending order, each once, got {list(epochs)}")
    widest = max(token_width(word) for words in targets for word in words)
    if sizes[2] > MOST_WORDS or WIDTH - widest - 10 - NUMBER < NARROWEST:
        raise ValueError(
            f"expected at most {MOST_WORDS} words of at most "
            f"{WIDTH - 10 - NUMBER - NARROWEST:.0f} pixels, got {sizes[2]} words, the widest of "
            f"{widest:.0f} pixels"
        )
    for source, _ in pairs:
        if text_width(source, bold=True) > WIDTH:
            raise ValueError(f"expected sources that fit into a line, got {source!r}")
    blind = [[_blind(words, at, targets) for at in range(len(words))] for words in targets]
    values = probabilities.double().tolist()
    frames = [
        Frame(
            [
                _panel(source, words, p, blind=best, width=widest, epoch=epoch)
                for (source, words), p, best in zip(pairs, now, blind, strict=True)
            ],
            _says(targets, now, blind, epoch),
        )
        for epoch, now in zip(epochs, values, strict=True)
    ]
    if start is None:
        behind = [_behind(now, blind) for now in values]
        start = behind.index(max(behind)) if max(behind) > 0 else -1
    return Film(frames, start=start, seconds=1.4, name="epoch", caption=caption)


def _blind(words: tuple[str, ...], at: int, targets: Sequence[tuple[str, ...]]) -> float:
    """Of the targets that begin with the same words, the share that goes on with this one."""
    alike = [other[at] for other in targets if other[:at] == words[:at]]
    return alike.count(words[at]) / len(alike)


def _split(
    values: Sequence[Sequence[float]], blind: Sequence[Sequence[float]]
) -> tuple[list[float], list[float]]:
    """The probabilities of the words that need the source, and of all others."""
    both = [
        (p, b)
        for row, best in zip(values, blind, strict=True)
        for p, b in zip(row, best, strict=True)
    ]
    return [p for p, b in both if b < 1], [p for p, b in both if b == 1]


def _behind(values: Sequence[Sequence[float]], blind: Sequence[Sequence[float]]) -> float:
    need, others = _split(values, blind)
    return min(others) - max(need) if need and others else 0.0


def _says(
    targets: Sequence[tuple[str, ...]],
    values: Sequence[Sequence[float]],
    blind: Sequence[Sequence[float]],
    epoch: int,
) -> str:
    need, others = _split(values, blind)
    if not need or not others:
        return f"Epoch {epoch}: the right words have at least {min(need + others):.2f}."
    names = [
        f"“{word}” {p:.2f}"
        for words, row, best in zip(targets, values, blind, strict=True)
        for word, p, b in zip(words, row, best, strict=True)
        if b < 1
    ]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"Epoch {epoch}: {listed}; all other words at least {min(others):.2f}."


def _panel(
    source: str,
    words: Sequence[str],
    values: Sequence[float],
    *,
    blind: Sequence[float],
    width: float,
    epoch: int,
) -> Panel:
    left = width + 10
    room = WIDTH - left - NUMBER
    graphics = []
    for i, (word, p, best) in enumerate(zip(words, values, blind, strict=True)):
        y, lit = FIRST + i * ROW, best < 1
        middle = y + 13
        top = middle - BAR / 2
        box = token((1, y), word, language="english", width=token_width(word), strong=lit)
        colour = "accent" if lit else "line"
        graphics.append(box)
        graphics.append(
            element("rect", x=left, y=top, width=room, height=BAR, rx=3, fill=ink("fill"))
        )
        if p >= 0.005:
            graphics.append(
                element("rect", x=left, y=top, width=room * p, height=BAR, rx=3, fill=ink(colour))
            )
        if lit:
            x = left + room * best
            graphics.append(_dashes(f"M{number(x)} {number(top - 5)}V{number(top + BAR + 5)}"))
        cls = "bold" if lit else None
        graphics.append(label((WIDTH - 1, middle), f"{p:.2f}", cls=cls, anchor="end"))
    height = FIRST + ROW * len(words)
    if min(blind) < 1:
        graphics.append(_key((1, height + 6)))
        height += 18
    told = ", ".join(f"{word} {p:.2f}" for word, p in zip(words, values, strict=True))
    blindly = "".join(
        f" Without a look at the source, the best for {word} is {best:.2f}."
        for word, best in zip(words, blind, strict=True)
        if best < 1
    )
    return Panel(
        title=source,
        note=f"epoch {epoch}: probability of the right word",
        description=f"Epoch {epoch}, probability of each right word: {told}.{blindly}",
        body=group(*graphics),
        height=height,
    )


def _key(at: tuple[float, float]) -> str:
    x, y = at
    return _dashes(f"M{number(x + 2)} {number(y - 8)}v16") + label(
        (x + 12, y), "best without a look at the source", cls="aside", anchor="start"
    )


def _dashes(d: str) -> str:
    """What is the best without a look at the source."""
    return element("path", d=d, stroke=ink("ink"), stroke_width=2, stroke_dasharray="2 3")
