"""What the browser tests and the benchmark of the explorer start."""

import os
import subprocess
import sys

import pytest

from tools import ROOT
from tools.chromium import NoChromium, find_chromium, start_chromium


def test_a_browser_may_be_named_in_the_environment(monkeypatch):
    monkeypatch.setenv("COURSE_CHROMIUM", sys.executable)
    assert find_chromium() == sys.executable


def test_none_is_found_on_an_empty_path(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_chromium() is None


def test_without_playwright_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with (
        pytest.raises(NoChromium, match=r"playwright: pip install -e '\.\[dev\]'"),
        start_chromium(),
    ):
        pass


@pytest.mark.slow
def test_a_browser_that_does_not_start_is_named():
    # In a process of its own: another test may have a browser open in this one.
    code = "from tools.chromium import start_chromium; start_chromium().__enter__()"
    environment = os.environ | {"COURSE_CHROMIUM": "false", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert "NoChromium: " in done.stderr and "found none that starts" in done.stderr
