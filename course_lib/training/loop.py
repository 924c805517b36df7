"""The training loop, to be read from top to bottom."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, AdamW, Optimizer
from tqdm.auto import tqdm

from course_lib.data import Batch, bucket, epoch_batches, teacher_forcing
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer
from course_lib.training.checkpoint import read_checkpoint, save_checkpoint, write_atomically
from course_lib.training.device import Precision, choose_precision, mixed_precision
from course_lib.training.evaluation import evaluate, teacher_forced
from course_lib.training.loss import label_smoothed_loss
from course_lib.training.recipes import Recipe
from course_lib.training.schedules import Schedule, inverse_sqrt_lr, warmup_cosine_lr
from course_lib.training.task import Task, load_task

Epoch = dict[str, int | float]  # the numbers of one epoch, by name

SAVE_EVERY = 60.0  # seconds of training that a crash may cost


def make_optimizer(recipe: Recipe, model: Transformer) -> Optimizer:
    """The recipe's optimiser over all parameters; the schedule sets its rate before each step."""
    if recipe.optimizer == "sgd":
        return SGD(model.parameters(), lr=recipe.lr, momentum=recipe.momentum)
    return AdamW(
        model.parameters(),
        lr=recipe.lr,
        betas=recipe.betas,
        weight_decay=recipe.weight_decay,
        fused=True,  # all parameters in one loop
    )


def make_schedule(recipe: Recipe, *, d_model: int, total: int) -> Schedule:
    """The recipe's learning rate as a function of the step, which counts from 1 to ``total``."""
    if recipe.schedule == "inverse_sqrt":
        return lambda step: inverse_sqrt_lr(step, d_model, recipe.warmup)
    if recipe.schedule == "cosine":
        return lambda step: warmup_cosine_lr(
            step, peak=recipe.lr, warmup=recipe.warmup, total=total
        )
    return lambda step: recipe.lr


def train_step(
    model: Transformer,
    batch: Batch,
    optimizer: Optimizer,
    pad_id: int,
    *,
    label_smoothing: float = 0.0,
    clip: float | None = None,
    precision: Precision = "fp32",
) -> float:
    """Predict each target word from the right words before it, and move the weights a little.

    Returns:
        The loss per real token, in nats, before the step.

    Raises:
        CourseError: the loss is not a number.
    """
    decoder_input, labels = teacher_forcing(batch.target.to(model.device), pad_id)
    with mixed_precision(model.device, precision):
        logits = model(batch.source.to(model.device), decoder_input)
    loss = label_smoothed_loss(logits.float(), labels, pad_id, label_smoothing)
    if not math.isfinite(loss.item()):
        raise CourseError(
            f"expected a finite loss, got {loss.item()}: is the learning rate too high?"
        )
    optimizer.zero_grad()
    loss.backward()
    if clip is not None:
        clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


@dataclass
class Run:
    """A training run, finished or interrupted.

    ``losses`` has the loss of each step, ``epochs`` the numbers of each epoch, ``seconds`` the time
    spent in the loop, validation included. ``translator`` has the best weights once finished.
    """

    recipe: Recipe
    translator: Translator
    seed: int
    total_steps: int
    losses: list[float] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0
    folder: Path | None = None

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return len(self.losses)

    @property
    def finished(self) -> bool:
        """Whether all steps were taken; False after an interruption."""
        return self.step >= self.total_steps


def train(
    recipe: Recipe,
    *,
    folder: Path | str | None = None,
    seed: int = 0,
    device: str = "cpu",
    precision: str = "fp32",
    resume: bool = False,
    max_steps: int | None = None,
    task: Task | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Run:
    """Train a translator by a recipe.

    Ctrl-C ends the step under way, saves, and returns a run that is not ``finished``; a second
    Ctrl-C stops at once.

    Args:
        folder: where ``best.safetensors``, ``last.safetensors`` and ``history.jsonl`` go; None
            keeps the run in memory.
        precision: "fp32"; "bf16", which multiplies matrices in bfloat16; or "auto", which is bf16
            where the device computes with it.
        seed: of the initial weights, the order of the batches and dropout.
        resume: go on from ``folder/last.safetensors``, exactly as if never stopped (on a CPU).
        max_steps: stop after so many steps instead of after the recipe's epochs.
        task: the recipe's data, if you have loaded it already.
        on_epoch: called with the numbers of each finished epoch.

    Raises:
        CourseError: the folder cannot be written, there is nothing to resume, or the loss is not
            finite.
    """
    if max_steps is not None and max_steps < 1:
        raise CourseError(f"max_steps must be at least 1, got {max_steps}")
    task = task or load_task(recipe)
    trainer = _Trainer(recipe, task, seed, device, max_steps, choose_precision(precision, device))
    run = trainer.run
    run.folder = None if folder is None else Path(folder)
    if resume:
        trainer.restore()
    elif run.folder:
        trainer.save("last")  # a folder that cannot be written should not cost an hour of training
    quiet = bool(os.environ.get("COURSE_QUIET"))
    bar = tqdm(total=run.total_steps, initial=run.step, desc=recipe.name, disable=quiet)
    with _deferred_interrupt() as interrupted, bar:
        clock, saved = time.monotonic(), run.seconds
        for batch in trainer.remaining_batches():
            loss = trainer.step(batch)
            bar.update()
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            if trainer.at_end_of_epoch:
                trainer.end_epoch()
                if on_epoch:
                    on_epoch(run.epochs[-1])
            now = time.monotonic()
            run.seconds, clock = run.seconds + now - clock, now
            if run.folder and run.seconds - saved > SAVE_EVERY:
                trainer.save("last")
                saved = run.seconds
            if interrupted.is_set():
                break
    trainer.finish()
    return run


class _Trainer:
    """Everything that changes while a recipe trains."""

    def __init__(
        self,
        recipe: Recipe,
        task: Task,
        seed: int,
        device: str,
        max_steps: int | None,
        precision: Precision,
    ) -> None:
        self.recipe, self.task, self.precision = recipe, task, precision
        self.pairs, self.valid = task.encode(task.train), task.encode(task.valid)
        lengths = [max(len(pair.source), len(pair.target)) for pair in self.pairs]
        self.steps_per_epoch = len(bucket(lengths, recipe.batch_tokens))
        total = max_steps or recipe.epochs * self.steps_per_epoch
        self.run = Run(recipe, task.new_translator(recipe, seed=seed), seed, total)
        self.model = self.run.translator.model.to(device).train()
        self.optimizer = make_optimizer(recipe, self.model)
        self.schedule = make_schedule(recipe, d_model=self.model.config.d_model, total=total)
        self.best_loss = math.inf
        self.best_weights: dict[str, torch.Tensor] = {}

    def remaining_batches(self) -> Iterator[Batch]:
        """From the current step on: the same order whether or not the run was interrupted."""
        while not self.run.finished:
            epoch, done = divmod(self.run.step, self.steps_per_epoch)
            batches = epoch_batches(
                self.pairs,
                max_tokens=self.recipe.batch_tokens,
                pad_id=self.model.config.pad_id,
                seed=self.run.seed,
                epoch=epoch,
            )
            yield from islice(batches, done, done + self.run.total_steps - self.run.step)

    def step(self, batch: Batch) -> float:
        """One step at the scheduled learning rate; returns the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule(self.run.step + 1)
        loss = train_step(
            self.model,
            batch,
            self.optimizer,
            self.model.config.pad_id,
            label_smoothing=self.recipe.label_smoothing,
            clip=self.recipe.clip,
            precision=self.precision,
        )
        self.run.losses.append(loss)
        return loss

    @property
    def at_end_of_epoch(self) -> bool:
        return self.run.finished or self.run.step % self.steps_per_epoch == 0

    def end_epoch(self) -> None:
        """Note the numbers of the epoch, and keep the weights if they are the best so far."""
        recent = self.run.losses[-((self.run.step - 1) % self.steps_per_epoch + 1) :]
        row: Epoch = {
            "epoch": len(self.run.epochs) + 1,
            "step": self.run.step,
            "loss": sum(recent) / len(recent),
        }
        if self.valid:
            loss, accuracy = teacher_forced(self.run.translator, self.valid)
            row |= {"valid_loss": loss, "valid_accuracy_teacher_forced": accuracy}
            row["valid_exact"] = evaluate(self.run.translator, self.task.valid).exact
        self.run.epochs.append(row)
        if self.valid and row["valid_loss"] < self.best_loss:
            self.best_loss = row["valid_loss"]
            weights = self.model.state_dict()
            self.best_weights = {name: w.detach().clone() for name, w in weights.items()}
            if self.run.folder:
                self.save("best")

    def finish(self) -> None:
        """Save the run; a finished one ends with its best weights, or its last ones."""
        if self.run.folder:
            self.save("last")
        if self.run.finished:
            self.model.load_state_dict(self.best_weights or self.model.state_dict())
            if self.run.folder and not self.best_weights:
                self.save("best")
        self.model.eval()

    def save(self, name: str) -> None:
        """Write a checkpoint; "last" also holds what training needs to go on."""
        run = self.run
        assert run.folder is not None
        info: dict[str, Any] = {"recipe": self.recipe.name, "corpus": self.recipe.corpus}
        info |= {"seed": run.seed, "step": run.step, "epochs": run.epochs}
        extra: dict[str, torch.Tensor] = {}
        if name == "last":
            info |= {"total_steps": run.total_steps, "seconds": run.seconds}
            info |= {"losses": run.losses, "best_loss": self.best_loss}
            extra["rng"] = torch.get_rng_state()
            for i, state in self.optimizer.state_dict()["state"].items():
                extra |= {f"optimizer.{i}.{key}": value for key, value in state.items()}
        save_checkpoint(run.folder / f"{name}.safetensors", run.translator, info=info, extra=extra)
        history = "".join(json.dumps(row) + "\n" for row in run.epochs)
        write_atomically(run.folder / "history.jsonl", history)

    def restore(self) -> None:
        """Go back to the state of ``last.safetensors``."""
        run = self.run
        if run.folder is None:
            raise CourseError("to resume a run, say which: the folder is missing")
        saved, info, extra = read_checkpoint(run.folder / "last.safetensors")
        mine = self.recipe.name, self.recipe.corpus, run.seed, run.total_steps
        theirs = info["recipe"], info["corpus"], info["seed"], info["total_steps"]
        if mine != theirs or saved.model.config != self.model.config:
            raise CourseError(
                f"expected to go on with (recipe, corpus, seed, steps) = {mine}, but {run.folder} "
                f"holds {theirs}: resume with the same options as it was started with"
            )
        self.model.load_state_dict(saved.model.state_dict())
        run.losses, run.epochs, run.seconds = info["losses"], info["epochs"], info["seconds"]
        self.best_loss = info["best_loss"]
        if run.epochs and self.valid:
            best, _, _ = read_checkpoint(run.folder / "best.safetensors")
            self.best_weights = best.model.state_dict()
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in extra.items():
            if name.startswith("optimizer."):
                _, i, key = name.split(".", 2)
                state.setdefault(int(i), {})[key] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        torch.set_rng_state(extra["rng"])


@contextmanager
def _deferred_interrupt() -> Iterator[threading.Event]:
    """Ctrl-C sets the event instead of tearing a step apart; a second Ctrl-C acts at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event  # only the main thread may handle signals
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(signum: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        event.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
