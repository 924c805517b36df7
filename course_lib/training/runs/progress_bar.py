"""What a person sees while a run trains."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

from course_lib.training.distributed import rank
from course_lib.training.runs.run import Run


class ProgressBar:
    """Steps done, or seconds where the run was given minutes, with loss and tokens per second.

    Only the first process shows one, and none does where COURSE_QUIET is set.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        quiet = _quiet()
        if run.total_steps is not None:
            self.bar = tqdm(
                total=run.total_steps, initial=run.step, desc=run.recipe.name, disable=quiet
            )
        else:
            self.bar = tqdm(
                total=(whole := 60 * (run.options.minutes or 0)),
                initial=min(run.seconds, whole),
                desc=run.recipe.name,
                disable=quiet,
                bar_format="{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}",
            )

    def update(self) -> None:
        """Show where the run is now."""
        run, bar = self.run, self.bar
        now = run.step if run.total_steps is not None else min(run.seconds, bar.total)
        bar.update(now - bar.n)
        throughput = run.tokens / run.seconds if run.seconds else 0.0
        bar.set_postfix_str(f"loss {run.losses[-1]:.3f}, {throughput:,.0f} tokens/s", refresh=False)

    def close(self) -> None:
        """Leave the bar as it is."""
        self.bar.close()


@contextmanager
def scoring_bar(name: str, sentences: int) -> Iterator[Callable[[int], object]]:
    """A bar for held-out sentences that are being translated; it goes away when they are done.

    Yields:
        What to call with the number of sentences that each batch translated.
    """
    bar = tqdm(total=sentences, desc=name, unit="sentence", leave=False, disable=_quiet())
    with bar:
        yield bar.update


def _quiet() -> bool:
    return bool(os.environ.get("COURSE_QUIET")) or rank() > 0
