"""Controls that move without a kernel: the picture of each of a few states, stored in the notebook.

Of each further picture only the pixels that differ from the first are kept, over a common palette,
so that a frame costs a few kilobytes.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from course_lib.viz.figure_html import data_uri, figure_html
from course_lib.viz.web.bundles import bundle

MOST_FRAMES = 49
MOST_BYTES = 40_000  # of all frames of a figure, as they are stored
# Times so many bytes, going by a few pictures, or by all at other stops: drawing them wastes time.
HOPELESS, TOO_LARGE = 2.0, 1.25
FINENESS = (9, 7, 5, 4, 3)  # stops of a slider: the first for which all fits
COLOURS = 255  # of all pictures of a figure together

State = tuple[int, ...]  # the position of each control


@dataclass(frozen=True)
class Stops:
    """A control with the values that it has in a stored page.

    Attributes:
        label: its name.
        kind: ``range``, ``list`` or ``switch``.
        values: what the drawing function is given.
        texts: how they are written.
        start: the index of the value that is shown first.
    """

    label: str
    kind: str
    _: KW_ONLY
    values: Sequence[Any]
    texts: Sequence[str]
    start: int


@dataclass(frozen=True, kw_only=True)
class Frames:
    """The pictures of all states, the last control changing fastest.

    Attributes:
        controls: what can be moved.
        first: the picture of the first state that is shown.
        changed: what differs from it in each state, as an address; empty for the same picture.
        alts: what each picture shows, in words.
        start: the index of the state that is shown first.
    """

    controls: Sequence[Stops]
    first: Image.Image
    changed: Sequence[str]
    alts: Sequence[str]
    start: int

    @property
    def size(self) -> int:
        """Characters, without the first picture, which is stored anyway."""
        return sum(map(len, [*self.changed, *self.alts]))

    def html(self, note: str, fallback: str) -> str:
        """The figure, whose controls appear where scripts run.

        Args:
            note: stands below the figure where they do.
            fallback: stands there where they don't.
        """
        stored = {
            "controls": [
                {"label": c.label, "kind": c.kind, "stops": list(c.texts), "start": c.start}
                for c in self.controls
            ],
            "frames": [
                {"changed": changed, "alt": alt}
                for changed, alt in zip(self.changed, self.alts, strict=True)
            ],
            "note": note,
        }
        text = json.dumps(stored, ensure_ascii=False)
        name = "f" + sha256(text.encode("utf-8")).hexdigest()[:12]
        paragraph = f'<p data-frames="{html.escape(text)}">{html.escape(fallback)}</p>'
        figure = figure_html(self.first, self.alts[self.start], after=paragraph, name=name)
        # In a function, since a page may hold several figures, each with its copy of the names.
        return f"{figure}<script>(()=>{{{bundle('frames').replace('NAME', name)}}})();</script>"


def frames_of(
    draw: Callable[..., tuple[NDArray[np.uint8], str]],
    stops_at: Callable[[int], Mapping[str, Stops]],
) -> Frames | None:
    """The frames of a figure, with as many stops of its sliders as fit.

    Args:
        draw: from the values of the controls by name to pixels (height, width, 3) and alt text.
        stops_at: the controls by name, with at most so many stops of each slider.

    Returns:
        None if not even the coarsest fit, or nothing can be moved.
    """
    drawn: dict[tuple[Any, ...], tuple[NDArray[np.uint8], str]] = {}

    def picture(controls: Mapping[str, Stops], state: State) -> tuple[NDArray[np.uint8], str]:
        values = [c.values[i] for c, i in zip(controls.values(), state, strict=True)]
        if (key := tuple(map(repr, values))) not in drawn:
            drawn[key] = draw(**dict(zip(controls, values, strict=True)))
        return drawn[key]

    bytes_a_picture, limit = 0.0, HOPELESS * MOST_BYTES
    for fineness in FINENESS:
        controls = stops_at(fineness)
        stops = list(controls.values())
        states = [*product(*(range(len(c.values)) for c in stops))]
        if not 1 < len(states) <= MOST_FRAMES:
            continue
        if not bytes_a_picture:
            ends = _ends(stops)
            few = _packed(stops, [picture(controls, state) for state in ends], start=0)
            bytes_a_picture = few.size / (len(ends) - 1)
        if bytes_a_picture * (len(states) - 1) > limit:
            continue
        start = states.index(tuple(c.start for c in stops))
        found = _packed(stops, [picture(controls, state) for state in states], start=start)
        if found.size <= MOST_BYTES:
            return found
        bytes_a_picture, limit = found.size / (len(states) - 1), TOO_LARGE * MOST_BYTES
    return None


def _ends(controls: Sequence[Stops]) -> list[State]:
    """The state that is shown first, and from there each control moved to its last position."""
    start = tuple(c.start for c in controls)
    moved = [(*start[:i], len(c.values) - 1, *start[i + 1 :]) for i, c in enumerate(controls)]
    return [start, *moved]


def _packed(
    controls: Sequence[Stops], drawn: Sequence[tuple[NDArray[np.uint8], str]], *, start: int
) -> Frames:
    height, width = np.max([pixels.shape[:2] for pixels, _ in drawn], axis=0)
    sheet = np.full((len(drawn), height, width, 3), 255, np.uint8)
    for page, (pixels, _) in zip(sheet, drawn, strict=True):
        page[: pixels.shape[0], : pixels.shape[1]] = pixels
    whole = Image.fromarray(sheet.reshape(-1, width, 3)).quantize(COLOURS, dither=Image.Dither.NONE)
    palette = np.asarray(whole.getpalette(), np.uint8).reshape(-1, 3)
    pages = np.asarray(whole).reshape(len(drawn), height, width).astype(int)
    return Frames(
        controls=controls,
        first=_image(pages[start], palette),
        changed=[_changed(page, pages[start], palette) for page in pages],
        alts=[alt for _, alt in drawn],
        start=start,
    )


def _changed(page: NDArray[np.int_], first: NDArray[np.int_], palette: NDArray[np.uint8]) -> str:
    """What differs from the first page; nothing for the same page."""
    if (page == first).all():
        return ""
    return data_uri(_image(np.where(page == first, -1, page), palette))


def _image(page: NDArray[np.int_], palette: NDArray[np.uint8]) -> Image.Image:
    """The colours of the palette; -1 is transparent."""
    colours = np.concatenate(
        [palette[page], np.where(page < 0, 0, 255).astype(np.uint8)[..., None]], axis=-1
    )
    return Image.fromarray(colours, "RGBA")
