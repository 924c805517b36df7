"""Sphinx's settings, and the build."""

from __future__ import annotations

import html
import io
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from course_lib.pages import CELLS, SCROLLING
from course_lib.viz.cards import card_css
from course_lib.viz.drawings.colours import COLOURS, document_style
from tools.site import ASSETS
from tools.site.front import write_translators
from tools.site.front_parts import lesson_lines
from tools.site.links import broken_links
from tools.site.llms import write_llms
from tools.site.meta_tags import DESCRIPTION, described, meta_tags
from tools.site.notebook_parser import NotebookParser, finish
from tools.site.search_sections import write_search_sections
from tools.site.sources import TITLES, Chapter, write_sources

TITLE = "The Transformer, Question by Question"
# The theme's names for colours, and the course's.
THEME_COLOURS = {
    "color-brand-primary": "german",
    "color-brand-content": "german",
    "color-brand-visited": "similarity",
    "color-foreground-primary": "ink",
    "color-foreground-secondary": "soft",
    "color-foreground-muted": "soft",
    "color-foreground-border": "line",
    "color-background-primary": "page",
    "color-background-secondary": "fill",
    "color-background-border": "hair",
    "color-code-background": "fill",
}
SETTINGS: dict[str, Any] = {
    "project": TITLE,
    "html_title": TITLE,
    "language": "en",
    "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", __name__],
    "html_theme": "furo",
    "html_theme_options": {
        "top_of_page_buttons": [],
        "light_css_variables": {
            "font-stack": "var(--face)",
            "font-stack--monospace": "var(--mono)",
            **{name: COLOURS[colour].light for name, colour in THEME_COLOURS.items()},
        },
        "dark_css_variables": {name: COLOURS[c].dark for name, c in THEME_COLOURS.items()},
    },
    "html_show_copyright": False,
    "html_copy_source": False,
    "templates_path": [str(ASSETS / "templates")],
    "html_static_path": [
        *map(str, [ASSETS / "static", SCROLLING, CELLS]),
        "document.css",
        "cards.css",
    ],
    "html_css_files": ["document.css", "cells.css", "cards.css", "site.css"],
    "html_js_files": ["scrolling.js", "site.js"],
    "default_role": "code",  # single backticks of a docstring
    "myst_heading_anchors": 6,  # links lead to headings as on the code host
    "pygments_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "autodoc_member_order": "bysource",
    "autodoc_typehints_format": "short",
}
COLOUR = re.compile("\x1b\\[[0-9;]*m")  # of a terminal


class SiteError(Exception):
    """What is wrong with the sources."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this, since the module is one of its extensions."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    # Before Sphinx collects the files to copy, which it does at 500.
    app.connect("doctree-read", finish, priority=400)
    app.connect("html-page-context", _give_captions_a_level, priority=900)  # after the theme
    app.connect("html-page-context", _name_neighbours, priority=900)
    app.connect("html-page-context", _describe, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _give_captions_a_level(
    _app: Sphinx, _page: str, _template: str, context: Any, _tree: Any
) -> None:
    """Sphinx's captions of the navigation are headings without a level, which ARIA demands."""
    navigation = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = navigation.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def _name_neighbours(_app: Sphinx, _page: str, _template: str, context: Any, _tree: Any) -> None:
    """The links to the next page and the one before say what the navigation says."""
    for neighbour in filter(None, (context.get("next"), context.get("prev"))):
        page = neighbour["link"].rpartition("/")[2].removesuffix(".html")
        neighbour["title"] = TITLES.get(page, neighbour["title"])


def _describe(_app: Sphinx, page: str, _template: str, context: Any, tree: Any) -> None:
    """What a link to the page shows elsewhere."""
    first = page == "index"
    title = TITLE if first else html.unescape(re.sub("<[^>]*>", "", context.get("title") or TITLE))
    lines = {row.page: row.line for row in lesson_lines()}
    description = DESCRIPTION if first else lines.get(page) or described(tree)
    tags = meta_tags(f"{page}.html", title, description)
    context["metatags"] = f"{context.get('metatags', '')}\n{tags}"


def build(output: Path, wanted: Iterable[Chapter]) -> int:
    """Write the site into a folder and return the number of pages.

    Raises:
        SiteError: Sphinx has warned of something, or a link leads nowhere.
    """
    chapters, warnings = list(wanted), io.StringIO()
    with tempfile.TemporaryDirectory() as temporary, patch_docutils(), docutils_namespace():
        sources, read = Path(temporary, "sources"), Path(temporary, "read")
        sources.mkdir()
        write_sources(sources, chapters)
        # A file, since settings given as arguments may not be those of a theme.
        settings = f"from {__name__} import SETTINGS\nglobals().update(SETTINGS)\n"
        (sources / "conf.py").write_text(settings, "utf-8")
        (sources / "document.css").write_text(document_style(), "utf-8")
        (sources / "cards.css").write_text(card_css(), "utf-8")
        app = Sphinx(
            sources,
            sources,
            output,
            read,
            "html",
            status=None,
            warning=warnings,
            freshenv=True,
            parallel=os.cpu_count() or 1,
        )
        app.build()
        pages = len(app.env.found_docs)
        write_search_sections(app, output)
        write_llms(output, chapters, title=TITLE, env=app.env)
    write_translators(output)
    problems = [COLOUR.sub("", warnings.getvalue()), *broken_links(output)]
    if any(problems):
        raise SiteError("\n".join(filter(None, problems)))
    return pages
