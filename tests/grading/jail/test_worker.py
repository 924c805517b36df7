"""The process inside the jail, tried in this one without confinement."""

import asyncio
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from course_lib.checks.engine.call import Call
from course_lib.grading.jail.inside.wire import HEADER, decode, encode, sizes
from course_lib.grading.jail.inside.worker import Cells

PLAINLY = "course_lib.checks.engine.call:call_plainly"


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    made = Cells()
    yield made
    if made.loop:
        made.loop.close()
        asyncio.set_event_loop(None)


def run(source, **options):
    message = {"do": "run", "name": "1", "source": source, "seconds": 5.0}
    return message | {"only_definitions": False, "keep": []} | options


def test_a_cell_runs_and_what_it_raises_is_recorded(cells):
    assert cells.run(run("x = 3\n%matplotlib inline\ndisplay(x)")) is None
    failure = cells.run(run("y = 1\nraise SystemExit(y)"))
    assert (failure.kind, failure.line) == ("SystemExit", "line 2: raise SystemExit(y)")
    assert cells.run(run("def broken(:")).kind == "SyntaxError"
    assert cells.run(run("while True: pass", seconds=0.1)).kind == "TookTooLong"


def test_annotations_are_text_below_a_future_import_only(cells):
    source = "def {}(x: int): return 1\nassert {}.__annotations__['x'] {} int"
    assert cells.run(run(source.format("f", "f", "is"))) is None
    assert cells.run(run("1 / 0\n" + source.format("f", "f", "is"))).kind == "ZeroDivisionError"
    assert cells.run(run("kind = f.__annotations__['x']\ndef g(): return kind is int")) is None
    assert value_of(cells, "g") is True
    assert cells.run(run("from __future__ import annotations")) is None
    assert cells.run(run(source.format("h", "h", "is not"))) is None


def test_a_cell_may_await_something(cells):
    source = """\
import asyncio
await asyncio.sleep(0)
X = await asyncio.wait_for(asyncio.to_thread(lambda: 2), 5)
def f(): return X
"""
    more = "Y = await asyncio.sleep(0.01, 3)\ndef g(): return X + Y"
    with ThreadPoolExecutor(1) as apart:  # of a loop that runs here already, for a browser
        assert [apart.submit(cells.run, run(each)).result() for each in (source, more)] == [
            None
        ] * 2
    assert [value_of(cells, name) for name in "fg"] == [2, 5]


def test_what_a_cell_computes_counts_if_it_could_not_be_compiled(cells):
    source = "X = max(1, 2)\nX += 1\ndef f(): return X\nreturn f"
    assert cells.run(run(source)).kind == "SyntaxError"
    assert value_of(cells, "f") == 3


def test_only_the_definitions_of_a_cell_can_be_run(cells):
    assert cells.run(run("def f(): return 1\nraise OSError", only_definitions=True)) is None
    assert value_of(cells, "f") == 1


def value_of(cells, name):
    asked = {"subject": name, "use": PLAINLY, "call": Call(()), "seconds": 5.0}
    return cells.ask(asked)["answer"].value


def test_what_a_cell_defines_below_an_error_counts(cells):
    source = "def f(): return 1\nf = (lambda g: g)(lambda: 3)\nopen('/none')\ndef g(): return 2"
    source += "\nimport none\nclass C(none.C): ...\nh = lambda: 4"
    failure = cells.run(run(source))
    assert (failure.kind, failure.line) == ("FileNotFoundError", "line 3: open('/none')")
    assert [value_of(cells, name) for name in "fgh"] == [3, 2, 4]


def test_what_a_cell_computes_below_an_error_counts_unless_it_takes_too_long(cells):
    source = "import none\nthree = int('3')\ndef f(): return three"
    cells.run(run(source))
    assert value_of(cells, "f") == 3
    slow = "import none\nx = [None for _ in iter(int, 1)]\ndef g(): return 2"
    assert cells.run(run(slow, seconds=0.1)).kind == "ModuleNotFoundError"
    assert value_of(cells, "g") == 2


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "mps", "meta"])
def test_a_default_device_that_is_not_there_changes_no_answer(device, cells):
    source = f"import torch\ntorch.set_default_device('{device}')\ndef f(x): return x.sum().item()"
    assert cells.run(run(source)) is None
    assert cells.run(run("two = torch.ones(2).tolist()\ndef g(): return two")) is None
    assert value_of(cells, "g") == [1.0, 1.0]
    asked = {"subject": "f", "use": PLAINLY, "call": Call((torch.ones(3, 2).t(),)), "seconds": 5.0}
    assert cells.ask(asked)["answer"].value == 6.0


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("try:\n    import none\nexcept ImportError:\n    x = 3", 3),
        ("try:\n    x = 3\nfinally:\n    print('done')", 3),
        ("if True:\n    print(none)\n    x = 3\nelse:\n    x = 4", 3),
        ("with open('/dev/null') as file:\n    x = 3", 3),
        ("for x in (1, 2, 3):\n    y = x", 3),
        ("if True:\n    if True:\n        def x(): return 3", None),
    ],
)
def test_what_a_block_defines_below_an_error_counts(block, value, cells):
    call = "return x() if callable(x) else x"
    cells.run(run(f"import none\n{block}\ndef f(): {call}"))
    assert value_of(cells, "f") == (value or 3)
    within = "\n    ".join(["if True:", "import none", *block.splitlines(), f"def h(): {call}"])
    cells.run(run(within))
    assert value_of(cells, "h") == (value or 3)


def test_what_is_to_be_kept_stays_a_function(cells):
    cells.run(run("def f(): return 1\ndef g(): return 2\nx = 3"))
    cells.run(run("f = f()\ndel g\nx = None", keep=["f", "g", "x", "none"]))
    assert [value_of(cells, name) for name in "fg"] == [1, 2]
    cells.run(run("f = lambda: 4\n1 / 0", keep=["f"]))
    assert value_of(cells, "f") == 4


ANSWER = "def helper(x): return x + ONE\ndef answer(x):\n    y = x\n    return helper(y)"


@pytest.mark.parametrize(
    ("below", "rebinds"),
    [
        ("answer = answer(1)", True),
        ("del answer", True),
        ("for helper in (1, 2): pass", True),
        ("from math import sqrt as helper", True),
        ("globals().update(ONE=3)", True),
        ("def helper(x): return x", True),
        ("exec('class helper: ...')", True),
        ("print(ONE := 2)", True),
        (
            "# answer = helper\n'helper = 3'\nx = y = answer(1)\nscratch = [x for helper in ()]",
            False,
        ),
        ("def test():\n    answer = helper = ONE = 3\ntest()", False),
        ("from math import sqrt\nONE = ONE\nother = 4", False),
    ],
)
def test_a_cell_that_binds_what_an_answer_needs_is_told_from_one_that_uses_it(
    below, rebinds, cells
):
    for source in ("x = other = 3", "from math import sqrt\nONE = 1", ANSWER, below):
        assert cells.run(run(source)) is None
    asked = {"answer": ["answer"], "cells": 3, "asked_for": ["answer"]}
    assert cells.rebinds(asked) is rebinds


def test_a_builtin_that_is_hidden_below_an_answer_is_one_that_it_needs(cells):
    for source in ("def answer(x): return sum(x)", "sum = 0\nmax = 1"):
        cells.run(run(source))
    assert cells.rebinds({"answer": ["answer"], "cells": 1, "asked_for": []})


def test_a_function_that_is_asked_for_and_lost_above_an_answer_is_one_that_it_needs(cells):
    sources = ["def first(): return 1", "first = first()", "def second(): return first()"]
    for source in [*sources, "x = 3"]:
        cells.run(run(source))
    asked = {"answer": ["second"], "cells": 3, "asked_for": ["first", "second"]}
    assert cells.rebinds(asked)
    assert not cells.rebinds(asked | {"asked_for": ["second"]})
    assert not cells.rebinds(asked | {"answer": ["third"]})


def test_an_answer_that_looks_up_names_at_will_may_need_any(cells):
    for source in ("def answer(): return eval('on' + 'e')", "one = 1"):
        cells.run(run(source))
    assert cells.rebinds({"answer": ["answer"], "cells": 1, "asked_for": []})


def test_what_a_cell_defines_below_a_loop_without_end_counts(cells):
    source = "while True: pass\ndef f(): return 1"
    assert cells.run(run(source, seconds=0.1)).kind == "TookTooLong"
    assert value_of(cells, "f") == 1


@pytest.mark.parametrize("first", ["x = !ls", "await f()", "get_ipython().magic('x')", "f()"])
def test_commands_of_a_notebook_do_not_cost_the_answer_below_them(cells, first):
    cells.run(run(f"{first}\ndef f(): return 1"))
    assert value_of(cells, "f") == 1


def test_a_name_that_is_not_defined_is_a_name_error(cells):
    answer = cells.ask({"subject": "f", "use": PLAINLY, "call": Call(()), "seconds": 5.0})["answer"]
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
    assert (second["number"], second["reply"]["answer"].value) == (2, 6)


def received(connection):
    text, tensors = sizes(exactly(connection, HEADER.size))
    return decode(exactly(connection, text), exactly(connection, tensors))


def exactly(connection, size):
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data
