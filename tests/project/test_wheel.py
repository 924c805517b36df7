"""The course without a clone: its wheel, and the set-up cell that installs it in Colab."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from course_lib.work_copy.update import FOR_ASSISTANTS
from tools import ROOT
from tools.notebooks.notebook_normal_form import SET_UP, repository

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_BYTES = 21_500_000  # half of it are the weights of trained models
NEW_IN_COLAB = {"jaxtyping", "wadler-lindig", "sacrebleu", "portalocker", "colorama"}


def colab_packages():
    lines = (Path(__file__).with_name("colab_packages.txt")).read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def test_colab_keeps_the_versions_of_all_that_it_has():
    """So pip changes nothing that is imported already, breaks nothing, and prints no error."""
    has, missing = colab_packages(), set()
    open_ends = [Requirement(text) for text in PROJECT["dependencies"]]
    while open_ends:
        need = open_ends.pop()
        name = canonicalize_name(need.name)
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        if name in has:
            assert need.specifier.contains(has[name]), f"{need}: Colab has {has[name]}"
        elif name not in missing:
            missing.add(name)
            open_ends += [Requirement(text) for text in requires(name) or []]
    assert missing == NEW_IN_COLAB


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Built from the working tree, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    # A copy, because setuptools builds in the source folder and takes what an earlier build left.
    tree = folder / "tree"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([*pip, "--wheel-dir", folder, tree], check=True)
    [path] = folder.glob("*.whl")
    return path


@pytest.mark.smoke
@pytest.mark.slow
def test_the_wheel_is_small_and_has_every_lesson_and_exercise(wheel):
    assert wheel.stat().st_size <= MOST_BYTES
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("notebooks", "exercises", "docs"):
        for path in (ROOT / folder).rglob("*.ipynb"):
            assert f"course_lib/course/{path.relative_to(ROOT).as_posix()}" in names
    assert {f"course_lib/course/{name}" for name in FOR_ASSISTANTS} <= names
    assert not [name for name in names if name.startswith(("tests/", "tools/", "solutions/"))]


@pytest.fixture
def colab(tmp_path):
    """A Python that has everything but the course, pip included, and no network."""
    python = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "environment"], check=True
    )
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout[:-1])
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(("__editable__", "transformer_question_by_question")):
            (packages / path.name).symlink_to(path)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PIP_NO_INDEX"] = "1"

    def run(code):
        return subprocess.run(
            [python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return run


def in_colab(source, after=""):
    """Run a set-up cell twice, as in Colab."""
    cell = SET_UP.format(home=repository()).replace(f"git+{repository()}", str(source))
    return f"""
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
cell = {cell!r}
for _ in range(2):
    exec(cell)
{after}
"""


@pytest.mark.slow
def test_in_colab_the_set_up_cell_installs_the_course_and_works_twice(wheel, colab):
    after = """
import json
from course_lib.lab import find_notebook
from course_lib.training import load_translator
english = str(load_translator().translate("Der alte Hund sieht die Katze."))
print(json.dumps([english, str(find_notebook("06")), str(find_notebook("06", exercise=True))]))
"""
    done = colab(in_colab(wheel, after))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    first, last = done.stdout.splitlines()
    assert first == "Installing the course takes about half a minute."
    english, lesson, exercise = json.loads(last)
    assert english == "the old dog sees the cat."
    assert Path(lesson).name == "06_masks.ipynb" and Path(exercise).name == "masks.ipynb"
    assert not Path(lesson).is_relative_to(ROOT)


@pytest.mark.slow
def test_a_failed_installation_shows_the_reason_and_what_to_do(colab):
    done = colab(in_colab("no-such-wheel.whl"))
    assert done.returncode
    assert "pip says:" in done.stdout and "no-such-wheel.whl" in done.stdout
    assert "Run this cell again" in done.stderr.splitlines()[-1]
