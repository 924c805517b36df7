"""What `make lab` and `make env` run: which tool installs, and where PyTorch comes from."""

import subprocess
import sys
import tomllib
from dataclasses import replace

import pytest

from tools import ROOT, install
from tools.install import PYTORCH, SETTING, Machine, examine, main, plan

LINUX = Machine(platform="linux", has_nvidia_smi=False, uv=None, pip_is_configured=False)
CPU = f"--index-url {PYTORCH}/cpu"


@pytest.mark.parametrize(
    "machine, torch, first, words",
    [
        (LINUX, "auto", CPU, f"pip, PyTorch from {PYTORCH}/cpu (this is Linux without nvidia-smi)"),
        (LINUX, "cu130", f"{PYTORCH}/cu130", f"PyTorch from {PYTORCH}/cu130: about 2.9 GB"),
        (LINUX, "default", "", "everything from its default index: about 2.9 GB"),
        (replace(LINUX, has_nvidia_smi=True), "auto", "", "default index: about 2.9 GB"),
        (replace(LINUX, has_nvidia_smi=True), "cpu", CPU, f"{PYTORCH}/cpu: about 0.3 GB"),
        (replace(LINUX, platform="darwin"), "auto", "", "default index: about 0.3 GB"),
        (replace(LINUX, platform="win32"), "auto", "", "default index: about 0.3 GB"),
        (replace(LINUX, pip_is_configured=True), "auto", "", "where your pip settings say"),
        (replace(LINUX, pip_is_configured=True), "cpu", CPU, "about 0.3 GB"),
    ],
)
def test_pip_takes_pytorch_from_where_the_first_line_says(machine, torch, first, words):
    chosen = plan("lab", torch, machine)
    assert words in chosen.words
    assert first in " ".join(chosen.torch_first)
    assert bool(first) == bool(chosen.torch_first)
    assert chosen.rest[:4] == [sys.executable, "-m", "pip", "install"]
    assert chosen.rest[-4:] == ["-c", "constraints.txt", "-e", ".[lab]"]
    assert "index-url" not in " ".join(chosen.rest)  # nothing but PyTorch comes from its index


@pytest.mark.parametrize("torch", ["auto", "cpu"])
def test_uv_is_preferred_and_told_which_build(torch):
    chosen = plan("all", torch, replace(LINUX, uv="/bin/uv"))
    assert not chosen.torch_first
    assert chosen.rest[:3] == ["/bin/uv", "pip", "install"]
    assert f"--python {sys.executable} --torch-backend {torch} -c" in " ".join(chosen.rest)
    assert chosen.words.startswith("uv") and "about 0.5 GB" in chosen.words


def test_all_is_every_extra_of_the_course():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(install.EXTRAS["all"].split(",")) == set(project["optional-dependencies"])


def test_uv_does_not_read_pips_settings_so_pip_is_used_where_there_are_any():
    chosen = plan("lab", "auto", replace(LINUX, uv="/bin/uv", pip_is_configured=True))
    assert chosen.rest[0] == sys.executable


@pytest.fixture
def commands(monkeypatch):
    """The commands that would have been run; those with a word of `failing` fail."""

    class Commands(list):
        failing = ()

    ran = Commands()

    def run(command):
        ran.append(command)
        return int(any(word in command for word in ran.failing))

    monkeypatch.setattr(install, "_run", run)
    return ran


def test_the_source_of_pytorch_is_printed_before_anything_is_run(commands, capsys, monkeypatch):
    monkeypatch.setattr(install, "_run", lambda command: pytest.fail(capsys.readouterr().out))
    with pytest.raises(pytest.fail.Exception, match=rf"^Installing with .*{PYTORCH}/cpu.*0\.3 GB"):
        install.install("lab", "auto", LINUX)


@pytest.mark.parametrize(
    "level, other",
    [("1", "make env TORCH=cu130."), (None, "python -m tools.install all --torch cu130.")],
)
def test_the_first_line_ends_with_how_to_choose_another_build(
    commands, capsys, monkeypatch, level, other
):
    if level is None:
        monkeypatch.delenv("MAKELEVEL", raising=False)
    else:
        monkeypatch.setenv("MAKELEVEL", level)
    assert install.install("all", "auto", LINUX) == 0
    assert capsys.readouterr().out.rstrip().endswith(other)


def test_an_index_that_does_not_answer_is_replaced_by_pips_own_only_after_a_word(commands, capsys):
    commands.failing = ("torch",)
    assert install.install("lab", "auto", LINUX) == 0
    assert len(commands) == 2
    assert "default index, which has it with CUDA: about 2.9 GB" in capsys.readouterr().err


def test_a_build_that_was_asked_for_is_never_replaced(commands):
    commands.failing = ("torch",)
    assert install.install("lab", "cpu", LINUX) == 1
    assert len(commands) == 1


def test_pip_does_what_uv_could_not(commands, capsys):
    commands.failing = ("/bin/uv",)
    assert install.install("lab", "auto", replace(LINUX, uv="/bin/uv")) == 0
    assert [command[0] for command in commands] == ["/bin/uv", sys.executable, sys.executable]
    assert "uv could not install it, so pip tries" in capsys.readouterr().err


def test_what_fails_in_the_end_fails(commands):
    commands.failing = (".[all]", f".[{install.EXTRAS['all']}]")
    assert install.install("all", "default", LINUX) == 1


@pytest.mark.parametrize(
    "line, configured",
    [
        (":env:.extra-index-url='https://a.example/simple'", True),
        ("global.find-links='wheels'", True),
        ("install.no-index='true'", True),
        ("global.index-url='https://a.example'", True),
        (":env:.extra-index-url=''", False),
        ("global.cert='/a.crt'", False),
        ("", False),
    ],
)
def test_only_settings_that_name_a_source_count(line, configured):
    assert bool(SETTING.search(line)) == configured


def test_the_settings_are_those_that_pip_tells(monkeypatch):
    told = subprocess.CompletedProcess([], 0, stdout="global.find-links='here'\n")
    monkeypatch.setattr(install.subprocess, "run", lambda *_, **__: told)
    assert examine().pip_is_configured
    assert examine().platform == sys.platform


def test_the_command_installs_what_it_is_told(commands, monkeypatch):
    monkeypatch.setattr(install, "examine", lambda: LINUX)
    assert main(["lab", "--torch", "default"]) == 0
    assert commands == [plan("lab", "default", LINUX).rest]


def test_an_interruption_needs_no_traceback(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "examine", interrupted)
    assert main(["lab"]) == 130


def test_a_long_installation_gives_signs_of_life(monkeypatch, capsys):
    monkeypatch.setattr(install, "SIGN_OF_LIFE", 0.05)
    assert (
        install._run([sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(3)"])
        == 3
    )
    assert capsys.readouterr().out.count("Still installing, after 0 s") >= 2


def test_a_command_runs_in_the_folder_of_the_course():
    code = "import os, sys; sys.exit(0 if os.path.exists('pyproject.toml') else 1)"
    assert install._run([sys.executable, "-c", code]) == 0


@pytest.mark.parametrize("name", ["cuda", "gpu", "CPU", "cu13.0", "cpu; rm -rf .", ""])
def test_another_name_than_that_of_a_build_is_refused_before_anything_is_made(name, capsys):
    with pytest.raises(SystemExit):
        main(["lab", "--torch", name, "--check"])
    assert f"such as cpu, cu130 or rocm6.4, got {name!r}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["auto", "default", "cpu", "cu130", "cu92", "rocm6.4", "xpu"])
def test_a_build_is_only_checked_if_that_is_asked_for(name, capsys):
    assert main(["lab", "--torch", name, "--check"]) == 0
    assert capsys.readouterr() == ("", "")
