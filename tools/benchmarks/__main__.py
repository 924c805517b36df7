"""Measure the library's speed on this machine, beside other implementations.

    python -m tools.benchmarks                      # everything, about 20 minutes
    python -m tools.benchmarks train --minutes 3    # one section

Each replaces its section of docs/benchmarks.md. Leave the machine idle meanwhile; if you
cannot, `--busy` uses one thread and measures processor time.
"""

import argparse
import time
from collections.abc import Callable

import torch

from tools.benchmarks import rounds
from tools.benchmarks.attention import measure_attention
from tools.benchmarks.decoding import measure_decoding
from tools.benchmarks.explorer import measure_explorer
from tools.benchmarks.growth import measure_growth
from tools.benchmarks.page import machine
from tools.benchmarks.runs import measure_processes, measure_two_sentences
from tools.benchmarks.training import measure_limit, measure_training

SECTIONS: dict[str, Callable[[float], str]] = {
    "train": measure_training,
    "limit": measure_limit,
    "attention": measure_attention,
    "decode": measure_decoding,
    "growth": measure_growth,
    "sentences": measure_two_sentences,
    "processes": measure_processes,
    "explorer": measure_explorer,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="per section (default 2); at least 5 rounds"
    )
    parser.add_argument("--busy", action="store_true", help="the machine does other work, too")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.sections if name not in SECTIONS]:
        parser.error(f"sections are {', '.join(SECTIONS)}, got {unknown[0]!r}")
    if options.busy:
        torch.set_num_threads(1)
        rounds.timer = time.process_time
    print(machine())
    for name in options.sections or SECTIONS:
        print(f"\n{SECTIONS[name](options.minutes)}")


if __name__ == "__main__":
    main()
