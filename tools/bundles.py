"""Joins the scripts of each page into one file: ``python -m tools.bundles``, after a change of one.

The bundles are stored beside their sources, so that a learner's machine needs no JavaScript tools.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from course_lib.viz.web.bundles import BUNDLES
from tools.npm_package import NoPackage, npm_package

ESBUILD = "0.28.2"  # exact, because another release may write the same script in another way
ASSETS = BUNDLES.parent
ENTRIES = {
    "explorer": "explorer/explorer.js",
    "model_diagram": "model_diagram/diagram.js",
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


def write_bundles(folder: Path = BUNDLES) -> set[str]:
    """Write each bundle, and return the sources of all of them, relative to ``ASSETS``.

    Raises:
        NoPackage: npm or esbuild is missing.
        subprocess.CalledProcessError: esbuild refuses a script; it has printed why.
    """
    esbuild = npm_package("esbuild", ESBUILD) / "bin" / "esbuild"
    node = shutil.which("node")
    if node is None:
        raise NoPackage("Node, which runs esbuild, found none: install it from https://nodejs.org")
    entries = [f"{name}=./{path}" for name, path in ENTRIES.items()]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        outputs = (f"--outdir={folder}", f"--metafile={report}", "--log-level=warning")
        subprocess.run([node, esbuild, *entries, *OPTIONS, *outputs], cwd=ASSETS, check=True)
        return set(json.loads(report.read_text("utf-8"))["inputs"])


if __name__ == "__main__":
    write_bundles()
    for path in sorted(BUNDLES.glob("*.js")):
        print(f"{path.stat().st_size:>7,} bytes  {path.relative_to(ASSETS.parents[1])}")
