"""What the site's search knows: each section of each page, and how much it counts.

The script that searches is `assets/search/search.js`; `python -m tools.bundles` joins it and the
libraries that it uses.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

# How much a page counts, and what it is; the first that its name begins with.
KINDS = (
    ("docs/questions", "question", 2.0),
    ("notebooks/", "lesson", 1.5),
    ("docs/glossary", "glossary", 1.2),
    ("exercises/", "exercise", 0.6),
    ("api/", "library", 0.3),
    ("docs/evidence", "measured", 0.1),
    ("CONTRIBUTING", "contribute", 0.1),
    ("CHANGELOG", "contribute", 0.1),
    ("docs/maintaining", "contribute", 0.1),
    ("", "page", 1.0),
)
Entry = dict[str, str | float]
MOST = 4000  # letters of a section
UNREAD = re.compile(r"<(script|style|svg|math|button|select)\b.*?</\1>|<[^>]*>", re.DOTALL)
ASKED = "Also asked: "  # how a paragraph of docs/questions.md begins that has other wordings
ANCHOR = re.compile(r'<a id="([^"]+)">')


def write_search_sections(app: Sphinx, output: Path) -> None:
    """Write the sections as a script, which a page on a disk may load, too."""
    sections = [
        {"id": number, **section}
        for number, section in enumerate(
            section
            for page in sorted(app.env.found_docs - {"index"})
            for section in _sections(page, app.env.get_doctree(page))
        )
    ]
    text = json.dumps(sections, ensure_ascii=False, separators=(",", ":"))
    (output / "_static" / "search_sections.js").write_text(f"searchSections={text}", "utf-8")


def _sections(page: str, tree: nodes.document) -> Iterator[Entry]:
    kind, weight = next((kind, weight) for start, kind, weight in KINDS if page.startswith(start))
    for section in tree.findall(nodes.section):
        above = [section]
        while isinstance(above[-1].parent, nodes.section):
            above.append(above[-1].parent)
        names = [each[0].astext() for each in reversed(above)]
        paragraphs = list(_paragraphs(section))
        asked = [text.removeprefix(ASKED) for text in paragraphs if text.startswith(ASKED)]
        common: Entry = {"kind": kind, "weight": weight, "page": " › ".join(names[:-1])}
        terms = [*filter(None, map(_term, section.children))]
        if kind == "glossary" and terms:  # each is found by itself
            for term, anchor, text in terms:
                url = f"{page}.html#{anchor}"
                yield {"heading": term, "asked": "", "text": text, "url": url, **common}
            continue
        text = " ".join(text for text in paragraphs if not text.startswith(ASKED))
        yield {
            "heading": names[-1],
            "asked": " ".join(asked),
            "text": re.sub(r"\s+", " ", text).strip()[:MOST],
            "url": f"{page}.html#{section['ids'][0]}",
            **common,
        }


def _term(node: nodes.Node) -> tuple[str, str, str] | None:
    """A term of the glossary: it begins with an anchor and stands in bold."""
    if not isinstance(node, nodes.paragraph):
        return None
    anchors = filter(None, (ANCHOR.search(raw.astext()) for raw in node.findall(nodes.raw)))
    anchor, term = next(anchors, None), next(iter(node.findall(nodes.strong)), None)
    if anchor is None or term is None:
        return None
    return term.astext(), anchor[1], ANCHOR.sub("", node.astext()).replace("</a>", "")


def _paragraphs(section: nodes.section) -> Iterator[str]:
    """What stands in a section, without its heading and the sections below it."""
    for child in section.children[1:]:
        if isinstance(child, nodes.raw):
            yield html.unescape(UNREAD.sub(" ", child.astext()))
        elif not isinstance(child, nodes.section):
            yield child.astext()
