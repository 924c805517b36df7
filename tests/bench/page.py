"""docs/benchmarks.md: a chapter a section, replaced when that section is measured again."""

import platform
import re
import time
from datetime import date
from pathlib import Path

import torch

from tests.bench import rounds as rounds_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
TOP = """# Benchmarks

Written by `make bench`. Everyone takes a turn in every round, and numbers are medians with their
range over the rounds, so compare the ratios of one table, not tables with one another.
"""


def machine() -> str:
    """The processor, its cores and what PyTorch can do with it."""
    capabilities = torch.cpu.get_capabilities()
    named = str(capabilities.get("cpu_name") or platform.processor() or platform.machine())
    wanted = ("avx2", "avx512_f", "avx512_bf16", "amx_bf16", "neon", "sve", "bf16")
    can = ", ".join(name for name in wanted if capabilities.get(name)) or "nothing special"
    return (
        f"{named} ({platform.system()}), {torch.get_num_threads()} threads, {can}; "
        f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    )


def store(title: str, text: str, *, rounds: int, page: Path = PAGE) -> None:
    """Put the chapter in its place, the others left as they are."""
    old = page.read_text("utf-8") if page.exists() else TOP
    _, *chapters = re.split(r"^(?=## )", old, flags=re.M)
    timed = "processor time" if rounds_of.clock is time.process_time else "time by the clock"
    foot = f"Measured on {date.today()}, {rounds} rounds, {timed}: {machine()}."
    by_title = {chapter.splitlines()[0]: chapter for chapter in chapters}
    by_title[f"## {title}"] = f"## {title}\n\n{text}\n\n{foot}"
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join(map(str.strip, (TOP, *by_title.values()))) + "\n", "utf-8")
