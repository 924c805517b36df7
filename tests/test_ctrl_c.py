"""Ctrl-C at any moment of a command."""

import gc
import importlib
import os
import signal
import subprocess
import sys
from argparse import Namespace
from types import SimpleNamespace

import pytest

from course_lib import __main__ as start
from course_lib import cli, training_verbs
from course_lib.arguments import NoOptions
from course_lib.ctrl_c import end_at_once, interruptible_imports

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
from course_lib.ctrl_c import interruptible_imports
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


def test_an_ignored_ctrl_c_stays_ignored_and_a_handler_of_another_language_stays(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible_imports():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        with monkeypatch.context() as patch:
            patch.setattr(signal, "getsignal", lambda number: None)
            with interruptible_imports():
                pass
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_what_else_a_destructor_raises_is_reported_as_it_was_before(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: reported.append(raised.exc_type))

    class Fails:
        def __del__(self):
            raise ZeroDivisionError

    with interruptible_imports():
        Fails()
        gc.collect()
    assert reported == [ZeroDivisionError]


@pytest.mark.usefixtures("ctrl_c")
def test_until_the_command_takes_over_ctrl_c_ends_it_in_a_line(monkeypatch):
    seen = []

    def run(options: NoOptions):
        seen.append(signal.getsignal(signal.SIGINT))
        return 7

    monkeypatch.setattr(training_verbs, "run_recipes", run)
    monkeypatch.setattr(sys, "argv", ["course", "recipes"])
    monkeypatch.setattr(cli, "build_parser", lambda asked: SimpleNamespace(parse_args=parse))

    def parse(arguments):
        seen.append(signal.getsignal(signal.SIGINT))
        return Namespace(verb="recipes", debug=False)

    monkeypatch.setattr(sys, "argv", ["course", "recipes"])
    assert start.main() == 7
    assert seen[0] is end_at_once and seen[1] not in (seen[0], signal.default_int_handler)
    assert signal.getsignal(signal.SIGINT) is end_at_once  # until the very end


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_a_destructor_is_not_swallowed(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)

    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    with interruptible_imports():
        Interrupted()
        gc.collect()
    assert ended == [130]
    assert "stopped by Ctrl-C" in capfd.readouterr().err


def test_ctrl_c_before_there_is_a_handler_ends_with_the_same_status(monkeypatch):
    def interrupted(number):
        raise KeyboardInterrupt

    monkeypatch.setattr(signal, "getsignal", interrupted)
    assert start.main() == 130
