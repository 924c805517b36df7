"""Write the course as a static site: ``python -m tools.site``, or ``make site``.

Everything is taken from what is stored; no notebook is run, and nothing is fetched. Status 1:
a link leads nowhere, or Sphinx has warned of something.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.site import ROOT
from tools.site.build import SiteError, build
from tools.site.sources import Chapter, chapters


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, check the links, and say how large the pages are."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "site", metavar="DIR")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="only pages whose names have one of these words"
    )
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    shutil.rmtree(options.output, ignore_errors=True)
    try:
        pages = build(options.output, _chosen(options.only))
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
