"""Fair timing on a machine that is never quite idle: every function runs once in each round."""

import time
from collections.abc import Callable, Mapping
from statistics import median

from tqdm import tqdm

Seconds = dict[str, list[float]]  # per unit of work, one number a round
LEAST_ROUNDS = 5
timer = time.perf_counter  # or time.process_time, on a machine that does other work, too


def take_rounds(
    turns: Mapping[str, Callable[[], float]], *, minutes: float, name: str = ""
) -> Seconds:
    """Call every function once a round, until the time is up and five rounds are done.

    Args:
        turns: by name, a function that does some work and returns how much.
        minutes: how long to go on.
        name: what the progress bar says.

    Returns:
        By name, seconds per unit of work in each round; a first, warm-up round is not counted.
    """
    seconds: Seconds = {who: [] for who in turns}
    end = time.monotonic() + 60 * minutes
    with tqdm(total=round(60 * minutes), desc=name, unit="s") as bar:
        rounds = -1
        while rounds < LEAST_ROUNDS or time.monotonic() < end:
            for who, turn in turns.items():
                start = timer()
                work = turn()
                if rounds >= 0:
                    seconds[who].append((timer() - start) / work)
                bar.update(min(round(time.monotonic() - end + 60 * minutes), bar.total) - bar.n)
            rounds += 1
    return seconds


def ratios(seconds: Seconds, slower: str, faster: str) -> list[float]:
    """How many times faster ``faster`` was than ``slower``, round by round."""
    return [a / b for a, b in zip(seconds[slower], seconds[faster], strict=True)]


def median_and_range(numbers: list[float], digits: int = 2) -> str:
    """Such as "4.18 (4.02–4.20)"."""
    low, high = min(numbers), max(numbers)
    return f"{median(numbers):,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table whose first column is text and whose others are numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
