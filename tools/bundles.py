"""Joins the scripts of each page into one file: ``python -m tools.bundles``, after a change of one.

The bundles are stored beside their sources, so that a learner's machine needs no JavaScript tools.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from course_lib.viz.web.bundles import BUNDLES
from tools import ROOT
from tools.npm_package import NoPackage, npm_package

ESBUILD = "0.28.2"  # exact, because another release may write the same script in another way
ASSETS = BUNDLES.parent
ENTRIES = {
    "explorer": "explorer/explorer.js",
    "model_diagram": "model_diagram/diagram.js",
    "one_stack_diagram": "model_diagram/one_stack.js",
    "translator": "translator/page.js",
    "front_door": "translator/front_door.js",
    "frames": "widgets/frames.js",
    "drawings": "drawings/drawings.js",
    "quiz": "cards/quiz.js",
}
# The oldest browsers are those that the translator's page names.
OPTIONS = (
    *("--bundle", "--format=esm", "--minify", "--charset=utf8"),
    "--target=chrome92,firefox113,safari16.4",
)


# The site's search, which brings two libraries: name and version, exact for the same reason.
SEARCH = ROOT / "tools" / "site" / "assets" / "search" / "search.js"
SEARCH_LIBRARIES = (("minisearch", "7.2.0"), ("stemmer", "2.0.1"))


def write_bundles(folder: Path = BUNDLES) -> set[str]:
    """Write each bundle, and return the sources of all of them, relative to ``ASSETS``.

    Raises:
        NoPackage: npm or esbuild is missing.
        subprocess.CalledProcessError: esbuild refuses a script; it has printed why.
    """
    entries = [f"{name}=./{path}" for name, path in ENTRIES.items()]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        _esbuild(*entries, *OPTIONS, f"--outdir={folder}", f"--metafile={report}", cwd=ASSETS)
        return set(json.loads(report.read_text("utf-8"))["inputs"])


def write_search(folder: Path = SEARCH.parents[1] / "static") -> None:
    """Write the bundle of the site's search.

    Raises:
        NoPackage, subprocess.CalledProcessError: as for `write_bundles`.
    """
    packages = [npm_package(name, version).parent for name, version in SEARCH_LIBRARIES]
    options = [option.replace("--format=esm", "--format=iife") for option in OPTIONS]
    paths = {"NODE_PATH": os.pathsep.join(map(str, packages))}
    _esbuild(SEARCH.name, *options, f"--outdir={folder}", cwd=SEARCH.parent, **paths)


def _esbuild(*arguments: str, cwd: Path, **environment: str) -> None:
    esbuild = npm_package("esbuild", ESBUILD) / "bin" / "esbuild"
    node = shutil.which("node")
    if node is None:
        raise NoPackage("Node, which runs esbuild, found none: install it from https://nodejs.org")
    command = [node, str(esbuild), *arguments, "--log-level=warning"]
    subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=True)


if __name__ == "__main__":
    write_bundles()
    write_search()
    for path in (*sorted(BUNDLES.glob("*.js")), SEARCH.parents[1] / "static" / "search.js"):
        print(f"{path.stat().st_size:>7,} bytes  {path.relative_to(ROOT)}")
