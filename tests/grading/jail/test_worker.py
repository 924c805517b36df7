"""The process inside the jail, tried in this one without confinement."""

import socket
import subprocess
import sys
import threading

import pytest

from course_lib.checks.engine.call import Call
from course_lib.grading.jail.inside import confinement
from course_lib.grading.jail.inside.syscalls import NUMBERS
from course_lib.grading.jail.inside.wire import HEADER, decode, encode, sizes
from course_lib.grading.jail.inside.worker import Cells
from tests.grading.notebooks_to_hand_in import ROOT

PLAINLY = "course_lib.checks.engine.call:call_plainly"


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    return Cells()


def run(source, **options):
    message = {"do": "run", "name": "cell 1", "source": source, "seconds": 5.0}
    return message | {"only_definitions": False} | options


def test_a_cell_runs_and_what_it_raises_is_recorded(cells):
    assert cells.run(run("x = 3\n%matplotlib inline\ndisplay(x)")) is None
    failure = cells.run(run("y = 1\nraise SystemExit(y)"))
    assert (failure.kind, failure.line) == ("SystemExit", "line 2: raise SystemExit(y)")
    assert cells.run(run("def broken(:")).kind == "SyntaxError"
    assert cells.run(run("while True: pass", seconds=0.1)).kind == "TookTooLong"


def test_only_the_definitions_of_a_cell_can_be_run(cells):
    assert cells.run(run("def f(): return 1\nraise OSError", only_definitions=True)) is None
    assert cells.ask({"subject": "f", "use": PLAINLY, "call": Call(()), "seconds": 5.0}).value == 1


def value_of(cells, name):
    return cells.ask({"subject": name, "use": PLAINLY, "call": Call(()), "seconds": 5.0}).value


def test_what_a_cell_defines_below_an_error_counts(cells):
    source = "def f(): return 1\nf = (lambda g: g)(lambda: 3)\nopen('/none')\ndef g(): return 2"
    source += "\nimport none\nclass C(none.C): ...\nh = lambda: 4"
    failure = cells.run(run(source))
    assert (failure.kind, failure.line) == ("FileNotFoundError", "line 3: open('/none')")
    assert [value_of(cells, name) for name in "fgh"] == [3, 2, 4]


def test_what_a_cell_defines_below_a_loop_without_end_counts(cells):
    source = "while True: pass\ndef f(): return 1"
    assert cells.run(run(source, seconds=0.1)).kind == "TookTooLong"
    assert value_of(cells, "f") == 1


@pytest.mark.parametrize("first", ["x = !ls", "await f()", "get_ipython().magic('x')", "f()"])
def test_commands_of_a_notebook_do_not_cost_the_answer_below_them(cells, first):
    cells.run(run(f"{first}\ndef f(): return 1"))
    assert value_of(cells, "f") == 1


def test_a_name_that_is_not_defined_is_a_name_error(cells):
    answer = cells.ask({"subject": "f", "use": PLAINLY, "call": Call(()), "seconds": 5.0})
    assert (answer.failure.kind, answer.failure.message) == (
        "NameError",
        "name 'f' is not defined",
    )


def test_each_message_is_answered_with_its_number_until_the_grader_is_gone(cells):
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=cells.answer_all, args=(theirs,))
    thread.start()
    with ours, theirs:
        ours.sendall(encode(run("def f(x): return 2 * x") | {"number": 1}))
        asked = {"do": "ask", "subject": "f", "use": PLAINLY, "call": Call((3,)), "seconds": 5.0}
        ours.sendall(encode(asked | {"number": 2}))
        first, second = received(ours), received(ours)
        ours.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    assert not thread.is_alive()
    assert first == {"number": 1, "reply": None}
    assert (second["number"], second["reply"].value) == (2, 6)


def received(connection):
    text, tensors = sizes(exactly(connection, HEADER.size))
    return decode(exactly(connection, text), exactly(connection, tensors))


def exactly(connection, size):
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
@pytest.mark.parametrize("machine", NUMBERS)
@pytest.mark.parametrize("name", ["_filter", "_filter_of_changes"])
def test_no_jump_of_the_filter_leads_outside_it(name, machine, monkeypatch):
    monkeypatch.setattr(confinement.platform, "machine", lambda: machine)
    program = getattr(confinement, name)()
    for number, instruction in enumerate(program):
        if instruction.code != confinement._RETURN:
            assert number + 1 + max(instruction.if_true, instruction.if_false) < len(program)
    assert program[-1].operand == confinement._ALLOW


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
@pytest.mark.parametrize(
    ("number", "argument", "refused"),
    [
        *((0, 0, False), (1, 5, False), (231, 0, False)),
        *((57, 0, True), (59, 0, True), (41, 0, True), (165, 0, True), (2**30 + 1, 0, True)),
        *((56, 0x10000, False), (56, 0, True), (56, 0x10000000, True), (435, 0, True)),
        *((234, 77, False), (234, 1, True), (302, 0, False), (302, 77, False), (302, 1, True)),
        *((72, 1, False), (72, 8, True), (72, 10, True), (72, 15, True), (203, 0, True)),
        *((16, 0x5401, False), (16, 0x8901, True), (16, 0x8902, True), (16, 0x40086602, True)),
    ],
)
def test_the_filter_refuses_what_leads_out_and_allows_the_rest(
    number, argument, refused, monkeypatch
):
    monkeypatch.setattr(confinement.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(confinement.os, "getpid", lambda: 77)
    program = confinement._filter()
    given = {0: number, 4: NUMBERS["x86_64"].audit, 16: argument, 24: argument}
    assert (result_of(program, given) != confinement._ALLOW) == refused
    assert result_of(program, given | {4: 3}) == confinement._KILL


CHANGES = """
import os, sys
from course_lib.grading.jail.inside import confinement

path = sys.argv[1]
confinement.refuse_privileges()
confinement.allow_reading_only(["/"])
for change in (
    lambda: os.chmod(path, 0),
    lambda: os.fchmod(os.open(path, os.O_RDONLY), 0),
    lambda: os.chown(path, os.getuid(), os.getgid()),
    lambda: os.utime(path, (0, 0)),
    lambda: os.truncate(path, 0),
    lambda: os.setxattr(path, "user.x", b"x"),
):
    try:
        change()
    except PermissionError:
        continue
    raise SystemExit("a file was changed")
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not confinement.landlock_version(), reason="it needs Landlock"
)
def test_where_landlock_protects_files_their_owner_cannot_change_them(tmp_path):
    file = tmp_path / "of_the_instructor"
    file.write_text("marks")
    before = file.stat()
    subprocess.run([sys.executable, "-c", CHANGES, str(file)], check=True, cwd=ROOT)
    assert file.stat() == before
    assert file.read_text() == "marks"


def result_of(program, given):
    """What a seccomp program returns for these numbers, as the kernel would find it."""
    at = loaded = 0
    tests = {
        confinement._EQUAL: lambda operand: loaded == operand,
        confinement._AT_LEAST: lambda operand: loaded >= operand,
        confinement._ANY_BIT: lambda operand: bool(loaded & operand),
    }
    while (instruction := program[at]).code != confinement._RETURN:
        at += 1
        if instruction.code == confinement._LOAD:
            loaded = given[instruction.operand]
        else:
            at += (
                instruction.if_true
                if tests[instruction.code](instruction.operand)
                else instruction.if_false
            )
    return instruction.operand
