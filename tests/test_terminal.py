"""The course command on terminals of every kind."""

import os
import subprocess
import sys

import pytest

from course_lib.terminal import PLAIN

COURSE = [sys.executable, "-m", "course_lib"]
VERBS = [["--help"], ["train", "--help"], ["grade", "--help"], ["recipes"], ["progress"]]


def run(arguments, encoding="utf-8", **options):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    return subprocess.run([*COURSE, *arguments], env=environment, stderr=subprocess.PIPE, **options)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp850", "cp1252"])
def test_every_encoding_of_a_console_will_do(encoding, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "none"))
    for arguments in VERBS:
        done = run(arguments, encoding, stdout=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (0, b""), arguments
    assert b"06 masks               ....." in done.stdout or encoding.startswith("cp")


def test_the_plain_forms_are_plain():
    assert all(text.isascii() and not name.isascii() for name, text in PLAIN.items())


@pytest.mark.slow
def test_what_an_encoding_lacks_is_written_otherwise():
    line = "from course_lib.terminal import *; fit_terminal(); print('1 – 2 … ■□ 日 ä ±0.5')"
    command = [sys.executable, "-c", line]
    environment = os.environ | {"PYTHONIOENCODING": "cp437"}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    assert printed.decode("cp437").strip() == "1 - 2 ... ■. ? ä ±0.5"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows has other pipes")
def test_a_reader_that_goes_is_no_error():
    first = f"{sys.executable} -m course_lib doctor | head -1"
    done = subprocess.run(["bash", "-c", f"{first}; echo ${{PIPESTATUS[0]}}"], capture_output=True)
    assert done.stderr == b""
    assert done.stdout.splitlines()[1] in (b"0", b"1", b"141")  # by who is faster


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's full disk")
def test_a_full_disk_is_told_in_a_line():
    with open("/dev/full", "w") as full:
        done = run(["recipes"], stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        b"course recipes: could not write the output (No space left on device): is the disk full?\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="closes descriptors")
def test_warnings_never_get_among_the_translations():
    command = " ".join([*COURSE, "translate", "'xyzzy .'", "2>&-"])
    done = subprocess.run(["bash", "-c", command], capture_output=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert b"xyzzy" not in done.stdout
