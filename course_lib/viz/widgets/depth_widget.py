"""Lesson 03: the gradient after many layers, with and without residual and norm."""

from functools import lru_cache
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model import FeedForward
from course_lib.viz.plots.norms_by_layer import plot_gradient_norms
from course_lib.viz.style import new_axes
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

D_MODEL, N_TOKENS = 32, 8
Placement = Literal["none", "post", "pre"]


@lru_cache(maxsize=512)
def stack_gradients(depth: int, *, residual: bool, norm: Placement) -> Float[Tensor, " depth"]:
    """Norm of the gradient at the input of each layer, divided by that of the last layer.

    The layers are feed-forward sublayers with d_model 32, initialised by PyTorch's default.

    Args:
        depth: number of layers.
        residual: x + sublayer(x) instead of sublayer(x).
        norm: a LayerNorm on the result ("post"), on the sublayer's input ("pre"), or none.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        x, direction = torch.randn(2, 1, N_TOKENS, D_MODEL, dtype=torch.float64)
        # float64: without residual and norm, the gradient of 48 layers underflows in float32.
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


def depth_widget() -> InteractiveFigure:
    """Move the depth; see in which stacks of layers a gradient still reaches the first layer."""

    def draw(depth: int = 24, norm: Placement = "post") -> DrawnFigure:
        curves = {
            "neither": stack_gradients(depth, residual=False, norm="none"),
            "norm only": stack_gradients(depth, residual=False, norm=norm),
            "residual only": stack_gradients(depth, residual=True, norm="none"),
            "residual and norm": stack_gradients(depth, residual=True, norm=norm),
        }
        ax = plot_gradient_norms(
            curves,
            title=f"Gradient through {depth} layers, {norm}-norm",
            y_label="norm (last layer = 1)",
            accent="residual and norm",
            ax=new_axes(height=3.6),
        )
        ends = ", ".join(f"{name} {values[0]:.2g}" for name, values in curves.items())
        return ax, (
            f"Length of the gradient at the first of {depth} layers, relative to the last: {ends}."
        )

    return interact(draw, depth=(2, 48), norm=["post", "pre"])
