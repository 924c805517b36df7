"""Write the course as a static site: ``python -m tools.site``, or ``make site``.

Everything is taken from what is stored; no notebook is run, and nothing is fetched. Status 1:
a link leads nowhere, or Sphinx has warned of something.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.site import ROOT
from tools.site.build import SiteError, build
from tools.site.sources import Chapter, chapters

MARK = "searchindex.js"  # a file that every site has and hardly another folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, check the links, and say how large the pages are."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "site",
        metavar="DIR",
        help="where the site goes (default: site/); an earlier site there is removed first, and a "
        "folder with anything else in it is refused",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="only pages whose names have one of these words"
    )
    options = parser.parse_args(arguments)
    chosen = _chosen(options.only)
    if not chosen:
        names = ", ".join(page for chapter in chapters() for page in chapter.pages)
        parser.error(
            f"expected words that are in the names of pages, got --only {' '.join(options.only)}, "
            f"which are in none: choose among {names}"
        )
    if not _may_be_replaced(options.output):
        parser.error(
            "expected as --output a new folder, an empty one or an earlier site, and no link, got "
            f"{options.output}, which is none of these (it has no {MARK}): was a site begun there "
            "and never finished? Delete it yourself if nothing in it is needed, or choose another"
        )
    start = time.perf_counter()
    if options.output.exists():
        shutil.rmtree(options.output.resolve())  # it may be .
    try:
        pages = build(options.output, chosen)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    sizes = {path: path.stat().st_size / 1000 for path in options.output.glob("*/*.html")}
    largest = max(sizes, key=lambda path: sizes[path])
    whole = sum(path.stat().st_size for path in options.output.rglob("*") if path.is_file())
    print(
        f"{pages} pages in {options.output}, {whole / 1e6:.0f} MB, "
        f"{time.perf_counter() - start:.0f} s; "
        f"the largest is {largest.stem} with {sizes[largest]:.0f} kB"
    )
    return 0


def _may_be_replaced(output: Path) -> bool:
    """Whether nothing is lost with it: it does not exist, is empty, or is an earlier site."""
    if output.is_symlink() or not output.is_dir():
        return not os.path.lexists(output)
    return (output / MARK).is_file() or not any(output.iterdir())


def _chosen(words: Sequence[str] | None) -> list[Chapter]:
    if not words:
        return chapters()
    chosen = [
        Chapter(chapter.title, tuple(p for p in chapter.pages if any(w in p for w in words)))
        for chapter in chapters()
    ]
    return [chapter for chapter in chosen if chapter.pages]


if __name__ == "__main__":
    sys.exit(main())
