"""A check says so if it is about a version of before a cell that failed, and only then."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from course_lib.checks.report import cell_history

FIRST = "def mask(x):\n    return x"
SECOND = "def mask(x):\n    return 2 * x"
DECORATOR = "def twice(f):\n    def inner(x):\n        return 2 * f(x)\n    return inner"
DECORATED = (
    "class mask:\n    @twice\n    def f(x):\n        return x\n    def g(x):\n        return x"
)


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def outdated_after(shell, *cells):
    """What the last cell, a check, would say of `mask`."""
    found = []
    shell.push({"look": lambda mask: found.append(cell_history.outdated_name(mask))})
    for cell in (*cells, "look(mask)"):
        shell.run_cell(cell, store_history=True, silent=False)
    return found


@pytest.mark.parametrize(
    "cells",
    [
        [FIRST, f"1 / 0\n{SECOND}"],
        [FIRST, f"{SECOND}\nthis is no Python"],
        [FIRST, f"{SECOND}\n    stray indent ="],
        ["class mask:\n    def f(self):\n        pass", "class mask:\n    x = 1 / 0\n    y = 2"],
        [FIRST, f"1 / 0\n{SECOND}", "y = 3"],
    ],
)
def test_a_definition_that_failed_is_noticed(shell, cells):
    assert outdated_after(shell, *cells)[-1] == "mask"


@pytest.mark.parametrize(
    "cells",
    [
        [FIRST],
        [FIRST, SECOND],
        [FIRST, f"{SECOND}\n1 / 0"],
        [FIRST, f"1 / 0\n{SECOND}", FIRST],
        [FIRST, f"1 / 0\n{SECOND}", SECOND],
        [FIRST, "other = mask", SECOND, "mask = other"],
        [FIRST, "if False:\n    def mask(x):\n        return 3"],
        [FIRST, "1 / 0\nmask(3)"],
        ["from math import sqrt as mask"],
        ["mask = len"],
        [FIRST, "%%capture out\n" + SECOND],
        [FIRST, "import functools\n@functools.cache\n" + SECOND],
        ["mask = lambda x: x"],
        [DECORATOR, DECORATED],
    ],
)
def test_there_is_no_false_alarm(shell, cells):
    assert outdated_after(shell, *cells)[-1] == ""


def test_a_definition_in_the_cell_of_the_check_is_no_old_one(shell):
    assert outdated_after(shell, FIRST, f"{SECOND}\nlook(mask)\n1 / 0") == ["", ""]


def test_outside_of_a_notebook_nothing_is_told(monkeypatch):
    assert cell_history.outdated_name(test_outside_of_a_notebook_nothing_is_told) == ""


def test_the_conventions_of_a_check_are_read_from_its_cell(shell):
    shell.push({"check": lambda *args, **kwargs: None})
    shell.run_cell('check("06.causal_mask", 3, conventions=["mask_polarity"])', store_history=True)
    shell.run_cell("x = 1", store_history=True)
    assert cell_history.conventions_of_check("06.causal_mask", if_none=()) == ("mask_polarity",)
    assert cell_history.conventions_of_check("06.padding_mask", if_none=()) == ()


def test_conventions_that_are_not_written_out_are_unknown(shell):
    shell.push({"check": lambda *args, **kwargs: None, "CONV": ["mask_polarity"]})
    shell.run_cell('check("06.causal_mask", 3, conventions=CONV)', store_history=True)
    assert cell_history.conventions_of_check("06.causal_mask", if_none=()) is None
    assert cell_history.conventions_of_check("06.padding_mask", if_none=None) is None
    shell.run_cell('check("06.causal_mask", 3)', store_history=True)
    assert cell_history.conventions_of_check("06.causal_mask", if_none=None) == ()
