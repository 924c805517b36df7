"""Logs of beam searches of a table, right ones and ones with an error."""

from __future__ import annotations

from dataclasses import replace

from course_lib.checks.items.decoding.table_search import (
    Prefix,
    Table,
    continuations,
    ranked,
    score,
)

Step = list[str]  # the lines of a log


def search(table: Table, width: int, length_penalty: float, *, error: str = "") -> list[Step]:
    """The log of a search: what each step keeps, with ln p, and the score of what has ended."""
    beams = [Prefix((), 0.0)]
    steps: list[Step] = []
    while beams:
        groups = [ranked(continuations(table, beam)) for beam in beams]
        every = ranked([each for group in groups for each in group])
        if error == "divided":
            divisor = ((6 + len(steps)) / 6) ** length_penalty
            every = [replace(each, log_prob=each.log_prob / divisor) for each in every]
        if error == "last_alone":
            every.sort(key=lambda each: -each.last)
        if error == "one_each" and steps:
            every = ranked([group[0] for group in groups])
        kept = ranked(every[:width])
        steps.append([_line(each, length_penalty, bos=error == "bos_counted") for each in kept])
        beams = [each for each in kept if not each.ended]
        if len(beams) < len(kept) and error == "slot_lost":
            width = len(beams)
        if len(beams) < len(kept) and error == "stops":
            break
    return steps


def _line(prefix: Prefix, length_penalty: float, *, bos: bool) -> str:
    counted = Prefix(("<bos>", *prefix.words), prefix.log_prob) if bos else prefix
    value = f"   score {score(counted, length_penalty):.2f}" if prefix.ended else ""
    return f"{prefix!s:30} ln p {prefix.log_prob:.2f}{value}"
