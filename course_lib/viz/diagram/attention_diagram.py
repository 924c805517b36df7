"""The paper's Figure 2, drawn anew: one head of attention, and several heads side by side."""

from __future__ import annotations

import html
from dataclasses import KW_ONLY, dataclass

from course_lib.viz.figure_html import figure_html

WIDTH, HEIGHT, BOX = 780, 470, 34
FONT = "DejaVu Sans, Verdana, Helvetica, sans-serif"
INK, SOFT, LINE = "#222222", "#555555", "#666666"
# A colour for each question; a dark page turns the lightness of the picture round.
COLOURS = {"Q4a": "#cfe3f5", "Q4b": "#fbdcc0", "Q4d": "#cdebdd", "06": "#ffffff"}
LINKS = {
    "Q4a": "#Q4a.-What-are-query,-key-and-value?",
    "Q4b": "#Q4b.-Why-divide-by-the-square-root-of-d_head?",
    "Q4d": "#Q4d.-Why-several-heads?",
    "06": "06_masks.ipynb",
}
ALT = (
    "Left, one head: query times key, divided by √d_head, masked if there is a mask, softmax, then "
    "the mean of the values by these weights. Right: three linear layers, H heads (8 in the "
    "paper), merge, one more linear layer."
)


@dataclass(frozen=True)
class Part:
    """A box: its centre, its width, what it says, and the question or lesson that builds it."""

    x: int
    y: int
    _: KW_ONLY
    width: int
    text: str
    built_in: str


PARTS = (
    Part(130, 345, width=200, text="query · key", built_in="Q4a"),
    Part(130, 285, width=200, text="÷ √d_head", built_in="Q4b"),
    Part(130, 235, width=200, text="mask (optional)", built_in="06"),
    Part(130, 185, width=200, text="softmax", built_in="Q4a"),
    Part(190, 115, width=320, text="weights · values", built_in="Q4a"),
    Part(475, 375, width=104, text="q_proj", built_in="Q4a"),
    Part(590, 375, width=104, text="k_proj", built_in="Q4a"),
    Part(705, 375, width=104, text="v_proj", built_in="Q4a"),
    Part(590, 310, width=334, text="split into H heads", built_in="Q4d"),
    Part(590, 230, width=310, text="attention (left), H times", built_in="Q4a"),
    Part(590, 155, width=334, text="merge the heads", built_in="Q4d"),
    Part(590, 105, width=334, text="out_proj", built_in="Q4d"),
)
COPIES = 9  # which part is drawn as a stack
ARROWS = (  # each a line of points from the bottom up
    ((80, 415), (80, 364)),
    ((180, 415), (180, 364)),
    ((130, 328), (130, 304)),
    ((130, 268), (130, 254)),
    ((130, 218), (130, 204)),
    ((130, 168), (130, 134)),
    ((310, 415), (310, 134)),
    ((190, 98), (190, 70)),
    ((590, 430), (590, 394)),
    ((590, 412), (475, 412), (475, 394)),
    ((590, 412), (705, 412), (705, 394)),
    ((475, 358), (475, 329)),
    ((590, 358), (590, 329)),
    ((705, 358), (705, 329)),
    ((475, 293), (475, 249)),
    ((590, 293), (590, 249)),
    ((705, 293), (705, 249)),
    ((590, 203), (590, 174)),
    ((590, 138), (590, 124)),
    ((590, 88), (590, 70)),
)
LABELS = (  # x, y, text, bold
    (20, 28, "One head", True),
    (420, 28, "Several heads: multi-head attention", True),
    (80, 432, "query", False),
    (180, 432, "key", False),
    (310, 432, "value", False),
    (190, 58, "context", False),
    (590, 450, "x", False),
    (590, 58, "output", False),
)
SHAPES = (
    (80, 450, "(Q, E)", "middle"),
    (180, 450, "(K, E)", "middle"),
    (310, 450, "(K, E)", "middle"),
    (138, 316, "scores (Q, K)", "start"),
    (138, 152, "weights (Q, K)", "start"),
    (226, 58, "(Q, E)", "start"),
    (602, 450, "(B, S, D)", "start"),
    (483, 275, "(B, H, S, E)", "start"),
    (598, 194, "(B, H, S, E)", "start"),
    (622, 58, "(B, S, D)", "start"),
)


class AttentionDiagram:
    """The drawing, for a notebook. Made by `attention_diagram`."""

    def to_svg(self) -> str:
        """One picture without scripts and links, on white."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="{FONT}">'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{LINE}"/></marker>'
            f'</defs><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
            + "".join(map(_arrow, ARROWS))
            + "".join(_box(part, stack=i == COPIES) for i, part in enumerate(PARTS))
            + "".join(
                _text(x, y, text, anchor="start" if bold else "middle", bold=bold)
                for x, y, text, bold in LABELS
            )
            + "".join(_text(x, y, t, anchor=a, size=12, colour=SOFT) for x, y, t, a in SHAPES)
            + "</svg>"
        )

    def to_html(self) -> str:
        """The picture, the same in words, and a link for each question that builds a part."""
        return figure_html(self.to_svg().encode(), ALT, after=f"<p>{_legend()}</p>")

    def __repr__(self) -> str:
        return ALT

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": ALT}


def attention_diagram() -> AttentionDiagram:
    """The paper's Figure 2 as our own drawing, with shapes and the questions of lesson 04."""
    return AttentionDiagram()


def _legend() -> str:
    """Which parts each question builds, as links within lesson 04 and to lesson 06."""
    items = []
    for name, link in LINKS.items():
        parts = ", ".join(dict.fromkeys(part.text for part in PARTS if part.built_in == name))
        title = f"lesson {name}" if name.isdigit() else name
        # JupyterLab underlines no links in outputs, and their colour alone is too faint a sign.
        there = f'<a href="{html.escape(link)}" style="text-decoration: underline">{title}</a>'
        items.append(f"{there}: {html.escape(parts)}")
    return "Where each part is built: " + "; ".join(items) + "."


def _box(part: Part, *, stack: bool) -> str:
    left, top = part.x - part.width // 2, part.y - BOX // 2
    dashed = ' stroke-dasharray="5 4"' if part.built_in == "06" else ""
    shape = (
        f'width="{part.width}" height="{BOX}" rx="6" fill="{COLOURS[part.built_in]}" '
        f'stroke="{LINE}"{dashed}/>'
    )
    shadows = [f'<rect x="{left + d}" y="{top - d}" {shape}' for d in (10, 5) if stack]
    tag = f"lesson {part.built_in}" if part.built_in.isdigit() else part.built_in
    return (
        "".join(shadows)
        + f'<rect x="{left}" y="{top}" {shape}'
        + _text(left + 12, part.y + 5, part.text, anchor="start")
        + _text(left + part.width - 10, part.y + 5, tag, anchor="end", size=11, colour=SOFT)
    )


def _arrow(points: tuple[tuple[int, int], ...]) -> str:
    line = " ".join(f"{x},{y}" for x, y in points)
    return (
        f'<polyline points="{line}" fill="none" stroke="{LINE}" stroke-width="1.4" '
        'marker-end="url(#tip)"/>'
    )


def _text(
    x: int,
    y: int,
    text: str,
    *,
    anchor: str,
    size: int = 14,
    colour: str = INK,
    bold: bool = False,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{html.escape(text)}</text>"
    )
