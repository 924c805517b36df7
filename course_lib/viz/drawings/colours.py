"""What a colour means, in drawings and plots, on light pages, dark ones and in forced colours."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ASSETS = Path(__file__).parents[2] / "assets" / "drawings"


class Colour(NamedTuple):
    """One meaning: how it looks on a light page, on a dark one, and in forced colours."""

    light: str
    dark: str
    forced: str


COLOURS = {
    # What carries no meaning of its own.
    "ink": Colour("#1b2130", "#e7eaf0", "CanvasText"),
    "soft": Colour("#5b6474", "#a5afbd", "CanvasText"),
    "line": Colour("#8791a0", "#78828f", "CanvasText"),
    "hair": Colour("#d5dae2", "#3b4451", "GrayText"),
    "fill": Colour("#f3f5f8", "#1f252e", "Canvas"),
    "page": Colour("#ffffff", "#12161d", "Canvas"),
    # The two languages, and their boxes.
    "german": Colour("#1f6bb5", "#79b4f2", "CanvasText"),
    "german-box": Colour("#dfecfa", "#173250", "Canvas"),
    "english": Colour("#b45a00", "#f0a656", "CanvasText"),
    "english-box": Colour("#fdecd8", "#472d11", "Canvas"),
    # The five quantities; what is hidden is hatched.
    "attention": Colour("#33475b", "#b4c6da", "Highlight"),
    "similarity": Colour("#7a3fb0", "#c39bf0", "Highlight"),
    "positive": Colour("#0b736e", "#4fc4bb", "Highlight"),
    "negative": Colour("#85541a", "#dcaa6b", "CanvasText"),
    "leakage": Colour("#66730f", "#bccb4c", "Highlight"),
    # Verdicts, always with a mark or a word.
    "right": Colour("#0a7a52", "#43c592", "CanvasText"),
    "wrong": Colour("#bf2430", "#ff858a", "CanvasText"),
    # The one thing that the text is about.
    "accent": Colour("#a8157d", "#ff8ad8", "Highlight"),
}


def ink(name: str) -> str:
    """The value of an SVG attribute: a colour by its meaning, "none", or the hatching "hidden".

    Raises:
        KeyError: no colour has that name.
    """
    if name == "none":
        return "none"
    if name == "hidden":
        return HATCHING
    if name not in COLOURS:
        raise KeyError(f"expected a colour's name, one of {', '.join(COLOURS)}, got {name!r}")
    return f"var(--{name})"


HATCHING = "url(#hidden)"  # a drawing gives the pattern an id of its own


@cache
def stylesheet(name: str) -> str:
    """``picture``: of what stands inside a drawing; ``page``: of the page around it; ``document``:
    type and widths of a whole page.
    """
    return (ASSETS / f"{name}.css").read_text("utf-8")


def variables(names: Collection[str] = tuple(COLOURS), *, scope: str = ".dw") -> str:
    """CSS that gives these colours their values in all drawings, by the theme of the page.

    Args:
        names: of the colours.
        scope: a selector, of drawings or of something else in the same colours.
    """
    return themed({name: COLOURS[name][:2] for name in names}, scope=scope)


def themed(colours: Mapping[str, tuple[str, str]], *, scope: str = ".dw") -> str:
    """CSS of variables, each with its values on light pages and on dark ones."""
    light = "".join(f"--{name}:{light};" for name, (light, _) in colours.items())
    both = "".join(
        f"--{name}:light-dark({light},{dark});" for name, (light, dark) in colours.items()
    )
    # A browser that does not know light-dark() keeps the light ones.
    return f"{scope}{{{light}}}@supports(color:light-dark(red,red)){{{scope}{{{both}}}}}"


def forced_variables(names: Collection[str] = tuple(COLOURS), *, scope: str = ".dw") -> str:
    """CSS for a system that forces its colours on pages; on images, it does not."""
    forced = "".join(f"--{name}:{COLOURS[name].forced};" for name in names)
    return f"@media(forced-colors:active){{{scope}{{{forced}}}}}"


def theme(scope: str = ".dw") -> str:
    """CSS that follows a page whose theme is not the system's."""
    return "".join(
        f":is([data-jp-theme-light={light}], html[data-theme={name}], html[theme={name}], "
        f".vscode-{name}) {scope} {{ color-scheme: {name}; }}\n"
        for name, light in (("dark", "false"), ("light", "true"))
    )


def short(style: str) -> str:
    """CSS without comments and without the blanks that only its reader needs."""
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    # A blank before a colon may be one between two selectors.
    return re.sub(r"\s*([{};,>])\s*|(:)\s+|\s+", lambda m: m[1] or m[2] or " ", style).strip()


def document_style() -> str:
    """CSS with which a whole page begins: the course's colours, type and widths as variables."""
    dark = "".join(f"--{name}:{colour.dark};" for name, colour in COLOURS.items())
    return (
        variables(scope=":root")
        + "@supports not (color:light-dark(red,red)){@media(prefers-color-scheme:dark)"
        + f"{{:root{{{dark}}}}}}}"
        + forced_variables(scope=":root")
        + f"\n{stylesheet('document')}"
    )
