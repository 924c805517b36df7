"""Notebooks that try to cheat or to escape: none gains a point or touches anything outside.

Each attack is in a notebook with a wrong answer, so that every point is one too many.
"""

import contextlib
import ctypes
import json
import os
import socket
import threading
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.checks.engine.call import Call
from course_lib.grading.class_run.grade import grade_submission
from course_lib.grading.jail.jail import Jail
from course_lib.grading.jail.library_view import engine_files
from course_lib.grading.submissions.exercise import bound_names
from tests.grading.notebooks_to_hand_in import ROOT, SECRET, SHORT, answered, with_cell
from tests.item_points import checked_points, points_of

KEY = os.getpid()  # so that two runs of the tests have objects of their own
WRONG = {
    "06-padding-mask-answer": "def padding_mask(tokens, pad_id):\n    return tokens == pad_id\n"
}

# OUTSIDE is a folder with another submission, PORT a server that listens on this machine, KEY that
# of System V objects which everybody may use.
CHEATS = {
    "torch.equal is patched": "torch.equal = torch.allclose = lambda *a, **k: True",
    "isclose is patched": "torch.isclose = lambda a, *r, **k: torch.ones_like(a, dtype=torch.bool)",
    "Tensor.__ne__ is patched": """
torch.Tensor.__ne__ = lambda a, b: torch.zeros(1, dtype=torch.bool)
torch.Tensor.any = lambda self, *a, **k: False
""",
    "builtins are patched": """
import builtins
builtins.isinstance = lambda *a: True
builtins.zip = lambda *a, **k: iter(())
builtins.any = builtins.all = lambda *a: False
""",
    "check is patched": """
import course_lib.checks
course_lib.checks.check = check = lambda *a, **k: 2
""",
    "the engine is patched": """
from course_lib.checks.engine import call, compare
compare.answers_differ = compare.first_difference = lambda *a, **k: None
call.Answer.__init__ = lambda self, *a, **k: None
""",
    "a tensor subclass agrees with everything": """
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
def padding_mask(tokens, pad_id):
    return torch.zeros(1).as_subclass(Agreeable)
""",
    "an object is equal to everything": """
class Equal:
    __eq__ = __ge__ = __le__ = __bool__ = lambda self, *other: True
    __hash__ = lambda self: 0
    shape = dtype = property(lambda self: self)
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
padding_mask = Equal()
""",
    "an int is equal to everything": """
class Equal(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def padding_mask(tokens, pad_id): return Equal(3)
""",
    "a dict and a list lie about themselves": """
class Lying(dict):
    def items(self): return [("value", self)]
    def __eq__(self, other): return True
def padding_mask(tokens, pad_id): return Lying(a=[Lying()])
""",
    "the reference is imported": "from course_lib.model import padding_mask",
    "the reference is imported from its module": """
from course_lib.model.masks import padding_mask as right
def padding_mask(tokens, pad_id): return right(tokens, pad_id)
""",
    "the item is imported": """
from course_lib.checks.items.masks.padding_mask import item
padding_mask = item.reference
""",
    "load_item is imported": """
from course_lib.checks import load_item
padding_mask = load_item("06.padding_mask").reference
""",
    "the file with the reference is read": """
import importlib.util, pathlib, sys
for root in [*sys.path, "ROOT", "/", "/engine", "/views", "/view"]:
    for path in pathlib.Path(root).glob("**/masks.py") if len(root) > 1 else ():
        source = path.read_text()
        if "tokens != pad_id" in source:
            namespace = {}
            exec(source, namespace)
            padding_mask = namespace["padding_mask"]
""",
    "the reference is found in memory": """
import gc
for each in gc.get_objects():
    if getattr(each, "__name__", "") == "padding_mask" and each is not padding_mask:
        padding_mask = each
""",
    "a module is reloaded": """
import importlib, course_lib.model.masks
padding_mask = importlib.reload(course_lib.model.masks).padding_mask
""",
    "the solution is read": """
import json, pathlib
cells = json.loads(pathlib.Path("ROOT/solutions/06_masks/masks.ipynb").read_text())["cells"]
for cell in cells:
    if cell["id"] == "06-padding-mask-answer":
        exec("".join(cell["source"]))
""",
    "another submission is read": """
import json, pathlib
cells = json.loads(pathlib.Path("OUTSIDE/other/masks.ipynb").read_text())["cells"]
exec("".join(next(c["source"] for c in cells if c["id"] == "06-padding-mask-answer")))
""",
    "the shadow of a module is submitted": """
import sys, types
fake = types.ModuleType("course_lib.checks.engine.call")
fake.ask = lambda *a, **k: None
sys.modules["course_lib.checks.engine.call"] = fake
sys.modules["course_lib.grading.jail.inside.wire"] = fake
""",
    "the calling frames are searched": """
import sys
def padding_mask(tokens, pad_id):
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            for name in ("expected", "reference", "right"):
                if hasattr(value, name):
                    return getattr(value, name)
        frame = frame.f_back
    return tokens
""",
    "the time limit is turned off": """
import signal
signal.setitimer = signal.signal = lambda *a: None
def padding_mask(tokens, pad_id): return None
""",
    "a module is not what it says it is": """
def padding_mask(tokens, pad_id): return tokens
padding_mask.__module__ = "course_lib.model.masks"
padding_mask.__code__ = (lambda tokens, pad_id: True).__code__
""",
}
CHEATS |= {
    "hooks see every call": """
import sys
torch.nn.modules.module.register_module_forward_hook(lambda *a: True)
torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__enter__()
sys.setprofile(lambda frame, event, arg: frame.f_locals.clear())
""",
    "imports are redirected": """
import importlib.abc, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None): raise SystemExit(0)
sys.meta_path.insert(0, Finder())
sys.path.insert(0, "ROOT")
for name in [name for name in sys.modules if name.startswith("course_lib")]: del sys.modules[name]
""",
}
FORGED = {
    "all sockets are written to": """
import os
for number in range(3, 64):
    try: os.write(number, b"\\x00" * 64)
    except OSError: pass
""",
    "a frame is forged": """
import json, os, struct
text = json.dumps({"dict": ["number", 99, "reply", {"answer": [True, None, False, 0.0]}]}).encode()
for number in range(3, 64):
    try: os.write(number, struct.pack("<II", len(text), 0) + text)
    except OSError: pass
""",
    "a huge frame is announced": """
import os, struct
for number in range(3, 64):
    try: os.write(number, struct.pack("<II", 2**32 - 1, 2**32 - 1))
    except OSError: pass
""",
    "deep JSON is sent": """
import os, struct
text = b"[" * 200000
for number in range(3, 64):
    try: os.write(number, struct.pack("<II", len(text), 0) + text)
    except OSError: pass
""",
    "bad safetensors are sent": """
import os, struct
for number in range(3, 64):
    try: os.write(number, struct.pack("<II", 4, 100) + b"null" + b"\\xff" * 100)
    except OSError: pass
""",
    "encode is replaced": """
import sys
worker = sys.modules["__main__"]
for module in list(sys.modules.values()):
    if hasattr(module, "encode") and hasattr(module, "HEADER"):
        module.encode = lambda value: b"garbage that is no frame at all"
import gc, types
for each in gc.get_objects():
    if isinstance(each, dict) and "encode" in each and "HEADER" in each:
        each["encode"] = lambda value: b"garbage that is no frame at all"
""",
}
FORGED |= {
    "all files are closed": "import os; os.closerange(0, 256)",
    "files are passed on": """
import array, socket
with open("/dev/null") as file:
    for number in range(3, 64):
        try:
            connection = socket.socket(fileno=number)
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))
            connection.sendmsg([b"x"], [rights] * 1)
            connection.detach()
        except OSError: pass
""",
}
ESCAPES = {
    "the root is mounted again": """
import ctypes
libc = ctypes.CDLL(None)
for target in (b"/", b"/usr", b"/engine", b"/view", b"/tmp"):
    libc.mount(None, target, None, 32 | 4096, None)
    libc.umount2(target, 2)
libc.chroot(b"/proc/1/root")
libc.syscall(272, 0x10020000)
libc.setns(3, 0)
libc.ptrace(16, 1, 0, 0)
open("/usr/new", "w")
""",
    "files outside are overwritten": """
import pathlib
for path in ("OUTSIDE/other/masks.ipynb", "OUTSIDE/gradebook.db", "OUTSIDE/new", "/usr/new"):
    try: pathlib.Path(path).write_text("hacked")
    except OSError: pass
""",
    "files outside are deleted": """
import os, shutil
shutil.rmtree("OUTSIDE", ignore_errors=True)
os.system("rm -rf OUTSIDE")
""",
    "a link leads outside": """
import os, pathlib
os.symlink("OUTSIDE/gradebook.db", "link")
try: pathlib.Path("link").write_text("hacked")
except OSError: pass
""",
    "a connection is opened": """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_UNIX, "OUTSIDE/socket")):
    try: socket.socket(family).connect(address)
    except OSError: pass
""",
    "the internet is asked": """
import urllib.request
try: urllib.request.urlopen("http://127.0.0.1:PORT/", timeout=1).read()
except OSError: pass
""",
    "a process is left behind": """
import os, subprocess
try: subprocess.Popen(["sleep", "98765.4"], start_new_session=True)
except OSError: pass
try:
    if os.fork() == 0:
        os.setsid()
        os.execvp("sleep", ["sleep", "98765.4"])
except OSError: pass
""",
    "processes multiply": """
import os
try:
    while True: os.fork()
except OSError: pass
""",
    "3,000 threads are started": """
import threading
threading.stack_size(32768)
gate = threading.Event()
for _ in range(3000): threading.Thread(target=gate.wait, daemon=True).start()
""",
    "System V shared memory, semaphores and messages are removed": """
import ctypes
libc = ctypes.CDLL(None)
libc.shmctl(libc.shmget(KEY, 0, 0), 0, None)
libc.semctl(libc.semget(KEY, 0, 0), 0, 0)
libc.msgctl(libc.msgget(KEY, 0), 0, None)
""",
    "a neighbour's folder is watched": """
import ctypes
libc = ctypes.CDLL(None)
watcher = libc.inotify_init1(0)
libc.inotify_add_watch(watcher, b"OUTSIDE/other", 0xFFF)
""",
    "all processes get a signal": """
import os, signal
for pid in (-1, 0, 1, os.getppid(), PARENT):
    try: os.kill(pid, signal.SIGTERM)
    except OSError: pass
""",
    "a thread goes on": """
import pathlib, threading, time
def later():
    time.sleep(1)
    pathlib.Path("OUTSIDE/new").write_text("hacked")
threading.Thread(target=later, daemon=True).start()
""",
    "something is done at the end": """
import atexit, pathlib
atexit.register(lambda: pathlib.Path("OUTSIDE/new").write_text("hacked"))
class Last:
    def __del__(self): pathlib.Path("OUTSIDE/new").write_text("hacked")
last = Last()
""",
    "memory is filled": "hog = [bytearray(1 << 28) for _ in range(100)]",
    "the disk is filled": """
try:
    for number in range(100):
        with open(f"/tmp/{number}", "wb") as file:
            for _ in range(100): file.write(bytes(1 << 24))
except OSError: pass
""",
    "much is printed": "for _ in range(20_000): print('x' * 10_000)",
    "the process ends itself": "import os; os._exit(0)",
    "the process crashes": "import ctypes; ctypes.string_at(0)",
    "the program is left": "raise SystemExit",
    "a loop never ends": "while True: pass",
    "a loop swallows what should stop it": """
import signal
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "all signals are blocked": """
import ctypes
ctypes.CDLL(None).pthread_sigmask(0, b"\\xff" * 128, None)
while True: pass
""",
}


@pytest.fixture(scope="module")
def outside(tmp_path_factory, notebook_text):
    """A folder that everybody may write to, with another student's right answer."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "other").mkdir()
    (folder / "other" / "masks.ipynb").write_text(notebook_text)
    (folder / "gradebook.db").write_text("marks")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    for parent in (folder, *folder.parents):
        if parent.owner() == Path(folder).owner() and "pytest" in parent.name:
            parent.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def notebook_text():
    return (ROOT / "solutions" / "06_masks" / "masks.ipynb").read_text("utf-8")


@pytest.fixture(scope="module")
def server():
    """A server on this machine, and the connections that it has accepted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepted = []

        def accept():
            while True:
                try:
                    accepted.append(listening.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], accepted


@pytest.fixture(scope="module")
def ipc_objects():
    """Whether the three System V objects of `KEY` are still there, as a function."""
    create, gone = 0o1000 | 0o666, -1
    libc = ctypes.CDLL(None)
    memory, message_queue = libc.shmget(KEY, 4096, create), libc.msgget(KEY, create)
    semaphores = libc.semget(KEY, 1, create)

    def are_there():
        found = libc.shmget(KEY, 0, 0), libc.semget(KEY, 0, 0), libc.msgget(KEY, 0)
        return found == (memory, semaphores, message_queue) and gone not in found

    assert are_there()
    yield are_there
    libc.shmctl(memory, 0, None)
    libc.semctl(semaphores, 0, 0)
    libc.msgctl(message_queue, 0, None)


def content(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def attack(source, outside, server):
    """The source of an attack with what it is about."""
    for name, value in (("OUTSIDE", outside), ("ROOT", ROOT), ("PORT", server[0]), ("KEY", KEY)):
        source = source.replace(name, str(value))
    return source.replace("PARENT", str(os.getpid()))


@pytest.mark.parametrize("name", [*CHEATS, *FORGED, *ESCAPES])
def test_an_attack_gains_nothing_and_touches_nothing(
    name, jail, one_item, notebook, outside, server, ipc_objects, tmp_path
):
    source = attack((CHEATS | FORGED | ESCAPES)[name], outside, server)
    before = content(outside)
    handed_in = with_cell(answered(notebook, WRONG), source, after="06-padding-mask-answer")
    (tmp_path / "masks.ipynb").write_text(json.dumps(handed_in), encoding="utf-8")
    result = grade_submission(tmp_path, one_item, jail=jail, secret=SECRET, limits=SHORT)
    assert not result.points
    assert content(outside) == before
    assert server[1] == []
    assert ipc_objects()


# Each hides that a right answer changes its input in place, which costs all points of the item.
CONCEALED = {
    "nothing": "",
    "torch.equal is patched": "torch.equal = lambda *a: True",
    "what notices it is patched": """
from course_lib.checks.engine import call
call._changed = lambda *a: False
call._data = lambda *a: 0
""",
    "the answer is patched": """
from course_lib.checks.engine import call
def unchanged(self, *args, original=call.Answer.__init__, **kwargs):
    original(self, *args, **(kwargs | {"changed_inputs": False}))
call.Answer.__init__ = unchanged
""",
}


@pytest.mark.parametrize("name", CONCEALED)
def test_an_answer_that_changes_its_inputs_cannot_hide_it(name, graded, notebook, masks):
    answer = """
def masked_softmax(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min
    IN_PLACE
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)
"""
    task = next(task for task in masks.tasks if task.entry.id == "06.masked_softmax")
    exercise = replace(masks, tasks=(task,))
    most = points_of("06.masked_softmax")
    for change, earned in [("pass", most), ("scores.data.masked_fill_(~mask, lowest)", 0)]:
        source = CONCEALED[name] + answer.replace("IN_PLACE", change)
        result = graded(answered(notebook, {"06-masked-softmax-answer": source}), exercise)
        assert result.points == earned


WITHIN_REACH = """
import ctypes
libc = ctypes.CDLL(None)
def found():
    watcher = libc.inotify_init1(0)
    return {
        "shared memory": libc.shmget(KEY, 0, 0) >= 0,
        "semaphores": libc.semget(KEY, 0, 0) >= 0,
        "messages": libc.msgget(KEY, 0) >= 0,
        "a watched folder": libc.inotify_add_watch(watcher, b"OUTSIDE/other", 0xFFF) >= 0,
    }
"""


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["bubblewrap", "none"])
def test_what_is_within_reach_without_the_jail_is_not_in_it(
    isolation, jail, outside, server, ipc_objects
):
    plainly = "course_lib.checks.engine.call:call_plainly"
    with contextlib.ExitStack() as stack:
        trusting = isolation == "none"
        used = stack.enter_context(Jail(trusted=True)) if trusting else jail
        session = stack.enter_context(used.session(used.library("engine", engine_files())))
        assert session.run("cell", attack(WITHIN_REACH, outside, server), 5) is None
        found = session.ask("found", plainly, Call(()), 5).value
    assert len(found) == 4
    assert set(found.values()) == {trusting}


@pytest.mark.slow
def test_after_all_attacks_no_process_is_left_and_the_next_submission_gets_its_marks(
    jail, masks, outside
):
    left = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            left += [path] if b"98765.4" in path.read_bytes() else []
        except OSError:
            continue
    assert left == []
    time.sleep(1.2)  # the thread of an earlier attack would have written by now
    assert not (outside / "new").exists()
    result = grade_submission(
        ROOT / "solutions" / "06_masks", masks, jail=jail, secret=SECRET, limits=SHORT
    )
    assert result.points == checked_points("06")


@pytest.mark.parametrize(
    "source", ["a=\n" * 100_000, "import " + "ab," * 100_000], ids=["defined", "imported"]
)
def test_the_names_of_a_cell_with_millions_take_little_memory(source):
    bound_names("")  # what is compiled once
    tracemalloc.start()
    try:
        assert len(bound_names(source)) == 1
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_nothing_stays_for_the_next_submission(graded, notebook, one_item):
    leaves = """
import pathlib
for folder in ("/tmp", "/dev/shm", "/view", "/engine", "/var/tmp"):
    try: pathlib.Path(folder, "left").write_text("left")
    except OSError: pass
"""
    finds = """
import pathlib
folders = ("/tmp", "/dev/shm", "/view", "/engine", "/var/tmp")
if any(pathlib.Path(folder, "left").exists() for folder in folders):
    raise RuntimeError("found something")
"""
    graded(with_cell(notebook, leaves), one_item)
    assert graded(with_cell(notebook, finds), one_item).notes == ()


def test_unusual_names_and_ready_made_functions_are_flagged_and_cost_nothing(
    graded, notebook, one_item
):
    right = "import ctypes\ndef padding_mask(t, p):\n    return (t != p)[:, None, None]\n"
    result = graded(answered(notebook, {"06-padding-mask-answer": right}), one_item)
    assert result.points == points_of("06.padding_mask")
    [flag] = result.items[0].flags
    assert flag == "unusual in this course: ctypes (cell 06-padding-mask-answer, line 1)"
