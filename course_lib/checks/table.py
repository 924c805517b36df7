"""All items with what they are worth: notebooks, README and marks read this one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["code", "bug", "written"]

TOPICS = {
    "01": "positional_encoding",
    "02": "embeddings",
    "03": "feed_forward",
    "04": "attention_matmul",
    "05": "attention_einsum",
    "06": "masks",
    "07": "blocks",
    "08": "full_model",
    "09": "batching",
    "10": "two_sentences",
    "11": "training",
    "12": "decoding",
    "13": "reading_attention",
    "14": "museum",
}


@dataclass(frozen=True)
class Entry:
    """An item's row: difficulty and importance run from 1 to 5.

    ``kind``: "code" is written and checked, "bug" is found and mended and checked, "written" is an
    answer in words, marked by a person.
    """

    id: str
    title: str
    kind: Kind
    difficulty: int
    importance: int
    minutes: int
    points: int

    @property
    def card(self) -> str:
        """The line over its task in the notebooks."""
        kinds = {"code": "code", "bug": "spot the bug", "written": "📝 in your own words"}
        return (
            f"`{self.id}` · {kinds[self.kind]} · difficulty {_dots(self.difficulty)} · "
            f"importance {_dots(self.importance)} · {self.minutes} minutes · "
            f"{self.points} point{'s' if self.points != 1 else ''}"
        )


def _dots(n: int) -> str:
    return f"{'●' * n}{'○' * (5 - n)} {n}/5"


#   id, title, kind, difficulty, importance, minutes, points
_ROWS: tuple[tuple[str, str, Kind, int, int, int, int], ...] = (
    ("06.padding_mask", "Hide the pads", "code", 1, 5, 5, 2),
    ("06.causal_mask", "Hide the future", "code", 1, 5, 5, 2),
    ("06.decoder_mask", "Hide both", "code", 2, 5, 5, 2),
    ("06.masked_softmax", "Softmax over what is left", "code", 3, 5, 15, 4),
    ("06.bug", "A mask that hides the wrong thing", "bug", 2, 4, 10, 2),
    ("06.why_not_rows", "Columns, not rows", "written", 2, 4, 10, 2),
)
TABLE = {row[0]: Entry(*row) for row in _ROWS}
