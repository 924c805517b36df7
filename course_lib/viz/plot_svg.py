"""A plot as SVG that takes the colours of its page's theme, with the same bytes in each run.

matplotlib writes the colours of light pages. Here each becomes a variable, with one value for light
pages and one for dark ones; and a heat map becomes a few paths of one colour, whose opacity is the
value, so that zero is the page in both.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from io import StringIO
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from course_lib.viz.drawings.colours import COLOURS, themed, variables
from course_lib.viz.plot_cells import cells_as_marks, upright
from course_lib.viz.style import figure_of, styled

PIXELS = 100 / 72  # of a page, for one point: a plot is as large as its PNG at 100 dots per inch
FONT = "system-ui,-apple-system,'Segoe UI',sans-serif"  # as in drawings; none is wider than DejaVu
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "course",
    "path.simplify": False,
    "image.composite_image": False,  # each heat map is drawn by itself
}
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_NAMESPACE = re.compile(r"\{.*\}")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
# As CSS does: filter: invert(.93) hue-rotate(180deg)
_HUE_ROTATION = np.array([[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]])
# Groups that are empty, and what a picture says to programs.
_DROPPED = ("metadata", "title", "style")


@styled
def to_svg(picture: Axes | Figure) -> str:
    """The picture as SVG; equal pictures give equal text."""
    figure, buffer = figure_of(picture), StringIO()
    for line in figure.findobj(Line2D):  # the same points on every machine, however it rounds
        line.get_path().should_simplify = False
    with rc_context(_SETTINGS), cells_as_marks(figure), upright(figure):
        figure.savefig(buffer, format="svg", metadata=_METADATA)
    root = ElementTree.fromstring(buffer.getvalue())
    width, height = (float(side) for side in root.attrib["viewBox"].split()[2:])
    styles = Counter(_style(element) for element in root.iter())
    shared = [style for style, count in styles.items() if style and count > 1]
    classes = {style: f"s{number}" for number, style in enumerate(shared)}
    content = "".join(_written(child, classes) for child in root)
    rules = "".join(f".{name}{{{style}}}" for style, name in classes.items())
    content, rules, table = _in_variables(content, rules)
    # An image has its page's theme where both are declared.
    style = (
        f":root{{color-scheme:light dark}}{table}svg{{fill:var(--ink)}}text{{font-family:{FONT}}}"
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='dw' width='{width * PIXELS:.0f}' "
        f"height='{height * PIXELS:.0f}' viewBox='0 0 {width:g} {height:g}'>"
        f"<style>{style}{rules}</style>{content}</svg>"
    )


def dark_of(colour: str) -> str:
    """What a colour without a meaning is on a dark page: its lightness is turned round."""
    rgb = np.array(list(bytes.fromhex(colour[1:]))) / 255
    turned = _HUE_ROTATION @ (rgb * (1 - 2 * 0.93) + 0.93)
    return "#" + bytes(np.rint(turned.clip(0, 1) * 255).astype(np.uint8).tolist()).hex()


@cache
def _names() -> dict[str, str]:
    """The meaning of each colour, by its value on light pages."""
    return {"#000000": "ink"} | {colour.light: name for name, colour in COLOURS.items()}


def _in_variables(content: str, rules: str) -> tuple[str, str, str]:
    """Both with variables for colours, and the CSS that gives these their values."""
    found = dict.fromkeys(["#000000", *_COLOUR.findall(content + rules)])
    meanings = dict.fromkeys(_names()[colour] for colour in found if colour in _names())
    others = [colour for colour in found if colour not in _names()]
    table = variables(list(meanings))
    if others:
        table += themed({colour[1:]: (colour, dark_of(colour)) for colour in others})

    def variable(match: re.Match[str]) -> str:
        return f"var(--{_names().get(match[0], match[0][1:])})"

    return _COLOUR.sub(variable, content), _COLOUR.sub(variable, rules), table


def _style(element: ElementTree.Element) -> str:
    """An element's style, without what all share; always in the same order."""
    pairs = (pair.split(":", 1) for pair in element.get("style", "").split(";") if ":" in pair)
    style = {key.strip(): value.strip() for key, value in pairs}
    if "font" in style:  # by older releases of matplotlib
        words = style.pop("font").partition("px")[0].split()
        style["font-size"] = f"{words[-1]}px"
        style |= {"font-weight": words[0]} if len(words) > 1 else {}
    style.pop("font-family", None)
    return ";".join(f"{key}:{_NUMBER.sub(_rounded, style[key])}" for key in sorted(style))


def _written(element: ElementTree.Element, classes: dict[str, str]) -> str:
    """An element and what is in it, without groups and ids that nothing refers to."""
    tag = _NAMESPACE.sub("", element.tag)
    if tag in _DROPPED:
        return ""
    given = {_NAMESPACE.sub("", name): value for name, value in element.attrib.items()}
    given.pop("style", None)
    if tag == "g":
        given.pop("id", None)
    if tag == "text" and given.get("transform", "").startswith("rotate(-0 "):
        del given["transform"]
    if style := _style(element):
        given |= {"class": classes[style]} if style in classes else {"style": style}
    inside = escape(element.text or "") if tag in ("text", "tspan") else ""
    inside += "".join(_written(child, classes) for child in element)
    if (tag == "g" and not given) or (tag in ("g", "defs") and not inside):
        return inside
    marked = "".join(f" {name}='{_short(name, value)}'" for name, value in given.items())
    return f"<{tag}{marked}>{inside}</{tag}>" if inside else f"<{tag}{marked}/>"


def _short(name: str, value: str) -> str:
    if name == "href":
        return value
    value = escape(" ".join(value.split()), {"'": "&#39;"})
    short = _NUMBER.sub(_rounded, value)
    # In a path, a letter ends a number.
    return re.sub(r" ?([A-Za-z]) ?", r"\1", short) if name == "d" else short


def _rounded(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 2) + 0.0:g}"
