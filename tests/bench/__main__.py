"""Measure how fast the course's library is, beside others, on this machine.

    python -m tests.bench                        # everything, about 20 minutes
    python -m tests.bench train --minutes 3      # one section

Each section replaces its chapter of docs/benchmarks.md. Leave the machine alone meanwhile; if you
cannot, `--busy` uses one thread and counts processor time.
"""

import argparse
import time
from collections.abc import Callable

import torch

from tests.bench import rounds
from tests.bench.attention import measure_attention
from tests.bench.decoding import measure_decoding
from tests.bench.explorer import measure_explorer
from tests.bench.growth import measure_growth
from tests.bench.page import machine
from tests.bench.runs import measure_processes, measure_two_sentences
from tests.bench.training import measure_limit, measure_training

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
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="for each section (default 2); at least 5 rounds"
    )
    parser.add_argument("--busy", action="store_true", help="others use the machine as well")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.sections if name not in SECTIONS]:
        parser.error(f"sections are {', '.join(SECTIONS)}, got {unknown[0]!r}")
    if options.busy:
        torch.set_num_threads(1)
        rounds.clock = time.process_time
    print(machine())
    for name in options.sections or SECTIONS:
        print(f"\n{SECTIONS[name](options.minutes)}")


if __name__ == "__main__":
    main()
