"""Everything that changes while a model trains, and what a resumed run needs of it.

The loop around it is in ``loop.py``, files are in ``run_folder.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from course_lib.data import Batch
from course_lib.model import Dropout, Transformer
from course_lib.run_options import RunOptions
from course_lib.training.data.batch_sampler import BatchSampler, DataPosition
from course_lib.training.data.training_data import TrainingData
from course_lib.training.device import choose_precision
from course_lib.training.distributed import world_size
from course_lib.training.early_stopping import out_of_patience
from course_lib.training.gradient_accumulation import AccumulatedStep
from course_lib.training.optimizers import make_optimizer, make_schedule
from course_lib.training.recipes import Recipe
from course_lib.training.runs.random_state import (
    random_state,
    restore_random_state,
    seed_dropout_per_rank,
)
from course_lib.training.runs.run import Epoch, Run
from course_lib.training.step import train_step


class OwnTraining(NamedTuple):
    """What trains a model in place of the course's: ``step`` is called as ``train_step`` is,
    ``learning_rate`` with the number of the step, from 1.
    """

    step: Callable[..., float]
    learning_rate: Callable[[int], float]


MakeTraining = Callable[[Transformer], OwnTraining]


class Trainer:
    """A model, its optimiser, its position in the data, and its results so far (``run``).

    The initial weights come from PyTorch's global random numbers: seed them first.

    Args:
        make_training: from the model to what trains it in place of ``train_step`` and of the
            recipe's schedule; it may give the model other parameters.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: TrainingData,
        options: RunOptions,
        *,
        make_training: MakeTraining | None = None,
    ) -> None:
        self.recipe, self.options, self.data = recipe, options, data
        self.precision = choose_precision(options.precision, options.device)
        translator = data.new_translator(recipe)
        self.model = translator.model.to(options.device).train()
        self.own_training = make_training(self.model) if make_training else None
        self.sampler = BatchSampler(data, recipe, self.model.config, seed=options.seed)
        self.position = DataPosition()
        self.optimizer = make_optimizer(recipe, self.model)
        self.optimizer.register_step_pre_hook(self._begin_update)
        self.is_whole = True  # False while weights, results and position are those of two steps
        self.schedule = make_schedule(recipe, d_model=self.model.config.d_model)
        total_steps = options.max_steps or recipe.epochs * self.sampler.batches_per_epoch
        self.run = Run(
            recipe=recipe,
            options=options,
            translator=translator,
            total_steps=None if options.minutes else total_steps,
        )
        self.best_loss = math.inf  # of all validations
        self.best_weights: dict[str, torch.Tensor] = {}
        modules = self.model.modules()
        self._dropouts = [m for m in modules if isinstance(m, Dropout) and m.p > 0]
        self._accumulated_step: AccumulatedStep | None = None
        if self.own_training is None and (world_size() > 1 or recipe.micro_batches > 1):
            self._accumulated_step = AccumulatedStep(
                self.model,
                label_smoothing=recipe.label_smoothing,
                micro_batches=recipe.micro_batches,
            )
        seed_dropout_per_rank(options.seed, step=0)
        self._random_state = random_state()  # as of the last whole step

    def remaining_batches(self) -> Iterator[tuple[Batch, DataPosition]]:
        """The batches until the run is finished, in an order that no interruption changes; with
        each, the position after it.
        """
        for batch, next_position in self.sampler.batches(self.position):
            if self.run.finished:
                return
            yield batch, next_position

    def step(self, batch: Batch, next_position: DataPosition) -> None:
        """Train on a batch of ``remaining_batches``."""
        self._set_dropout(next_position)
        n_tokens = int((batch.target[:, 1:] != self.model.config.pad_id).sum())
        number = self.run.step + 1
        if self.own_training:
            lr = self.own_training.learning_rate(number)
        else:
            lr = self.schedule(number, self._expected_steps())
        loss = self._update_weights(batch, lr)
        # Where the loss is not finite or memory is short, that failed before it changed a weight.
        # What comes now is taken together: stopped in between, the run is not whole.
        self.run.record_step(loss, lr, n_tokens)  # adds 1 to run.step
        self.position = next_position
        self._random_state = random_state()
        self.is_whole = True

    def validation_is_due(self) -> bool:
        """At the end of an epoch, or as often as the recipe says, and at the end; once a step."""
        run, every = self.run, self.recipe.valid_every or self.sampler.batches_per_epoch
        if run.step == 0 or (run.epochs and run.epochs[-1]["step"] == run.step):
            return False
        return run.finished or run.step % every == 0

    def is_best(self, row: Epoch) -> bool:
        """Whether a validation of the present weights is the best so far."""
        return row.get("valid_loss", math.inf) < self.best_loss  # NaN is not the best either

    def record_validation(self, row: Epoch) -> None:
        """Note the numbers of a validation, and these weights if they are the best so far.

        The run stops early where the recipe's patience is over.
        """
        self.is_whole = False
        if self.is_best(row):
            weights = self.model.state_dict()
            self.best_weights = {name: weight.detach().clone() for name, weight in weights.items()}
            self.best_loss = row["valid_loss"]
        self.run.epochs.append(row)
        if "valid_loss" in row:
            # Losses of other data cannot be compared with these.
            since = self.run.data_changes[-1] if self.run.data_changes else 0
            losses = [
                each["valid_loss"]
                for each in self.run.epochs
                if "valid_loss" in each and each["step"] > since
            ]
            self.run.stopped_early = out_of_patience(losses, self.recipe.patience)
        self.is_whole = True

    def keep_weights(self) -> None:
        """End training: the model gets the weights that the recipe keeps."""
        if self.recipe.keep_weights == "best" and self.best_weights:
            self.model.load_state_dict(self.best_weights)

    def describe(self) -> dict[str, Any]:
        """Which run this is, what was asked for and on what data, as JSON: in each of its files."""
        return self.run.describe() | {"id": self.run.id, "data": self.data.fingerprint}

    def state_dict(self) -> dict[str, Any]:
        """All that training needs to go on, as of the last whole step.

        On a CPU, one process goes on as if it had never stopped; each of several draws new dropout.
        The best weights are not in it: the run's folder has them in a file of their own.
        """
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict()["state"],
            "position": tuple(self.position),
            "best_loss": self.best_loss,
            "run": self.run.state_dict(),
            **self._random_state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what ``state_dict`` gave.

        The learning rate is not restored, each step sets it; the best weights are the folder's to
        give back.
        """
        self.model.load_state_dict(state["model"])
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": groups})
        shards, batches = map(int, state["position"])
        if min(shards, batches) < 0:
            raise ValueError(f"position {shards}, {batches} in the data")
        self.position = DataPosition(shards, batches)
        self.best_loss = float(state["best_loss"])
        self.run.load_state_dict(state["run"])
        restore_random_state(state)
        seed_dropout_per_rank(self.options.seed, self.run.step)
        self._random_state = random_state()

    def _begin_update(self, *_: object) -> None:
        self.is_whole = False

    def _expected_steps(self) -> int:
        """Steps in total: fixed, or as many as the time will allow at the pace so far."""
        if self.run.total_steps is not None:
            return self.run.total_steps
        estimate = round(max(self.run.step, 1) / max(self.run.progress, 1e-3))
        return max(self.run.step + 1, estimate)

    def _update_weights(self, batch: Batch, lr: float) -> float:
        """``train_step``, or the same in micro-batches or by several processes."""
        recipe = self.recipe
        if self._accumulated_step is not None:
            return self._accumulated_step(
                batch,
                self.optimizer,
                lr=lr,
                max_grad_norm=recipe.max_grad_norm,
                precision=self.precision,
            )
        step = self.own_training.step if self.own_training else train_step
        return step(
            self.model,
            batch,
            self.optimizer,
            self.model.config.pad_id,
            lr=lr,
            label_smoothing=recipe.label_smoothing,
            max_grad_norm=recipe.max_grad_norm,
            precision=self.precision,
        )

    def _set_dropout(self, next_position: DataPosition) -> None:
        """The recipe's dropout of this epoch, wherever the model has any."""
        if rates := self.recipe.dropout:
            # The position after the last batch of an epoch is still in that epoch.
            epoch = next_position.shards // self.sampler.shards_per_epoch
            for module in self._dropouts:
                module.p = rates[min(epoch, len(rates) - 1)]
