"""Install the course for this Python, which is best one of a virtual environment.

    python -m tools.install lab              # what a learner needs
    python -m tools.install all              # and what tests and maintainers need
    python -m tools.install lab --torch cpu  # with this build of PyTorch: cpu, cu130, …

What comes from where is printed before anything is downloaded. On Linux, pip's default index has
PyTorch with CUDA, ten times as much as all the rest. So, unless --torch says otherwise:

1. If your pip settings name an index or find-links, pip takes everything from there.
2. Otherwise uv installs, if it is on the PATH, and chooses PyTorch's build by the GPU it finds.
3. Otherwise pip does: on Linux without nvidia-smi, PyTorch from PyTorch's index for CPUs; in all
   other cases everything from pip's default index.

This runs before anything is installed, so it imports the standard library alone.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools import ROOT

PYTORCH = "https://download.pytorch.org/whl"
EXTRAS = {"lab": "lab", "all": "lab,hub,tensorboard,grading,cluster,site,published,dev"}
GIGABYTES = {"lab": 0.13, "all": 0.33}  # to download, without PyTorch
TORCH_GIGABYTES = {"cpu": 0.19, "cuda": 2.73}
SIGN_OF_LIFE = 15.0  # seconds
AUTO, DEFAULT = "auto", "default"  # of --torch; all others are builds that PyTorch's index names
BUILD = re.compile(rf"{AUTO}|{DEFAULT}|cpu|cu\d{{2,3}}|rocm\d[\d.]*|xpu")
SETTING = re.compile(r"\.(?:index-url|extra-index-url|find-links|no-index)='?\"?[^'\"\s]")


@dataclass(frozen=True)
class Machine:
    """What the choice depends on."""

    platform: str  # as sys.platform
    has_nvidia_smi: bool
    uv: str | None  # its path
    pip_is_configured: bool  # an index or find-links is set


@dataclass(frozen=True)
class Plan:
    """What is about to be installed, in words, and the commands that do it.

    Attributes:
        torch_first: installs PyTorch alone; empty if the last command installs everything.
    """

    words: str
    torch_first: list[str]
    rest: list[str]


def examine() -> Machine:
    """This machine. pip tells its settings, wherever they are written."""
    pip = [sys.executable, "-m", "pip", "config", "list"]
    settings = subprocess.run(pip, capture_output=True, text=True).stdout
    return Machine(
        platform=sys.platform,
        has_nvidia_smi=shutil.which("nvidia-smi") is not None,
        uv=shutil.which("uv"),
        pip_is_configured=SETTING.search(settings) is not None,
    )


def plan(what: str, torch: str, machine: Machine) -> Plan:
    """How to install `what`, a key of `EXTRAS`, with this build of PyTorch."""
    course = ["-c", "constraints.txt", "-e", f".[{EXTRAS[what]}]"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if torch == AUTO and machine.pip_is_configured:
        words = (
            "pip, everything from where your pip settings say (`pip config list`): "
            f"{_gigabytes(what, 'cpu')}, or {_gigabytes(what, 'cuda')} if PyTorch has CUDA there"
        )
        return Plan(words, [], pip + course)
    if machine.uv is not None and torch != DEFAULT:
        uv = [machine.uv, "pip", "install", "--quiet", "--python", sys.executable]
        words = (
            f"uv, which takes the build of PyTorch for your GPU or CPU from {PYTORCH}: "
            f"{_gigabytes(what, 'cpu')}, or {_gigabytes(what, 'cuda')} with an NVIDIA GPU"
            if torch == AUTO
            else f"uv, PyTorch from {PYTORCH}/{torch}: {_gigabytes(what, torch)}"
        )
        return Plan(words, [], [*uv, "--torch-backend", torch, *course])
    reason = ""
    if torch == AUTO and machine.platform == "linux" and not machine.has_nvidia_smi:
        torch, reason = "cpu", " (this is Linux without nvidia-smi)"
    if torch in (AUTO, DEFAULT):
        build = "cuda" if machine.platform == "linux" else "cpu"
        words = f"pip, everything from its default index: {_gigabytes(what, build)}"
        return Plan(words, [], pip + course)
    index = f"{PYTORCH}/{torch}"
    # From there comes PyTorch alone, in the pinned version; all that it needs comes with the rest.
    torch_first = [*pip, "--no-deps", "--retries", "1", "--index-url", index, *course[:2], "torch"]
    words = f"pip, PyTorch from {index}{reason}: {_gigabytes(what, torch)}"
    return Plan(words, torch_first, pip + course)


def _gigabytes(what: str, build: str) -> str:
    torch = TORCH_GIGABYTES["cpu" if build == "cpu" else "cuda"]
    return f"about {GIGABYTES[what] + torch:.1f} GB"


def install(what: str, torch: str, machine: Machine) -> int:
    """Install, and return the exit status. What does not work is replaced only after a word."""
    chosen = plan(what, torch, machine)
    if "MAKELEVEL" in os.environ:
        other = f"make {what.replace('all', 'env')} TORCH=cu130"
    else:
        other = f"python -m tools.install {what} --torch cu130"
    print(f"Installing with {chosen.words}. Another build of PyTorch: {other}.", flush=True)
    if chosen.torch_first and (status := _run(chosen.torch_first)):
        if torch != AUTO:
            return status
        size = _gigabytes(what, "cuda")
        print(
            f"PyTorch's index for CPUs did not work, so PyTorch comes from pip's default index, "
            f"which has it with CUDA: {size}. Ctrl-C stops it.",
            file=sys.stderr,
            flush=True,
        )
    status = _run(chosen.rest)
    if status and chosen.rest[0] == machine.uv:
        print("uv could not install it, so pip tries.", file=sys.stderr, flush=True)
        return install(what, torch, replace(machine, uv=None))
    return status


def _run(command: list[str]) -> int:
    """Run a command, with a sign of life now and then, and return its exit status."""
    start = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT) as process:
        while True:
            try:
                return process.wait(SIGN_OF_LIFE)
            except subprocess.TimeoutExpired:
                print(f"Still installing, after {time.monotonic() - start:.0f} s …", flush=True)


def _build(name: str) -> str:
    if not BUILD.fullmatch(name):
        raise argparse.ArgumentTypeError(
            f"expected a build of PyTorch, such as cpu, cu130 or rocm6.4, got {name!r}: its number "
            "is part of the name, and without it auto chooses"
        )
    return name


def main(arguments: Sequence[str] | None = None) -> int:
    """Install what the arguments name."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.install",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=EXTRAS)
    parser.add_argument(
        "--torch",
        default=AUTO,
        type=_build,
        help=f"a build of PyTorch, such as cpu or cu130; {AUTO}: chosen as above; "
        f"{DEFAULT}: what pip's default index has",
    )
    parser.add_argument("--check", action="store_true", help="only check these arguments")
    options = parser.parse_args(arguments)
    if options.check:
        return 0
    try:
        return install(options.what, options.torch, examine())
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
