"""Norms from block to block: of the vectors on the residual stream, and of the gradients.

S source length, T target length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from torch import Tensor, nn

from course_lib.model import Transformer
from course_lib.viz.plots.curves import Numbers, plot_curves
from course_lib.viz.style import styled


@torch.no_grad()
def residual_norms(
    model: Transformer, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
) -> dict[str, Float[Tensor, " depth"]]:
    """Norm of the vectors on the residual stream, averaged over all tokens that are not pads.

    The model is left in its mode: in training mode, dropout is active.

    Args:
        model: post-norm or pre-norm.
        source: token ids, (B, S); pads are not counted.
        target: what the decoder reads, (B, T).

    Returns:
        For "encoder" and "decoder" the norms before the first block and after each, (layers+1,).
    """
    real = {"encoder": source != model.config.pad_id, "decoder": target != model.config.pad_id}
    norms: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}

    def recorder(stack: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def record(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            streams = [output] if norms[stack] else [inputs[0], output]
            norms[stack] += [x[real[stack]].float().norm(dim=-1).mean() for x in streams]

        return record

    hooks = [
        layer.register_forward_hook(recorder(stack))
        for stack, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers))
        for layer in layers
    ]
    try:
        model(source, target)
    finally:
        for hook in hooks:
            hook.remove()
    return {stack: torch.stack(values) for stack, values in norms.items()}


def gradient_norms(layers: Iterable[nn.Module]) -> Float[Tensor, " layers"]:
    """Norm of each layer's gradient, all its parameters together, after ``backward()``.

    Args:
        layers: such as ``model.decoder.layers``, or any list of modules.

    Raises:
        ValueError: there is no layer, or one without a gradient.
    """
    norms = []
    for depth, layer in enumerate(layers, start=1):
        gradients = [p.grad for p in layer.parameters() if p.grad is not None]
        if not gradients:
            raise ValueError(
                f"each layer must have a gradient, layer {depth} has none: "
                "did you call loss.backward(), and does the loss depend on the layer's parameters?"
            )
        norms.append(torch.stack([gradient.float().norm() for gradient in gradients]).norm())
    if not norms:
        raise ValueError("expected at least one layer, got none: pass model.encoder.layers")
    return torch.stack(norms)


@styled
def plot_residual_norms(
    norms: Mapping[str, Numbers],
    *,
    title: str = "The residual stream, block by block",
    ax: Axes | None = None,
) -> Axes:
    """How the vectors grow, or do not grow, from the embedding to the last block.

    Args:
        norms: name, such as "pre-norm, encoder" → norms (layers+1,) from `residual_norms`.
        title: what the picture shows.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or curves for different numbers of blocks.
    """
    return _plot_by_depth(
        norms,
        first=0,
        x_label="blocks passed (0: the embedding)",
        y_label="norm of a vector (mean)",
        title=title,
        log_y=False,
        ax=ax,
    )


@styled
def plot_gradient_norms(
    norms: Mapping[str, Numbers],
    *,
    title: str = "How much gradient reaches each block",
    ax: Axes | None = None,
) -> Axes:
    """The gradient that reaches each block. Blocks count from 1; the first is the farthest from
    the loss.

    Args:
        norms: name, such as "with residual" → norms (layers,) from `gradient_norms`.
        title: what the picture shows.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: nothing to draw, or curves for different numbers of blocks.
    """
    return _plot_by_depth(
        norms,
        first=1,
        x_label="block (the loss is on the right)",
        y_label="norm of the gradient",
        title=title,
        log_y=True,
        ax=ax,
    )


def _plot_by_depth(
    norms: Mapping[str, Numbers],
    *,
    first: int,
    x_label: str,
    y_label: str,
    title: str,
    log_y: bool,
    ax: Axes | None,
) -> Axes:
    depth = len(next(iter(norms.values()), ()))
    x = np.arange(first, first + depth)
    ax = plot_curves(norms, x=x, x_label=x_label, y_label=y_label, title=title, log_y=log_y, ax=ax)
    for line in ax.lines:
        line.set(marker="o", markersize=4.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    if not log_y:
        ax.set_ylim(bottom=0)
    return ax
