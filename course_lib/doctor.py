"""What ``course doctor`` looks at: Python, packages, device, lessons.

Nothing here may fail because something is missing: packages are imported where they are looked at.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from course_lib.lab import NOTEBOOKS

DISTRIBUTION = "transformer-question-by-question"
OLDEST_PYTHON = (3, 11)
# The extras that a learner may want; what only developers need is left to make.
EXTRAS = {"lab": "course lab", "hub": "corpora from the Hugging Face hub", "grading": "nbgrader"}


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``mend`` says what to do where it is not fine."""

    name: str
    value: str
    fine: bool = True
    required: bool = True
    mend: str = ""


def examine() -> list[Finding]:
    """Everything there is to say about this installation, in the order of the report."""
    return [examine_python(), *examine_packages(), *examine_device(), examine_lessons()]


def examine_python() -> Finding:
    """The running Python and its system."""
    return Finding(
        "Python",
        f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        fine=sys.version_info[:2] >= OLDEST_PYTHON,
        mend="install Python 3.11 or newer, then build the environment again",
    )


def examine_packages() -> Iterator[Finding]:
    """The course's own requirements, base first, then each extra.

    Read from the metadata of the installed course, so that no list has to follow pyproject.toml.
    """
    try:
        requirements = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("course", "not installed", fine=False, mend="pip install -e .")
        return
    for requirement in requirements:
        if "extra ==" not in requirement:
            yield examine_package(requirement)
    for extra, purpose in EXTRAS.items():
        for requirement in requirements:
            if re.search(rf"extra == ['\"]{extra}['\"]", requirement):
                yield examine_package(requirement, extra=extra, purpose=purpose)


def examine_package(requirement: str, *, extra: str = "", purpose: str = "") -> Finding:
    """One installed package against its lower bound.

    Args:
        requirement: as the metadata writes it: ``torch>=2.6`` or ``nbgrader>=0.9; extra == "…"``.
        extra: the extra that asks for it, "" for a package that everybody needs.
        purpose: what the extra is for.
    """
    bound = requirement.split(";")[0].strip()
    name, _, oldest = bound.partition(">=")
    mend = f"pip install '{bound}'" + (f" (only for {purpose})" if extra else "")
    label = f"{name} [{extra}]" if extra else name
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(label, "not installed", fine=False, required=not extra, mend=mend)
    if as_numbers(version) >= as_numbers(oldest):
        return Finding(label, version, required=not extra)
    value = f"{version}, older than {oldest}"
    return Finding(label, value, fine=False, required=not extra, mend=mend)


def as_numbers(version: str) -> tuple[int, ...]:
    """The release of a version, for comparison: "2.13.0+cpu" gives (2, 13, 0)."""
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0])[:3])


def examine_device() -> Iterator[Finding]:
    """Where PyTorch will compute, and whether it has instructions for bf16."""
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: a shared library of PyTorch did not load
        yield Finding(
            "PyTorch loads",
            f"{type(error).__name__}: {error}",
            fine=False,
            mend="pip install --force-reinstall torch",
        )
        return
    capability = torch.backends.cpu.get_cpu_capability()
    cores = f"{os.cpu_count()} cores, {torch.get_num_threads()} threads"
    bf16 = "yes" if cpu_has_bf16() else "no (slow: leave it off)"
    yield Finding("processor", f"{capability}, {cores}; bf16: {bf16}")
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(index)
            bf16 = "yes" if card.major >= 8 else "no"
            memory = f"{card.total_memory / 2**30:.0f} GiB"
            yield Finding(f"cuda:{index}", f"{card.name}, {memory}; bf16: {bf16}")
    elif torch.backends.mps.is_available():
        yield Finding("mps", "Apple GPU")
    else:
        yield Finding("GPU", "none; every lesson runs on the processor")


def cpu_has_bf16() -> bool:
    """Whether the processor multiplies bf16 in hardware; False where PyTorch cannot tell."""
    import torch

    # PyTorch 2.6, the oldest that the course accepts, has no such function.
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(name) is True for name in ("avx512_bf16", "amx_bf16", "bf16"))


def examine_lessons() -> Finding:
    """The notebooks beside the library, which only a copy of the repository has."""
    count = len(list(NOTEBOOKS.glob("*.ipynb")))
    return Finding(
        "lessons",
        f"{count} in {NOTEBOOKS}" if count else "none beside the library",
        fine=count > 0,
        required=False,
        mend="to read them here, clone the repository; Colab opens them without",
    )


def report(findings: list[Finding]) -> str:
    """The findings as aligned lines, then what to mend."""
    width = max(len(finding.name) for finding in findings)
    lines = [f"{_mark(each)} {each.name:<{width}}  {each.value}" for each in findings]
    mends = [f"  {each.name}: {each.mend}" for each in findings if not each.fine]
    if not mends:
        return "\n".join([*lines, "", "Everything is here."])
    return "\n".join([*lines, "", "To mend (x is required, - is optional):", *mends])


def _mark(finding: Finding) -> str:
    """ASCII, for the consoles that know nothing else."""
    if finding.fine:
        return "."
    return "x" if finding.required else "-"
