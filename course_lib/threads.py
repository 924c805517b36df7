"""How long PyTorch's threads spin while they wait for each other."""

from __future__ import annotations

import os

# A thread that waits keeps its core busy, in the hope that the wait is short. GNU's OpenMP, which
# PyTorch has on Linux, does so for 300,000 turns by default. Beside any other busy program, the
# thread that it waits for is the one that gets no core: two small trainings at a time on two cores
# then took from 4 to 90 times as long. With 3,000 turns they took three times as long, and one that
# is alone was as fast as before, to a tenth; with 1,000 it took half as long again, or twice.
SPINS = {"GOMP_SPINCOUNT": "3000"}


def spin_less() -> None:
    """Say so to this process and those that it starts, before any of them imports PyTorch.

    Whoever has set OpenMP's own ``OMP_WAIT_POLICY`` has decided otherwise.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        for name, value in SPINS.items():
            os.environ.setdefault(name, value)
