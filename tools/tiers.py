"""The two tiers of the tests: what `make test` runs, and the rest, which `make test-all` adds.

    python -m pytest -p tools.tiers --tier fast      # what `make test` runs
    python -m pytest -p tools.tiers --tier rest      # what it leaves out
    python -m tools.tiers                            # has `make test` passed on these very files?
    python -m tools.tiers --passed                   # note that it has

The fast tier has every test that is not marked ``slow``, and those that are marked ``smoke``: one
for each part of the course that only slow tests try. It runs the lessons of which no cell has the
tag `LONG_TRAINING`; the other tier runs the other lessons, and the exercises, whose sources are
compared with the solutions by tests of the fast tier.

At the end stands what was not run, and what is missing on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tools import ROOT

LONG_TRAINING = "long-training"  # the tag of a cell that computes for fifteen seconds or more
LEFT_OUT = "left out: "  # how the reason of a skipped test begins if something is missing here
PASSED, COVERED = ROOT / ".venv" / ".passed-fast", ROOT / ".coverage"
EXERCISES = ROOT / "exercises"
_deselected = pytest.StashKey[dict[str, list[str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--tier``."""
    parser.addoption(
        "--tier",
        choices=("all", "fast", "rest"),
        default="all",
        help="the tests that `make test` runs, or those that it leaves out (default: all)",
    )


def is_smoke_or_not_slow(item: pytest.Item) -> bool:
    """Whether a test belongs to the fast tier."""
    return item.get_closest_marker("slow") is None or item.get_closest_marker("smoke") is not None


def _trains_for_long(item: pytest.Item) -> bool:
    cell: Any = getattr(item, "cell", None)
    return cell is not None and LONG_TRAINING in cell.metadata.get("tags", [])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier that is asked for."""
    tier = config.getoption("--tier")
    notebooks: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.path.suffix == ".ipynb":
            notebooks[item.path].append(item)
    fast = {item for item in items if item.path.suffix != ".ipynb" and is_smoke_or_not_slow(item)}
    for path, cells in notebooks.items():
        if not path.is_relative_to(EXERCISES) and not any(map(_trains_for_long, cells)):
            fast.update(cells)
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        mine = tier == "all" or (item in fast) == (tier == "fast")
        (kept if mine else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
    config.stash[_deselected] = {
        "tests": [i.nodeid for i in left_out if i.path.suffix != ".ipynb"],
        "lessons": sorted({i.path.stem for i in left_out if i.path.suffix == ".ipynb"}),
    }


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that reports what this one did not run; every worker says the same."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_deselected, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Hear what a worker did not run."""
    left_out = getattr(node, "workeroutput", {}).get("left_out")
    if left_out:
        node.config.stash[_deselected] = left_out


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was not run: by choice, and because something is missing on this machine."""
    for line in summary(
        config.getoption("--tier"),
        config.stash.get(_deselected, {}),
        [_reason(report) for report in terminalreporter.stats.get("skipped", [])],
    ):
        terminalreporter.write_line(line)


def _reason(report: Any) -> str:
    where = report.longrepr
    return where[2].removeprefix("Skipped: ") if isinstance(where, tuple) else str(where)


def summary(tier: str, left_out: dict[str, list[str]], skipped: Sequence[str]) -> list[str]:
    """The lines on what was not run.

    Args:
        tier: "all", "fast" or "rest".
        left_out: the ids of tests, and the names of lessons that were not run.
        skipped: the reasons of skipped tests.
    """
    lines = [
        f"Left out {count} tests: {reason.removeprefix(LEFT_OUT)}"
        for reason, count in Counter(r for r in skipped if r.startswith(LEFT_OUT)).items()
    ]
    if tier == "fast":
        tests, lessons = left_out.get("tests", []), left_out.get("lessons", [])
        numbers = ", ".join(name[:2] for name in lessons)
        also = f", and lessons {numbers}, which train for long" if lessons else ""
        lines.append(f"Not run: {len(tests)} slow tests{also}. `make test-all` runs them, too.")
    return lines


def state_of_files() -> str:
    """A digest of all files that git does not ignore, as they are."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    digest = hashlib.sha256(sys.version.encode())
    for name in sorted(set(listed.split(b"\0")) - {b""}):
        path = ROOT / name.decode()
        digest.update(name + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"-")
    return digest.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Note that the fast tier has passed on these files, or ask whether it has: 0, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.tiers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--passed", action="store_true", help="note that `make test` has passed")
    options = parser.parse_args(arguments)
    try:
        state = state_of_files()
    except (OSError, subprocess.CalledProcessError):
        return 0 if options.passed else 1  # no clone, so nothing is known: all is run again
    if options.passed:
        PASSED.write_text(state, encoding="utf-8")
        return 0
    if not PASSED.exists() or PASSED.read_text(encoding="utf-8") != state:
        return 1
    if not os.environ.get("CI"):
        return 0
    # What was measured since is not what the fast tests covered.
    return 0 if COVERED.exists() and COVERED.stat().st_mtime <= PASSED.stat().st_mtime else 1


if __name__ == "__main__":
    sys.exit(main())
