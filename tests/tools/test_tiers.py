"""The two tiers together run every test, and say what they left out."""

import os
import re
import subprocess
import sys

import pytest

from tests.tools.notebooks.sample_notebooks import code, notebook, stream
from tools import ROOT, tiers
from tools.notebooks.notebook_normal_form import to_bytes

TESTS = """
import pytest

def test_is_fast(): pass

@pytest.mark.slow
def test_is_slow(): pass

@pytest.mark.slow
@pytest.mark.smoke
def test_is_smoke(): pass

def test_needs_what_is_missing(): pytest.skip("left out: get it with apt-get")

def test_needs_another_system(): pytest.skip("not on this system")
"""
TRAINED = [
    code("set-up", "y = 0"),
    code("before", "x = 1\nprint(x)", [stream("1\n")]),
    code("trains", "print(x + 1)", [stream("2\n")], tags=[tiers.LONG_TRAINING]),
    code("after", "print(x + 2)", [stream("3\n")]),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """``run(tier, *options)``: the names that passed, and what pytest printed."""
    folder = tmp_path_factory.mktemp("tiers")
    (folder / "test_it.py").write_text(TESTS)
    (folder / "11_long.ipynb").write_bytes(to_bytes(notebook(*TRAINED)))
    at_once = [code("start", "x = 1"), code("trains-at-once", "y = x", tags=[tiers.LONG_TRAINING])]
    (folder / "12_at_once.ipynb").write_bytes(to_bytes(notebook(*at_once)))
    short = code("only", "print(1)", [stream("1\n")])
    (folder / "01_short.ipynb").write_bytes(to_bytes(notebook(short)))

    def run_(tier, *options):
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options]
        command += ["-p", "tools.notebooks.nbval_plugin", "--nbval", "-p", "tools.tiers"]
        command += ["--tier", tier, "--rootdir", str(folder), "-c", str(ROOT / "pyproject.toml")]
        done = subprocess.run(
            [*command, str(folder)], cwd=ROOT, capture_output=True, text=True, env=os.environ
        )
        assert done.returncode == 0, done.stdout + done.stderr
        passed = re.findall(r"::([\w-]+) (?:<- \S+ )?PASSED|PASSED \S*::([\w-]+)", done.stdout)
        return sorted(a or b for a, b in passed), done.stdout

    return run_


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_the_fast_tier_leaves_out_lessons_that_train_for_long_and_says_so(run, workers):
    passed, printed = run("fast", *workers)
    assert passed == ["only", "stored-file", "test_is_fast", "test_is_smoke"]
    assert (
        "Not run: 1 slow tests, and lessons 11, 12, which train for long. "
        "`make test-all` runs them, too."
    ) in printed
    assert "Left out 1 tests: get it with apt-get" in printed
    assert "Left out 1 tests: not on this system" not in printed


@pytest.mark.slow
def test_the_other_tier_runs_slow_tests_and_long_lessons_whole(run):
    passed, printed = run("rest")
    assert passed == [
        *("after", "before", "set-up", "start", "stored-file", "stored-file"),
        *("test_is_slow", "trains", "trains-at-once"),
    ]
    assert "Not run" not in printed


def test_files_that_changed_after_make_test_passed_are_checked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(tiers, "ROOT", tmp_path)
    monkeypatch.setattr(tiers, "PASSED", tmp_path / ".passed")
    monkeypatch.delenv("CI", raising=False)
    for command in (["init", "-q"], ["config", "core.excludesFile", "/dev/null"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text(".passed\n")
    (tmp_path / "code.py").write_text("x = 1\n")
    assert tiers.main([]) == 1
    assert tiers.main(["--passed"]) == 0
    assert tiers.main([]) == 0
    (tmp_path / "code.py").write_text("x = 2\n")
    assert tiers.main([]) == 1
    (tmp_path / "code.py").write_text("x = 1\n")
    assert tiers.main([]) == 0
    (tmp_path / "new.py").write_text("")
    assert tiers.main([]) == 1
    (tmp_path / "new.py").unlink()
    assert tiers.main([]) == 0


@pytest.mark.parametrize(("measured", "missing"), [(1e9, False), (2e9, True), (None, True)])
def test_in_ci_what_make_test_covered_must_be_known(tmp_path, monkeypatch, measured, missing):
    monkeypatch.setattr(tiers, "state_of_files", lambda: "these")
    monkeypatch.setattr(tiers, "PASSED", tmp_path / ".passed")
    monkeypatch.setattr(tiers, "COVERED", tmp_path / ".coverage")
    monkeypatch.setenv("CI", "true")
    assert tiers.main(["--passed"]) == 0
    os.utime(tiers.PASSED, (1.5e9, 1.5e9))
    if measured is not None:
        tiers.COVERED.write_text("")
        os.utime(tiers.COVERED, (measured, measured))  # 2e9: another run has measured since
    assert tiers.main([]) == missing
    monkeypatch.delenv("CI")
    assert tiers.main([]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("tier", "left_out"), [("fast", True), ("rest", False)])
def test_exercises_belong_to_the_other_tier(tier, left_out):
    path = tiers.EXERCISES / "06_masks" / "masks.ipynb"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.notebooks.nbval_plugin"]
    command += ["--nbval", "-p", "tools.tiers", "--tier", tier, "--collect-only", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ("no tests collected" in done.stdout) == left_out, done.stdout


def test_without_git_everything_is_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(tiers, "ROOT", tmp_path)
    monkeypatch.setattr(tiers, "PASSED", tmp_path / ".passed")
    assert tiers.main(["--passed"]) == 0
    assert tiers.main([]) == 1
