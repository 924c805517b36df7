"""08.tie: one table, shared by several modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import load_weights
from course_lib.checks.engine.call import weighted_sum
from course_lib.checks.items.full_model.small_transformer import Fields, model_call, pair
from course_lib.model import Transformer, TransformerConfig


def _tables(model: Transformer) -> dict[str, Any]:
    """The weights of both embeddings and of the output layer."""
    return {
        "source embedding": model.source_embedding.tokens.weight,
        "target embedding": model.target_embedding.tokens.weight,
        "output layer": model.output.weight,
    }


def _one_object(tables: Mapping[str, Any]) -> str:
    """Which of the tables are one object, in words."""
    groups: dict[int, list[str]] = {}
    for name, table in tables.items():
        groups.setdefault(id(table), []).append(name)
    largest = max(groups.values(), key=len)
    return " and ".join(largest) if len(largest) > 1 else "none"


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
    result = tie(model, tying)
    tables = _tables(model)
    found = {
        "returned": "nothing" if result is None or result is model else "something else",
        "tables that are one Parameter": _one_object(tables),
        "both embeddings are one module": model.source_embedding is model.target_embedding,
        **{f"table of the {name}": table.detach().clone() for name, table in tables.items()},
        "number of parameters": sum(parameter.numel() for parameter in model.parameters()),
        "logits": model(source, target).detach(),
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
        "d_model). Python lets you assign the Parameter of one module to another module.",
        "For two layers a and b, each an nn.Linear(3, 2), b.weight = a.weight leaves one "
        "Parameter, which both use. Which of the three tables should be the one that stays? And "
        '"all" does what "output" does, and one thing more.',
    ),
)


@item.switchable
def tied_with(on: frozenset[str]) -> Callable[[Transformer, str], None]:
    """Tie with these misconceptions."""

    def answer(model: Transformer, tying: str) -> None:
        if "always_all" in on or ("all_for_output" in on and tying == "output"):
            tying = "all"
        if "output_always_tied" in on and tying == "none":
            tying = "output"
        output, source = tying in ("output", "all"), tying == "all"
        if "source_forgotten" in on:
            source = False
        if "all_without_the_output" in on and tying == "all":
            output = False
        if "embeddings_tied" in on and tying == "output":
            output, source = False, True
        if "output_bias_lost" in on and output:
            model.output.register_parameter("bias", None)
        owner: Any = model.target_embedding.tokens
        others = [model.output] * output + [model.source_embedding.tokens] * source
        if "output_kept" in on and output:
            owner, others[0] = others[0], owner
        elif "source_kept" in on and source:
            owner, others[-1] = others[-1], owner
        for module in others:
            if "numbers_copied" in on:
                module.weight.data.copy_(owner.weight)
            elif "memory_shared" in on:
                module.weight.data = owner.weight.data
            else:
                module.weight = owner.weight

    return answer


item.switch(
    "numbers_copied",
    "Your tables have equal values but are still separate parameters: after one step they differ.",
    why="Copied values are equal only at the start. Each table gets its own gradient, and no "
    "parameters are saved.",
    hint="Assign the Parameter itself, not its values.",
)
item.switch(
    "memory_shared",
    "Your tables share their memory, but they're still separate parameters.",
    why="The optimiser sees several parameters and updates the same memory once for each, every "
    "time with a part of the gradient. And the parameter count doesn't get smaller.",
    hint="Count the parameters before and after. Is it the same Parameter object, or only the same "
    "memory?",
)
item.switch(
    "output_kept",
    "The shared table holds the output layer's values, not the target embedding's.",
    why="The task asks for the target embedding's values. The direction of an assignment decides "
    "which values survive. With yours, a trained target embedding would be lost.",
    hint="Which module's table should stay? What's on the left of an = gets replaced.",
)
item.switch(
    "source_kept",
    "For 'all', the shared table holds the source embedding's values, not the target embedding's.",
    why="The task asks for the target embedding's values. The direction of an assignment decides "
    "which values survive. With yours, a trained target embedding would be lost.",
    hint="Which module's table should stay? What's on the left of an = gets replaced.",
)
item.switch(
    "source_forgotten",
    "For 'all', the source embedding still has a table of its own.",
    why="The paper shares one table between both embeddings and the output layer.",
    hint="'all' means three modules.",
)
item.switch(
    "always_all",
    "You tie everything, whatever `tying` says: 'none' and 'output' act like 'all'.",
    why="With two languages and two vocabularies, the same row of two tables belongs to two "
    "different tokens.",
    hint="What does your code do when tying is 'none', and what when it's 'output'? Print which "
    "of its conditions are true.",
)
item.switch(
    "all_for_output",
    "For 'output' you tie the source embedding, too.",
    why="With two languages and two vocabularies, the same row of the source's table and of the "
    "target's belongs to two different tokens.",
    hint="Which of the three tables stays on its own for 'output'?",
)
item.switch(
    "output_always_tied",
    "You tie the output layer even for 'none'.",
    why="Four of the five published systems tie nothing; a model with that config must keep all "
    "three tables.",
    hint="What does your code do when tying is 'none'?",
)
item.switch(
    "embeddings_tied",
    "For 'output' you tied the two embeddings, and not the output layer.",
    why="'output' means that the output layer uses the target embedding's table.",
    hint="Which module turns d_model numbers into a logit for each target token?",
)
item.switch(
    "all_without_the_output",
    "For 'all' you tied the two embeddings, and not the output layer.",
    why="'all' means one table in all three modules: the output layer shares it, as it does for "
    "'output'.",
    hint="Which modules share the table for 'all'? Check that each of them is assigned.",
)
item.switch(
    "output_bias_lost",
    "Your output layer has lost its bias.",
    why="Only the table is shared. The bias belongs to the output layer alone, and stays.",
    hint="Which attribute of the existing layer is all that has to change?",
)
item.apart.append({"source_forgotten", "all_without_the_output"})
item.apart.append({"source_forgotten", "always_all"})
