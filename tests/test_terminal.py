"""The course command on terminals of every kind."""

import importlib
import io
import os
import shlex
import signal
import subprocess
import sys
from argparse import Namespace
from types import SimpleNamespace

import pytest

from course_lib import __main__ as start
from course_lib import cli, training_verbs
from course_lib.arguments import NoOptions
from course_lib.terminal import PLAIN, interruptible_imports, lasting_output

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


SWALLOWS = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(10**6):
        pass
except BaseException:
    pass
"""
IMPORTS = """
from course_lib.terminal import interruptible_imports
with interruptible_imports():
    import swallows
print("went on")
"""


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal: tests that a shell starts in the background are to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="Windows sends no such signal")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_during_an_import_ends_the_process_even_if_the_module_swallows_it(tmp_path):
    (tmp_path / "swallows.py").write_text(SWALLOWS)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nstopped by Ctrl-C\n")


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_during_an_import_ends_with_the_status_that_shells_expect(
    tmp_path, monkeypatch, capfd
):
    (tmp_path / "interrupted.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as ended, interruptible_imports():
        importlib.import_module("interrupted")
    assert ended.value.code == 130
    assert capfd.readouterr().err == "\nstopped by Ctrl-C\n"


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_elsewhere_is_an_exception_as_ever():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible_imports():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_ctrl_c_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible_imports():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_until_the_command_takes_over_ctrl_c_just_ends_it(monkeypatch):
    seen = []

    def run(options: NoOptions):
        seen.append(signal.getsignal(signal.SIGINT))
        return 7

    monkeypatch.setattr(training_verbs, "run_recipes", run)
    monkeypatch.setattr(cli, "build_parser", lambda asked: SimpleNamespace(parse_args=parse))

    def parse(arguments):
        seen.append(signal.getsignal(signal.SIGINT))
        return Namespace(verb="recipes", debug=False)

    assert start.main() == 7
    assert seen[0] == signal.SIG_DFL and callable(seen[1])
