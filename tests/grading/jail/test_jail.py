"""What holds of the jail, isolated and not."""

import os
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch

from course_lib.checks.engine.call import Call
from course_lib.checks.progress import load_passed, note_checked, progress_file
from course_lib.errors import CourseError
from course_lib.grading.jail import bubblewrap
from course_lib.grading.jail.inside.confinement import Limits
from course_lib.grading.jail.item_run import StandIn
from course_lib.grading.jail.jail import Jail
from course_lib.grading.jail.library_view import engine_files
from course_lib.grading.jail.server import early_server
from course_lib.grading.jail.session import SessionEnded
from course_lib.grading.submissions import submission
from tests.grading.notebooks_to_hand_in import ROOT

UNSTOPPABLE = """
import ctypes
ctypes.CDLL(None).pthread_sigmask(0, b"\\xff" * 128, None)
while True: pass
"""
PLAINLY = "course_lib.checks.engine.call:call_plainly"


@pytest.fixture(scope="module")
def unlocked():
    """A jail that isolates nothing; after its end nothing of it is left."""
    with Jail(trusted=True) as made:
        process = made.server._process
        yield made
    assert process.poll() is not None
    assert not made.server.folder.exists()


@pytest.fixture
def session(jail):
    with jail.session(jail.library("engine", engine_files())) as made:
        yield made


def test_without_isolation_the_attempts_succeed(unlocked, tmp_path):
    """The control of all tests with attacks: it is the jail that stops them."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    source = (ROOT / "course_lib/grading/jail/inside/attempts.py").read_text("utf-8")
    with unlocked.session(unlocked.library("engine", engine_files())) as session:
        assert session.run("attempts", source.replace('"start a process"', '"-"'), 10) is None
        calls = ("read a file outside", "write a file outside", "open a connection")
        calls += ("change a file's permissions", "change a file's times", "shorten a file")
        calls += ("have signals sent to another process", "watch a folder", "share memory")
        only = f"attempts_wanted = {calls}"
        assert session.run("only", only, 5) is None
        answer = session.ask("escapes", PLAINLY, Call((str(secret), str(tmp_path))), 10)
    assert set(calls) <= set(answer.value or calls)
    assert (tmp_path / "escaped").exists()
    Path("/usr/escaped").unlink(missing_ok=True)  # which root can write


@pytest.mark.slow
def test_the_isolation_is_known(unlocked, jail):
    assert unlocked.isolation == "none"
    assert jail.isolation == "bubblewrap"


def test_without_bubblewrap_there_is_no_jail_and_no_fall_back(monkeypatch):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    with pytest.raises(CourseError, match="program bwrap is not installed.*apt install bubblewrap"):
        Jail()


def test_without_linux_there_is_no_jail(monkeypatch):
    monkeypatch.setattr(bubblewrap.sys, "platform", "darwin")
    with pytest.raises(CourseError, match="bubblewrap needs Linux.*or grade in the container"):
        Jail()


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("pyseccomp", "the package pyseccomp is not installed: .*pip install .*\\[grading\\]"),
        ("libseccomp", "Unable to find libseccomp: apt install libseccomp2"),
    ],
)
def test_without_the_filter_of_system_calls_there_is_no_jail(module, message, monkeypatch):
    monkeypatch.delitem(sys.modules, "course_lib.grading.jail.system_calls", raising=False)
    if module == "libseccomp":
        monkeypatch.delitem(sys.modules, "pyseccomp", raising=False)
        monkeypatch.setattr("ctypes.util.find_library", {"c": "libc.so.6"}.get)
    else:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CourseError, match=message):
        Jail()


@pytest.mark.usefixtures("jail")  # or none works here
def test_a_jail_from_which_code_escapes_is_not_used(monkeypatch):
    monkeypatch.setattr(Jail, "_try_to_escape", escaped)
    with pytest.raises(CourseError, match="code in it could escape"):
        Jail()


def test_a_process_that_does_not_start_is_named_where_nothing_isolates(monkeypatch):
    monkeypatch.setattr(bubblewrap, "_python", lambda: "/usr/bin/false")
    with pytest.raises(CourseError, match="the process that runs notebooks does not work"):
        Jail(trusted=True)


def escaped(self):
    raise CourseError("code in it could escape: ['read a file outside']")


def test_code_that_asks_for_many_threads_runs_on(session):
    assert session.run("one", "import torch\ntorch.set_num_threads(8)", 5) is None
    source = "def f(x): return (x @ x).exp().softmax(-1).sum()"
    assert session.run("two", source, 5) is None
    answer = session.ask("f", PLAINLY, Call((torch.rand(300, 300),), gradients=True), 5)
    assert answer.failure is None


@pytest.mark.slow
def test_a_cell_of_any_length_that_can_be_handed_in_runs(session):
    picture = "\u00e9" * (submission.MOST_BYTES // 2)
    assert session.run("one", f"picture = '{picture}'\ndef f(): return len(picture)", 10) is None
    assert session.ask("f", PLAINLY, Call(()), 5).value == len(picture)


def test_a_cell_and_a_call_are_answered(session):
    assert session.run("one", "import torch\ndef f(x): return x + 1", 5) is None
    answer = session.ask("f", PLAINLY, Call((torch.ones(2),)), 5)
    assert torch.equal(answer.value, torch.full((2,), 2.0))
    failure = session.run("two", "x = 1\n1 / 0", 5)
    assert (failure.kind, failure.line) == ("ZeroDivisionError", "line 2: 1 / 0")
    assert session.ask("g", PLAINLY, Call(()), 5).failure.kind == "NameError"


def test_capabilities_and_privileges_are_dropped(session):
    source = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def held():
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    return list(data)
def privileges(): return libc.prctl(39, 0, 0, 0, 0)
"""
    assert session.run("cell", source, 5) is None
    assert session.ask("held", PLAINLY, Call(()), 5).value == [0] * 6
    assert session.ask("privileges", PLAINLY, Call(()), 5).value == 1


def test_threads_can_be_started_and_no_more_than_the_limit(session):
    source = """
import threading
threading.stack_size(32768)
gate = threading.Event()
def started(number):
    for count in range(number):
        try:
            threading.Thread(target=gate.wait, daemon=True).start()
        except RuntimeError:
            return count
    return number
"""
    assert session.run("cell", source, 5) is None
    threads = session.ask("started", PLAINLY, Call((3000,)), 10).value
    # Linux before 5.14 counts all processes of the user, so there may be fewer.
    assert 0 < threads < Limits().threads


def test_a_pool_of_threads_as_large_as_python_makes_it_by_itself_runs(session):
    source = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
def most(number=32):
    all_there = Barrier(number)
    with ThreadPoolExecutor(number) as pool:
        return len(list(pool.map(lambda _: all_there.wait(5), range(number))))
"""
    assert session.run("cell", source, 5) is None
    answer = session.ask("most", PLAINLY, Call(()), 10)
    assert answer.value == 32, answer.failure


def test_the_tokenizers_start_one_thread_however_many_cores_there_are(session):
    source = """
import os
from tokenizers import Tokenizer, models, trainers
made = Tokenizer(models.BPE())
made.train_from_iterator(["a b c"] * 50, trainers.BpeTrainer(vocab_size=30))
def threads(): return os.environ["RAYON_NUM_THREADS"]
"""
    assert session.run("cell", source, 10) is None
    assert session.ask("threads", PLAINLY, Call(()), 5).value == "1"


@pytest.mark.slow
def test_a_session_that_takes_too_long_is_killed(session):
    start = time.monotonic()
    with pytest.raises(SessionEnded) as ended:
        session.run("cell", UNSTOPPABLE, 0.2)
    assert ended.value.timed_out
    assert time.monotonic() - start < 5
    with pytest.raises(SessionEnded, match="still running after 0.6 seconds"):
        session.run("cell", "1", 1)


def test_processor_time_is_limited_and_waiting_is_not(session):
    assert session.run("waits", "import time; time.sleep(0.4)", 0.2) is None
    assert session.run("works", "while True: pass", 0.2).kind == "TookTooLong"


@pytest.mark.slow
@pytest.mark.usefixtures("jail")  # or none works here
def test_packages_may_lie_where_the_jail_has_its_own_folder(tmp_path, monkeypatch):
    (tmp_path / "only_there.py").write_text("x = 3")
    tmp_path.chmod(0o755)  # root runs the jail as nobody
    sites = [*bubblewrap._site_packages(), str(tmp_path)]
    monkeypatch.setattr(bubblewrap, "_site_packages", lambda: sites)
    with Jail() as jail, jail.session(jail.library("engine", engine_files())) as session:
        assert session.run("cell", "import only_there, torch", 5) is None
    monkeypatch.setattr(bubblewrap.sys, "base_prefix", "/tmp/python")
    with pytest.raises(CourseError, match="Python is in /tmp/python, where the jail has a folder"):
        Jail()


def test_the_first_optimizer_takes_no_time_of_the_learner(session):
    """The first one made in a process has PyTorch import its compiler, 800 modules."""
    source = "import sys\nassert 'torch._dynamo' in sys.modules"
    assert session.run("cell", source, 10) is None


def test_an_error_inside_pytorch_is_told_with_the_line_of_the_learner(session):
    source = "from torch.nn import functional as F\ndef f(x):\n    return F.softmax(x, dim='a')"
    assert session.run("cell", source, 5) is None
    failure = session.ask("f", PLAINLY, Call((torch.ones(2),)), 5).failure
    assert failure.line == "line 3 of f: return F.softmax(x, dim='a')"


def test_memory_is_limited(jail):
    library = jail.library("engine", engine_files())
    with jail.session(library, Limits(memory=200 << 20)) as session:
        assert session.run("cell", "x = bytearray(400 << 20)", 5).kind == "MemoryError"


@pytest.mark.slow
def test_a_server_that_has_died_is_started_again(jail):
    library = jail.library("engine", engine_files())
    for _ in range(2):  # so that a process that answers is there ahead of the next session
        with jail.session(library) as session:
            assert session.run("cell", "1", 5) is None
    time.sleep(0.5)
    started = psutil.Process(jail.server._process.pid)
    processes = started.children(recursive=True)
    started.kill()
    jail.server._process.wait()
    psutil.wait_procs(processes, timeout=10)  # the kernel ends what is in the namespace after it
    with jail.session(library) as session:
        assert session.run("cell", "1", 5) is None


@pytest.mark.slow
@pytest.mark.usefixtures("jail")  # or none works here
def test_a_process_started_ahead_sees_its_own_library_or_ends():
    """After a, b, a the jail expects b; c comes instead."""
    with Jail() as jail:
        started = psutil.Process(jail.server._process.pid)
        processes = [started, *started.children(recursive=True)]
        server = next(each for each in processes if "python" in each.name())
        for name in "ababc":
            files = engine_files() | {"lesson.py": f"name = {name!r}"}
            with jail.session(jail.library(name, files)) as session:
                cell = f"from course_lib.lesson import name\nassert name == {name!r}"
                assert session.run("cell", cell, 5) is None
        wait_until(lambda: not server.children())


@pytest.mark.slow
def test_a_process_started_ahead_is_gone_with_the_server(jail):
    library = jail.library("engine", engine_files())
    for _ in range(2):
        with jail.session(library) as session:
            assert session.run("cell", "1", 5) is None
    jail.server._process.kill()
    jail.server._process.wait()
    with jail.session(library) as session:
        assert session.run("cell", "1", 5) is None


@pytest.mark.slow
def test_a_server_that_has_begun_is_used_and_closed():
    with early_server(trusted=True) as begun, Jail(trusted=True, begun=begun) as jail:
        assert jail.server is begun
        with jail.session(jail.library("engine", engine_files())) as session:
            assert session.run("cell", "1", 5) is None
    assert begun._process is None
    assert not begun.folder.exists()


def test_no_server_begins_where_it_cannot_work(monkeypatch):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    with early_server(trusted=False) as begun:
        assert begun is None


def wait_until(holds):
    """Processes take a moment to end."""
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_stand_in_of_a_function_cannot_be_called_here():
    with pytest.raises(TypeError, match="f can only be called in the jail"):
        StandIn("f")()


@pytest.mark.slow
def test_an_installed_course_is_hidden(tmp_path, monkeypatch):
    (tmp_path / "course_lib").mkdir()
    monkeypatch.setattr(bubblewrap, "_site_packages", lambda: [str(tmp_path)])
    command = in_bubblewrap(tmp_path, monkeypatch)
    assert command[command.index("/packages/0/course_lib") - 1] == "--tmpfs"


def in_bubblewrap(folder, monkeypatch):
    """The command of an ordinary user."""
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: "bwrap")
    monkeypatch.setattr(bubblewrap.os, "getuid", lambda: 1000)
    return bubblewrap._in_bubblewrap([], folder, 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "--unshare-all --unshare-user",
        "--die-with-parent",
        "--new-session",
        "--uid 1000 --gid 1000",
        "--cap-drop ALL",  # started by root, bubblewrap would keep them
        "--clearenv",
        "--remount-ro /dev --remount-ro /",
    ],
)
def test_bubblewrap_is_asked_to_take_everything_away(tmp_path, monkeypatch, words):
    assert f" {words} " in " ".join(in_bubblewrap(tmp_path, monkeypatch))


def test_a_clone_below_a_folder_that_is_shown_is_hidden(tmp_path, monkeypatch):
    clone = tmp_path / "src" / "app"
    clone.mkdir(parents=True)
    monkeypatch.setattr(bubblewrap, "_SYSTEM", (str(tmp_path),))
    monkeypatch.setattr(bubblewrap, "LIBRARY", clone / "course_lib")
    command = in_bubblewrap(tmp_path, monkeypatch)
    assert command[command.index(str(clone)) - 1] == "--tmpfs"
    assert command[command.index("--remount-ro") + 1] == str(clone)


def test_packages_in_a_hidden_clone_are_shown_elsewhere(monkeypatch):
    site = "/usr/src/app/.venv/lib/site-packages"
    monkeypatch.setattr(bubblewrap, "_site_packages", lambda: [site])
    assert bubblewrap._sites_inside() == {site: site}
    monkeypatch.setattr(bubblewrap, "LIBRARY", Path("/usr/src/app/course_lib"))
    assert bubblewrap._sites_inside() == {site: "/packages/0"}


def test_a_folder_that_learners_could_read_is_refused(tmp_path, monkeypatch):
    bubblewrap.refuse_shown({"results": tmp_path})
    with pytest.raises(CourseError, match="expected the results .*/usr/src/x, which is in /usr"):
        bubblewrap.refuse_shown({"students' work": tmp_path, "results": Path("/usr/src/x")})
    monkeypatch.setattr(bubblewrap, "LIBRARY", Path("/usr/src/x/course_lib"))
    bubblewrap.refuse_shown({"results": Path("/usr/src/x/results")})  # hidden with the clone


@pytest.mark.slow
def test_what_learners_pass_is_not_noted_as_progress_of_the_instructor(tmp_path, monkeypatch):
    _, environment = bubblewrap.server_command(tmp_path, 3, trusted=True)
    for name in ("COURSE_PROGRESS", "HOME"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert progress_file() == Path(os.devnull)
    note_checked("06.padding_mask", passed=True)
    assert load_passed() == set()
