"""Lesson 03: what is left of the gradient after many layers, with and without residual and norm."""

from functools import lru_cache
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model import FeedForward
from course_lib.viz.norms_by_layer import plot_gradient_norms
from course_lib.viz.style import new_axes
from course_lib.viz.interactive_figure import Explorer, Picture, explore

D_MODEL, N_TOKENS = 32, 8
Placement = Literal["none", "post", "pre"]


@lru_cache(maxsize=512)
def stack_gradients(depth: int, *, residual: bool, norm: Placement) -> Float[Tensor, " depth"]:
    """How long the gradient is at the input of each layer, the last one's being 1.

    The layers are feed-forward sublayers of width 32, as PyTorch initialises them.

    Args:
        depth: how many layers.
        residual: x + sublayer(x) instead of sublayer(x).
        norm: a LayerNorm on the result ("post"), on what the sublayer reads ("pre"), or none.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        x, direction = torch.randn(2, 1, N_TOKENS, D_MODEL, dtype=torch.float64)
        # float64: without residual and norm, 48 layers leave less than float32 can hold.
        layers = [FeedForward(D_MODEL, 4 * D_MODEL, dropout=0.0).double() for _ in range(depth)]
    normed = nn.LayerNorm(D_MODEL, elementwise_affine=False)
    x.requires_grad_()
    inputs = []
    for layer in layers:
        inputs.append(x)
        y = layer(normed(x) if norm == "pre" else x)
        y = x + y if residual else y
        x = normed(y) if norm == "post" else y
    gradients = torch.autograd.grad((x * direction).sum(), inputs)
    norms = torch.stack([gradient.norm() for gradient in gradients])
    return norms / norms[-1]


def depth_widget() -> Explorer:
    """Move the depth; see which stacks of layers still have a gradient at their beginning."""

    def draw(depth: int = 24, norm: Placement = "post") -> Picture:
        curves = {
            "neither": stack_gradients(depth, residual=False, norm="none"),
            "norm alone": stack_gradients(depth, residual=False, norm=norm),
            "residual alone": stack_gradients(depth, residual=True, norm="none"),
            "residual and norm": stack_gradients(depth, residual=True, norm=norm),
        }
        title = f"What is left of the gradient, {depth} layers, {norm}-norm"
        ax = plot_gradient_norms(curves, title=title, ax=new_axes(height=3.6))
        ax.set_ylabel("gradient, last layer = 1")
        ends = ", ".join(f"{name} {values[0]:.2g}" for name, values in curves.items())
        return ax, (
            f"The gradient at the first of {depth} layers, that at the last one being 1: {ends}."
        )

    return explore(draw, depth=(2, 48), norm=["post", "pre"])
