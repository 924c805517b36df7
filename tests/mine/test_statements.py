"""What of a notebook goes into the file of a lesson."""

from course_lib.mine.statements import as_module, read_statements, select


def kept(cells, *wanted):
    return [statement.text for statement in select(read_statements(cells), wanted)]


def test_an_answer_comes_with_what_it_uses_and_with_its_comments():
    cells = [
        "import math\nimport torch\n\nx = torch.zeros(3)  # only to try it",
        "# The factor.\n\ndef scale(d):\n    # of the paper\n    return math.sqrt(d)\n",
        "def f(x):\n    return x * scale(len(x))\n\nprint(f([1]))",
    ]
    assert kept(cells, "f") == [
        "import math",
        "# The factor.\n\ndef scale(d):\n    # of the paper\n    return math.sqrt(d)",
        "def f(x):\n    return x * scale(len(x))",
    ]


def test_a_local_name_is_not_that_of_another_cell():
    assert kept(["x = 3", "def f():\n    x = 2\n    return x"], "f") == [
        "def f():\n    x = 2\n    return x"
    ]


def test_the_last_definition_counts_and_what_changes_it_afterwards():
    cells = [
        "def f(): return 1",
        "def f(): return 2",
        "f.version = 2",
        "def f_old(): return f()",
        "f = str(f)",
    ]
    assert kept(cells, "f") == ["def f(): return 2", "f.version = 2", "f = str(f)"]
    assert kept(cells[:4], "f") == ["def f(): return 2", "f.version = 2"]


def test_a_helper_may_stand_below_and_use_the_answer_itself():
    cells = ["def f(n): return g(n)", "def g(n): return f(n - 1) if n else 0"]
    assert kept(cells, "f") == cells


def test_names_bound_by_other_statements_are_found():
    cells = [
        "for i in range(3): last = i",
        "try:\n    import missing\nexcept ImportError:\n    missing = None",
        "a, (b, *c) = 1, (2, 3); d = 4",
        "def f(): return last, missing, b, d",
    ]
    assert kept(cells, "f") == [
        cells[0],
        cells[1],
        "a, (b, *c) = (1, (2, 3))",
        "d = 4",
        cells[3],
    ]


def test_a_cell_that_is_no_python_is_left_out():
    assert kept(["def f(: pass", "def f(): return 1\n", "1 +"], "f") == ["def f(): return 1"]


def test_annotations_bring_their_imports():
    cells = ["from torch import Tensor, nn", "def f(x: Tensor) -> Tensor:\n    return x"]
    assert kept(cells, "f") == cells


def test_a_module_has_its_imports_first_and_runs():
    text = as_module(
        "Answers.", select(read_statements(["import math", "def f(): return math.pi"]), ["f"])
    )
    names: dict = {}
    exec(text, names)
    assert names["f"]() > 3
    assert text.startswith('"""Answers.\n"""\n\nfrom __future__ import annotations\n\nimport math')
