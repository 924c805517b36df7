"""10.train_step: One step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F

from course_lib import training
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.two_sentences.shared import SIZES, Toy, draw_batch, loss_of, toy_model
from course_lib.data import Batch


def _use_train_step(
    train_step: Callable[..., Any],
    weights: Mapping[str, Tensor],
    batches: Sequence[tuple[Tensor, Tensor]],
    pad_id: int,
    *,
    adam: bool = False,
    measured_before: bool = False,
) -> Any:
    """Take a step for each batch; what was returned, and where the weights are then."""
    model = toy_model(weights).train()
    optimizer: optim.Optimizer = optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    if adam:
        optimizer = optim.Adam(model.parameters(), lr=0.05)
    if measured_before:  # somebody has left gradients behind
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    losses = [train_step(model, Batch(*batch), optimizer, pad_id) for batch in batches]
    return {
        "losses": losses,
        "type of a loss": "float" if isinstance(losses[0], float) else type(losses[0]).__name__,
        "model in training mode": bool(model.modes) and all(model.modes),
        "weights": {name: p.detach() for name, p in model.named_parameters()},
    }


def _steps(
    draw: Draw, *batches: tuple[int, ...], about: str, pad_id: int = 0, **kwargs: Any
) -> Call:
    made = [draw_batch(draw, *lengths, pad_id=pad_id) for lengths in batches]
    return Call((draw.weights(Toy(*SIZES)), made, pad_id), kwargs, about=about)


def _train_step(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = loss_of(model, batch, pad_id)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


item = Item(
    "10.train_step",
    reference=_train_step,
    use=_use_train_step,
    probes=[
        Probe(
            "one step: the loss before it, and the weights after it",
            lambda draw: [_steps(draw, (3, 5, 2), about="one batch, padded on the right")],
        ),
        Probe(
            "several steps: each has gradients of its own",
            lambda draw: [_steps(draw, (4, 2), (3, 3, 1), (2, 5), about="three batches in turn")],
        ),
        Probe(
            "gradients from before do not count",
            lambda draw: [
                _steps(
                    draw,
                    (3, 4),
                    (2, 2),
                    about="somebody has left gradients behind",
                    measured_before=True,
                )
            ],
        ),
        Probe(
            "it is the optimiser that steps",
            lambda draw: [_steps(draw, (3, 4), (5, 2), about="the optimiser is Adam", adam=True)],
        ),
        Probe(
            "it is pad_id that says what a pad is; one sentence is a batch",
            lambda draw: [
                _steps(draw, (1, 4), (3, 2), about="pad_id is 3", pad_id=3),
                _steps(draw, (3,), about="a batch of one, no pads"),
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Five things happen, and the order matters. Say them aloud before you write them.",
        "Shift the target; predict and measure; clear old gradients; go back; step. What is given "
        "back was measured before the step.",
        "decoder_input, labels = …; loss = masked_cross_entropy(model(…), …); then "
        "optimizer.zero_grad(), loss.backward(), optimizer.step(), and item() makes a number of "
        "a tensor.",
    ),
)


@item.misconception(
    "Old gradients are never cleared: each step adds its own to all that were before.",
    why="backward() adds to what is there. Soon the sum of the past is larger than what this batch "
    "has to say.",
    hint="What does backward() do with a gradient that is already there?",
)
def never_clears(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = loss_of(model, batch, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@item.misconception(
    "Gradients are cleared after the step only: what somebody left before it is counted.",
    why="Whoever measured a gradient before your first step has left it there, and your step "
    "follows it, too.",
    hint="At which moment must the gradients be empty for certain?",
)
def clears_too_late(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    loss = loss_of(model, batch, pad_id)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@item.misconception(
    "The weights have not moved.",
    why="A step needs gradients: backward() makes them, zero_grad() throws them away, and step() "
    "follows them. One of the three is missing, or stands in the wrong place.",
    hint="In which order do you call the three?",
)
def nothing_moves(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = loss_of(model, batch, pad_id)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


@item.misconception(
    "Your labels are what the decoder reads: nothing is shifted.",
    why="Saying the word that it reads is the easiest task there is. The loss goes to zero, and "
    "the model cannot translate.",
    hint="Which two slices of the target does a step need?",
)
def no_shift(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    shifted = Batch(batch.source, batch.target[:, :-1])
    logits = model(*shifted)
    return _step_on(training.masked_cross_entropy(logits, shifted.target, pad_id), optimizer)


def _step_on(loss: Tensor, optimizer: optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@item.misconception(
    "The shift goes the wrong way: the decoder reads the answers and says what came before.",
    why="It learns to name the word before the one it reads. When it is used, there is nothing to "
    "read yet but `<bos>`.",
    hint="Which of the two slices begins with `<bos>`?",
)
def shifted_backwards(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    logits = model(batch.source, batch.target[:, 1:])
    loss = training.masked_cross_entropy(logits, batch.target[:, :-1], pad_id)
    return _step_on(loss, optimizer)


@item.misconception(
    "You give back the loss after the step.",
    why="It costs a second pass through the model, and the first point of the curve, ln V, is "
    "never seen.",
    hint="How often do you call the model in one step?",
)
def loss_after_the_step(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    _train_step(model, batch, optimizer, pad_id)
    return loss_of(model, batch, pad_id).item()


@item.misconception(
    "Your loss counts the pads.",
    why="Each step then also teaches the model to say filling.",
    hint="Who tells your loss what a pad is?",
)
def pads_counted_in_the_step(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    logits = model(batch.source, batch.target[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch.target[:, 1:].flatten())
    return _step_on(loss, optimizer)


@item.misconception(
    "You give back a tensor, not a number.",
    why="It keeps all that it was made of: a list of such losses keeps the graph of every step "
    "alive, and memory runs full.",
    hint="What makes a plain number of a tensor with one element?",
)
def gives_back_a_tensor(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> Tensor:
    loss = loss_of(model, batch, pad_id)
    _step_on(loss, optimizer)
    return loss


@item.misconception(
    "The model is not in training mode while it learns.",
    why="eval() switches dropout off, which is there to make learning by heart harder. eval() is "
    "for measuring and translating.",
    hint="Which line of yours changes the mode of the model?",
)
def learns_in_eval_mode(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    return _train_step(model.eval(), batch, optimizer, pad_id)


@item.misconception(
    "You follow the sum of the losses, not their mean.",
    why="A batch with more words then makes a larger step, and the learning rate means another "
    "thing each time.",
    hint="Is the number that you give back the one that backward() started from?",
)
def follows_the_sum(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    loss = loss_of(model, batch, pad_id)
    tokens = (batch.target[:, 1:] != pad_id).sum()
    return _step_on(loss * tokens, optimizer) / tokens.item()
