"""Lessons as HTML pages that need no kernel and no network: what ``course pages`` writes.

nbconvert makes the pages. Its own ask a server for MathJax, which typesets formulas in the browser,
and for require.js, which nothing in a lesson needs. Here, formulas become MathML, which browsers
show themselves. A page has the colours and the type of the course, in place of nbconvert's styles
of 270 kB, and follows the reader's light or dark theme. Cells that only prepare others, folded and
without output, are left out.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from course_lib.arguments import option
from course_lib.atomic import write_atomically
from course_lib.errors import CourseError, repository_files
from course_lib.terminal import say
from course_lib.wording import pip_install
from course_lib.work_copy.folders import NOTEBOOKS, find_notebook

SCROLLING = Path(__file__).parent / "assets" / "widgets" / "scrolling.js"
STYLE = Path(__file__).parent / "assets" / "pages" / "page.css"
CELLS = STYLE.with_name("cells.css")
DARK = "screen and (prefers-color-scheme: dark)"
# Of the set-up cell, a page has the picture only.
FOLDED = """{% block input_group %}{% if cell.id == "set-up" %}
{% elif cell.metadata.get('jupyter', {}).get('source_hidden') %}
<details class="folded"><summary>Code</summary>{{ super() }}</details>
{% else %}{{ super() }}{% endif %}{% endblock %}"""
# Plots and figures with a script look at the theme that the body names.
TEMPLATE = (
    """{% extends 'lab/index.html.j2' %}
{% block html_head_js_requirejs %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block notebook_css %}<meta name="color-scheme" content="light dark">
<style>STYLE</style>{% endblock %}
{% block body_header %}{{ super() }}<script>(() => {
  const dark = matchMedia("DARK"), body = document.body.dataset;
  const follow = () => { body.jpThemeLight = String(!dark.matches); };
  dark.addEventListener("change", follow);
  follow();
})();</script>{% endblock %}
{% block footer_js %}<script>(() => {SCROLLING})();</script>{% endblock %}"""
).replace("DARK", DARK) + FOLDED
# As MathJax finds them: $$…$$ or $…$, where \$ is a dollar, and a single one has no blank inside.
FORMULA = re.compile(
    r"\$\$(?P<block>.+?)\$\$|(?<![\\$])\$(?P<inline>[^\s$](?:[^$]*?[^\s\\$])?)\$(?!\d)", re.DOTALL
)
NO_FORMULAS = {"script", "style", "pre", "code", "textarea", "title"}  # as MathJax skips them


@dataclass(frozen=True, kw_only=True)
class PagesOptions:
    """Which notebooks, and where to put their pages."""

    notebooks: tuple[str, ...] = option(
        "lessons by the start of their names, or paths (default: all lessons)",
        default=(),
        metavar="NOTEBOOK",
        positional=True,
        many="*",
    )
    output: Path = option(
        "where the pages go, one file for each (default: pages)",
        default=Path("pages"),
        metavar="DIR",
    )


def run_pages(options: PagesOptions) -> int:
    """Write notebooks as pages and say where they are."""
    for path in write_pages(options.notebooks, options.output):
        say(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


def write_pages(names: Sequence[str], folder: Path) -> list[Path]:
    """Write notebooks as pages into a folder; links between them lead from page to page.

    Args:
        names: lessons by the start of their names, or paths; none means all lessons.
        folder: is made if it is not there.

    Raises:
        CourseError: no such notebook, two with the same name, it cannot be read or written, or
            nbconvert or latex2mathml is not installed.
    """
    notebooks = [find_notebook(name) for name in names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    if not notebooks:
        find_notebook("00")  # says why there are none
    pages = {notebook.stem: notebook for notebook in notebooks}
    if len(pages) < len(notebooks):
        raise CourseError(
            "each page needs a name of its own, got two notebooks with the same name: write one of "
            "them into another folder"
        )
    written = []
    for stem, notebook in pages.items():
        path = folder / f"{stem}.html"
        write_atomically(path, page_of(notebook, pages.keys()))
        written.append(path)
    return written


def page_of(notebook: Path, pages: Iterable[str] = ()) -> str:
    """A notebook, with the outputs that it stores, as one HTML page.

    Args:
        notebook: its path.
        pages: names, without ending, of notebooks whose pages stand beside this one.

    Raises:
        CourseError: it cannot be read, or nbconvert or latex2mathml is not installed.
    """
    from course_lib.viz.cards import card_css  # loads Matplotlib: only where a page is written
    from course_lib.viz.drawings.colours import document_style

    style = document_style() + CELLS.read_text("utf-8") + STYLE.read_text("utf-8") + card_css()
    template = TEMPLATE.replace("STYLE", style)
    template = template.replace("SCROLLING", SCROLLING.read_text("utf-8"))
    home = repository_files() if notebook.parent == NOTEBOOKS else ""
    return render(notebook, template, target=partial(_target, pages={*pages}, home=home))


def render(notebook: Path, template: str, *, target: Callable[[str], str]) -> str:
    """A notebook by a template of nbconvert, with its formulas as MathML.

    Args:
        notebook: its path.
        template: text that extends one of nbconvert's.
        target: where a link leads.

    Raises:
        CourseError: it cannot be read, or nbconvert or latex2mathml is not installed.
    """
    try:
        import latex2mathml.converter  # noqa: F401
        from nbconvert import HTMLExporter
    except ImportError as error:
        raise CourseError(
            f"expected nbconvert and latex2mathml beside the course, but {error.name} cannot be "
            f"imported: install them with {pip_install(extra='lab')}",
            see="jupyterlab-is-missing",
        ) from error
    exporter = HTMLExporter(raw_template=template, language_code="en")
    exporter.register_preprocessor(_without_set_up, enabled=True)
    try:
        text, _ = exporter.from_filename(str(notebook))
    except (OSError, ValueError) as error:  # nbformat's errors are ValueErrors
        raise CourseError(
            f"expected a notebook in {notebook}, but it cannot be read ({error}): is it damaged?"
        ) from error
    editor = _Editor(target)
    editor.feed(text)
    editor.close()
    return "".join(editor.parts)


def _without_set_up(notebook: Any, resources: Any) -> tuple[Any, Any]:
    """A preprocessor of nbconvert: without folded cells that show nothing."""
    notebook.cells = [cell for cell in notebook.cells if not _prepares(cell)]
    return notebook, resources


def _prepares(cell: Any) -> bool:
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
    return cell.cell_type == "code" and bool(hidden) and not cell.outputs


class _Editor(HTMLParser):
    """Copies a page as it is, but for formulas in its text, links to files, and what is folded."""

    def __init__(self, target: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=True)
        self.target = target
        self.parts: list[str] = []
        self.inside: list[str] = []  # of the elements in NO_FORMULAS

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text = self.get_starttag_text() or ""
        href = dict(attrs).get("href")
        if tag == "a" and href:
            target = self.target(href)
            if target != href:
                text = re.sub(r'href="[^"]*"', f'href="{html.escape(target)}"', text, count=1)
        if tag == "details" and not attrs:  # as Markdown has them: "Think first"
            text = '<details class="course-fold">'
        self.parts.append(text)
        if tag in NO_FORMULAS:
            self.inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if {"script", "style"} & {*self.inside}:
            self.parts.append(data)
        elif self.inside:
            self.parts.append(html.escape(data, quote=False))
        else:
            self.parts.extend(with_formulas(data))

    def handle_comment(self, data: str) -> None:
        self.parts.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.parts.append(f"<!{decl}>")


def _target(href: str, *, pages: set[str], home: str) -> str:
    """Where a link leads from a page: to another page, or to the repository."""
    path, hash_, anchor = href.partition("#")
    if not path or re.match(r"[a-z]+:|/", path):
        return href
    stem, ending = posixpath.splitext(posixpath.basename(path))
    if ending == ".ipynb" and stem in pages:
        return f"{stem}.html{hash_}{anchor}"
    if not home:
        return href
    return f"{home}{posixpath.normpath(f'notebooks/{path}')}{hash_}{anchor}"


def with_formulas(text: str) -> Iterator[str]:
    """The parts of a text as HTML: escaped words, and formulas as MathML.

    A formula that cannot be read stays as it was written.
    """
    end = 0
    for found in FORMULA.finditer(text):
        yield html.escape(text[end : found.start()].replace(r"\$", "$"), quote=False)
        end = found.end()
        try:
            if found["block"]:
                yield f'<span class="formula">{_mathml(found["block"], display="block")}</span>'
            else:
                yield _mathml(found["inline"], display="inline")
        except Exception:  # its errors share no base class
            yield html.escape(found[0], quote=False)
    yield html.escape(text[end:].replace(r"\$", "$"), quote=False)


def _mathml(formula: str, *, display: str) -> str:
    from latex2mathml.converter import convert_to_element

    # It knows align*, not aligned, and no extra room between two lines.
    known = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{align*}", formula)
    math = convert_to_element(re.sub(r"(\\\\)\[[^\]]*\]", r"\1", known), display=display)
    # Signs are stored as "&#x0002B;", for text that is not escaped: so a formula could hold a tag.
    for node in math.iter():
        node.text = node.text and html.unescape(node.text)
    return ElementTree.tostring(math, encoding="unicode")
