"""A test that hangs ends the run, and says where it hung."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HANGS = """
import threading, pytest

def test_before(): pass

def test_hangs():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

@pytest.mark.parametrize("i", range(9))
def test_after(i): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "-n 2 --dist loadgroup"], ids=["alone", "xdist"])
def test_a_test_that_waits_for_ever_ends_in_a_traceback(tmp_path, options):
    (tmp_path / "test_it.py").write_text(HANGS)
    shorter = ["-c", ROOT / "pyproject.toml", "-o", "faulthandler_timeout=2"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir=.", *shorter, *options.split(), "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode
    assert 'test_it.py", line 9 in test_hangs' in done.stderr
