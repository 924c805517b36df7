"""Whole runs: overfitting two sentences, and one run shared by two processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import torch

from course_lib.training import Recipe, RunOptions, load_recipe, load_training_data, with_corpus
from course_lib.training.distributed import process_group, rank
from course_lib.training.trainer import Trainer
from tools import ROOT
from tools.benchmarks.page import store
from tools.benchmarks.rounds import median_and_range, ratios, table, take_rounds

LEARNT = 0.05  # nats per token: the target sentences are memorised
SHARED = "fastai_qa"  # a model large enough that its steps are not mostly communication
TRAIN_SIZE, STEPS, WARM_UP = 2000, 12, 2  # of the shared run; the first steps are not timed


def small_recipe() -> Recipe:
    """The two sentences for a model of the course's own size."""
    return replace(
        load_recipe("naive_mt"), preset="small", optimizer="adamw", lr=3e-3, betas=(0.9, 0.98)
    )


def steps_to_learn(recipe: Recipe, *, seed: int = 0) -> int:
    """Train until the loss is below ``LEARNT``."""
    torch.manual_seed(seed)
    trainer = Trainer(recipe, load_training_data(recipe), RunOptions(seed=seed, max_steps=200))
    for batch, next_position in trainer.remaining_batches():
        trainer.step(batch, next_position)
        if trainer.run.losses[-1] < LEARNT:
            return trainer.run.step
    raise RuntimeError(f"{recipe.preset} did not learn two sentences in 200 steps")


def measure_two_sentences(minutes: float) -> str:
    """Time until two sentences are learnt; store the table."""
    recipes = {
        "as released: `naive_mt`, 44,052,480 parameters, SGD": load_recipe("naive_mt"),
        "preset `small`, AdamW": small_recipe(),
    }
    steps = {who: steps_to_learn(recipe) for who, recipe in recipes.items()}

    def turn(recipe: Recipe) -> Callable[[], float]:
        return lambda: float(bool(steps_to_learn(recipe)))

    turns = {who: turn(recipe) for who, recipe in recipes.items()}
    seconds = take_rounds(turns, minutes=minutes, name="two sentences")
    released = next(iter(recipes))
    rows = [
        [
            who,
            str(steps[who]),
            median_and_range(seconds[who]),
            median_and_range(ratios(seconds, released, who), 1),
        ]
        for who in recipes
    ]
    text = (
        f"Seconds until the loss on the two sentences of `naive_mt` is below {LEARNT}, building "
        "the model included. Target: 12 × as fast.\n\n"
        + table(["", "steps", "seconds", "× as released"], rows)
    )
    store("Two sentences", text, rounds=len(seconds[released]))
    return text


def tokens_per_second(
    processes: int,
    *,
    recipe: str = SHARED,
    train_size: int = TRAIN_SIZE,
    steps: int = STEPS,
    warm_up: int = WARM_UP,
) -> float:
    """Target tokens per second over a few steps in fp32, each process with one thread."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"] if processes == 2 else []
    run = [recipe, *map(str, (train_size, steps, warm_up))]
    command = [sys.executable, *launcher, "-m", "tools.benchmarks.runs", *run]
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=quiet, check=True, capture_output=True, text=True, cwd=ROOT)
    return float(done.stdout)


def take_steps(name: str, train_size: int, steps: int, warm_up: int) -> None:
    """What each of the processes does; rank 0 prints the target tokens per second."""
    recipe = replace(with_corpus(load_recipe(name), "grammar_de_en"), train_size=train_size)
    with process_group("cpu") as device:
        torch.manual_seed(0)
        options = RunOptions(device=device, max_steps=steps)
        trainer = Trainer(recipe, load_training_data(recipe), options)
        for batch, next_position in trainer.remaining_batches():
            trainer.step(batch, next_position)
            if trainer.run.step == warm_up:
                start, tokens = time.perf_counter(), trainer.run.tokens
        if rank() == 0:
            print((trainer.run.tokens - tokens) / (time.perf_counter() - start))


def measure_processes(minutes: float) -> str:
    """The same run by one process and by two, on one thread each; store the table."""

    def turn(processes: int) -> Callable[[], float]:
        def take() -> float:
            speeds[processes].append(tokens_per_second(processes))
            return 1.0

        return take

    speeds: dict[int, list[float]] = {1: [], 2: []}
    names = {"one process": turn(1), "two processes": turn(2)}
    seconds = take_rounds(names, minutes=minutes, name="processes")
    gains = [two / one for one, two in zip(speeds[1][1:], speeds[2][1:], strict=True)]
    rows = [
        [who, median_and_range(speeds[n][1:], 0), median_and_range(gains) if n == 2 else "1"]
        for n, who in enumerate(names, start=1)
    ]
    text = (
        f"The recipe `{SHARED}` on the grammar, {STEPS - WARM_UP} steps in fp32, one thread for "
        "each process; target tokens per second, without start-up. Target: 1.7 ×.\n\n"
        + table(["", "tokens/s", "× one"], rows)
    )
    store("Several processes", text, rounds=len(seconds["one process"]))
    return text


if __name__ == "__main__":
    take_steps(sys.argv[1], *map(int, sys.argv[2:]))
