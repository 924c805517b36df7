"""Lesson 03: the gradient after many layers, with and without residual and norm."""

from functools import lru_cache
from typing import Literal

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor, nn

from course_lib.model import FeedForward
from course_lib.viz.plots.curves import plot_curves
from course_lib.viz.style import STYLE, WIDTH, styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

D_MODEL, N_TOKENS = 32, 8
GONE = 1e-4  # of a gradient: what is less has no name
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

    @styled
    def draw(depth: int = 24, norm: Placement = "post") -> DrawnFigure:
        vanishing = {"neither": stack_gradients(depth, residual=False, norm="none")}
        kept = {
            "norm only": stack_gradients(depth, residual=False, norm=norm),
            "residual only": stack_gradients(depth, residual=True, norm="none"),
            "residual and norm": stack_gradients(depth, residual=True, norm=norm),
        }
        figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[4, 5])
        _plot_backwards(vanishing, left, title="neither", log_y=True, accent="neither")
        _plot_backwards(kept, right, title="with one of the two, or both", log_y=False)
        right.set_ylim(0, max(2.0, 1.05 * float(torch.stack(list(kept.values())).max())))
        left.set_ylabel("gradient (last layer = 1)")
        arrives = float(vanishing["neither"][0])
        much = "almost nothing" if arrives < GONE else f"{arrives:.2g}"
        title = f"{depth} layers, {norm}-norm: with neither, {much} of the gradient arrives"
        figure.suptitle(title, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"])
        ends = ", ".join(f"{name} {values[0]:.2f}" for name, values in kept.items())
        return figure, f"At the first layer, as a multiple of the last layer's gradient: {ends}."

    return interact(draw, depth=(2, 48), norm=["post", "pre"])


def _plot_backwards(
    gradients: dict[str, Tensor],
    ax: Axes,
    *,
    title: str,
    log_y: bool,
    accent: str | None = None,
) -> None:
    """Lines on their way back from the last layer, so that they end, and are named, at the first.

    Args:
        gradients: name → norms from the first layer to the last, as of `stack_gradients`.
        ax: where to draw.
        title: of these axes.
        log_y: orders of magnitude.
        accent: the line that the whole picture is about.
    """
    plot_curves(
        {name: norms.flip(0) for name, norms in gradients.items()},
        x_label="layers back from the last",
        y_label="",
        title=title,
        log_y=log_y,
        accent=accent,
        ax=ax,
    )
    ax.set_title(title, fontsize=STYLE["font.size"], loc="left")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
