"""The scripts' own tests, run by Node, and their types, checked by TypeScript.

Without pytest, in the repository's root: ``node --test tests/js/*.test.js`` and
``tsc --project jsconfig.json``. Without Node the tests are skipped on a learner's machine, and fail
where CI is set. The types are checked wherever ``tsc`` is installed.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import missing

ROOT = Path(__file__).parents[2]
TESTS = sorted(path.name for path in Path(__file__).parent.glob("*.test.js"))
OLDEST = (18, 20)  # the first Node that imports JSON `with { type: "json" }`


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")


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


@pytest.mark.parametrize("name", TESTS)
def test_the_scripts_pass_their_own_tests(node, name):
    done = run(node, "--test", f"tests/js/{name}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"^. pass (\d+)$", done.stdout, re.MULTILINE)[1]) > 0


def test_the_types_of_the_scripts_fit():
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip(
            "the types of the scripts are checked where TypeScript 5.5 or newer is installed: "
            "npm install --global typescript"
        )
    done = run(tsc, "--project", "jsconfig.json")
    assert done.returncode == 0, done.stdout + done.stderr
