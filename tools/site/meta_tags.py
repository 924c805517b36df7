"""What a page says of itself to search engines, and to whoever is sent a link to it."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

from docutils import nodes

from tools.notebooks.notebook_normal_form import repository

DESCRIPTION = (
    "Build the Transformer of Attention Is All You Need in PyTorch, one question at a time, and "
    "see at each step what goes wrong without it. Nineteen lessons, on a laptop, without a GPU."
)
PREVIEW = "_static/preview.png"  # made by tools/site/preview.py
PREVIEW_SIZE = (1200, 630)
PREVIEW_SHOWS = "Lines from each word of an English translation to the German words it attends to"
LONGEST = 200  # characters of a description


def site_address() -> str:
    """Where the code host publishes the site, such as "https://owner.github.io/name/"; "" if it is
    another host, which may publish it anywhere.
    """
    home = urlsplit(repository())
    if home.netloc != "github.com":
        return ""
    owner, name = home.path.strip("/").split("/")
    return f"https://{owner.lower()}.github.io/{name}/"


def meta_tags(page: str, title: str, description: str) -> str:
    """The tags of one page.

    Args:
        page: its file in the site.
        title: of the page.
        description: one or two sentences.
    """
    address = site_address()
    image = f"{address}{PREVIEW}" if address else "../" * page.count("/") + PREVIEW
    properties = {
        "og:type": "website",
        "og:title": title,
        "og:description": description,
        "og:url": address and address + page.removesuffix("index.html"),
        "og:image": image,
        "og:image:width": str(PREVIEW_SIZE[0]),
        "og:image:height": str(PREVIEW_SIZE[1]),
        "og:image:alt": PREVIEW_SHOWS,
    }
    names = {"description": description, "twitter:card": "summary_large_image"}
    tags = [f'<meta name="{name}" content="{html.escape(text)}">' for name, text in names.items()]
    tags += [
        f'<meta property="{name}" content="{html.escape(text)}">'
        for name, text in properties.items()
        if text
    ]
    return "\n".join(tags)


def described(document: nodes.document | None) -> str:
    """The first words of a page as its description; the site's, where it has none."""
    for paragraph in document.findall(nodes.paragraph) if document else ():
        words = " ".join(paragraph.astext().split())
        if len(words) > 40:
            return shortened(words)
    return DESCRIPTION


def shortened(words: str) -> str:
    """Whole sentences or, of a long one, whole words."""
    if len(words) <= LONGEST:
        return words
    ends = [found.end() for found in re.finditer(r"[.!?](?= )", words) if found.end() <= LONGEST]
    return words[: ends[-1]] if ends else f"{words[:LONGEST].rpartition(' ')[0]} …"
