"""Fair timing on a machine that is never quite quiet: everyone takes a turn in every round."""

import time
from collections.abc import Callable, Mapping
from statistics import median

from tqdm import tqdm

Seconds = dict[str, list[float]]  # per unit of work, one number a round
LEAST_ROUNDS = 5
clock = time.perf_counter  # or time.process_time, where others use the machine, too


def take_rounds(
    turns: Mapping[str, Callable[[], float]], *, minutes: float, name: str = ""
) -> Seconds:
    """Let everyone take a turn, round after round, until the time is up and five rounds are done.

    Args:
        turns: by name, a function that does some work and returns how much.

    Returns:
        By name, seconds per unit of work in each round; a first round, to warm up, is not counted.
    """
    seconds: Seconds = {who: [] for who in turns}
    end = time.monotonic() + 60 * minutes
    with tqdm(total=round(60 * minutes), desc=name, unit="s") as bar:
        rounds = -1
        while rounds < LEAST_ROUNDS or time.monotonic() < end:
            for who, turn in turns.items():
                start = clock()
                work = turn()
                if rounds >= 0:
                    seconds[who].append((clock() - start) / work)
                bar.update(min(round(time.monotonic() - end + 60 * minutes), bar.total) - bar.n)
            rounds += 1
    return seconds


def ratios(seconds: Seconds, slower: str, faster: str) -> list[float]:
    """How many times faster ``faster`` was than ``slower``, round by round."""
    return [a / b for a, b in zip(seconds[slower], seconds[faster], strict=True)]


def spread(numbers: list[float], digits: int = 2) -> str:
    """Median and range."""
    low, high = min(numbers), max(numbers)
    return f"{median(numbers):,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def table(header: list[str], rows: list[list[str]]) -> str:
    """In Markdown; the first column is text, the others are numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
