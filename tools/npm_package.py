"""A package from npm that only contributors need: fetched once, and kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from course_lib.atomic import locked


class NoPackage(Exception):
    """What is missing, and how to get it."""


def npm_package(name: str, version: str) -> Path:
    """The folder of the package, which is fetched unless the cache holds this version.

    Raises:
        NoPackage: there is no npm, or it could not fetch the package.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "transformer-course" / f"{name}-{version}"
    package = folder / "node_modules" / name
    if not (package / "package.json").is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise NoPackage(f"npm, which fetches {name}, found none: install Node and npm")
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--no-save", "--ignore-scripts", "--prefix", str(folder))
        command = [npm, "install", *options, f"{name}@{version}"]
        # Every worker of the tests wants it at once; they wait without a word.
        with locked(folder / ".lock", busy="", wait=lambda busy: None):
            if not (package / "package.json").is_file():
                done = subprocess.run(command, capture_output=True, text=True)
                if not (package / "package.json").is_file():
                    reason = done.stderr.strip()[-300:]
                    raise NoPackage(f"{name}, which npm could not fetch: {reason}")
    return package
