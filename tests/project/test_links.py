"""Every link from one file of the project to another leads somewhere, headings included."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

from course_lib.work_copy.update import PARTS
from tools.notebooks.notebook_normal_form import repository

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "AGENTS.md",
    *sorted((ROOT / ".github").glob("*.md")),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("notebooks/*.ipynb")),
    *sorted(ROOT.glob("exercises/*/*.ipynb")),
    *sorted(ROOT.glob("solutions/*/*.ipynb")),
]
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")
# Not Colab's, nor the project's own, whose date is that of the page
OUTSIDE = re.compile(
    r"\[((?:[^\[\]]|\[[^\]]*\])*)\]"
    rf"\((?!https://colab\.|{re.escape(repository())})(https?://[^)\s]+)\)"
)
YEAR = re.compile(r"\b(19|20)\d\d\b|date unknown")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


@cache
def text_of(path):
    if path.suffix != ".ipynb":
        return path.read_text("utf-8")
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@cache
def anchors_of(path):
    """As JupyterLab makes them in a notebook, and a code host in a page."""
    text = FENCE.sub("", text_of(path))
    headings = [
        re.sub(r"[`*]", "", h).strip() for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    ]
    named = re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)
    if path.suffix == ".ipynb":
        return {heading.replace(" ", "-") for heading in headings} | set(named)
    slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
    return slugs | set(named)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page):
    for link in LINK.findall(CODE.sub("", FENCE.sub("", text_of(page)))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no {path}"
        if anchor and target.suffix in (".md", ".ipynb"):
            found = {anchor, unquote(anchor)} & anchors_of(target)  # a browser tries both
            assert found, f"{link}: no such heading"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.suffix == ".ipynb"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_notebook_links_only_to_files_that_a_learners_copy_has(page):
    for link in LINK.findall(text_of(page)):
        target = (page.parent / link.partition("#")[0]).resolve()
        if not re.match(r"[a-z]+:|#", link):
            assert target.relative_to(ROOT).parts[0] in PARTS, f"{link}: {target.name} is no part"
    for path in re.findall(re.escape(f"{repository()}/blob/main/") + r"([^\s)#]+)", text_of(page)):
        assert (ROOT / path).is_file(), f"{path}: no such file in the repository"


# Badges and tools, to which README.md and its neighbours link, have no year.
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.parent != ROOT], ids=lambda page: str(page.relative_to(ROOT))
)
def test_each_link_to_outside_has_a_title_and_a_year_on_its_page(page):
    assert without_title_or_year(text_of(page)) == []


def without_title_or_year(text):
    """Addresses outside the project that have no link with a title, beside which stands a year.

    A title is in italics or, of a file or a function, in code. Sections of a paper count with the
    paper, so "Clark et al. (2019)" may be a link where the whole reference stands further down.
    """
    links = list(OUTSIDE.finditer(text))
    dated = {
        source_of(link[2])
        for link in links
        if re.search(r"\*[^*]+\*|`[^`]+`", link[1]) and YEAR.search(line_around(text, link))
    }
    return [link[0] for link in links if source_of(link[2]) not in dated]


def source_of(address):
    """One address for a paper and its sections."""
    return re.sub(r"arxiv\.org/(html|pdf)/(\d+\.\d+)(v\d+)?.*", r"arxiv.org/abs/\2", address)


def line_around(text, link):
    """The line in which a link stands, without addresses, whose numbers say nothing."""
    start, end = text.rfind("\n", 0, link.start()) + 1, text.find("\n", link.end())
    return OUTSIDE.sub(r"\1", text[start : end if end >= 0 else None])


@pytest.mark.parametrize(
    "text",
    [
        "[Clark et al. (2019)](https://arxiv.org/abs/1906.04341)",
        "[*What Does BERT Look At?*](https://arxiv.org/abs/1906.04341)",
        "[here](https://example.org/2019), see *What Does BERT Look At?* (2019)",
    ],
)
def test_a_link_without_title_or_year_is_found(text):
    assert without_title_or_year(text) == [text[: text.index(")", text.index("](")) + 1]]
    whole = "- Clark et al. (2019), [*What Does BERT Look At?*]"
    full = f"{whole}(https://arxiv.org/abs/1906.04341), {whole}(https://example.org/2019)"
    assert without_title_or_year(f"{text}\n{full}") == []
