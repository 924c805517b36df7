"""08.bug: A stack of one."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.full_model.small_transformer import SMALL, Fields
from course_lib.model import (
    DecoderBlock,
    EncoderBlock,
    TransformerConfig,
    causal_mask,
    padding_mask,
)

BUG = """\
class Stack(nn.Module):
    def __init__(self, block, config):
        super().__init__()
        self.layers = nn.ModuleList([block(config)] * config.n_layers)
        last = nn.LayerNorm(config.d_model)
        self.final_norm = last if config.final_norm else nn.Identity()

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.final_norm(x)
"""


MakeBlock = Callable[[TransformerConfig], nn.Module]
BLOCKS: dict[str, MakeBlock] = {"encoder": EncoderBlock, "decoder": DecoderBlock}


class _Stack(nn.Module):
    def __init__(self, block: MakeBlock, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = self.make_layers(block, config)
        last = nn.LayerNorm(config.d_model)
        self.final_norm = last if config.final_norm else nn.Identity()

    def make_layers(self, block: MakeBlock, c: TransformerConfig) -> Any:
        return nn.ModuleList(block(c) for _ in range(c.n_layers))

    def forward(self, x: Tensor, *others: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x, *others)
        return self.final_norm(x)


def _use_stack(
    make: Callable[..., nn.Module], *inputs: Any, blocks: str, config: Fields, **more: Any
) -> Any:
    """Make a stack and run it with given weights; without any, report how a new one starts out."""
    run: list[nn.Module] = []

    def block(config: TransformerConfig) -> nn.Module:
        new = BLOCKS[blocks](config)
        new.register_forward_hook(lambda module, args, output: run.append(module))
        return new

    def stack(config: Fields) -> nn.Module:
        return make(block, TransformerConfig(**config))

    if "weights" in more:
        return use_module(stack, *inputs, init={"config": config}, **more)
    fresh = stack(config)
    fresh(*inputs)
    named = dict(fresh.named_parameters())
    first = [weight for name, weight in named.items() if name.endswith("expand.weight")]
    return {
        "blocks that run": len(run),
        "parameters": sum(weight.numel() for weight in named.values()),
        "two layers start with equal weights": any(
            torch.equal(a, b) for i, a in enumerate(first) for b in first[:i]
        ),
    }


def _stack(draw: Draw, blocks: str, *inputs: Any, about: str, **more: Any) -> Call:
    learns, gradients = more.pop("learns", False), more.pop("gradients", False)
    config = {**SMALL, **more}
    weights = draw.weights(_Stack(BLOCKS[blocks], TransformerConfig(**config)))
    kwargs = {"blocks": blocks, "config": config, "weights": weights, "learns": learns}
    return Call(inputs, kwargs, about=about, gradients=gradients)


def _fresh(draw: Draw) -> list[Call]:
    """Stacks with the weights that they are initialised with."""
    calls = []
    for kind, n in (("encoder", 3), ("decoder", 2), ("encoder", 1)):
        inputs = [draw.normal(2, 3, 8) for _ in range(1 + (kind == "decoder"))]
        kwargs = {"blocks": kind, "config": {**SMALL, "n_layers": n}}
        calls.append(Call(tuple(inputs), kwargs, about=f"{n} new {kind} blocks"))
    return calls


def _one_after_the_other(draw: Draw) -> list[Call]:
    mask = padding_mask(draw.tokens(2, 5), 0)
    sides = draw.normal(2, 4, 8), draw.normal(2, 5, 8), causal_mask(4), mask
    pre = {"norm": "pre", "final_norm": True, "n_layers": 2}
    return [
        _stack(draw, "encoder", draw.normal(2, 5, 8), mask, about="encoder blocks", n_layers=3),
        _stack(draw, "decoder", *sides, about="decoder blocks with a memory", n_layers=2),
        _stack(draw, "encoder", draw.normal(2, 3, 8), about="pre-norm, final norm", **pre),
    ]


def _stack_learns(draw: Draw) -> list[Call]:
    x = draw.normal(2, 4, 8)
    return [
        _stack(draw, "encoder", x, about="the parameters' gradients", learns=True, n_layers=3),
        _stack(draw, "encoder", x, about="the input's gradient", gradients=True, n_layers=2),
    ]


item = Item(
    "08.bug",
    reference=_Stack,
    use=_use_stack,
    tolerance=1e-4,
    bug=Bug(BUG, line=4),
    probes=[
        Probe("each layer has its own parameters, initialised independently", _fresh),
        Probe("each block takes the output of the block before it", _one_after_the_other),
        Probe("all layers learn", _stack_learns),
    ],
    hints=(
        "Make a stack of three blocks and count its parameters. How many blocks have as many?",
        "How many times is block(config) called for n_layers layers?",
        "In Python, [a] * 3 is a list of three references to the same a. Write it so that "
        "block(config) is called again for each layer.",
    ),
)


@item.misconception(
    "All layers are still the same block: they share one set of parameters.",
    why="The model runs as many layers as you asked for, but it has the parameters of only one.",
    hint="How many times is block(config) called?",
)
class OneBlockForAllLayers(_Stack):
    def make_layers(self, block: MakeBlock, c: TransformerConfig) -> Any:
        return nn.ModuleList([block(c)] * c.n_layers)


@item.misconception(
    "PyTorch doesn't find your layers: those in a plain list, for instance, aren't registered as "
    "submodules.",
    why="There's no error and no warning: the stack runs, but the optimiser, .to(device) and "
    "state_dict miss every block.",
    hint="PyTorch looks for parameters only in registered submodules. Neither a Python list nor a "
    "variable of forward registers anything. What does?",
)
class PlainList(_Stack):
    def make_layers(self, block: MakeBlock, c: TransformerConfig) -> Any:
        return [block(c) for _ in range(c.n_layers)]


@item.misconception(
    "Each of your layers has its own parameters, but all of them start with the same values, like "
    "copies of one block.",
    why="Layers are initialised at random so that they differ from each other. Equal ones drift "
    "apart in training, but all of them start as the same function.",
    hint="Where do the initial values of each layer come from? A copy copies the weights, too, "
    "and the same seed draws the same ones.",
)
class Twins(_Stack):
    def make_layers(self, block: MakeBlock, c: TransformerConfig) -> Any:
        one = block(c)
        return nn.ModuleList(deepcopy(one) for _ in range(c.n_layers))


@item.misconception(
    "Your stack has a single layer, whatever n_layers says.",
    why="No block is used twice any more, but the other layers are gone as well.",
    hint="How many blocks should a stack with n_layers=3 have, and how many does yours have?",
)
class SingleLayer(_Stack):
    def make_layers(self, block: MakeBlock, c: TransformerConfig) -> Any:
        return nn.ModuleList([block(c)])
