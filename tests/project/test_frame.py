"""The files around the code agree with each other, and make says what is wrong."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools import install
from tools.notebooks.stamp_links import with_address

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CONDA_NAMES = {"torch": "pytorch"}
SYSTEMS = ("linux", "darwin", "win32")
MAKE = shutil.which("make")
needs_make = pytest.mark.skipif(
    MAKE is None or sys.platform == "win32", reason="Windows goes without make"
)


def read_pins():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def is_for(system, requirement):
    environment = default_environment() | {"sys_platform": system}
    return requirement.marker is None or requirement.marker.evaluate(environment)


def pins_on(system):
    return {
        canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("=="))
        for pin in read_pins()
        if is_for(system, pin)
    }


def run_make(folder, *arguments, path=None):
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    if path is not None:
        environment["PATH"] = str(path)
    return subprocess.run(
        [MAKE, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def write_script(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def copy(tmp_path):
    """The files that make reads, in a folder whose name has a space."""
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "tools").mkdir()
    names = ("Makefile", "pyproject.toml", "constraints.txt", "tools/__init__.py")
    for name in (*names, "tools/install.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_environment_yml_asks_for_what_pyproject_asks_for():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    *packages, pip = environment["dependencies"]
    expected = {"python" + PROJECT["requires-python"], "pip"}
    for text in PROJECT["dependencies"] + EXTRAS["lab"]:
        requirement = Requirement(text)
        expected.add(
            CONDA_NAMES.get(requirement.name, requirement.name) + text[len(requirement.name) :]
        )
    assert set(packages) == expected
    assert len(packages) == len(expected)
    assert pip == {"pip": ["-e ."]}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_requirement_is_pinned_within_its_bounds(system):
    pins = pins_on(system)
    for text in sum(EXTRAS.values(), PROJECT["dependencies"]):
        requirement = Requirement(text)
        if is_for(system, requirement):
            assert pins[canonicalize_name(requirement.name)] in requirement.specifier, text


@pytest.mark.parametrize("system", SYSTEMS)
def test_pins_cover_what_the_installed_packages_need(system):
    from importlib.metadata import PackageNotFoundError, requires

    pins = pins_on(system)
    environment = default_environment() | {
        "sys_platform": system,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[system],
        "os_name": "nt" if system == "win32" else "posix",
        "extra": "",
    }
    for name in pins:
        try:
            needs = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            continue
        for need in needs:
            if need.marker is None or need.marker.evaluate(environment):
                pin = pins.get(canonicalize_name(need.name))
                assert pin is not None, f"{name} needs {need}, constraints.txt has no such pin"
                assert need.specifier.contains(pin, prereleases=True), f"{name} needs {need}"


def test_every_requirement_has_a_lowest_version():
    for text in sum(EXTRAS.values(), PROJECT["dependencies"]):
        [bound] = Requirement(text).specifier
        assert bound.operator == ">=", text


def test_every_pin_is_one_exact_version():
    pins = read_pins()
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in pins)
    keys = [(canonicalize_name(pin.name), str(pin.marker)) for pin in pins]
    assert keys == sorted(set(keys))


def test_the_container_for_grading_is_made_of_what_is_there():
    lines = (ROOT / "tools" / "grading" / "Dockerfile").read_text("utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert {"course_lib", "exercises", "constraints.txt"} <= set(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []
    page = (ROOT / "docs" / "grading.md").read_text("utf-8")
    assert "docker build -t course-grading -f tools/grading/Dockerfile ." in page


TEXTS = [
    "AGENTS.md",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "constraints.txt",
    "environment.yml",
    "pyproject.toml",
    ".ci/run",
    ".devcontainer/devcontainer.json",
    ".pre-commit-config.yaml",
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / ".github").rglob("*.*"))),
]


@pytest.mark.parametrize("name", TEXTS)
def test_no_file_names_a_registry_or_a_path_on_one_machine(name):
    text = (ROOT / name).read_text("utf-8")
    assert not re.findall(r"pypi\.|pythonhosted|anaconda\.org", text)
    assert ("download.pytorch" in text) == (name == "README.md")  # in code, tools/install.py alone
    assert not re.findall(r"(?<![\w.:/])/(?:home|root|work|opt|Users|tmp|mnt)/", text)


def test_readme_names_only_targets_files_and_addresses_that_exist():
    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert {"lab", "test"} <= set(re.findall(r"^make ([a-z]+)", readme, re.MULTILINE)) <= targets
    for folder in re.findall(r"^\| `([\w/]+)` \|", readme, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
    home = PROJECT["urls"]["Repository"]
    assert f"git clone {home}\ncd {home.rpartition('/')[2]}\n" in readme
    if with_address(readme, home) != readme:
        pytest.fail(
            "README.md has another address: run python -m tools.notebooks.stamp_links",
            pytrace=False,
        )
    for host in ("colab.research.google.com/github", "mybinder.org/v2/gh", "codespaces.new"):
        assert f"https://{host}/{home.removeprefix('https://github.com/')}" in readme


def test_readme_says_what_is_downloaded_and_from_where_before_the_commands():
    before, commands, _ = (ROOT / "README.md").read_text("utf-8").partition("make lab     #")
    assert commands
    assert f"{install.PYTORCH}/cpu" in before
    for build in install.TORCH_GIGABYTES:
        size = install._gigabytes("lab", build).removesuffix(" GB").removeprefix("about ")
        assert f"about {float(size):.1g} GB" in before


def test_the_dev_container_installs_what_make_lab_does():
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8")
    command = json.loads(text)["postCreateCommand"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "tools.install lab" in command and "LAB := .venv/.installed-lab\n" in makefile
    assert command.endswith("touch .venv/.installed-lab && .venv/bin/course update")  # the copy


@needs_make
def test_a_bare_make_lists_every_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)", makefile, re.MULTILINE)[1].split()
    result = run_make(ROOT)
    listed = re.findall(r"^make ([\w-]+) ", result.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(set(phony) - {"help", "fast"})  # fast is a part of two others


@needs_make
def test_make_says_what_is_wrong_with_an_old_python(copy, tmp_path):
    old = tmp_path / "old python"
    write_script(old, '[ "$1" = --version ] && { echo Python 3.8.1; exit 0; }; exit 1')
    result = run_make(copy, "env", f"PYTHON={old}")
    assert result.returncode
    assert "expected Python 3.11 or newer, found Python 3.8.1" in result.stderr
    assert not (copy / ".venv").exists()


@needs_make
def test_make_says_so_when_there_is_no_python_at_all(copy, tmp_path):
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "sh").symlink_to("/bin/sh")
    write_script(commands / "python3", "exit 1")
    result = run_make(copy, "env", path=commands)
    assert result.returncode
    assert "expected Python 3.11 or newer, found none on the PATH" in result.stderr


@needs_make
def test_make_takes_the_first_python_that_is_new_enough(copy, tmp_path):
    commands = tmp_path / "bin"
    write_script(commands / "python3.11", "exit 1")
    write_script(commands / "python3.12", "exit 0")
    write_script(commands / "python3.13", "exit 0")
    result = run_make(copy, "env", "--dry-run", path=f"{commands}{os.pathsep}{os.environ['PATH']}")
    assert '"python3.12" -m venv .venv' in result.stdout


@needs_make
def test_an_interrupted_installation_is_begun_again(copy, tmp_path):
    python = tmp_path / "python"
    write_script(
        python,
        r"""case "$*" in
*venv\ .venv) mkdir -p .venv/bin; cp "$0" .venv/bin/python;;
*tools.install*--check) ;;
*tools.install*) echo "$*"; exit 130;;
esac""",
    )
    for _ in range(2):
        result = run_make(copy, "lab", f"PYTHON={python}", "TORCH=cpu")
        assert result.returncode
        assert "-m tools.install lab --torch cpu\n" in result.stdout
        assert not list((copy / ".venv").glob(".installed*"))


@needs_make
def test_make_says_what_to_install_when_a_python_has_no_venv(copy, tmp_path):
    bare = tmp_path / "bare"
    write_script(
        bare,
        'case "$*" in --version) echo Python 3.12.3;; *ensurepip*) exit 1;; *venv*) exit 9;; esac',
    )
    result = run_make(copy, "env", f"PYTHON={bare}")
    assert result.returncode
    assert "the modules venv and ensurepip, found Python 3.12.3 without them" in result.stderr
    assert "apt install python3-venv" in result.stderr


STAMPS = {"lab": (".installed-lab",), "env": (".installed-lab", ".installed-all")}


@needs_make
@pytest.mark.parametrize("target, stamps", STAMPS.items())
def test_make_installs_again_only_when_a_requirement_has_changed(copy, target, stamps):
    (copy / ".venv").mkdir()
    paths = [copy / ".venv" / stamp for stamp in stamps]
    for path in paths:
        assert "-m tools.install" in run_make(copy, target, "--dry-run", "PYTHON=python").stdout
        path.touch()
    assert "-m tools.install" not in run_make(copy, target, "--dry-run", "PYTHON=python").stdout
    now = paths[-1].stat().st_mtime
    for name in ("pyproject.toml", "constraints.txt"):
        os.utime(copy / name, (now + 10,) * 2)
        assert "-m tools.install" in run_make(copy, target, "--dry-run", "PYTHON=python").stdout
        os.utime(copy / name, (now - 10,) * 2)


@needs_make
def test_make_test_stops_at_the_first_failure_and_names_it(copy):
    for tool, status in {"ruff": 0, "mypy": 1, "lint-imports": 0, "python": 0}.items():
        write_script(copy / ".venv" / "bin" / tool, f"echo {tool} ran; exit {status}")
    for stamp in STAMPS["env"]:
        (copy / ".venv" / stamp).touch()
    result = run_make(copy, "-j4", "test", "PYTHON=python")
    assert result.returncode
    assert "Stopped at: Types" in result.stderr
    assert "ruff ran" in result.stdout
    assert "lint-imports ran" not in result.stdout
