import subprocess
import sys
import types

import pytest

from course_lib.folder_lock import locked_folder

fcntl = pytest.importorskip("fcntl", reason="Windows has no such lock")

HOLD = """
import sys
from pathlib import Path
from course_lib.folder_lock import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that has the folder's lock until its standard input is closed."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"locked\n"
        yield process


def test_only_one_process_has_a_folder_and_the_other_may_wait(other, tmp_path):
    with pytest.raises(BlockingIOError):
        locked_folder(tmp_path)
    other.stdin.close()
    with locked_folder(tmp_path, wait=True), pytest.raises(BlockingIOError):
        locked_folder(tmp_path)
    with locked_folder(tmp_path):
        pass


def test_the_lock_ends_with_its_process_even_if_that_is_killed(other, tmp_path):
    other.kill()
    with locked_folder(tmp_path, wait=True):
        pass


def test_where_there_are_no_locks_nothing_is_locked(tmp_path, monkeypatch):
    def no_lock(*arguments):
        raise OSError("No locks available")

    network = types.SimpleNamespace(flock=no_lock, LOCK_EX=fcntl.LOCK_EX, LOCK_NB=fcntl.LOCK_NB)
    for module in (network, None):
        monkeypatch.setitem(sys.modules, "fcntl", module)
        with locked_folder(tmp_path), locked_folder(tmp_path):
            pass
