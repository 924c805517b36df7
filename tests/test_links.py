"""Every link from one file of the project to another leads somewhere, headings included."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / ".github").glob("*.md")),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("notebooks/*.ipynb")),
    *sorted(ROOT.glob("exercises/*/*.ipynb")),
    *sorted(ROOT.glob("solutions/*/*.ipynb")),
]
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")
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
            assert anchor in anchors_of(target), f"{link}: no such heading"
