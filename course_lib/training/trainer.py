"""Everything that changes while a recipe trains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib.data import Batch
from course_lib.errors import CourseError
from course_lib.training.batch_sampler import BatchSampler, Place, fits
from course_lib.training.checkpoint import read_checkpoint
from course_lib.training.device import Precision
from course_lib.training.distributed import from_first_rank, rank, share_of, world_size
from course_lib.training.evaluation import evaluate, teacher_forced
from course_lib.training.injected_bugs import inject_bugs
from course_lib.training.recipes import Recipe
from course_lib.training.run import Epoch, Run, pack, unpack
from course_lib.training.step import LossOf, make_optimizer, make_schedule, train_step
from course_lib.training.training_data import TrainingData


class Trainer:
    """A model, its optimiser and its place in the data.

    Args:
        recipe, task: what is trained, and on what.
        seed, device, precision, max_steps, minutes: as in ``train``.
    """

    def __init__(
        self,
        recipe: Recipe,
        task: TrainingData,
        *,
        seed: int,
        device: str,
        precision: Precision,
        max_steps: int | None = None,
        minutes: float | None = None,
    ) -> None:
        self.recipe, self.task, self.precision = recipe, task, precision
        translator = task.new_translator(recipe, seed=seed)
        self.model = translator.model.to(device).train()
        inject_bugs(recipe.bugs, self.model)
        config = self.model.config
        self.stream = BatchSampler(
            task,
            max_tokens=recipe.batch_tokens,
            max_len=config.max_len,
            pad_id=config.pad_id,
            seed=seed,
        )
        steps = None if minutes else max_steps or recipe.epochs * self.stream.per_epoch
        self.run = Run(recipe, translator, seed, steps, minutes, precision)
        self.valid = [pair for pair in task.encode(task.valid) if fits(pair, config.max_len)]
        layers = self.model.modules() if recipe.dropout else ()
        self.dropouts = [m for m in layers if isinstance(m, nn.Dropout) and m.p > 0]
        self.optimizer = make_optimizer(recipe, self.model)
        self.schedule = make_schedule(recipe, d_model=config.d_model)
        self.place = Place()
        self.best_loss = math.inf
        self.best_weights: dict[str, torch.Tensor] = {}
        self.shared: DistributedDataParallel | None = None
        if world_size() > 1:
            loss_of = LossOf(self.model, config.pad_id, recipe.label_smoothing)
            self.shared = DistributedDataParallel(loss_of)
        self._part_ways()

    def _part_ways(self) -> None:
        """All processes have the same weights, but each its own dropout."""
        if rank() > 0:
            place = np.random.default_rng((self.run.seed, self.run.step, rank()))
            torch.manual_seed(int(place.integers(2**63)))
        self._rng = torch.get_rng_state()

    def remaining_batches(self) -> Iterator[tuple[Batch, Place]]:
        """From the current place on: the same order whether or not the run was interrupted."""
        for batch, place in self.stream.batches(self.place):
            if self.run.finished:
                return
            yield batch, place

    def step(self, batch: Batch, place: Place) -> None:
        """One step at the scheduled learning rate and dropout."""
        run, recipe = self.run, self.recipe
        passes = place.pools // self.stream.pools_per_epoch  # before this one
        for dropout in self.dropouts:
            dropout.p = recipe.dropout[min(passes, len(recipe.dropout) - 1)]
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule(run.step + 1, self._expected_steps())
        loss = train_step(
            self.model,
            share_of(batch, self.model.config.pad_id),
            self.optimizer,
            self.model.config.pad_id,
            label_smoothing=recipe.label_smoothing,
            max_grad_norm=recipe.max_grad_norm,
            precision=self.precision,
            micro_batches=recipe.micro_batches,
            shared=self.shared,
        )
        run.losses.append(loss)
        run.tokens += int((batch.target[:, 1:] != self.model.config.pad_id).sum())
        self.place, self._rng = place, torch.get_rng_state()

    def _expected_steps(self) -> int:
        """Steps in total: fixed, or as many as the time will allow at the pace so far."""
        if self.run.total_steps is not None:
            return self.run.total_steps
        return max(self.run.step + 1, round(self.run.step / max(self.run.progress, 1e-3)))

    @property
    def validation_is_due(self) -> bool:
        """At the end of an epoch, or as often as the recipe says, and at the end."""
        every = self.recipe.valid_every or self.stream.per_epoch
        return self.run.finished or self.run.step % every == 0

    def validate(self) -> None:
        """Note where the run is, keep the weights if they are the best so far, or stop."""
        row = from_first_rank(self._measure() if rank() == 0 else None)
        self.run.epochs.append(row)
        if not self.valid:
            return
        if row["valid_loss"] < self.best_loss:
            self.best_loss = row["valid_loss"]
            weights = self.model.state_dict()
            self.best_weights = {name: w.detach().clone() for name, w in weights.items()}
            self._save("best")
        losses = [row["valid_loss"] for row in self.run.epochs]
        patience = self.recipe.patience
        if patience and len(losses) > patience:
            self.run.stopped_early = min(losses[-patience:]) >= min(losses[:-patience])

    def _measure(self) -> Epoch:
        run = self.run
        since = int(run.epochs[-1]["step"]) if run.epochs else 0
        recent = run.losses[since:]
        row: Epoch = {
            "epoch": len(run.epochs) + 1,
            "step": run.step,
            "seconds": run.seconds,
            "loss": sum(recent) / len(recent),
        }
        if self.valid:
            loss, accuracy = teacher_forced(run.translator, self.valid)
            scores = evaluate(run.translator, self.task.valid)
            row |= {"valid_loss": loss, "valid_accuracy_teacher_forced": accuracy}
            row |= {"valid_exact": scores.exact, "valid_bleu": scores.bleu}
        return row

    def finish(self) -> None:
        """Save the run; a finished one ends with its best weights, or its last ones."""
        self.save_last()
        if self.run.finished:
            if self.recipe.keep_weights == "best" and self.best_weights:
                self.model.load_state_dict(self.best_weights)
            else:
                self._save("best")
        self.model.eval()

    def save_last(self) -> None:
        """Write all that training needs to go on."""
        if self.run.folder and rank() == 0:
            more = pack(self.run, self.optimizer, self.place, self.best_loss)
            self.run.save("last", **more)
            self.run.write_history()

    def _save(self, name: str) -> None:
        if self.run.folder and rank() == 0:
            self.run.save(name)

    def restore(self) -> None:
        """Go back to the state of ``last.safetensors``."""
        self.place, self.best_loss = unpack(self.run, self.optimizer)
        if math.isfinite(self.best_loss) and self.run.folder:
            best, _, _ = read_checkpoint(self.run.folder / "best.safetensors")
            self.best_weights = best.model.state_dict()
        self._part_ways()

    @contextmanager
    def rescue(self) -> Iterator[None]:
        """If another process dies, save the run as it was before the step that failed.

        Raises:
            CourseError: one of several processes could not go on.
        """
        try:
            yield
        except RuntimeError as error:
            if world_size() == 1:
                raise
            torch.set_rng_state(self._rng)
            self.save_last()
            raise CourseError(
                f"expected {world_size()} processes to take step {self.run.step + 1}, but process "
                f"{rank()} could not ({str(error).partition(chr(10))[0]}): did another one die? "
                "Go on with --resume"
            ) from error
