"""An embedding is a row of a table, looked up by its id; and where trained words lie in a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import TEXT, WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import (
    arrow,
    brief,
    element,
    frame,
    label,
    number,
    signed,
    text_width,
    token,
    token_width,
    vector,
)

MOST_COLUMNS, BROAD_COLUMNS = 4, 10  # in a panel; in one that is as wide as the text
CELL, WIDE, ROW = 40.0, 50.0, 46.0  # the height and the width of a cell; from row to row
STRIPS_AT = 124.0  # where the cells of the rows begin
SENTENCE_AT, TABLE_AT = 34, 106
MOST_ROWS = 5
NARROWEST_GAP, MOST_TAKEN = 3.0, 7.0  # between two words, and from the margins of a box


def draw_lookup(
    words: Sequence[str],
    vocabulary: Sequence[str],
    *,
    table: Float[Tensor, "vocab d_model"],
    position: int | Sequence[int],
    encodings: Float[Tensor, "positions d_model"] | None = None,
    caption: str = "",
) -> Drawing:
    """Draw how one word becomes a vector: word, id, row of the table, × √d_model, + position.

    The look-up is one panel, and the sum another, for each position of the word. Of a wide table
    the first columns are drawn, of a long one the first row, the last, and those around the one
    that is looked up.

    Args:
        words: a sentence.
        vocabulary: the token of each row; an id is an index here.
        table: the embeddings, not yet multiplied.
        position: the index of the word that is followed, or several of one word.
        encodings: the positional encoding of each position; None draws the look-up alone.
        caption: one sentence below.

    Raises:
        ValueError: the word or its position has no row, the positions hold different words, the
            tables do not fit to each other or to the vocabulary, or the sentence is too long for
            its line.
    """
    positions = [position] if isinstance(position, int) else list(position)
    _check(words, vocabulary, positions, table=table, encodings=encodings)
    embeddings = table.detach()
    word = words[positions[0]]
    index = list(vocabulary).index(word)
    shown = _rows_to_show(index, len(vocabulary))
    parts = [embeddings[shown, :BROAD_COLUMNS]]
    sums: list[list[tuple[str, str, Tensor]]] = []
    if encodings is not None:
        row = embeddings[index]
        sums = [_steps(word, row, index=index, position=p, added=encodings) for p in positions]
        parts += [values[:MOST_COLUMNS] for steps in sums for *_, values in steps]
    # One scale for all panels: a number has the same colour wherever it stands.
    largest = max(float(part.abs().max()) for part in parts) or 1.0
    sheet = _Sheet(words, vocabulary, embeddings, positions, shown, largest)
    found = sheet.found(WIDTH, MOST_COLUMNS)
    if table.shape[1] > MOST_COLUMNS:  # more of a row on a wide page
        found = sheet.found(TEXT, BROAD_COLUMNS, narrow=found)
    return Drawing(
        found,
        *(
            _summed(word, steps, position=each, largest=largest)
            for each, steps in zip(positions, sums, strict=False)
        ),
        caption=caption,
    )


def _check(
    words: Sequence[str],
    vocabulary: Sequence[str],
    positions: Sequence[int],
    *,
    table: Tensor,
    encodings: Tensor | None,
) -> None:
    rows = len(words) if encodings is None else min(len(words), len(encodings))
    if not positions or not all(0 <= each < rows for each in positions):
        told = "" if encodings is None else f" and {len(encodings)} encodings"
        raise ValueError(
            f"expected a position of one of {len(words)} words{told}, got {list(positions)}"
        )
    word, *others = dict.fromkeys(words[each] for each in positions)
    if others:
        raise ValueError(
            f"expected positions of one word, got those of {word}, {', '.join(others)}"
        )
    if word not in vocabulary:
        raise ValueError(f"expected a word of the vocabulary, got {word!r}, which has no id")
    if len(table) != len(vocabulary):
        raise ValueError(
            f"expected a row for each of {len(vocabulary)} tokens, got a table of "
            f"{tuple(table.shape)}"
        )
    if encodings is not None and table.shape[1] != encodings.shape[1]:
        raise ValueError(
            f"expected encodings as wide as the table of {tuple(table.shape)}, got encodings of "
            f"{tuple(encodings.shape)}"
        )


def _steps(
    word: str, row: Tensor, *, index: int, position: int, added: Tensor
) -> list[tuple[str, str, Tensor]]:
    """What stands below each other in a sum: its name, a word about it, its numbers."""
    root, encoding = math.sqrt(len(row)), added[position].detach()
    return [
        (f"row {index}", f"of “{word}”", row),
        (f"× √{len(row)}", f"{brief(root)} times as large", row * root),
        (f"+ position {position}", "its encoding", encoding),
        ("= vector", "word and position", row * root + encoding),
    ]


def _rows_to_show(row: int, n_rows: int) -> list[int]:
    """All rows of a short table; of a long one the first, the last and three around ``row``."""
    if n_rows <= MOST_ROWS:
        return list(range(n_rows))
    first = min(max(row - 1, 1), n_rows - 4)
    return [0, first, first + 1, first + 2, n_rows - 1]


class _Sheet(NamedTuple):
    """What the look-up shows."""

    words: Sequence[str]
    vocabulary: Sequence[str]
    table: Tensor
    positions: Sequence[int]
    shown: Sequence[int]  # rows of the table
    largest: float

    def found(self, width: float, most: int, *, narrow: Panel | None = None) -> Panel:
        """The sentence, and an arrow from the word by its id to its row: ``most`` columns of it."""
        words, vocabulary, table = self.words, self.vocabulary, self.table
        position = self.positions[0]
        widths = [token_width(word) for word in words]
        room, gaps = width - 4.0, max(1, len(words) - 1)
        # A long sentence takes a little from each box's margins.
        tight = max(0.0, (sum(widths) + NARROWEST_GAP * gaps - room) / len(words))
        widths = [wide - min(tight, MOST_TAKEN) for wide in widths]
        gap = min(10.0, (room - sum(widths)) / gaps)
        if gap < NARROWEST_GAP - 1e-6:
            raise ValueError(
                f"expected a sentence that fits into one line of {width} pixels, got {len(words)} "
                f"words of {sum(widths):.0f} pixels: choose a shorter one"
            )
        x, sentence, middle = 2.0, [], 0.0
        for i, (word, wide) in enumerate(zip(words, widths, strict=True)):
            sentence.append(
                token(
                    (x, SENTENCE_AT),
                    word,
                    language="english",
                    width=wide,
                    strong=i in self.positions,
                )
            )
            if i == position:
                middle = x + wide / 2
            x += wide + gap
        word = words[position]
        row_of_word = list(vocabulary).index(word)
        turn = SENTENCE_AT + 50
        columns = min(most, table.shape[1])
        rows, y = [], float(TABLE_AT)
        for i, index in enumerate(self.shown):
            if i and index != self.shown[i - 1] + 1:
                rows.append(label((STRIPS_AT + WIDE * columns / 2, y + 6), "⋮", cls="aside"))
                y += 20
            lit = index == row_of_word
            name = _shortened(vocabulary[index], STRIPS_AT - 66)
            strip = vector(
                (STRIPS_AT, y),
                table[index, :columns].tolist(),
                largest=self.largest,
                cell=WIDE,
                height=CELL,
                digits=2,
            )
            cls = "bold" if lit else "aside"
            middle_of_row = y + CELL / 2
            rows += [
                label((50, middle_of_row), str(index), cls=cls, anchor="end"),
                label((62, middle_of_row), name, cls=cls, anchor="start"),
                strip,
            ]
            if columns < table.shape[1]:
                rows.append(label((STRIPS_AT + WIDE * columns + 10, middle_of_row), "…"))
            if lit:
                rows += [
                    _frame((STRIPS_AT, y), columns),
                    arrow(
                        (middle, SENTENCE_AT + 28),
                        (middle, turn),
                        (7, turn),
                        (7, middle_of_row),
                        (50 - text_width(str(index)) - 6, middle_of_row),
                        colour="accent",
                        width=2,
                    ),
                ]
            y += ROW
        to_right = middle < width - 90
        rows.append(
            label(
                (middle + (9 if to_right else -9), turn - 12),
                f"id {row_of_word}",
                cls="bold",
                anchor="start" if to_right else "end",
                colour="accent",
            )
        )
        numbers = ", ".join(signed(value, 2) for value in table[row_of_word, :columns].tolist())
        return Panel(
            title="Look up: the id chooses a row",
            description=f"The word {word} of “{' '.join(words)}” has the id {row_of_word}. An "
            f"arrow leads to row {row_of_word} of the table of {len(vocabulary)} rows: {numbers}"
            f"{', …' if columns < table.shape[1] else ''}.",
            body="".join(sentence + rows),
            height=y + 4,
            width=width,
            narrow=narrow,
        )


def _summed(
    word: str, steps: Sequence[tuple[str, str, Tensor]], *, position: int, largest: float
) -> Panel:
    """The row, multiplied, the encoding that is added, and the sum, below each other."""
    d_model = len(steps[0][2])
    columns = min(MOST_COLUMNS, d_model)
    y, graphics, told = 46.0, [], []
    for name, aside, values in steps:
        last = name == steps[-1][0]
        if last:  # the line under a written sum
            width = number(WIDE * columns)
            graphics.append(
                element("path", d=f"M{number(STRIPS_AT)} {number(y)}h{width}", stroke=ink("ink"))
            )
            y += 14
        shown = values[:columns].tolist()
        graphics += [
            label((0, y + 12), name, cls="bold", anchor="start"),
            label((0, y + 30), aside, cls="aside", anchor="start"),
            vector((STRIPS_AT, y), shown, largest=largest, cell=WIDE, height=CELL, digits=2),
        ]
        if columns < d_model:
            graphics.append(label((STRIPS_AT + WIDE * columns + 10, y + CELL / 2), "…"))
        if last:
            graphics.append(_frame((STRIPS_AT, y), columns))
        told.append(f"{name}: {', '.join(signed(value, 2) for value in shown)}")
        y += CELL + 14
    return Panel(
        title=f"Multiply, then add position {position}",
        description=f"For {word}, below each other, {'; '.join(told)}.",
        body="".join(graphics),
        height=y,
    )


def _frame(at: tuple[float, float], columns: int) -> str:
    """A thick border around the vector that the picture is about."""
    return frame((at[0] - 1, at[1] - 1), WIDE * columns + 2, CELL + 2)


def _shortened(word: str, room: float) -> str:
    """The word, or as many of its letters as there is room for, and "…"."""
    if text_width(word) <= room:
        return word
    while word and text_width(word + "…") > room:
        word = word[:-1]
    return word + "…"
