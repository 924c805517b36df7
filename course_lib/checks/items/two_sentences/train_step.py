"""10.train_step: one step of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn, optim

from course_lib import training
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.checks.items.two_sentences.toy_translator import (
    SIZES,
    ToyTranslator,
    draw_batch,
    loss_of,
    toy_translator,
)
from course_lib.data import Batch, teacher_forcing


def _use_train_step(
    train_step: Callable[..., Any],
    weights: Mapping[str, Tensor],
    batches: Sequence[tuple[Tensor, Tensor]],
    pad_id: int,
    *,
    adam: bool = False,
    leftover_gradients: bool = False,
) -> Any:
    """Take a step for each batch; report what was returned and the weights afterwards.

    Raises:
        WrongResult: nothing was returned.
    """
    model = toy_translator(weights).train()
    optimizer: optim.Optimizer = optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    if adam:
        optimizer = optim.Adam(model.parameters(), lr=0.05)
    if leftover_gradients:  # from an earlier backward pass
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    losses = [train_step(model, Batch(*batch), optimizer, pad_id) for batch in batches]
    if losses[0] is None:
        raise WrongResult("expected the loss as a number, got None: a `return` seems to be missing")
    return {
        "losses": losses,
        "type of a loss": "float" if isinstance(losses[0], float) else type(losses[0]).__name__,
        "model in training mode": bool(model.modes) and all(model.modes),
        "weights": {name: p.detach() for name, p in model.named_parameters()},
    }


def _steps(
    draw: Draw,
    *batches: tuple[int, ...],
    about: str,
    pad_id: int = 0,
    std: float = 0.5,
    **kwargs: Any,
) -> Call:
    made = [draw_batch(draw, *lengths, pad_id=pad_id) for lengths in batches]
    weights = draw.weights(ToyTranslator(*SIZES), std=std)
    return Call((weights, made, pad_id), kwargs, about=about)


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
                _steps(draw, (1, 4), (3, 2), about="pad_id is 3, and 0 is a real token", pad_id=3),
                _steps(draw, (3,), about="a batch of one, no padding"),
            ],
        ),
        Probe(
            "a large gradient counts as it is",
            lambda draw: [_steps(draw, (3, 5, 2), about="large weights", std=8.0)],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Five things happen, and their order matters. Say them aloud before you write them.",
        "Shift the target, compute the loss, clear the old gradients, run the backward pass, and "
        "make the step. The loss that you return was computed before the step.",
        "backward adds to the gradient that is there: for w = torch.tensor(2.0, "
        "requires_grad=True), (w ** 2).backward() makes w.grad 4, and a second (w ** "
        "2).backward() makes it 8. When do the old gradients have to be gone? item() turns a "
        "tensor with one number into a plain number.",
    ),
)


@item.switchable
def step_with(on: frozenset[str]) -> Callable[..., Any]:
    """train_step with these misconceptions."""

    def answer(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> Any:
        if "learns_in_eval_mode" in on:
            model.eval()
        loss, tokens = loss_and_tokens(model, batch, pad_id)
        if "the_loss_is_a_sum" in on:
            loss = loss * tokens
        follow(loss * tokens if "follows_the_sum" in on else loss, model, optimizer)
        if "loss_after_the_step" in on:
            loss, tokens = loss_and_tokens(model, batch, pad_id)
        returned = loss * tokens if "returns_the_sum" in on else loss
        return returned if "gives_back_a_tensor" in on else returned.item()

    def loss_and_tokens(model: nn.Module, batch: Batch, pad_id: int) -> tuple[Tensor, Tensor]:
        pad_of_labels = 0 if on & {"pad_is_always_zero", "labels_take_zero_as_pad"} else pad_id
        pad_of_loss = 0 if on & {"pad_is_always_zero", "loss_takes_zero_as_pad"} else pad_id
        if "pads_counted_in_the_step" in on:
            pad_of_loss = -1  # no token has this id
        decoder_input, labels = teacher_forcing(batch.target, pad_of_labels)
        if on & {"no_shift", "no_shift_without_bos", "no_shift_uncut"}:
            uncut = batch.target if "no_shift_uncut" in on else decoder_input
            decoder_input = labels = batch.target[:, 1:] if "no_shift_without_bos" in on else uncut
        if "shifted_backwards" in on:
            decoder_input, labels = batch.target[:, 1:], decoder_input
        logits = model(batch.source, decoder_input)
        if "shifted_twice" in on:
            logits, labels = logits[:, :-1], labels[:, 1:]
        loss = training.masked_cross_entropy(logits, labels, pad_of_loss)
        real = labels != pad_of_loss
        if "divided_by_all_positions" in on:
            loss = loss * real.float().mean()
        return loss, real.sum()

    def follow(loss: Tensor, model: nn.Module, optimizer: optim.Optimizer) -> None:
        if "follows_the_gradient_before" in on:
            optimizer.step()
            optimizer.zero_grad()
            loss.backward()
            return
        if not on & {"never_clears", "clears_too_late", "nothing_moves"}:
            optimizer.zero_grad()
        loss.backward()
        if "clips_the_gradients" in on:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if "nothing_moves" in on:
            optimizer.zero_grad()
        if "without_the_optimizer" in on:
            _descend(model, optimizer.param_groups[0]["lr"])
        else:
            optimizer.step()
        if "clears_too_late" in on:
            optimizer.zero_grad()

    return answer


def _descend(model: nn.Module, lr: float) -> None:
    """Plain gradient descent, without momentum."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.sub_(lr * parameter.grad)


item.switch(
    "never_clears",
    "Old gradients are never cleared: each step adds its own to all the earlier ones.",
    why="backward() adds to the gradients that are there. Soon their sum outweighs what this batch "
    "contributes.",
    hint="What does backward() do with a gradient that's already there?",
)
item.switch(
    "clears_too_late",
    "Gradients are cleared only after the step: whatever was there before it counts.",
    why="If any code ran a backward pass before your first step, its gradients are still there, "
    "and your step follows them, too.",
    hint="At which point do the gradients have to be zero?",
)
item.switch(
    "nothing_moves",
    "The weights haven't changed.",
    why="A step needs gradients: backward() computes them, zero_grad() clears them, and step() "
    "follows them. Perhaps one of the three is missing or comes at the wrong time.",
    hint="In which order do you call the three, and do they work on the model and the optimiser "
    "that you were given?",
)
item.switch(
    "follows_the_gradient_before",
    "Your step comes before backward(): it follows the gradients of the batch before.",
    why="The first step has nothing to follow, or what somebody left behind, and the gradients of "
    "the last batch are never used.",
    hint="Which call computes the gradients that step() uses?",
)
item.switch(
    "without_the_optimizer",
    "The weights follow the plain gradient: the optimiser that you were given never makes its "
    "step.",
    why="Momentum and Adam remember the gradients of earlier steps and use them in each step. "
    "Plain gradient descent doesn't.",
    hint="Which method of the optimiser changes the weights, and do you call it on the one that "
    "you were given?",
)
item.switch(
    "clips_the_gradients",
    "You clip the gradients to a norm of 1.",
    why="Clipping is useful where single batches have huge gradients, but this step should follow "
    "the gradient as it is.",
    hint="Which line changes the gradients between backward() and step()?",
)
item.switch(
    "no_shift",
    "Your labels equal the decoder's input: nothing is shifted.",
    why="The model only has to copy the token that it has just read, and nothing is easier. The "
    "loss goes to zero, and the model can't translate.",
    hint="Write down what the decoder reads and, below it, the labels. Which two slices of the "
    "target should they be?",
    spellings=["no_shift_uncut", "no_shift_without_bos"],
)
item.switch(
    "shifted_backwards",
    "The shift goes the wrong way: the decoder reads the answers and predicts what came before.",
    why="The model learns to predict the token before the one that it reads. At inference it "
    "starts with `<bos>`, and no token comes before that.",
    hint="Which of the two slices starts with `<bos>`?",
)
item.switch(
    "shifted_twice",
    "You shift twice: at each position your label is the token after the next.",
    why="teacher_forcing already moves the labels by one. After another shift, the model learns "
    "to leave out every other token.",
    hint="The decoder reads only `<bos>`. Which token should it predict, and which one does it?",
)
item.switch(
    "loss_after_the_step",
    "You return the loss after the step.",
    why="That costs a second forward pass, and you never see the loss before training.",
    hint="How many times do you call the model in one step?",
)
item.switch(
    "pads_counted_in_the_step",
    "Your loss counts padding.",
    why="Each step then also trains the model to predict padding.",
    hint="How does your loss know what padding is?",
)
item.switch(
    "divided_by_all_positions",
    "You leave the cost of padding out of the sum, but still divide by all positions.",
    why="The more padding, the smaller your loss and your step: a batch of short sentences looks "
    "easy.",
    hint="The task asks for the loss per real token.",
)
item.switch(
    "pad_is_always_zero",
    "You take 0 as the pad token, at least in one place, whatever pad_id is.",
    why="With another pad_id, 0 is a token like any other. The model then isn't trained on the "
    "right labels.",
    hint="Which of the functions that you call need to know pad_id?",
    spellings=["labels_take_zero_as_pad", "loss_takes_zero_as_pad"],
)
item.switch(
    "gives_back_a_tensor",
    "You return a tensor, not a number.",
    why="A tensor can bring along the graph it was computed with: a list of those keeps the graph "
    "of every step in memory until memory runs out. The task asks for a plain number.",
    hint="What turns a tensor with one element into a plain number?",
)
item.switch(
    "learns_in_eval_mode",
    "The loss is that of a model that isn't in training mode.",
    why="eval() switches off dropout, which is there to make overfitting harder. eval() is for "
    "validation and inference.",
    hint="Which of your lines changes the mode of the model?",
)
item.switch(
    "follows_the_sum",
    "You follow the gradient of the sum of the losses, not of their mean.",
    why="A batch with more tokens then makes a larger step, and the learning rate means something "
    "different each time.",
    hint="Which number do you call backward() on?",
)
item.switch(
    "returns_the_sum",
    "You return the sum of the losses over the tokens, not their mean.",
    why="A sum depends on the number of tokens, so you can't compare it with the sum of the next "
    "batch.",
    hint="The task asks for the loss per real token.",
)
item.switch(
    "the_loss_is_a_sum",
    "Your loss is a sum over the tokens, not a mean.",
    why="You can't compare the number with that of the next batch, and a batch with more tokens "
    "makes a larger step.",
    hint="What do you divide by?",
)
