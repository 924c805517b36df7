"""The process inside the jail: a server that has PyTorch loaded and forks a child for each item.

The server runs no learner's code. A child gives up what it must not have (see ``confinement``),
runs the learner's cells and answers the item's calls; all that it says is untrusted. It ends when
the grader kills it.

    python -m course_lib.grading.jail.inside.worker SOCKET SETTINGS
"""

from __future__ import annotations

import ast
import asyncio
import base64
import codeop
import contextlib
import gc
import inspect
import json
import linecache
import os
import signal
import socket
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from glob import glob
from importlib import import_module
from typing import Any, NamedTuple

import torch

import course_lib
from course_lib import checks
from course_lib.checks.engine.call import Answer, Call, Failure, ask, describe_exception
from course_lib.checks.engine.ready_made import (
    ReadyMade,
    called,
    ready_made_packages,
    withhold,
)
from course_lib.checks.engine.time_limit import PROCESSOR_TIME, within
from course_lib.grading.jail.inside import confinement
from course_lib.grading.jail.inside.cell_source import Shell, definitions_of, without_magics
from course_lib.grading.jail.inside.wire import HEADER, decode, digest, encode, sizes

VIEW = "/view"  # where an isolated child sees the library
_LOADED_BEFORE = (
    "torch.nn.functional",
    "jaxtyping",
    "numpy",
    "safetensors.torch",
    "tqdm.auto",
)


def serve(control: socket.socket, settings: dict[str, Any]) -> None:
    """Fork a child for each request until the grader closes its end.

    Args:
        control: where requests come from: JSON with the folder of the library, the limits, and
            ``withheld``, the item for which what is ready-made is taken away, or ""; the child's
            socket is attached.
        settings: the folders that are hidden from children, and the filter of their system calls
            in base64; empty if nothing isolates them.
    """
    for name in _LOADED_BEFORE:
        import_module(name)
    torch.set_num_threads(1)
    torch.compile = _run_eagerly
    _first_call()
    gc.collect()
    gc.freeze()  # so that children share this memory
    if sys.platform == "linux":
        confinement.set_dumpable(False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.sendall(b"R")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            with socket.socket(fileno=descriptors[0]) as connection:
                try:
                    _child(connection, json.loads(message), settings)
                finally:
                    os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _child(connection: socket.socket, request: dict[str, Any], settings: dict[str, Any]) -> None:
    """Confine this process, then run cells and answer calls until the grader kills it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    if request["withheld"]:
        withhold(request["withheld"])
    try:
        library = _confine(connection, request, settings)
    except OSError as error:
        connection.sendall(f"E{error}"[:500].encode())
        os._exit(1)
    course_lib.__path__[:] = [f"{library}/course_lib"]
    checks.__path__[:] = [f"{library}/course_lib/checks"]
    _first_call()
    connection.sendall(b"R")
    Cells().answer_all(connection)


def _run_eagerly(model: Any = None, **options: Any) -> Any:
    """What stands for ``torch.compile``, which would start a compiler; the jail refuses to start
    processes. The result is the same.
    """
    return (lambda decorated: decorated) if model is None else model


def _first_call() -> None:
    """Start what PyTorch starts on first use, and import what a first call imports; in a child,
    touch the memory that it takes. All that is slow, and is done before a child is needed.
    """
    x = torch.randn(2, 2, requires_grad=True)
    torch.optim.SGD([x])  # imports a compiler: most of a second in which a learner did nothing
    (x @ x).softmax(-1).sum().backward()
    answer = ask(torch.relu, Call((x.detach(),), gradients=True), timer=PROCESSOR_TIME)
    encode({"number": 0, "reply": answer})


def _confine(connection: socket.socket, request: dict[str, Any], settings: dict[str, Any]) -> str:
    """Give up everything that a learner's code must not have; the folder of the library.

    Raises:
        OSError: something could not be given up.
    """
    if not settings:
        if sys.platform == "linux":
            confinement.die_with_parent()
        _introduce(connection, os.getpid())
        _forget_files(connection.fileno())
        return str(request["library"])
    limits = confinement.Limits(**request["limits"])
    confinement.set_dumpable(True)  # otherwise its own files in /proc are not its own
    confinement.set_limits(limits)
    # A copy of these files under another name would be another package.
    hide = [*settings["hide"], *_folders_of(ready_made_packages(request["withheld"]))]
    _enter_own_jail(connection, str(request["library"]), hide)
    confinement.limit_threads(limits.threads)
    confinement.refuse_privileges()
    confinement.die_with_parent()
    _forget_files(connection.fileno())
    confinement.set_dumpable(False)  # a crash must not start the system's helper for core dumps
    confinement.drop_capabilities()
    confinement.refuse_system_calls(base64.b64decode(settings["filter"]))
    return VIEW


def _folders_of(packages: list[str]) -> list[str]:
    """Where these packages are installed, in this environment and beside other Pythons."""
    installed = [
        f"{base}/lib/python*/*-packages" for base in (sys.base_prefix, "/usr", "/usr/local")
    ]
    roots = [*sys.path, *(root for pattern in installed for root in glob(pattern))]
    found = {os.path.realpath(f"{root}/{package}") for root in roots for package in packages}
    return sorted(filter(os.path.isdir, found))


def _introduce(connection: socket.socket, pid: int) -> None:
    """Give the grader a handle on a process, by which it can kill that one and no other."""
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(pid)
        socket.send_fds(connection, [str(pid).encode()], [descriptor])
        os.close(descriptor)
    else:
        connection.sendall(str(pid).encode())


def _enter_own_jail(connection: socket.socket, library: str, hide: list[str]) -> None:
    """Go on as the only process of new namespaces, where this library is at ``VIEW``.

    The process that stays outside introduces the new one and waits for its end: killing the first
    process of a namespace kills all in it.
    """
    confinement.enter_new_namespaces()
    ready, go = os.pipe()
    pid = os.fork()
    if pid:
        _introduce(connection, pid)
        os.write(go, b"g")
        connection.close()
        os.waitpid(pid, 0)
        os._exit(0)
    os.read(ready, 1)
    os.close(ready)
    os.close(go)
    confinement.bind(library, VIEW)
    for folder in hide:
        confinement.mount_empty(folder, megabytes=1, files=10)
    confinement.mount_empty("/tmp", megabytes=64, files=2000)
    os.chdir("/tmp")


def _forget_files(keep: int) -> None:
    """Close all open files but one, and read and write nothing by the standard ones."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, keep)
    os.closerange(keep + 1, 256)


class Ran(NamedTuple):
    """What a cell did to the names of the namespace.

    Attributes:
        used: those in its code that are not local, those of its functions and classes included.
        bound: those that are another object after it, or none any more.
        lost: those that could be called before it, and can't any more.
    """

    used: set[str]
    bound: set[str]
    lost: set[str]


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that is woken by a pipe: the jail refuses the usual pair of sockets."""

    def __init__(self) -> None:
        super().__init__()
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        self.add_reader(self._woken, os.read, self._woken, 1 << 12)

    def _make_self_pipe(self) -> None:
        """Nothing: see ``__init__``."""

    def _close_self_pipe(self) -> None:
        self.remove_reader(self._woken)
        os.close(self._woken)
        os.close(self._wakes)

    def _write_to_self(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full of calls to wake up
            os.write(self._wakes, b"\0")


_USE_ANY_NAME = frozenset({"eval", "exec", "globals"})
_NOTHING = object()  # in place of the object of a name that is not bound


class Cells:
    """A namespace in which a learner's cells run, and which then answers calls."""

    def __init__(self) -> None:
        self.ran: list[Ran] = []
        self.cells_called = False  # anything that is withheld
        # As in a notebook, a `from __future__ import` holds for all cells below it, and none of
        # this module does.
        self.compile: Any = codeop.Compile()
        self.compile.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook
        self.loop: _Loop | None = None  # for all cells, once one awaits something
        self.main = types.ModuleType("__main__")
        sys.modules["__main__"] = self.main
        self.main.__dict__.update(display=lambda *args, **kwargs: None, get_ipython=Shell)

    def answer_all(self, connection: socket.socket) -> None:
        """Answer each message with one that has its number, until the grader is gone."""
        received = _received
        do: dict[str, Callable[[dict[str, Any]], Any]]
        do = {"run": self.run, "ask": self.ask, "rebinds": self.rebinds}
        do["called"] = self.called
        while (header := received(connection, HEADER.size)) is not None:
            lengths = sizes(header, trusted=True)
            text, tensors = (received(connection, length) or b"" for length in lengths)
            message = decode(text, tensors, strides=True)
            reply = do[message["do"]](message)
            connection.sendall(encode({"number": message["number"], "reply": reply}))

    def run(self, message: dict[str, Any]) -> Failure | None:
        """Run a cell; what it raised, if anything. Functions and classes that are to be kept and
        are none any more after it are put back.
        """
        names = self.main.__dict__
        before, ran = dict(names), Ran(set(), set(), set())
        self.ran.append(ran)
        failure = self._run(message)
        torch.set_default_device(None)  # one that isn't there would stop all that comes after it
        self.cells_called |= bool(called)
        called.clear()
        for name in before.keys() | names.keys():
            value = before.get(name, _NOTHING)
            if names.get(name, _NOTHING) is value:
                continue
            ran.bound.add(name)
            if callable(value) and not callable(names.get(name)):
                ran.lost.add(name)
                if name in message["keep"]:
                    names[name] = value
        return failure

    def rebinds(self, message: dict[str, Any]) -> bool:
        """Whether a cell below the first ones bound a name again that an answer needs, directly or
        by what it uses; or any cell made something else of such a function that is asked for.
        """
        above, below = self.ran[: message["cells"]], self.ran[message["cells"] :]
        needed, waiting = set[str](), set(message["answer"])
        while waiting:
            needed |= waiting
            users = [ran for ran in above if ran.bound & waiting]
            waiting = set[str]().union(*(ran.used for ran in users)) - needed
        if needed & _USE_ANY_NAME:
            return any(ran.bound for ran in below)
        asked_for = needed.intersection(message["asked_for"])
        lost = any(ran.lost & asked_for for ran in self.ran)
        return lost or any(ran.bound & needed for ran in below)

    def _run(self, message: dict[str, Any]) -> Failure | None:
        """Run a cell; what it raised, if anything. Then what it defines further down still counts:
        a missing file or package is no reason to lose an answer.
        """
        name, source, seconds = f"<cell {message['name']}>", message["source"], message["seconds"]
        failure, reached, every, end = None, 0, False, PROCESSOR_TIME.now() + seconds
        try:
            if not message["only_definitions"]:
                within(seconds, partial(self._execute, name, source), PROCESSOR_TIME)
                return None
        except BaseException as error:  # whatever it is, the learner's code raised it
            failure, reached = describe_exception(error), _line_reached(error, name)
            # A comparison, and what is below it is right; or nothing of the cell has run.
            every = isinstance(error, ReadyMade) or not reached
        has_time = failure is not None and failure.kind != "TookTooLong"
        for computed in (True, False) if has_time else (False,):
            try:
                kept = {"computed": computed, "every": every and computed}
                define = partial(self._define, name, source, reached, kept)
                within(max(0.5, end - PROCESSOR_TIME.now()), define, PROCESSOR_TIME)
                return failure
            except BaseException as error:  # it took too long: then without what is computed
                failure = failure or describe_exception(error)
        return failure

    def _execute(self, name: str, source: str) -> None:
        self._exec(name, _plain(name, source))

    def _define(self, name: str, source: str, reached: int, kept: Mapping[str, bool]) -> None:
        """Run the definitions below a line, each whatever becomes of the others."""
        for node in definitions_of(_plain(name, source), after=reached, **kept):
            with contextlib.suppress(Exception):
                self._exec(name, ast.Module([node], []))

    def _exec(self, name: str, source: str | ast.Module) -> None:
        code = self.compile(source, name, "exec")
        self.ran[-1].used.update(_names_in(code))
        if not code.co_flags & inspect.CO_COROUTINE:
            exec(code, self.main.__dict__)
            return
        if self.loop is None:
            self.loop = _Loop()
            asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(eval(code, self.main.__dict__))

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make a call of what the learner defined under a name: the answer, and what its arguments
        are afterwards.
        """
        name, call = message["subject"], message["call"]
        if name not in self.main.__dict__:
            answer = Answer(failure=Failure("NameError", f"name {name!r} is not defined"))
            return {"answer": answer, "arguments": ""}
        use, arguments = _function(message["use"]), (call.args, dict(call.kwargs))

        def recorded(subject: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal arguments
            arguments = args, kwargs
            return use(subject, *args, **kwargs)

        subject, seconds = self.main.__dict__[name], message["seconds"]
        answer = ask(subject, call, recorded, seconds=seconds, timer=PROCESSOR_TIME)
        return {"answer": answer, "arguments": digest(arguments)}

    def called(self, message: dict[str, Any]) -> tuple[list[str], bool]:
        """What of it the answers have called, whatever became of the calls, and whether a cell
        called any of it.
        """
        return list(called), self.cells_called


def _function(name: str) -> Any:
    """The function "module:name"."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


@lru_cache(maxsize=1)  # a cell that fails is looked at again, and a hostile one takes seconds
def _plain(name: str, source: str) -> str:
    """A cell as plain Python, of which messages can quote a line."""
    plain = without_magics(source)
    linecache.cache[name] = (len(plain), None, plain.splitlines(keepends=True), name)
    return plain


def _names_in(code: types.CodeType) -> set[str]:
    """The names in code, and in the functions inside it, that are not local."""
    names, waiting = set[str](), [code]
    while waiting:
        part = waiting.pop()
        names.update(part.co_names)
        waiting += [each for each in part.co_consts if isinstance(each, types.CodeType)]
    return names


def _line_reached(error: BaseException, name: str) -> int:
    """The line of a cell, not of its functions, at which an error was raised; 0 if it never ran."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == name:
            return line
    return 0


def _received(connection: socket.socket, size: int) -> bytes | None:
    """So many bytes, or None if the other side is gone."""
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(1 << 20, size - len(data)))
        if not part:
            return None
        data += part
    return bytes(data)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as server:
        serve(server, json.loads(sys.argv[2]))
