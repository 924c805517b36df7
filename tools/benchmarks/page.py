"""docs/benchmarks.md: one section per measurement, replaced when it is measured again."""

import platform
import re
import time
from datetime import date
from pathlib import Path

import torch

from tools import ROOT
from tools.benchmarks import rounds as rounds_of

PAGE = ROOT / "docs" / "benchmarks.md"
TOP = """# Benchmarks

Written by `make bench` (`python -m tools.benchmarks`). Each implementation runs once in every
round, and numbers are medians with their range over the rounds, so compare the ratios within one
table, not one table with another.
"""


def machine() -> str:
    """The processor, its cores and what PyTorch can do with it."""
    # PyTorch 2.6, the oldest that pyproject.toml allows, has no such function.
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    named = str(capabilities.get("cpu_name") or platform.processor() or platform.machine())
    wanted = ("avx2", "avx512_f", "avx512_bf16", "amx_bf16", "neon", "sve", "bf16")
    can = ", ".join(name for name in wanted if capabilities.get(name)) or "nothing special"
    return (
        f"{named} ({platform.system()}), {torch.get_num_threads()} threads, {can}; "
        f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    )


def store(title: str, text: str, *, rounds: int, page: Path | None = None) -> None:
    """Replace one section of the page, or add it; the others stay as they are."""
    page = page or PAGE
    old = page.read_text("utf-8") if page.exists() else TOP
    _, *sections = re.split(r"^(?=## )", old, flags=re.M)
    timed = "processor time" if rounds_of.timer is time.process_time else "elapsed time"
    footer = f"Measured on {date.today()}, {rounds} rounds, {timed}: {machine()}."
    by_title = {section.splitlines()[0]: section for section in sections}
    by_title[f"## {title}"] = f"## {title}\n\n{text}\n\n{footer}"
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join(map(str.strip, (TOP, *by_title.values()))) + "\n", "utf-8")
