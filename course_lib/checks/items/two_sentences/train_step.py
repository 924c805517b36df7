"""10.train_step: one step of training."""

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
from course_lib.checks.items.two_sentences.toy_translator import (
    SIZES,
    ToyTranslator,
    draw_batch,
    loss_of,
    toy_translator,
)
from course_lib.data import Batch


def _use_train_step(
    train_step: Callable[..., Any],
    weights: Mapping[str, Tensor],
    batches: Sequence[tuple[Tensor, Tensor]],
    pad_id: int,
    *,
    adam: bool = False,
    leftover_gradients: bool = False,
) -> Any:
    """Take a step for each batch; report what was returned and the weights afterwards."""
    model = toy_translator(weights).train()
    optimizer: optim.Optimizer = optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    if adam:
        optimizer = optim.Adam(model.parameters(), lr=0.05)
    if leftover_gradients:  # from an earlier backward pass
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
    return Call((draw.weights(ToyTranslator(*SIZES)), made, pad_id), kwargs, about=about)


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
            "several steps: each uses only its own gradients",
            lambda draw: [_steps(draw, (4, 2), (3, 3, 1), (2, 5), about="three batches")],
        ),
        Probe(
            "gradients left over from before don't count",
            lambda draw: [
                _steps(
                    draw,
                    (3, 4),
                    (2, 2),
                    about="gradients are left over from an earlier backward pass",
                    leftover_gradients=True,
                )
            ],
        ),
        Probe(
            "the step is the optimiser's",
            lambda draw: [_steps(draw, (3, 4), (5, 2), about="the optimiser is Adam", adam=True)],
        ),
        Probe(
            "the padding is what equals pad_id; a batch may have one sentence",
            lambda draw: [
                _steps(draw, (1, 4), (3, 2), about="pad_id is 3", pad_id=3),
                _steps(draw, (3,), about="a batch of one, no padding"),
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Five things happen, and their order matters. Say them aloud before you write them.",
        "Shift the target; compute the loss; clear old gradients; backward pass; step. The loss to "
        "return was computed before the step.",
        "decoder_input, labels = …; loss = masked_cross_entropy(model(…), …); then "
        "optimizer.zero_grad(), loss.backward(), optimizer.step(), and item() turns a tensor into "
        "a number.",
    ),
)


@item.misconception(
    "Old gradients are never cleared: each step adds its own to all the earlier ones.",
    why="backward() adds to the gradients that are there. Soon their sum outweighs what this batch "
    "contributes.",
    hint="What does backward() do with a gradient that's already there?",
)
def never_clears(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = loss_of(model, batch, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@item.misconception(
    "Gradients are cleared only after the step: whatever was there before it counts.",
    why="If any code ran a backward pass before your first step, its gradients are still there, "
    "and your step follows them, too.",
    hint="At which point do the gradients have to be zero?",
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
    "The weights haven't changed.",
    why="A step needs gradients: backward() computes them, zero_grad() clears them, and step() "
    "follows them. One of the three is missing or comes at the wrong time.",
    hint="In which order do you call the three?",
)
def nothing_moves(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = loss_of(model, batch, pad_id)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


@item.misconception(
    "Your labels equal the decoder's input: nothing is shifted.",
    why="Predicting the token that it has just read is the easiest task there is. The loss goes to "
    "zero, and the model can't translate.",
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
    "The shift goes the wrong way: the decoder reads the answers and predicts what came before.",
    why="It learns to predict the token before the one it reads. At inference there's nothing to "
    "read yet but `<bos>`.",
    hint="Which of the two slices starts with `<bos>`?",
)
def shifted_backwards(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    logits = model(batch.source, batch.target[:, 1:])
    loss = training.masked_cross_entropy(logits, batch.target[:, :-1], pad_id)
    return _step_on(loss, optimizer)


@item.misconception(
    "You return the loss after the step.",
    why="That costs a second forward pass, and you never see the first point of the curve, ln V.",
    hint="How many times do you call the model in one step?",
)
def loss_after_the_step(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    _train_step(model, batch, optimizer, pad_id)
    return loss_of(model, batch, pad_id).item()


@item.misconception(
    "Your loss counts padding.",
    why="Each step then also trains the model to predict padding.",
    hint="How does your loss know what padding is?",
)
def pads_counted_in_the_step(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    logits = model(batch.source, batch.target[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch.target[:, 1:].flatten())
    return _step_on(loss, optimizer)


@item.misconception(
    "You return a tensor, not a number.",
    why="It keeps everything it was computed from: a list of such losses keeps the graph of every "
    "step in memory until memory runs out.",
    hint="What turns a tensor with one element into a plain number?",
)
def gives_back_a_tensor(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> Tensor:
    loss = loss_of(model, batch, pad_id)
    _step_on(loss, optimizer)
    return loss


@item.misconception(
    "The model isn't in training mode while it learns.",
    why="eval() switches off dropout, which is there to make overfitting harder. eval() is for "
    "validation and inference.",
    hint="Which of your lines changes the mode of the model?",
)
def learns_in_eval_mode(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    return _train_step(model.eval(), batch, optimizer, pad_id)


@item.misconception(
    "You follow the gradient of the losses' sum, not of their mean.",
    why="A batch with more tokens then makes a larger step, and the learning rate means something "
    "different each time.",
    hint="Is the number you return the one that backward() was called on?",
)
def follows_the_sum(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    loss = loss_of(model, batch, pad_id)
    tokens = (batch.target[:, 1:] != pad_id).sum()
    return _step_on(loss * tokens, optimizer) / tokens.item()
