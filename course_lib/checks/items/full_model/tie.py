"""08.tie: one table, shared by several modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.adapters import load_weights
from course_lib.checks.call import Call, weighted_sum
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.full_model.small_transformer import Fields, model_call, pair
from course_lib.model import (
    Transformer,
    TransformerConfig,
)


def _tables(model: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    """The weights of both embeddings and of the output layer."""
    source, target = model.source_embedding.tokens, model.target_embedding.tokens
    return source.weight, target.weight, model.output.weight


def _use_tie(
    tie: Callable[[Transformer, str], Any],
    source: Tensor,
    target: Tensor,
    *,
    tying: str,
    config: Fields,
    weights: Mapping[str, Tensor],
) -> dict[str, Any]:
    """Tie an untied model with these weights; report on it before and after a training step."""
    model = Transformer(TransformerConfig(**config))
    load_weights(model, weights)
    tie(model, tying)
    rows = [tuple(table.shape) for table in _tables(model)]
    of_source, of_target, of_output = _tables(model)
    found = {
        "shapes of the tables": rows,
        "logits": model(source, target).detach(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "output layer and target embedding share a Parameter": of_output is of_target,
        "source and target embedding share a Parameter": of_source is of_target,
    }
    logits = model(source, target)
    weighted_sum(0.1 * logits).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-0.1)
    return {**found, "logits after a step": model(source, target).detach()}


def _tying(draw: Draw, tying: str, about: str, **more: Any) -> Call:
    same = {"source_vocab": 13} if tying == "all" else {}
    call = model_call(draw, *pair(draw, 2, 4, 3), about=about, **same, **more)
    return Call(call.args, {**call.kwargs, "tying": tying}, about=about)


def _tie(model: Transformer, tying: str) -> None:
    table = model.target_embedding.tokens.weight
    if tying in ("output", "all"):
        model.output.weight = table
    if tying == "all":
        model.source_embedding.tokens.weight = table


item = Item(
    "08.tie",
    reference=_tie,
    use=_use_tie,
    tolerance=1e-4,
    probes=[
        Probe(
            "'output': the output layer and the target embedding share one table",
            lambda draw: [_tying(draw, "output", "tying is 'output'")],
        ),
        Probe(
            "'all': the source embedding shares it, too",
            lambda draw: [_tying(draw, "all", "tying is 'all'")],
        ),
        Probe(
            "'none': all three tables stay separate",
            lambda draw: [_tying(draw, "none", "tying is 'none'")],
        ),
        Probe(
            "it works without an output bias, and in float64",
            lambda draw: [
                _tying(draw, "output", "no bias in the output layer", output_bias=False),
                _tying(draw, "all", "float64", dtype=torch.float64),
            ],
        ),
    ],
    hints=(
        "Two tables with equal values drift apart at the first training step. What can't drift "
        "apart?",
        "An nn.Embedding and an nn.Linear each have a weight, a Parameter of shape (rows, "
        "d_model). You can assign one module's Parameter to the other.",
        "model.output.weight = ..., for 'output' and for 'all'; and one more line like it for "
        "model.source_embedding.tokens.weight, for 'all'.",
    ),
)


@item.misconception(
    "Your tables have equal values but are still two parameters: after one step they differ.",
    why="Copied values are equal only at the start. Each table gets its own gradient, and no "
    "parameters are saved.",
    hint="Assign the Parameter itself, not its values.",
)
def numbers_copied(model: Transformer, tying: str) -> None:
    of_source, of_target, of_output = _tables(model)
    if tying in ("output", "all"):
        of_output.data.copy_(of_target)
    if tying == "all":
        of_source.data.copy_(of_target)


@item.misconception(
    "Your tables share their memory, but they're still two parameters.",
    why="The optimiser sees two parameters and updates the same memory twice, each time with a "
    "part of the gradient. And the parameter count doesn't get smaller.",
    hint="Count the parameters before and after. Is it the same Parameter object, or only the same "
    "memory?",
)
def memory_shared(model: Transformer, tying: str) -> None:
    of_source, of_target, of_output = _tables(model)
    if tying in ("output", "all"):
        of_output.data = of_target.data
    if tying == "all":
        of_source.data = of_target.data


@item.misconception(
    "You tied the right tables, but kept the output layer's values.",
    why="The task asks for the target embedding's values. Which ones survive is the only "
    "difference that the direction makes, and here a trained embedding would be lost.",
    hint="What's on the left of the = gets replaced.",
)
def output_kept(model: Transformer, tying: str) -> None:
    if tying in ("output", "all"):
        model.target_embedding.tokens.weight = model.output.weight
    if tying == "all":
        model.source_embedding.tokens.weight = model.output.weight


@item.misconception(
    "For 'all' you forgot the source: its embedding still has a table of its own.",
    why="The paper shares one table between both embeddings and the output layer.",
    hint="'all' means three modules.",
)
def source_forgotten(model: Transformer, tying: str) -> None:
    if tying in ("output", "all"):
        model.output.weight = model.target_embedding.tokens.weight


@item.misconception(
    "You tie everything, whatever `tying` says: 'none' and 'output' act like 'all'.",
    why="With two languages and two vocabularies, the tables don't even have the same rows.",
    hint="Does your code use its second argument?",
)
def always_all(model: Transformer, tying: str) -> None:
    _tie(model, "all")


@item.misconception(
    "You tie the output layer even for 'none'.",
    why="Four of the five published systems tie nothing; a model with that config must keep all "
    "three tables.",
    hint="What does your code do when tying is 'none'?",
)
def output_always_tied(model: Transformer, tying: str) -> None:
    _tie(model, "output" if tying == "none" else tying)


@item.misconception(
    "For 'output' you tied the two embeddings, and not the output layer.",
    why="'output' means that the output layer uses the target embedding's table.",
    hint="Which module turns d_model numbers into a logit for each target token?",
)
def embeddings_tied(model: Transformer, tying: str) -> None:
    if tying == "output":
        model.source_embedding.tokens.weight = model.target_embedding.tokens.weight
    else:
        _tie(model, tying)
