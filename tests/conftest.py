"""In the tests, every shape in a signature of course_lib is checked as the function runs."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from functools import wraps
from importlib.machinery import PathFinder
from inspect import isfunction
from pathlib import Path

import jaxtyping
import pytest
from jaxtyping import config, install_import_hook

from tools.chromium import NoChromium, start_chromium
from tools.tiers import LEFT_OUT

# The tower lets an int stand where a float is asked for, as type checkers do.
CHECK = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
MOST_CHECKED = 20  # calls of each function in a test: those of a long training repeat their shapes
_calls = Counter()
_jaxtyped = jaxtyping.jaxtyped


def _check_first_calls(*, typechecker):
    """What the import hook puts on each function: a check of its first calls in a test."""

    def decorate(function):
        checked = _jaxtyped(typechecker=typechecker)(function)
        if not isfunction(function):
            return checked

        @wraps(function)
        def check_first_calls(*args, **kwargs):
            _calls[function] += 1
            return (checked if _calls[function] <= MOST_CHECKED else function)(*args, **kwargs)

        # In a traceback, the wrapper counts as the course's and not as the learner's code.
        file = function.__code__.co_filename
        check_first_calls.__code__ = check_first_calls.__code__.replace(co_filename=file)
        return check_first_calls

    return decorate


jaxtyping.jaxtyped = _check_first_calls
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

LONG = ("browser", "test_distributed.py", "test_grammar_corpus.py", "test_portuguese.py")


def pytest_collection_modifyitems(items):
    """Begin with the longest tests, so that at the end no process waits for another.

    Only in force with xdist's ``--no-loadscope-reorder``.
    """
    items.sort(key=lambda item: not {item.path.name, item.path.parent.name} & set(LONG))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Check each function's first calls again."""
    _calls.clear()


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
