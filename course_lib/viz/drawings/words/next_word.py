"""From the logits to one word that is drawn: temperature, softmax, top-p or top-k, one draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import (
    brief,
    element,
    group,
    label,
    number,
    signed,
    step_dots,
    token,
    token_width,
)

Language = Literal["german", "english"]
TITLES = ("Score", "Share", "Cut", "Draw")
FIRST, ROW, BAR = 76, 32, 18  # the first word's middle, from one to the next, a bar's height
MOST_ROWS, WIDEST = 9, 120
NUMBER, EXTRA = 280, WIDTH - 2  # where the two columns of numbers end
BARS_END = NUMBER - 40


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A word, or all words together that have no row of their own (they have no score)."""

    name: str
    score: float | None
    plain: float  # probability at temperature 1
    share: float  # at the temperature
    cut: float  # the part of the share that is cut off
    final: float  # what the draw uses
    together: float  # the shares down to this row


def draw_next_word(
    words: Sequence[str],
    logits: Float[Tensor, " words"],
    *,
    drawn: int,
    temperature: float = 1.0,
    top_p: float | None = None,
    top_k: int | None = None,
    shown: int = 6,
    language: Language = "english",
    caption: str = "",
) -> Film:
    """Draw how one word is sampled, in four steps: score, share, cut, draw.

    The probabilities are computed here; all their bars have one scale. Words that are cut off are
    hatched, and the word that is drawn has the accent.

    Args:
        words: the vocabulary.
        logits: of each word.
        drawn: the index of the word that was drawn.
        temperature: divides the logits.
        top_p: keep the fewest most probable words that have at least this probability together.
        top_k: or keep this many of the most probable words.
        shown: how many of the most probable words have a row of their own; the others share one.
        language: of the words.
        caption: one sentence that a person would say.

    Raises:
        ValueError: not one of top-p and top-k, or one that is out of range; the drawn word was cut
            off or has no row; more or longer words than there is room for.
    """
    if logits.shape != (len(words),) or not logits.isfinite().all():
        raise ValueError(
            f"expected a finite logit for each of {len(words)} words, got shape "
            f"{tuple(logits.shape)} with {int(logits.isfinite().sum())} finite ones"
        )
    if temperature <= 0:
        raise ValueError(f"expected a temperature above 0, got {temperature}")
    order = logits.argsort(descending=True, stable=True).tolist()
    rank, names = order.index(range(len(words))[drawn]), [words[i] for i in order]
    scores = logits[order].double()
    kept = _kept((scores / temperature).softmax(-1), top_p, top_k)
    if not kept[rank]:
        raise ValueError(f"{names[rank]!r} is cut off, so it cannot be drawn")
    if rank >= shown:
        raise ValueError(
            f"{names[rank]!r} has rank {rank + 1} and no row of its own: set shown to at least "
            f"{rank + 1}"
        )
    rows = _rows(names, scores, kept, temperature=temperature, shown=shown)
    width = max(token_width(row.name) for row in rows)
    if len(rows) > MOST_ROWS or width > WIDEST:
        raise ValueError(
            f"expected at most {MOST_ROWS} rows, and words at most {WIDEST} pixels wide, got "
            f"{len(rows)} rows, the widest {width:.0f}: {', '.join(row.name for row in rows)}"
        )
    largest = max(max(r.plain, r.share, r.final) for r in rows)
    sheet = _Sheet(rows=rows, width=width, largest=largest, language=language)
    rule = f"top-k {top_k}" if top_p is None else f"top-p {brief(top_p, 2)}"
    warm = brief(temperature, 2)
    gone = len(words) - int(kept.sum())
    panels = (
        sheet.score(temperature),
        sheet.share(temperature),
        sheet.cut(rule, by_sum=top_p is not None, gone=gone),
        sheet.draw(rank),
    )
    effect = "keeps" if temperature == 1 else "sharpens" if temperature < 1 else "flattens"
    says = (
        "1. The model gives each word a logit: a score, of any size.",
        f"2. Softmax turns the logits into probabilities; temperature {warm} {effect} them.",
        f"3. {rule.capitalize()} cuts off {gone} of {len(words)} words, the least probable ones.",
        f"4. The probabilities of the words that are left make 1 again, and one word is drawn: "
        f"“{names[rank]}”.",
    )
    return Film(
        [Frame([panel], told) for panel, told in zip(panels, says, strict=True)],
        seconds=2.6,
        name="step",
        caption=caption,
        together=True,
    )


def _kept(
    shares: Float[Tensor, " words"], top_p: float | None, top_k: int | None
) -> Bool[Tensor, " words"]:
    """Which words are left, of falling shares; equal shares have the same fate."""
    if top_k is not None and top_p is None:
        if top_k < 1:
            raise ValueError(f"expected top_k of at least 1, got {top_k}")
        return shares >= shares[min(top_k, len(shares)) - 1]
    if top_p is None or top_k is not None:
        raise ValueError(f"expected one of top_p and top_k, got {top_p} and {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"expected top_p above 0 and at most 1, got {top_p}")
    before = shares.cumsum(-1) - shares
    return shares >= shares[before < top_p].min()


def _rows(
    names: Sequence[str],
    scores: Float[Tensor, " words"],
    kept: Bool[Tensor, " words"],
    *,
    temperature: float,
    shown: int,
) -> list[_Row]:
    """The first words, and one row for all others; names and scores from the largest score on."""
    plain, share = scores.softmax(-1), (scores / temperature).softmax(-1)
    cut = torch.where(kept, 0.0, share)
    final = torch.where(kept, share, 0.0) / share[kept].sum()
    parts = [slice(i, i + 1) for i in range(min(shown, len(names)))]
    if len(names) > shown:
        parts.append(slice(shown, len(names)))
    return [
        _Row(
            name=names[part.start] if part.start < shown else f"{len(names) - shown} more",
            score=float(scores[part.start]) if part.start < shown else None,
            plain=float(plain[part].sum()),
            share=float(share[part].sum()),
            cut=float(cut[part].sum()),
            final=float(final[part].sum()),
            together=float(share[: part.stop].sum()),
        )
        for part in parts
    ]


@dataclass(frozen=True, kw_only=True)
class _Sheet:
    """The four panels: the same rows at the same height, and bars of one scale."""

    rows: Sequence[_Row]
    width: float  # of a word's box
    largest: float  # the probability whose bar is the longest
    language: Language

    def score(self, temperature: float) -> Panel:
        known = [row.score for row in self.rows if row.score is not None]
        low, high = min(0.0, *known), max(0.0, *known)
        scale = (BARS_END - self._left) / ((high - low) or 1)
        zero = self._left - low * scale
        parts = [self._heads("logit", "" if temperature == 1 else f"÷ {brief(temperature, 2)}")]
        for row, y in self._heights():
            if row.score is not None:
                start = zero + min(0.0, row.score) * scale
                parts += [
                    _bar(start, y, abs(row.score) * scale),
                    self._number(row.score, y, digits=1),
                ]
                if temperature != 1:
                    parts.append(_extra(signed(row.score / temperature, 1), y))
        if low < 0:
            bottom = FIRST + ROW * len(self.rows) - ROW / 2
            parts.append(
                element(
                    "path",
                    d=f"M{number(zero)} {FIRST - ROW / 2}V{number(bottom)}",
                    stroke=ink("line"),
                )
            )
        told = ", ".join(f"{r.name} {signed(r.score, 1)}" for r in self.rows if r.score is not None)
        return self._panel(0, f"Bars of the logits: {told}.", *parts, note="the model's logits")

    def share(self, temperature: float) -> Panel:
        parts = [self._heads("p", "" if temperature == 1 else "at 1")]
        for row, y in self._heights():
            parts += [_bar(self._left, y, self._long(row.share)), self._number(row.share, y)]
            if temperature != 1:
                parts += [
                    _bar(self._left, y, self._long(row.plain), fill="none", dashes="3 3"),
                    _extra(f"{row.plain:.2f}", y),
                ]
        told = ", ".join(f"{row.name} {row.share:.2f}" for row in self.rows)
        also, note = "", f"softmax at temperature {brief(temperature, 2)}"
        if temperature != 1:
            plain = ", ".join(f"{row.name} {row.plain:.2f}" for row in self.rows)
            also = f" Dashed, at temperature 1: {plain}."
            note += "; dashed: at 1"
        told = f"Probabilities at temperature {brief(temperature, 2)}: {told}.{also}"
        return self._panel(1, told, *parts, note=note)

    def cut(self, rule: str, *, by_sum: bool, gone: int) -> Panel:
        parts = [self._heads("p", "sum" if by_sum else "rank")]
        border = None
        for i, (row, y) in enumerate(self._heights()):
            full = self._long(row.share - row.cut)
            parts += [
                _bar(self._left, y, full),
                _bar(self._left + full, y, self._long(row.cut), fill="hidden"),
                self._number(row.share, y, weak=row.final == 0),
            ]
            if by_sum:
                enough = row.cut == 0 and (i + 1 == len(self.rows) or self.rows[i + 1].cut > 0)
                parts.append(_extra(f"{row.together:.2f}", y, strong=enough))
            elif row.score is not None:
                parts.append(_extra(str(i + 1), y))
            if border is None and row.final == 0:
                border = y - ROW / 2
        if border is not None:
            d = f"M0 {number(border)}H{WIDTH}"
            parts.append(element("path", d=d, stroke=ink("soft"), stroke_dasharray="5 4"))
        lost = ", ".join(row.name for row in self.rows if row.final == 0)
        told = f"{rule.capitalize()} cuts off {gone} words"
        told += f", below a dashed line and hatched: {lost}." if lost else "."
        if by_sum:
            sums = ", ".join(f"{row.name} {row.together:.2f}" for row in self.rows)
            told += f" Sums of the probabilities down to each word: {sums}."
        return self._panel(2, told, *parts, note=rule)

    def draw(self, rank: int) -> Panel:
        parts = [self._heads("p", "")]
        for i, (row, y) in enumerate(self._heights()):
            if row.final > 0:
                colour = "accent" if i == rank else "line"
                parts += [
                    _bar(self._left, y, self._long(row.final), fill=colour),
                    self._number(row.final, y, strong=i == rank),
                ]
            if i == rank:
                parts.append(label((EXTRA, y), "drawn", cls="bold", anchor="end", colour="accent"))
        told = ", ".join(f"{row.name} {row.final:.2f}" for row in self.rows if row.final > 0)
        told = f"What is left: {told}. {self.rows[rank].name} is drawn."
        return self._panel(3, told, *parts, note="what is left makes 1 again", drawn=rank)

    @property
    def _left(self) -> float:
        return 2 + self.width + 12

    def _long(self, probability: float) -> float:
        return probability / self.largest * (BARS_END - self._left)

    def _heights(self) -> list[tuple[_Row, float]]:
        return [(row, FIRST + i * ROW) for i, row in enumerate(self.rows)]

    def _panel(
        self, step: int, description: str, *parts: str, note: str, drawn: int | None = None
    ) -> Panel:
        names = []
        for i, (row, y) in enumerate(self._heights()):
            gone = step >= 2 and row.final == 0
            if row.score is None:
                right = (2 + self.width - 9, y)
                name = label(right, row.name, cls="aside", anchor="end")
            else:
                name = token(
                    (2, y - 13),
                    row.name,
                    language="" if gone else self.language,
                    width=self.width,
                    strong=i == drawn,
                )
            names.append(group(name, opacity=0.6) if gone else name)
        return Panel(
            title=TITLES[step],
            description=description,
            note=note,
            body=step_dots(step, len(TITLES)) + "".join(names) + "".join(parts),
            height=FIRST + ROW * len(self.rows) - 10,
        )

    def _heads(self, first: str, second: str) -> str:
        y = FIRST - ROW + 6
        cls = "math" if first == "p" else "aside"
        return label((NUMBER, y), first, cls=cls, anchor="end") + _extra(second, y)

    def _number(
        self, value: float, y: float, *, digits: int = 2, strong: bool = False, weak: bool = False
    ) -> str:
        cls = "bold" if strong else "aside" if weak else None
        return label((NUMBER, y), signed(value, digits), cls=cls, anchor="end")


def _bar(
    x: float, y: float, length: float, *, fill: str = "line", dashes: str | None = None
) -> str:
    """A bar from x to the right, its middle at y; nothing where the length is 0."""
    if length < 0.05:
        return ""
    outlined = fill in ("none", "hidden")
    return element(
        "rect",
        x=float(x),
        y=float(y - BAR / 2),
        width=float(length),
        height=BAR,
        rx=2,
        fill=ink(fill),
        stroke=ink("soft" if fill == "none" else "line") if outlined else None,
        stroke_dasharray=dashes,
    )


def _extra(words: str, y: float, *, strong: bool = False) -> str:
    cls = "aside bold" if strong else "aside"
    return label((EXTRA, y), words, cls=cls, anchor="end") if words else ""
