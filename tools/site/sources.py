"""The folder that Sphinx reads: notebooks and pages at their paths in the project.

Because the paths are the same, the links between them are, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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
            ("README", "docs/map", "docs/glossary", "docs/troubleshooting", "docs/training"),
        ),
        Chapter("Lessons", _files("notebooks/*.ipynb")),
        Chapter("Exercises", _files("exercises/*/*.ipynb")),
        Chapter(
            "What is measured",
            (
                "docs/benchmarks",
                "docs/other_seeds",
                "docs/published_bugs",
                "docs/misconception_matrix",
                "docs/mutation_testing",
            ),
        ),
        Chapter(
            "Teach and contribute", ("docs/grading", "CONTRIBUTING", "docs/releasing", "CHANGELOG")
        ),
        Chapter("The library", tuple(f"api/{name}" for name in PACKAGES)),
    ]


def write_sources(folder: Path, wanted: Iterable[Chapter]) -> None:
    """Copy the pages of some chapters into an empty folder, with the first page."""
    wanted = list(wanted)
    write_front(folder)
    with (folder / "index.md").open("a", encoding="utf-8") as first:
        first.writelines(map(_toctree, wanted))
    for page in (page for chapter in wanted for page in chapter.pages):
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.startswith("api/"):
            target.with_suffix(".rst").write_text(_api_page(target.name), "utf-8")
        else:
            [source] = (ROOT / page).parent.glob(f"{target.name}.[im]*")  # .ipynb or .md
            shutil.copy(source, target.parent)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=_but_pictures, dirs_exist_ok=True)


def _files(pattern: str) -> tuple[str, ...]:
    paths = sorted(ROOT.glob(pattern))
    return tuple(path.relative_to(ROOT).with_suffix("").as_posix() for path in paths)


def _but_pictures(_: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith((".svg", ".png"))]


def _toctree(chapter: Chapter) -> str:
    pages = "\n".join(chapter.pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {chapter.title}\n\n{pages}\n```\n"


def _api_page(name: str) -> str:
    title = f"course_lib.{name}: {PACKAGES[name]}"
    return (
        f"{title}\n{'=' * len(title)}\n\n"
        f".. automodule:: course_lib.{name}\n   :members:\n   :imported-members:\n"
    )
