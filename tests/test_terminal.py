"""The course command on terminals of every kind."""

import io
import os
import shlex
import subprocess
import sys

import pytest

from course_lib.terminal import PLAIN, lasting_output, say

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
    first = f"{shlex.join([*COURSE, 'doctor'])} | head -1"
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
    command = shlex.join([*COURSE, "translate", "xyzzy ."]) + " 2>&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert b"xyzzy" not in done.stdout


def test_what_cannot_be_printed_is_dropped_and_told_once(capfd):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as gone, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", gone)
        with lasting_output():
            for number in range(3):
                print(number)
            assert sys.stdout.isatty() is False  # all else is as the stream has it
        assert sys.stdout is gone
    assert (
        capfd.readouterr().err == "could not print any more (Broken pipe): going on, Ctrl-C stops\n"
    )


def test_output_that_is_read_is_left_alone():
    text = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", text)
        with lasting_output():
            assert sys.stdout.write("abc") == 3
            sys.stdout.flush()
    assert text.getvalue() == "abc"


HOSTILE = "a\x1b]0;title\x07\x1b[2J\rb\nc\x85d\u2028e\x9b31m\u202ef\u2066g\udcff"


def test_a_line_stays_one_and_commands_no_terminal_whoever_wrote_it(capsys):
    say(f"name {HOSTILE}", "das Café\u00a0‫ו", error=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        r"name a\x1b]0;title\x07\x1b[2J\rb\nc\x85d\u2028e\x9b31m\u202ef\u2066g\udcff"
        "\ndas Café\u00a0‫ו\n"
    )


def test_a_line_goes_above_a_progress_bar():
    from tqdm.auto import tqdm

    text = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", text)
        with tqdm(total=1, desc="bar", ncols=40):
            say("line", error=True)
    lines = text.getvalue().split("\r")
    assert "line\n" in lines and lines[-1].startswith("bar")
