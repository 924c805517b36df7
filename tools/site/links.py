"""Links of a built site that lead nowhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


def broken_links(folder: Path) -> list[str]:
    """Each link from a page to a file or an anchor that is not there, as a line of text.

    Links to other hosts are not followed.
    """
    pages = {path: _read(path) for path in sorted(folder.rglob("*.html"))}
    broken = []
    for page, found in pages.items():
        for link in found.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            anchors = {address.fragment, unquote(address.fragment)}  # a browser tries both
            if not target.is_file():
                broken.append(f"{page.relative_to(folder)}: there is no {link}")
            elif address.fragment and target in pages and not anchors & pages[target].ids:
                broken.append(f"{page.relative_to(folder)}: there is no anchor {link}")
    return broken


class _Page(HTMLParser):
    """The ids of a page, and what it links to or loads, each once."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: dict[str, None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and value != "#":
                self.links[value] = None


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.resolve().read_text("utf-8"))
    return page
