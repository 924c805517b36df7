"""A whole Transformer of your parts, and how it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from course_lib.data import Batch
from course_lib.errors import CourseError
from course_lib.mine.library import Library
from course_lib.mine.parts import using
from course_lib.mine.stacks import Decoder, Encoder
from course_lib.model import Transformer, TransformerConfig
from course_lib.run_options import RunOptions
from course_lib.training.distributed import world_size
from course_lib.training.recipes import RECIPES, Recipe
from course_lib.training.step import set_learning_rate
from course_lib.training.trainer import OwnTraining

WARMUP = 400  # steps, as in the recipe ``mine``


def own_transformer(config: TransformerConfig, library: Library) -> nn.Module:
    """A Transformer of the library's parts. Its parameters have the names of the course's.

    Raises:
        CourseError: a part raises an error, or has other parameters than its exercise asks for.
    """
    with using(library):
        try:
            own = _made(config, library)
        except Exception as error:
            raise CourseError(
                f"expected a Transformer of your parts, and making it raised "
                f"{type(error).__name__}: {error}. `course mine` tries each part alone"
            ) from error
    if not hasattr(own, "config"):  # an exercise doesn't ask for it, and searches read its pad_id
        own.config = config  # type: ignore[assignment]  # an attribute like any other
    expected = {name: p.shape for name, p in Transformer(config).named_parameters()}
    got = {name: p.shape for name, p in own.named_parameters()}
    if got != expected:
        names = sorted(expected.items() ^ got.items())
        raise CourseError(
            f"expected parameters with the course's names and shapes, got others, such as "
            f"{names[0][0]}: was a part changed after it passed?"
        )
    return own


def _made(config: TransformerConfig, library: Library) -> nn.Module:
    if library.is_own("Transformer"):
        made: nn.Module = library.part("Transformer")(config)
        return made
    return _JoinedTransformer(config, library)


class _JoinedTransformer(Transformer):
    """The course's Transformer with the library's parts in it, where the whole isn't the
    learner's.
    """

    def __init__(self, config: TransformerConfig, library: Library) -> None:
        super().__init__(config)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.padding_mask = library.part("padding_mask")
        self.decoder_mask = library.part("decoder_mask")
        self._embed(library)

    def _embed(self, library: Library) -> None:
        c = self.config
        for side, size in (("source", c.source_vocab), ("target", c.target_vocab)):
            if library.is_own("TransformerEmbedding"):
                rate = getattr(c, f"{side}_embedding_dropout")
                own = library.part("TransformerEmbedding")(size, c.d_model, c.pad_id, rate)
                setattr(self, f"{side}_embedding", own)
            else:
                table = library.part("sinusoidal_positions")(c.max_len, c.d_model)
                getattr(self, f"{side}_embedding").positions.table = table

    def encode(self, source: Tensor) -> Tensor:
        """The memory of these source tokens."""
        mask = self.padding_mask(source, self.config.pad_id)
        memory: Tensor = self.encoder(self.source_embedding(source), mask)
        return memory

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, **_: Any) -> Tensor:
        """The logits for the token after each target token."""
        pad_id = self.config.pad_id
        masks = self.decoder_mask(target, pad_id), self.padding_mask(source, pad_id)
        logits: Tensor = self.output(self.decoder(self.target_embedding(target), memory, *masks))
        return logits


_NOT_USED = ("label_smoothing", "max_grad_norm", "schedule", "lr", "warmup", "dropout")


def refuse_what_a_step_does_not_use(recipe: Recipe, options: RunOptions) -> None:
    """Refuse settings of the course's step that the learner's own has no argument for.

    Raises:
        CourseError: the recipe or the options have one.
    """
    usual = RECIPES["mine"]
    changed = [name for name in _NOT_USED if getattr(recipe, name) != getattr(usual, name)]
    if recipe.micro_batches != 1 or world_size() > 1:
        changed.append("micro_batches, or more than one process")
    if options.precision == "bf16":
        changed.append("--precision bf16")
    if changed:
        raise CourseError(
            f"the recipe `mine` trains with your own train_step and learning rate, which know "
            f"nothing of {', '.join(changed)}: leave that out, or change your step"
        )


def share_parameters(own: nn.Module, course: Transformer) -> None:
    """Give the course's model the parameters of an own one: both are then one set of weights."""
    modules = dict(course.named_modules())
    for name, parameter in own.named_parameters():
        path, _, last = name.rpartition(".")
        setattr(modules[path], last, parameter)


def make_own_training(course: Transformer, library: Library) -> OwnTraining:
    """Training with the library's parts in the course's loop, on a model of its own.

    The course's model, which the loop knows, gets the weights of the new one and shares them: the
    loop saves, validates and translates with it, since its decoding has a cache.
    """
    d_model = course.config.d_model
    with using(library):
        rate = library.part("inverse_sqrt_lr")
    return OwnTraining(OwnStep(course, library), lambda step: float(rate(step, d_model, WARMUP)))


class OwnStep:
    """A training step with your ``train_step`` and your model.

    Args:
        course: the model of the loop; its weights become those of a new model of yours.
        library: the parts.
    """

    def __init__(self, course: Transformer, library: Library) -> None:
        self.library = library
        with course.device:  # masks and tables that a part makes
            self.own = own_transformer(course.config, library)
        share_parameters(self.own, course)
        self.own_device = course.device
        with using(library):
            self.train_step: Callable[..., Any] = library.part("train_step")

    def __call__(
        self,
        model: Transformer,
        batch: Batch,
        optimizer: Optimizer,
        pad_id: int,
        *,
        lr: float | None = None,
        **_: Any,
    ) -> float:
        """One step on a batch; the loss before it, in nats per token.

        Raises:
            CourseError: your step raises an error, or its loss is no finite number.
        """
        set_learning_rate(optimizer, lr)
        self.own.train()
        device = self.own_device
        batch = Batch(batch.source.to(device), batch.target.to(device))
        try:
            with using(self.library), device:
                loss = float(self.train_step(self.own, batch, optimizer, pad_id))
        except Exception as error:
            raise CourseError(
                f"expected a step of your Transformer, and it raised {type(error).__name__}: "
                f"{error}. `course mine` shows which part does"
            ) from error
        if not math.isfinite(loss):
            raise CourseError(
                f"expected a finite loss, got {loss}: the weights of the last checkpoint are "
                "kept; does `course mine` find a part that differs from the course's?",
                see="the-loss-is-not-finite",
            )
        return loss
