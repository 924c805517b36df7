"""The folder that Sphinx reads: notebooks and pages at their paths in the project.

Because the paths are the same, the links between them are, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.evidence import FULL
from tools.site import ROOT
from tools.site.front import write_front

PACKAGES = {
    "model": "the Transformer",
    "data": "from text to batches",
    "decoding": "translating with a model",
    "training": "recipes, the loop, checkpoints",
    "viz": "plots, widgets, the attention explorer",
    "checks": "exercises and their checks",
}
README_PICTURES = "course_lib/assets/readme"
TITLES = {"README": "Install and begin"}  # in the navigation, where its own says nothing


@dataclass(frozen=True)
class Chapter:
    """A heading of the navigation and the pages under it.

    Attributes:
        pages: files in the project, without their ending.
    """

    title: str
    pages: tuple[str, ...]


def chapters() -> list[Chapter]:
    """All pages of the site but the first, in the order of the navigation."""
    return [
        Chapter(
            "Find your way",
            (
                "README",
                "docs/map",
                "docs/questions",
                "docs/glossary",
                "docs/troubleshooting",
                "docs/assistants",
                "docs/training",
            ),
        ),
        Chapter("Lessons", _files("notebooks/*.ipynb")),
        Chapter("Exercises", _files("exercises/*/*.ipynb")),
        Chapter(
            "What is measured",
            (
                "docs/evidence",
                *(f"docs/{page.stem}" for page in _measured()),
                "docs/benchmarks",
                "docs/published_bugs",
            ),
        ),
        Chapter(
            "Teach and contribute",
            (
                "docs/teaching",
                "docs/class_hours",
                "docs/grading",
                "CONTRIBUTING",
                "docs/maintaining",
                "CHANGELOG",
            ),
        ),
        Chapter("The library", tuple(f"api/{name}" for name in PACKAGES)),
    ]


def write_sources(folder: Path, wanted: Iterable[Chapter]) -> None:
    """Copy the pages of some chapters into an empty folder, with the first page."""
    wanted = list(wanted)
    write_front(folder, {page for chapter in wanted for page in chapter.pages})
    with (folder / "index.md").open("a", encoding="utf-8") as first:
        first.writelines(map(_toctree, wanted))
    for page in (page for chapter in wanted for page in chapter.pages):
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.startswith("api/"):
            target.with_suffix(".rst").write_text(_api_page(target.name), "utf-8")
        else:
            shutil.copy(_original(page), target.parent)
    for pictures in (path for path in (ROOT / "docs", FULL) if path.is_dir()):
        shutil.copytree(pictures, folder / "docs", ignore=_but_pictures, dirs_exist_ok=True)
    if (folder / "README.md").is_file():
        shutil.copytree(ROOT / README_PICTURES, folder / README_PICTURES)
    if (evidence := folder / "docs" / "evidence.md").is_file():
        _link_measured(evidence)


def _measured() -> list[Path]:
    """The pages of long runs that are there."""
    return sorted(FULL.glob("*.md"))


def _link_measured(evidence: Path) -> None:
    """Where the page names one of them, link to it."""
    text = evidence.read_text("utf-8")
    for page in _measured():
        text = text.replace(f"`evidence/{page.name}`", f"[{page.stem}]({page.name})")
    evidence.write_text(text, "utf-8")


def _original(page: str) -> Path:
    """The notebook or Markdown file of a page."""
    [found] = [*ROOT.glob(f"{page}.[im]*"), *FULL.glob(f"{Path(page).name}.[im]*")]
    return found


def _files(pattern: str) -> tuple[str, ...]:
    paths = sorted(ROOT.glob(pattern))
    return tuple(path.relative_to(ROOT).with_suffix("").as_posix() for path in paths)


def _but_pictures(_: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith((".svg", ".png"))]


def _toctree(chapter: Chapter) -> str:
    pages = "\n".join(
        f"{TITLES[page]} <{page}>" if page in TITLES else page for page in chapter.pages
    )
    return f"\n```{{toctree}}\n:hidden:\n:caption: {chapter.title}\n\n{pages}\n```\n"


def _api_page(name: str) -> str:
    title = f"course_lib.{name}: {PACKAGES[name]}"
    return (
        f"{title}\n{'=' * len(title)}\n\n"
        f".. automodule:: course_lib.{name}\n   :members:\n   :imported-members:\n"
    )
