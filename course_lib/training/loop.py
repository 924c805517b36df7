"""The training loop, to be read from top to bottom."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from course_lib.errors import CourseError
from course_lib.training.device import choose_precision
from course_lib.training.distributed import agree, rank, world_size
from course_lib.training.recipes import Recipe
from course_lib.training.run import Epoch, Run
from course_lib.training.trainer import Trainer
from course_lib.training.training_data import TrainingData, load_training_data

SAVE_EVERY = 60.0  # seconds of training that a crash may cost


def train(
    recipe: Recipe,
    *,
    folder: Path | str | None = None,
    seed: int = 0,
    device: str = "cpu",
    precision: str = "fp32",
    resume: bool = False,
    max_steps: int | None = None,
    minutes: float | None = None,
    task: TrainingData | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[Run], None] | None = None,
) -> Run:
    """Train a translator by a recipe.

    Ctrl-C ends the step under way, saves, and returns a run that is not ``finished``; a second
    Ctrl-C stops at once. Pairs that are too long for the model are left out, which is said.

    Args:
        folder: where ``best.safetensors``, ``last.safetensors`` and ``history.jsonl`` go; None
            keeps the run in memory.
        seed: of the initial weights, the order of the batches and dropout.
        precision: "fp32"; "bf16", which multiplies matrices in bfloat16; or "auto", which is bf16
            where the device computes with it.
        resume: go on from ``folder/last.safetensors``, exactly as if never stopped (on a CPU).
        max_steps: stop after so many steps instead of after the recipe's epochs.
        minutes: stop after so much time instead.
        task: the recipe's data, if you have loaded it already.
        on_epoch: called with the numbers of each validation.
        on_step: called with the run after each step.

    Raises:
        CourseError: a number makes no sense, the folder cannot be written, there is nothing to
            resume, or the loss is not finite.
    """
    for name, value in (("max_steps", max_steps), ("minutes", minutes)):
        if value is not None and not 0 < value < math.inf:  # put this way, it also refuses NaN
            raise CourseError(f"{name} must be positive and finite, got {value}")
    task = task or load_training_data(recipe)
    trainer = Trainer(
        recipe,
        task,
        seed=seed,
        device=device,
        precision=choose_precision(precision, device),
        max_steps=max_steps,
        minutes=minutes,
    )
    run = trainer.run
    run.folder = None if folder is None else Path(folder)
    if trainer.stream.left_out:
        print(trainer.stream.left_out)
    if resume:
        trainer.restore()
    else:
        trainer.save_last()  # a folder that cannot be written should not cost an hour of training
    with _deferred_signals() as interrupted, _progress_bar(run) as bar, trainer.rescue():
        clock, saved = time.monotonic(), run.seconds

        def tick() -> bool:
            """Let the clock go on, the same for all processes; whether one was interrupted."""
            nonlocal clock
            now = time.monotonic()
            passed, clock = now - clock, now
            run.seconds, stop = agree(run.seconds + passed, interrupted.is_set())
            return stop

        for batch, place in trainer.remaining_batches():
            trainer.step(batch, place)
            stop = tick()
            _show(bar, run)
            if on_step and rank() == 0:
                on_step(run)
            if trainer.validation_is_due:
                trainer.validate()
                tick()
                if on_epoch and rank() == 0:
                    on_epoch(run.epochs[-1])
            if run.seconds - saved > SAVE_EVERY:
                trainer.save_last()
                saved = run.seconds
            if stop:
                break
    trainer.finish()
    return run


def _progress_bar(run: Run) -> tqdm[Any]:
    """Steps done, or minutes where the run has so many of them."""
    quiet = bool(os.environ.get("COURSE_QUIET")) or rank() > 0
    if run.total_steps is not None:
        return tqdm(total=run.total_steps, initial=run.step, desc=run.recipe.name, disable=quiet)
    return tqdm(
        total=60 * (run.minutes or 0),
        initial=run.seconds,
        desc=run.recipe.name,
        disable=quiet,
        bar_format="{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}",
    )


def _show(bar: tqdm[Any], run: Run) -> None:
    now = run.step if run.total_steps is not None else min(run.seconds, bar.total)
    bar.update(now - bar.n)
    rate = run.tokens / run.seconds if run.seconds else 0.0
    bar.set_postfix_str(f"loss {run.losses[-1]:.3f}, {rate:,.0f} tokens/s", refresh=False)


@contextmanager
def _deferred_signals() -> Iterator[threading.Event]:
    """Ctrl-C, or being asked to end, sets the event instead of tearing a step apart.

    A second Ctrl-C acts at once, unless there are several processes: of one Ctrl-C they may hear
    twice, from the keyboard and from ``torchrun``.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event  # only the main thread may handle signals
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}

    def handle(number: int, frame: object) -> None:
        if world_size() == 1:
            signal.signal(number, before[signal.Signals(number)])
        event.set()

    for number in signals:
        signal.signal(number, handle)
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
