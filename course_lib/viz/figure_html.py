"""A picture as HTML: with its alt text, the same words as a caption, and legible on a dark page.

JupyterLab shows an ``image/png`` output without the alt text that is stored beside it, so plots are
stored as ``text/html``. An SVG follows the theme of its page. Of other pictures, a dark page turns
the lightness round, which keeps their hues; where styles are taken out, as on GitHub, they stay
white.
"""

from __future__ import annotations

import base64
import html
from io import BytesIO
from urllib.parse import quote

from PIL import Image

from course_lib.wording import well_formed

# JupyterLab and pages exported from it, Colab, VS Code
DARK = ":is([data-jp-theme-light=false],html[theme=dark],.vscode-dark)"
LIGHT = ":is([data-jp-theme-light=true],html[theme=light],.vscode-light)"
_SAFE = " =:/;,.()@+-*<>{}!|?'"  # need no escape in an address
STYLE = (
    ".course-figure{margin:.5em 0}"
    ".course-figure img{display:block;max-width:100%;height:auto}"
    ".course-figure figcaption{max-width:55em;margin:.3em 0;line-height:1.4}"
    # Turned round, white is a little darker than any page, which "lighten" shows in its place.
    f"{DARK} .course-figure img:not(.plot){{filter:invert(.93) hue-rotate(180deg)}}"
    f"{DARK} :is(.course-stack,.course-figure>img:not(.plot)){{mix-blend-mode:lighten}}"
    f"{DARK} img.plot{{color-scheme:dark}}"
    f"{LIGHT} img.plot{{color-scheme:light}}"
    # On a phone, letters of 12 pixels; what is wider scrolls.
    "@media(max-width:46em){.course-figure:has(>img.plot){overflow-x:auto}"
    ".course-figure img.plot{max-width:none;zoom:.86}}"
    ".course-stack{position:relative}"
    ".course-stack img+img{position:absolute;inset:0;background:none}"
    ".course-controls{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(15em,100%),1fr));"
    "gap:.2em 1.5em;max-width:52em;margin:.3em 0;align-items:center;min-height:2.2em}"
    ".course-controls label{display:flex;gap:.5em;align-items:center}"
    ".course-controls input[type=range]{flex:1;min-width:6em;max-width:16em}"
    ".course-controls output{min-width:4em}"
)


def picture_tag(picture: str | bytes | Image.Image, alt: str) -> str:
    """An ``<img>`` with its picture inside: a plot's SVG as text, or another picture."""
    if isinstance(picture, str):
        address = f"data:image/svg+xml,{quote(picture, safe=_SAFE)}"
        return f'<img class="plot" alt="{html.escape(well_formed(alt))}" src="{address}">'
    return f'<img alt="{html.escape(well_formed(alt))}" src="{data_uri(picture)}">'


def data_uri(picture: bytes | Image.Image) -> str:
    """A picture, or the bytes of its file, as an address: an SVG as it is, others as WebP without
    loss, which takes a fifth less room than PNG.
    """
    if isinstance(picture, bytes) and picture.startswith(b"<svg"):
        return "data:image/svg+xml;base64," + base64.b64encode(picture).decode("ascii")
    image = Image.open(BytesIO(picture)) if isinstance(picture, bytes) else picture
    buffer = BytesIO()
    image.save(buffer, format="webp", lossless=True, quality=75, method=6)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def figure_html(
    picture: str | bytes | Image.Image, alt: str, *, after: str = "", name: str = ""
) -> str:
    """A picture and its caption.

    Args:
        picture: the picture, the bytes of its file, or the text of a plot's SVG.
        alt: what it shows, in words.
        after: HTML below the caption.
        name: of the figure, by which a script finds it.
    """
    words = html.escape(well_formed(alt))
    named = f' data-figure="{name}"' if name else ""
    # Hidden from screen readers, which have read the same words as the alt text.
    return (
        f'<style>{STYLE}</style><figure class="course-figure"{named}>'
        f"{picture_tag(picture, alt)}"
        f'<figcaption aria-hidden="true">{words}</figcaption>{after}</figure>'
    )
