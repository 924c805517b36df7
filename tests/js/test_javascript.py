"""The scripts' own tests, run by Node, and their types, checked by TypeScript.

Without pytest, in the repository's root: ``node --test tests/js/*.test.js`` and
``tsc --project jsconfig.json``. Without Node the tests are skipped on a learner's machine, and fail
where CI is set. The types are checked wherever ``tsc`` is installed.
"""

import re
import shutil
from pathlib import Path

import pytest

from tests.js.conftest import run

TESTS = sorted(path.name for path in Path(__file__).parent.glob("*.test.js"))


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
