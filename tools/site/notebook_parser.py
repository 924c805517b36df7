"""What Sphinx reads a notebook with: headings become sections, cells stay as they are shown.

`course_lib.pages` shows the cells, so that a lesson on the site and a lesson of ``course pages``
are the same.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from docutils import nodes
from sphinx import addnodes
from sphinx.parsers import Parser

from course_lib.pages import FOLDED, render
from tools.notebooks.notebook_normal_form import repository
from tools.site import ROOT
from tools.site.lesson_map import flowchart_svg

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# Text without the frames around a cell, so that it looks like the text of any other page.
TEMPLATE = (
    """{% extends 'lab/base.html.j2' %}
{% block markdowncell scoped %}{{ cell.source | markdown2html | strip_files_prefix }}{% endblock %}
{% block any_cell scoped %}<!--cell-->{{ super() }}{% endblock %}"""
    + FOLDED
)
HEADING = re.compile(r'<h([1-6]) id="([^"]*)">(.*?)(?:<a class="anchor-link".*?</a>)?</h\1>', re.S)
ANCHOR = re.compile(r'<a id="([^"]+)">')


class NotebookParser(Parser):
    """Makes a document of a notebook."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Fill the document; the text itself is not read, nbconvert reads the file."""
        env = document.settings.env
        path = Path(env.doc2path(env.docname))
        page = render(path, TEMPLATE, target=partial(page_address, env=env, docname=env.docname))
        open_sections: list[tuple[int, nodes.Element]] = [(0, document)]  # by level
        slugs = {}
        for heading, body in parts_of(page):
            if heading:
                level, anchor, title = int(heading[1]), html.unescape(heading[2]), heading[3]
                while open_sections[-1][0] >= level:
                    open_sections.pop()
                section = nodes.section("", nodes.title("", "", *inline_nodes(title)), ids=[anchor])
                open_sections[-1][1].append(section)
                open_sections.append((level, section))
                slugs[unquote(anchor)] = (0, anchor, section[0].astext())
            if body.strip():
                open_sections[-1][1].append(nodes.raw("", body, format="html"))
        env.metadata[env.docname]["myst_slugs"] = slugs  # other pages link to these


def parts_of(page: str) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Headings and what is below each; a heading in a folded part is a part of it."""
    for cell in page.split("<!--cell-->"):
        heading, start = None, 0
        for found in HEADING.finditer(cell):
            before = cell[: found.start()]
            if before.count("<details") > before.count("</details>"):
                continue
            if heading or before.strip():
                yield heading, cell[start : found.start()]
            heading, start = found, found.end()
        yield heading, cell[start:]


def inline_nodes(title: str) -> Iterator[nodes.Node]:
    """A heading's words and code."""
    for number, part in enumerate(re.split(r"</?code>", title)):
        text = html.unescape(re.sub("<[^>]*>", "", part))
        if text:
            yield nodes.literal("", text) if number % 2 else nodes.Text(text)


def page_address(href: str, *, env: BuildEnvironment, docname: str) -> str:
    """Where a link in a page leads: to another page of the site, or to the repository."""
    path, hash_, anchor = href.partition("#")
    if not path or re.match(r"[a-z]+:|/", path):
        return href
    folder = posixpath.dirname(docname)
    if path.endswith(".html"):  # as scripts of a figure name other lessons
        path = f"{posixpath.splitext(path)[0]}.ipynb"
    file = posixpath.normpath(posixpath.join(folder, path))
    page = posixpath.splitext(file)[0]
    if page in env.found_docs:
        return f"{posixpath.relpath(page, folder)}.html{hash_}{anchor}"
    if not (ROOT / file).exists():
        return href  # which the check of all links reports
    return f"{repository()}/blob/main/{file}{hash_}{anchor}"


def finish(app: Sphinx, document: nodes.document) -> None:
    """Links to files that are no pages lead to the repository, and HTML anchors are found.

    Sphinx would copy the files, and knows no anchors but headings. The map is
    drawn, and images of other servers become words.
    """
    env = app.env
    anchors = {
        anchor for node in document.findall(nodes.raw) for anchor in ANCHOR.findall(node.astext())
    }
    slugs = env.metadata[env.docname].setdefault("myst_slugs", {})
    slugs.update((anchor, (0, anchor, "")) for anchor in anchors - slugs.keys())
    links = [*document.findall(addnodes.download_reference)]
    links += [node for node in document.findall(addnodes.pending_xref) if not node["refdomain"]]
    for node in links:
        target = node["reftarget"]
        if target in anchors:
            goal = {"refid": target}
        else:
            goal = {"refuri": page_address(target, env=env, docname=env.docname)}
        node.replace_self(nodes.reference("", "", *node.children, **goal))
    for image in [*document.findall(nodes.image)]:
        if image["uri"].startswith("http"):  # a badge: its server would learn who reads the page
            image.replace_self(nodes.Text(image["alt"]))
    for block in [*document.findall(nodes.literal_block)]:
        if block.get("language") == "mermaid":
            picture = flowchart_svg(block.astext(), partial(_lesson, env=env))
            block.replace_self(nodes.raw("", picture, format="html"))


def _lesson(label: str, *, env: BuildEnvironment) -> str:
    """Where a box of the map, such as "06 masks", leads: only docs/map.md has such boxes."""
    [file] = (ROOT / "notebooks").glob(f"{label[:2]}_*.ipynb")
    return page_address(f"../notebooks/{file.name}", env=env, docname=env.docname)
