"""A page that shows how a notebook's new outputs differ from those stored: pictures side by side.

A notebook may come from anybody. Its text is escaped by Jinja2, its pictures are decoded and
written again, but for plots, whose SVG runs no script in an image; and the page's content security
policy allows neither scripts nor a network.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from nbformat import NotebookNode
from PIL import UnidentifiedImageError

from tools.notebooks.output_comparison import open_picture, shown_parts

PAGE = Path(__file__).with_suffix(".html")
LONGEST = 20_000  # characters of one output
PICTURES = ("picture", "image/png", "image/jpeg")


@dataclass(frozen=True)
class Difference:
    """A cell that failed: why, and what it shows, stored and now."""

    id: str
    source: str
    reason: str
    stored: list[NotebookNode]
    new: list[NotebookNode]

    @property
    def rows(self) -> Iterator[tuple[str, Shown, Shown]]:
        """For each part of an output that differs: its kind, as stored, as it is now."""
        nothing: dict[str, Any] = {}
        pairs = zip_longest(shown_parts(self.stored), shown_parts(self.new), fillvalue=nothing)
        for number, (stored, new) in enumerate(pairs, 1):
            for kind in sorted(stored.keys() | new.keys()):
                before, now = stored.get(kind), new.get(kind)
                if before != now:
                    yield f"output {number}, {kind}", shown(kind, before), shown(kind, now)


@dataclass(frozen=True)
class Shown:
    """One side: text, or the address of a picture."""

    text: str = ""
    picture: str = ""


def shown(kind: str, value: Any) -> Shown:
    """What the page shows of a part of an output; None means that there is no such part."""
    if value is None:
        return Shown("(nothing)")
    if kind == "plot":
        return Shown(picture=f"data:image/svg+xml,{value.splitlines()[0]}")
    if kind in PICTURES:
        try:
            return Shown(picture=_png(value))
        except (binascii.Error, UnidentifiedImageError, OSError, ValueError) as error:
            return Shown(f"not a picture: {error}")
    text = value if isinstance(value, str) else repr(value)
    return Shown(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")


def difference_page(name: str, cells: list[Difference]) -> str:
    """The page about one notebook."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    template = environment.from_string(PAGE.read_text(encoding="utf-8"))
    return template.render(name=name, cells=cells)


def _png(picture: str) -> str:
    """The address of the picture, decoded and encoded anew: whatever else was in it is gone."""
    buffer = io.BytesIO()
    open_picture(picture).save(buffer, format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
