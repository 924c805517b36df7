"""In the tests of a package, every shape in its signatures is checked as its functions run."""

import json
import os
import subprocess
import sys
import threading
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from jaxtyping import config, install_import_hook

from tools.chromium import NoChromium, start_chromium
from tools.tiers import LEFT_OUT

# The tower lets an int stand where a float is asked for, as type checkers do.
CHECK = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
install_import_hook("course_lib", CHECK)


class PlainFinder:
    """Imports as it is what has no shapes in its signatures, or is called a million times."""

    MANY_CALLS = ("course_lib.data.grammar", "course_lib.checks")

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if not name.startswith("course_lib"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or name.startswith(cls.MANY_CALLS):
            return spec
        return None if "jaxtyping" in Path(spec.origin).read_text(encoding="utf-8") else spec


sys.meta_path.insert(0, PlainFinder)

# What other tests call thousands of times was checked here; there the checks took a third of the time.
SHAPES_CHECKED = {"model", "modern", "data", "decoding", "training", "viz"}
LONG = ("browser", "test_distributed.py", "test_grammar_corpus.py", "test_portuguese.py")


def pytest_collection_modifyitems(items):
    """Begin with the longest tests, so that at the end no process waits for another.

    Only in force with xdist's ``--no-loadscope-reorder``.
    """
    items.sort(key=lambda item: not {item.path.name, item.path.parent.name} & set(LONG))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Check shapes in the tests of the packages that have them, and of those with fixtures of theirs."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    config.update("jaxtyping_disable", folder not in SHAPES_CHECKED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Trace no test that is marked ``unmeasured``.

    pytest-cov's own mark, ``no_cover``, pauses one of the two collectors that it starts in each of
    xdist's processes: the other goes on.
    """
    if not item.get_closest_marker("unmeasured"):
        return (yield)
    trace, in_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(trace)
        threading.settrace(in_threads)


def missing(reason):
    """Skip, or fail where nothing may be missing; `tools.tiers` counts what was skipped so."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; in CI these tests may not be skipped")
    pytest.skip(LEFT_OUT + reason)


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process."""
    try:
        with start_chromium() as running:
            yield running
    except NoChromium as error:
        missing(f"the browser tests need {error}")


@pytest.fixture(scope="session")
def loaded():
    """``loaded[package]``: the modules in a fresh process that has imported it and those before."""
    code = """
import importlib, json, sys
loaded = {}
for package in ("course_lib", "course_lib.data", "course_lib.model", "course_lib.viz"):
    importlib.import_module(package)
    loaded[package] = sorted(sys.modules)
print(json.dumps(loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {package: set(modules) for package, modules in json.loads(done.stdout).items()}


@pytest.fixture
def own_messages(monkeypatch):
    """Leave wrong arguments to the library, for a test of what it says of them itself."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
