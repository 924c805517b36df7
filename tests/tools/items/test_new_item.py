"""The stubs of a new item are accepted by everything that reads items."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from course_lib.checks import TABLE
from tools import ROOT
from tools.items import new_item

ITEM = "06.stub_of_a_test"
COPIED = ("course_lib", "tools", "tests/checks", "solutions/06_masks", "exercises/06_masks")
FILES = (
    "course_lib/checks/table.py",
    "course_lib/checks/items/masks/stub_of_a_test.py",
    "solutions/06_masks/masks.ipynb",
    "tests/checks/alternatives/masks.py",
)
# Runs in a process of its own, in the copy, because the table of items is read on import.
USE_IT = """
import json
from course_lib.checks import TABLE, check, load_item, load_items
from course_lib.checks.items.masks import stub_of_a_test
from tools.items import item_rules
from tools.notebooks.build_exercises import SOLUTIONS, is_fresh, make
from tools.notebooks.notebook_normal_form import read
from tests.checks.alternatives import masks

item = load_item("06.stub_of_a_test")
solution = SOLUTIONS / "06_masks" / "masks.ipynb"
print(json.dumps({
    "table": list(TABLE),
    "problems": [p for rule in item_rules.RULES for p in rule(item)],
    "order": [p for p in item_rules.check_after_answer(read(solution))],
    "right": [check(item.id, f).passed for f in masks.ALTERNATIVES[item.id]],
    "wrong": [(m.name, check(item.id, m.subject).misconception) for m in item.misconceptions],
    "changed": [path.parts[-3] for path in make(solution, run=True)],
    "fresh": is_fresh(solution),
    "shown": [o for c in read(solution).cells if "stub-of-a-test-check" in c.id for o in c.outputs],
    "cells": [(c.id, c.source) for c in read(solution).cells if "stub-of-a" in c.id],
    "exercise": [c.id for c in read(solution).cells],
}))
"""


@pytest.fixture
def copy(tmp_path):
    """The part of the tree that an item of lesson 06 touches."""
    for folder in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "*.safetensors")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_stubs_load_are_checked_and_become_an_exercise(copy, capsys):
    assert new_item.main([ITEM], root=copy) == 0
    printed = capsys.readouterr().out
    assert all(f"   {file}" in printed for file in FILES)
    assert f"make item ITEM={ITEM}" in printed
    environment = os.environ | {"PYTHONPATH": str(copy), "COURSE_PROGRESS": str(copy / "progress")}
    done = subprocess.run(
        [sys.executable, "-c", USE_IT], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lesson = [item for item in found["table"] if item.startswith("06.")]
    assert lesson.index(ITEM) == lesson.index("06.bug") - 1
    assert set(found["table"]) == {*TABLE, ITEM}
    assert found["problems"] and all("still has to be written" in p for p in found["problems"])
    assert found["order"] == []
    assert found["right"] == [True] * 3
    assert len(found["wrong"]) == 3 and all(name == called for name, called in found["wrong"])
    assert found["changed"] == ["solutions", "exercises"] and found["fresh"]
    ids = [f"06-stub-of-a-test-{role}" for role in ("task", "hints", "answer", "check")]
    assert [name for name, _ in found["cells"]] == ids
    assert found["exercise"].index("06-bug-task") == found["exercise"].index(ids[-1]) + 1
    sources = dict(found["cells"])
    assert "`06.stub_of_a_test` · code" in sources[ids[0]]
    assert "A nudge" in sources[ids[1]]
    assert "### BEGIN SOLUTION" in sources[ids[2]]
    assert sources[ids[3]] == 'check("06.stub_of_a_test", stub_of_a_test)'
    assert "✓ 06.stub_of_a_test" in found["shown"][0]["data"]["text/plain"]


USE_THE_RUN = """
import json
from course_lib.checks import TABLE, check, make_run
from course_lib.checks.items.masks.conclude import run
from tools.notebooks.notebook_normal_form import read
from tools.notebooks.build_exercises import SOLUTIONS

numbers = [make_run("06.conclude", number=n)["run"] for n in range(5)]
right = [
    {"number": n, "most": max(each), "why": "a" if each[0] < each[-1] else "b"}
    for n, each in enumerate(numbers)
]
cells = read(SOLUTIONS / "06_masks" / "masks.ipynb").cells
print(json.dumps({
    "passed": [check("06.conclude", lambda two=two: two).passed for two in zip(right, right[1:])],
    "kind": TABLE["06.conclude"].kind,
    "roles": [c.id.rpartition("-")[2] for c in cells if c.id.startswith("06-conclude")],
}))
"""


@pytest.mark.slow
def test_the_stubs_of_a_question_about_a_run_work(copy):
    assert new_item.main(["06.conclude"], root=copy) == 0
    command = [sys.executable, "-c", USE_THE_RUN]
    environment = os.environ | {"PYTHONPATH": str(copy), "COURSE_PROGRESS": str(copy / "p.json")}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {
        "passed": [True] * 4,
        "kind": "conclude",
        "roles": ["task", "hints", "import", "answer", "check"],
    }


@pytest.mark.parametrize(
    ("item_id", "message"),
    [
        ("", "expected a lesson and the name"),
        ("stub_of_a_test", "got 'stub_of_a_test'"),
        ("06.SlidingWindow", "in lower case"),
        ("06.stub-of-a-test", "got '06.stub-of-a-test'"),
        ("06.two__lines", "got '06.two__lines'"),
        ("06.lambda", "the name of a Python function"),
        ("77.window", "lesson must be one of 01, 02"),
        ("06.causal_mask", "there is an item 06.causal_mask already: choose another name"),
        ("07.block_parts", "course_lib/checks/items/blocks/block_parts.py exists already"),
    ],
)
def test_an_id_that_cannot_be_used_is_refused_and_nothing_is_written(item_id, message, capsys):
    before = {path: path.stat().st_mtime for path in (ROOT / "course_lib" / "checks").rglob("*.py")}
    assert new_item.main([item_id]) == 1
    assert message in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime for path in before}


def test_a_file_that_looks_otherwise_is_named_and_nothing_is_written(tmp_path, capsys):
    table = tmp_path / "course_lib" / "checks" / "table.py"
    table.parent.mkdir(parents=True)
    table.write_text("")
    assert new_item.main([ITEM], root=tmp_path) == 1
    assert "expected a line that begins with" in capsys.readouterr().err
    assert table.read_text() == ""


@pytest.mark.parametrize("lesson", ["01", "13", "14"])
def test_a_new_item_goes_before_the_first_that_is_not_code(lesson):
    following = new_item.before_which(lesson, "code")
    assert TABLE[following].kind == "bug" and following.startswith(lesson)


@pytest.mark.parametrize(("lesson", "kind"), [("01", "written"), ("11", "run")])
def test_a_question_about_a_run_goes_before_what_a_person_or_a_run_answers(lesson, kind):
    following = new_item.before_which(lesson, "predict")
    assert TABLE[following].kind == kind and following.startswith(lesson)
