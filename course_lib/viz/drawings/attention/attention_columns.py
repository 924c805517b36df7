"""The attention of one head between two columns of level words: lines as wide as their weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import TEXT, WIDTH, Panel
from course_lib.viz.drawings.marks import element, group, label, number, swing, text_width

Language = Literal["german", "english"]
LEAST = 0.05  # the smallest weight that is drawn
OPACITY = {"line": "0.28", "accent": "1"}  # of lines whose colour does not tell their weight
WIDEST = 11.0  # the line of weight 1, in pixels
STEP, SMALLEST_STEP, TALLEST = 28, 20, 420
NUMBER = 34  # room for a weight beside its key
BOLD = 1.16  # how much wider than others bold letters are, at most
NARROWEST = 90  # between the columns
MARGIN = 4
BETWEEN = "\u00a0 "  # a word and its gloss


def attention_columns(
    title: str,
    weights: Float[Tensor, "queries keys"],
    *,
    queries: Sequence[str],
    keys: Sequence[str],
    languages: tuple[Language, Language],
    lit: int | None = None,
    headings: tuple[str, str] = ("query", "key"),
    glosses: Mapping[str, str] | None = None,
    note: str | None = None,
    numbered: int = 0,
    broad: bool = False,
) -> Panel:
    """Keys on the left, queries on the right, and a line for each weight of at least 0.05.

    Args:
        title: what the picture says.
        weights: of one head, or a mean of heads; a query's are shares of 1.
        queries: the words that look, one for each row.
        keys: the words that are looked at, one for each column.
        languages: of the queries and of the keys.
        lit: the index of the query that the picture is about. Its strongest line has the accent,
            its others the colour of attention, and all other lines are grey. None: all lines have
            the colour of attention.
        headings: of the queries and of the keys.
        glosses: what a word means, written beside it in small letters; only beside the keys where
            the queries are the same words.
        note: below the title; by default what the lit query's strongest line says.
        numbered: how many of the lit query's strongest lines have the accent, and their weights
            beside the keys; 0: only the strongest, which the note tells.
        broad: as wide as the text, and on a phone as any other.

    Raises:
        ValueError: weights that do not belong to the words, or that are no shares of 1; words for
            which there is no room.
    """
    if weights.shape != (len(queries), len(keys)) or not len(queries):
        raise ValueError(
            f"expected a row for each of {len(queries)} queries and a column for each of "
            f"{len(keys)} keys, got weights of shape {tuple(weights.shape)}"
        )
    if bool((weights < 0).any()) or bool(((weights.sum(-1) - 1).abs() > 0.01).any()):
        sums = ", ".join(f"{float(each):.2f}" for each in weights.sum(-1))
        raise ValueError(f"expected rows of weights from 0 to 1 that sum to 1, got sums {sums}")
    left_glosses = glosses or {}
    # Where both columns have the same words, one of them is enough to say what they mean.
    right_glosses = {} if list(queries) == list(keys) else left_glosses
    strongest = [] if lit is None else weights[lit].topk(max(1, numbered)).indices.tolist()
    if note is None:
        note = ""
        if lit is not None:
            weight = float(weights[lit, strongest[0]])
            note = f"“{queries[lit]}” attends most to “{keys[strongest[0]]}”: {weight:.2f}"
    narrow = None
    if broad:
        narrow = attention_columns(
            title,
            weights,
            queries=queries,
            keys=keys,
            languages=languages,
            lit=lit,
            headings=headings,
            glosses=glosses,
            note=note,
            numbered=numbered,
        )
    top = 72 if note else 54  # the middle of the first word
    rows = max(len(queries), len(keys))
    step = min(STEP, (TALLEST - top - 12) / max(1, rows - 1))
    bold = {keys[j] for j in strongest}
    left = max(_width(word, left_glosses, bold) for word in [*keys, headings[1]]) + MARGIN
    ends = max(
        _width(word, right_glosses, set() if lit is None else {queries[lit]})
        for word in [*queries, headings[0]]
    )
    width = TEXT if broad else WIDTH
    right = width - MARGIN - ends
    lines_at = left + 8 + (NUMBER if numbered else 0)
    if step < SMALLEST_STEP or right - lines_at < NARROWEST - 8 or text_width(note, 12) > width:
        raise ValueError(
            f"{rows} rows, with {max(keys, key=len)!r} and {max(queries, key=len)!r} for the "
            f"longest words, have no room in a panel of {width} × {TALLEST} pixels: draw fewer or "
            "shorter words"
        )

    def column(
        words: Sequence[str],
        language: Language,
        heading: str,
        *,
        x: float,
        anchor: Literal["start", "end"],
        bold: Sequence[int],
        glosses: Mapping[str, str],
    ) -> list[str]:
        texts = [label((x, top - 24), heading, cls="aside", anchor=anchor)]
        for i, word in enumerate(words):
            y = top + i * step
            gloss = glosses.get(word)
            texts.append(
                _word((x, y), word, gloss, anchor=anchor, bold=i in bold, language=language)
            )
        return texts

    # Lines are many: what those of one look have in common stands on their group.
    lines = [
        group(
            *(
                _line((lines_at, top + j * step), (right - 8, top + i * step), weight, look=look)
                for _, weight, i, j in alike
            ),
            fill="none",
            stroke=ink(look),
            stroke_opacity=OPACITY.get(look),
        )
        for look, alike in groupby(_looks(weights, lit, strongest), key=itemgetter(0))
    ]
    numbers = [
        label(
            (left + 8 + NUMBER - 4, top + j * step),
            f"{float(weights[lit, j]):.2f}",
            cls="aside bold",
            anchor="end",
            colour="accent",
        )
        for j in strongest[:numbered]
    ]
    parts = [
        *lines,
        *numbers,
        *column(
            keys,
            languages[1],
            headings[1],
            x=left,
            anchor="end",
            bold=strongest,
            glosses=left_glosses,
        ),
        *column(
            queries,
            languages[0],
            headings[0],
            x=right,
            anchor="start",
            bold=[] if lit is None else [lit],
            glosses=right_glosses,
        ),
    ]
    return Panel(
        title=title,
        note=note,
        description=_description(weights, queries, keys, lit),
        body="".join(parts),
        height=top + (rows - 1) * step + 14,
        width=width,
        narrow=narrow,
    )


def _looks(
    weights: Float[Tensor, "queries keys"], lit: int | None, strongest: Sequence[int]
) -> list[tuple[str, float, int, int]]:
    """Look, weight, query and key of each line, from the back to the front."""
    lines = []
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            if weight >= LEAST:
                look = "attention" if lit is None else "line"
                if i == lit:
                    look = "accent" if j in strongest else "attention"
                lines.append((look, weight, i, j))
    order = ("line", "attention", "accent")
    return sorted(lines, key=lambda line: (order.index(line[0]), line[1]))


def _line(key: tuple[float, float], query: tuple[float, float], weight: float, *, look: str) -> str:
    """A line as wide as the weight, in the colour of its group."""
    return element(
        "path",
        d=swing(key, query),
        stroke_width=max(1.0, WIDEST * weight),
        stroke_opacity=None if look in OPACITY else number(min(0.9, 0.2 + 0.8 * weight), 2),
    )


def _word(
    at: tuple[float, float],
    word: str,
    gloss: str | None,
    *,
    anchor: Literal["start", "end"],
    bold: bool,
    language: Language,
) -> str:
    """A word, and what it means on its outer side."""
    cls = "bold" if bold else None
    if gloss is None:
        return label(at, word, cls=cls, anchor=anchor, colour=language)
    # One text, so that the gloss is as far from the word in every font.
    both = [
        element("tspan", escape(word), cls=cls, style=f"fill:{ink(language)}"),
        element("tspan", escape(gloss), cls="aside"),
    ]
    return element(
        "text",
        BETWEEN.join(both if anchor == "start" else reversed(both)),
        x=float(at[0]),
        y=at[1] + 4.6,
        text_anchor=None if anchor == "start" else anchor,
    )


def _width(word: str, glosses: Mapping[str, str], bold: Collection[str]) -> float:
    """Of a word and its gloss, and of a heading; bold letters are wider."""
    gloss = text_width(BETWEEN) + text_width(glosses[word], 12) if word in glosses else 0
    return text_width(word) * (BOLD if word in bold else 1) + gloss


def _description(
    weights: Float[Tensor, "queries keys"],
    queries: Sequence[str],
    keys: Sequence[str],
    lit: int | None,
) -> str:
    told: list[str] = []
    for i, query in enumerate(queries):
        if i == lit:
            drawn = [
                f"{key} {weight:.2f}"
                for key, weight in zip(keys, weights[i].tolist(), strict=True)
                if weight >= LEAST
            ]
            told.insert(0, f"{query} (in the accent) attends to {', '.join(drawn)}")
        else:
            told.append(f"{query} most to {keys[int(weights[i].argmax())]} {weights[i].max():.2f}")
    return f"Lines from weight {LEAST} on. {'; '.join(told)}."
