"""Everything that changes while a model trains, and what a resumed run needs of it.

The loop around it is in ``loop.py``, files are in ``run_folder.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from course_lib.data import Batch
from course_lib.training.batch_sampler import BatchSampler, DataPosition
from course_lib.training.device import choose_precision
from course_lib.training.distributed import rank, world_size
from course_lib.training.early_stopping import out_of_patience
from course_lib.training.gradient_accumulation import AccumulatedStep
from course_lib.training.optimizers import make_optimizer, make_schedule
from course_lib.training.recipes import Recipe
from course_lib.training.run import Epoch, Run
from course_lib.training.run_options import RunOptions
from course_lib.training.step import train_step
from course_lib.training.training_data import TrainingData


class Trainer:
    """A model, its optimiser, its position in the data, and its results so far (``run``).

    The initial weights come from PyTorch's global random numbers: seed them first.
    """

    def __init__(self, recipe: Recipe, data: TrainingData, options: RunOptions) -> None:
        self.recipe, self.options = recipe, options
        self.precision = choose_precision(options.precision, options.device)
        translator = data.new_translator(recipe)
        self.model = translator.model.to(options.device).train()
        modules = self.model.modules()
        self._dropouts = [m for m in modules if isinstance(m, nn.Dropout) and m.p > 0]
        self.sampler = BatchSampler(data, recipe, self.model.config, seed=options.seed)
        self.position = DataPosition()
        self.optimizer = make_optimizer(recipe, self.model)
        self.schedule = make_schedule(recipe, d_model=self.model.config.d_model)
        epochs = recipe.epochs * self.sampler.batches_per_epoch
        total_steps = None if options.minutes else options.max_steps or epochs
        self.run = Run(recipe, options, translator, total_steps)
        self.best_loss = math.inf  # of all validations
        self.best_weights: dict[str, torch.Tensor] = {}
        self.train_step = self._choose_train_step()
        self._seed_dropout_per_rank()

    def _choose_train_step(self) -> Callable[..., float]:
        """The plain step, or the same step in micro-batches or by several processes."""
        recipe, pad_id = self.recipe, self.model.config.pad_id
        smoothing = recipe.label_smoothing
        if world_size() == recipe.micro_batches == 1:
            return partial(train_step, self.model, pad_id=pad_id, label_smoothing=smoothing)
        return AccumulatedStep(
            self.model, pad_id, label_smoothing=smoothing, micro_batches=recipe.micro_batches
        )

    def remaining_batches(self) -> Iterator[tuple[Batch, DataPosition]]:
        """Each batch with the position after it, in an order that no interruption changes."""
        for batch, next_position in self.sampler.batches(self.position):
            if self.run.finished:
                return
            yield batch, next_position

    def step(self, batch: Batch, next_position: DataPosition) -> None:
        """Train on one batch, after which the run is at ``next_position`` in the data."""
        run, recipe, pad_id = self.run, self.recipe, self.model.config.pad_id
        self._set_dropout(epoch=next_position.shards // self.sampler.shards_per_epoch)
        lr = self.schedule(run.step + 1, self._expected_steps())
        loss = self.train_step(
            batch=batch,
            optimizer=self.optimizer,
            lr=lr,
            max_grad_norm=recipe.max_grad_norm,
            precision=self.precision,
        )
        run.record_step(loss, lr, tokens=int((batch.target[:, 1:] != pad_id).sum()))
        self.position = next_position
        self._note_random_state()

    def validation_is_due(self) -> bool:
        """At the end of an epoch, or as often as the recipe says, and at the end."""
        every = self.recipe.valid_every or self.sampler.batches_per_epoch
        return self.run.finished or self.run.step % every == 0

    def record_validation(self, row: Epoch) -> bool:
        """Note the numbers of a validation; whether these weights are the best so far.

        The run stops early where the recipe's patience is over.
        """
        self.run.epochs.append(row)
        if "valid_loss" not in row:
            return False
        losses = [earlier["valid_loss"] for earlier in self.run.epochs]
        self.run.stopped_early = out_of_patience(losses, self.recipe.patience)
        if not row["valid_loss"] < self.best_loss:  # put this way, NaN is not the best either
            return False
        self.best_loss = row["valid_loss"]
        weights = self.model.state_dict()
        self.best_weights = {name: weight.detach().clone() for name, weight in weights.items()}
        return True

    def keep_weights(self) -> None:
        """End training: the model gets the weights that the recipe keeps."""
        if self.recipe.keep_weights == "best" and self.best_weights:
            self.model.load_state_dict(self.best_weights)

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
        """Go on from what ``state_dict`` gave."""
        self.model.load_state_dict(state["model"])
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": groups})
        self.position = DataPosition(*state["position"])
        self.best_loss = state["best_loss"]
        self.run.load_state_dict(state["run"])
        torch.set_rng_state(state["rng"])
        if torch.cuda.is_available() and "cuda_rng" in state:
            torch.cuda.set_rng_state(state["cuda_rng"])
        self._seed_dropout_per_rank()

    def _expected_steps(self) -> int:
        """Steps in total: fixed, or as many as the time will allow at the pace so far."""
        if self.run.total_steps is not None:
            return self.run.total_steps
        return max(self.run.step + 1, round(self.run.step / max(self.run.progress, 1e-3)))

    def _set_dropout(self, *, epoch: int) -> None:
        """The recipe's dropout of this epoch, wherever the model has any."""
        if rates := self.recipe.dropout:
            for module in self._dropouts:
                module.p = rates[min(epoch, len(rates) - 1)]

    def _seed_dropout_per_rank(self) -> None:
        """All processes have the same weights, but each draws its own dropout."""
        if rank() > 0:
            rng = np.random.default_rng((self.options.seed, self.run.step, rank()))
            torch.manual_seed(int(rng.integers(2**63)))
        self._note_random_state()

    def _note_random_state(self) -> None:
        """Remember where the random numbers are, for a run that goes on from here."""
        self._random_state = {"rng": torch.get_rng_state()}
        if torch.cuda.is_available():
            self._random_state["cuda_rng"] = torch.cuda.get_rng_state()
