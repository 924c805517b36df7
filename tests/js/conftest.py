"""Node, which runs the scripts. Without it their tests are skipped, see test_javascript.py."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import missing

ROOT = Path(__file__).parents[2]
OLDEST = (18, 20)  # the first Node that imports JSON `with { type: "json" }`


def run(*command, given=None):
    return subprocess.run(
        command, cwd=ROOT, input=given, capture_output=True, text=True, encoding="utf-8"
    )


@pytest.fixture(scope="module")
def node():
    """The path of Node."""
    found = shutil.which("node")
    version = run(found, "--version").stdout.strip() if found else "none"
    if tuple(map(int, re.findall(r"\d+", version)))[:2] < OLDEST:
        missing(
            f"the scripts are tested with Node {OLDEST[0]}.{OLDEST[1]} or newer, found {version}: "
            "install it from https://nodejs.org, or with apt-get install nodejs"
        )
    return found
