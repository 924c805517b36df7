"""A drawing as a notebook stores it: pictures that scripts, where they run, make part of the page.

A notebook's page takes out ``<svg>`` and ``<style>`` where it does not trust them, and leaves
``<img>``. So a panel is stored as an image, which follows the theme of the page, and a script
puts the same bytes there as inline SVG: for forced colours, for text that can be selected, and for
the controls of a film. Where nothing runs, there is no control that does nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course_lib.errors import CourseError
from course_lib.viz.drawings.colours import (
    COLOURS,
    HATCHING,
    forced_variables,
    short,
    stylesheet,
    theme,
    variables,
)
from course_lib.viz.drawings.marks import element, label
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.live_html import live_fragment, page

TEXT = 696  # the width of a line of text
HALF = TEXT / 2  # of a panel that touches the other one
WIDTH = 340  # of a panel, drawn 1:1: two fill a line of text, three a page, one a phone
_SAFE = " =:/;,.()@+-*<>{}!|?'"  # need no escape in an address


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture with one idea, which its title says.

    Args:
        title: its heading, a few words.
        description: what is to be seen, with its numbers, for who does not see it.
        body: SVG, from ``marks``; the title is written above them.
        height, width: in pixels.
        note: a line in small letters below the title.
        narrow: of a panel that fills the line: the same for a phone.
    """

    title: str
    description: str
    body: str
    height: float
    width: float = WIDTH
    note: str = ""
    narrow: Panel | None = None

    def svg(self, style: str = "") -> str:
        """The picture, with its title and description for screen readers."""
        heading = label((0, 10), self.title, cls="bold", anchor="start")
        if self.note:
            heading += label((0, 30), self.note, cls="aside", anchor="start")
        body = heading + self.body
        # Inline pictures share a page: ids come from the content, and are the same in each run.
        name = "d" + sha256((self.title + body).encode()).hexdigest()[:8]
        if HATCHING in body:
            hatch = element(
                "pattern",
                element("path", d="M0 0V6", cls="hatch"),
                id=f"{name}h",
                width=6,
                height=6,
                patternUnits="userSpaceOnUse",
                patternTransform="rotate(45)",
            )
            body = hatch + body.replace(HATCHING, f"url(#{name}h)")
        words = element("title", escape(self.title), id=f"{name}t")
        words += element("desc", escape(self.description), id=f"{name}d")
        return element(
            "svg",
            style + words + body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=f"{self.width:g}",
            height=f"{self.height:g}",
            cls="dw",
            role="img",
            aria_labelledby=f"{name}t",
            aria_describedby=f"{name}d",
        )

    def image(self) -> str:
        """The same picture as an ``<img>``, which needs nothing from its page."""
        if self.narrow:
            address = self._address().replace(" ", "%20")  # a blank would end it in this list
            wide = (
                f'<source media="(min-width: 740px)" srcset="{address}" '
                f'width="{self.width:g}" height="{self.height:g}">'
            )
            return element("picture", wide + self.narrow.image())
        return (
            f'<img class="dw-still" alt="{escape(self.alt)}" width="{self.width:g}" '
            f'height="{self.height:g}" src="{self._address()}">'
        )

    def _address(self) -> str:
        """All of the picture, with its style, as an address."""
        used = [name for name in COLOURS if f"--{name})" in self.body]
        used += [name for name in ("ink", "soft", "hair", "wrong") if name not in used]
        style = ":root{color-scheme:light dark}" + variables(used)
        style += _needed(short(stylesheet("picture")), self.svg())
        # Inside an address a double quote takes three letters.
        source = quote(self.svg(element("style", style)).replace('"', "'"), safe=_SAFE)
        return f"data:image/svg+xml,{source}"

    @property
    def alt(self) -> str:
        """Title and description."""
        return f"{self.title}. {self.description}"


class Drawing:
    """Panels that stand side by side where there is room, and below each other on a phone.

    Args:
        panels: from left to right.
        caption: one sentence that a person would say.
        wide: three panels may stand in a row, in place of two.
        joined: panels touch each other where they stand side by side; each is ``HALF`` wide.
    """

    def __init__(
        self, *panels: Panel, caption: str = "", wide: bool = False, joined: bool = False
    ) -> None:
        if not panels:
            raise CourseError("a drawing needs at least one panel, got none")
        self.panels, self.caption, self.wide, self.joined = panels, caption, wide, joined

    def __repr__(self) -> str:
        return "\n".join([*(panel.alt for panel in self.panels), *filter(None, [self.caption])])

    def to_html(self) -> str:
        """What a notebook stores; a page may show it as well."""
        cls = "dw-row joined" if self.joined else "dw-row"
        images = "".join(panel.image() for panel in self.panels)
        scrolls = 0 if self.wide and len(self.panels) == 1 else None  # on a phone, by keyboard too
        return self._fragment(element("div", images, cls=cls, tabindex=scrolls))

    def save_html(self, path: str | Path, title: str = "") -> None:
        """Write the drawing to one file that needs neither a network nor a second file."""
        Path(path).write_text(page(self.to_html(), title=title or self.panels[0].title), "utf-8")

    def _fragment(self, content: str, kind: str = "", **attributes: Any) -> str:
        caption = element("figcaption", escape(self.caption)) if self.caption else ""
        classes = " ".join(filter(None, ["dw dw-figure", kind, "wide" if self.wide else ""]))
        figure = element("figure", content + caption, cls=classes, **attributes)
        style = variables() + forced_variables()
        style += short(stylesheet("picture") + theme() + stylesheet("page"))
        return live_fragment(element("style", style) + figure, {"module": bundle("drawings")})

    def _film(
        self, content: str, kind: str, *, start: int, seconds: float, name: str, **attributes: Any
    ) -> str:
        """What the script gives a slider: ``content`` is what it moves."""
        return self._fragment(
            element("div", content, cls="dw-row dw-frames", tabindex=0 if self.wide else None),
            kind,
            data_start=start,
            data_milliseconds=round(1000 * seconds),
            data_name=name,
            **attributes,
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/html": self.to_html(), "text/plain": repr(self)}


@dataclass(frozen=True)
class Frame:
    """One state of a film: its panels, and the sentence that says what is to be seen."""

    panels: Sequence[Panel]
    says: str


class Film(Drawing):
    """Frames under one slider with a button *Play*.

    Where no script runs, and in print, all frames stand below each other with their sentences.

    Args:
        frames: in order; at least two.
        start: the frame that is shown first: the most telling one.
        seconds: that a frame is shown while the film plays.
        name: what the slider chooses, such as "step", for screen readers.
        caption: as in ``Drawing``.
        wide: as in ``Drawing``.
        together: show all frames where there is room, the one that is chosen in full colour.
    """

    def __init__(
        self,
        frames: Sequence[Frame],
        *,
        start: int = 0,
        seconds: float = 1.2,
        name: str = "step",
        caption: str = "",
        wide: bool = False,
        together: bool = False,
    ) -> None:
        if len(frames) < 2:
            raise CourseError(f"a film needs at least two frames, got {len(frames)}: use a Drawing")
        super().__init__(
            *(panel for frame in frames for panel in frame.panels), caption=caption, wide=wide
        )
        self.frames, self.start, self.seconds = tuple(frames), start % len(frames), seconds
        self.name, self.together = name, together

    def __repr__(self) -> str:
        lines = [f"Film, {len(self.frames)} frames."]
        for frame in self.frames:
            lines += [frame.says, *(f"  {panel.alt}" for panel in frame.panels)]
        return "\n".join([*lines, *filter(None, [self.caption])])

    def to_html(self) -> str:
        """What a notebook stores; a page may show it as well."""
        frames = "".join(
            element(
                "div",
                element("div", "".join(panel.image() for panel in frame.panels), cls="dw-row")
                + element("p", escape(frame.says)),
                cls="dw-frame",
            )
            for frame in self.frames
        )
        return self._film(
            frames,
            "dw-film together" if self.together else "dw-film",
            start=self.start,
            seconds=self.seconds,
            name=self.name,
        )


class Buildup(Drawing):
    """Panels that build up under one slider with a button *Play*, stored once for all states.

    A graphic with ``data_from=i`` is there from state i on, one with ``data_to=i`` until state i. A
    long film of this kind costs what its last state costs. Where no script runs, the last state is
    shown: give class "off" to what is not part of it.

    Args:
        panels: in their last state.
        says: for each state, what is to be seen; at least two.
        seconds: that a state is shown while it plays.
        name: what the slider chooses, for screen readers.
        start: the state that is shown first where scripts run; by default the last.
        caption, wide: as in ``Drawing``.
    """

    def __init__(
        self,
        *panels: Panel,
        says: Sequence[str],
        seconds: float = 0.7,
        name: str = "step",
        start: int = -1,
        caption: str = "",
        wide: bool = False,
    ) -> None:
        if len(says) < 2:
            raise CourseError(f"what builds up has at least two states, got {len(says)}")
        super().__init__(*panels, caption=caption, wide=wide)
        self.says, self.seconds, self.name = tuple(says), seconds, name
        self.start = start % len(says)

    def __repr__(self) -> str:
        return "\n".join(
            [f"{len(self.says)} states; the last: {self.says[-1]}", super().__repr__()]
        )

    def to_html(self) -> str:
        """What a notebook stores; a page may show it as well."""
        row = "".join(panel.image() for panel in self.panels)
        return self._film(
            row,
            "dw-film",
            start=self.start,
            seconds=self.seconds,
            name=self.name,
            data_says=json.dumps(self.says, ensure_ascii=False),
        )


def _needed(style: str, svg: str) -> str:
    """CSS without the rules for classes that a picture does not use."""
    used = set(" ".join(re.findall(r'class="([^"]*)"', svg)).split())
    return re.sub(
        r"\.dw((?: ?\.\w+)+)\{[^}]*\}",
        lambda rule: rule[0] if used.issuperset(re.findall(r"\w+", rule[1])) else "",
        style,
    )
