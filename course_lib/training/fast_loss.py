"""The output layer and the loss in one, without the logits, a few rows at a time.

The logits of a batch, N rows of V numbers, are the largest tensor of a training step, and so is
their gradient. Here neither exists as a whole. A block of rows is projected, its loss added up, and
its share of the gradients computed at once, while it is still in the processor's cache.

B batch, T target length, D d_model, V vocabulary, N real tokens.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def projected_loss(
    hidden: Float[Tensor, "batch target d_model"],
    weight: Float[Tensor, "vocab d_model"],
    bias: Float[Tensor, " vocab"] | None,
    labels: Int[Tensor, "batch target"],
    pad_id: int,
    smoothing: float,
    *,
    rows: int = 256,
) -> Float[Tensor, ""]:
    """``label_smoothed_loss(F.linear(hidden, weight, bias), labels, pad_id, smoothing)``, faster.

    Equal in value and gradients; inside ``torch.autocast`` the products are rounded as there.

    Args:
        hidden: the decoder's output, before the output layer.
        weight, bias: of the output layer.
        labels: what to say at each position; where it is ``pad_id``, nothing is computed.
        smoothing: share of each label given to all V words alike.
        rows: of a block. More rows make larger products, fewer stay in the cache.

    Raises:
        ValueError: ``smoothing`` is no share.
    """
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing is a share and must lie in [0, 1], got {smoothing}")
    device = hidden.device.type
    rounded = torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device) if rounded else weight.dtype
    with torch.autocast(device, enabled=False):
        loss: Tensor = _ProjectedLoss.apply(
            *(hidden, weight, bias, labels, labels != pad_id, smoothing, rows, dtype),
            torch.is_grad_enabled(),
        )[0]
    return loss


def loss_and_gradient(
    logits: Float[Tensor, "rows vocab"], labels: Int[Tensor, " rows"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "rows vocab"]]:
    """The summed label-smoothed cross-entropy, and its gradient: probabilities less the target."""
    probabilities = logits.softmax(dim=-1)
    # log Σ exp(logits), from the most probable token, whose logarithm is always finite
    log_total = logits.amax(dim=-1) - probabilities.amax(dim=-1).log()
    right = logits.gather(1, labels[:, None])[:, 0]
    loss = log_total - (1 - smoothing) * right - smoothing * logits.mean(dim=-1)
    gradient = probabilities.sub_(smoothing / logits.size(1))
    gradient[torch.arange(len(labels), device=labels.device), labels] -= 1 - smoothing
    return loss.sum(), gradient


class _ProjectedLoss(torch.autograd.Function):
    """The gradients are computed on the way forward; backward only scales them."""

    @staticmethod
    def forward(
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        real: Tensor,
        smoothing: float,
        rows: int,
        dtype: torch.dtype,
        learning: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        full = torch.promote_types(dtype, torch.float32)  # for sums, whatever the products have
        # Padding has no loss, so its rows are left out from here on.
        x, labels = hidden[real].to(dtype), labels[real]  # (N, D), (N,)
        matrix, offset = weight.to(dtype), None if bias is None else bias.to(dtype)
        # The gradients of the sum of all losses. A vocabulary is large, so the logits of all rows
        # would take more memory than the rest of the model: they live for one block at a time, and
        # what backward would need them for is computed while they are here.
        d_x = torch.empty_like(x)  # (N, D)
        d_weight = torch.zeros_like(weight, dtype=full)
        d_bias = None if bias is None else torch.zeros_like(bias, dtype=full)
        total = torch.zeros((), dtype=full, device=x.device)
        for start in range(0, len(x), rows):
            block = slice(start, start + rows)
            logits = F.linear(x[block], matrix, offset).to(full)  # (rows, V)
            loss, gradient = loss_and_gradient(logits, labels[block], smoothing)
            total += loss
            if not learning:  # a validation: nobody calls backward
                continue
            # logits = x @ matrix.T + offset, so the chain rule gives these three.
            d_logits = gradient.to(dtype)  # (rows, V)
            d_x[block] = d_logits @ matrix
            d_weight += d_logits.T @ x[block]  # every block adds its share, like every token
            if d_bias is not None:
                d_bias += gradient.sum(dim=0)
        return total / max(1, len(x)), d_x, d_weight, d_bias

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        # Apart from ``forward``, so that torch.func can use it, too.
        hidden, weight, _, _, real, *_ = inputs
        _, *gradients = output
        ctx.count = max(1, len(gradients[0]))
        ctx.dtypes = hidden.dtype, weight.dtype
        ctx.mark_non_differentiable(*(each for each in gradients if each is not None))
        ctx.set_materialize_grads(False)  # no zeros of their sizes in ``backward``
        ctx.save_for_backward(real, *gradients)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        if d_loss is None:
            return (None,) * 9
        real, d_x, d_weight, d_bias = ctx.saved_tensors
        scale = d_loss / ctx.count  # of the mean, where forward has kept the gradients of the sum
        of_hidden, of_weight = ctx.dtypes
        d_hidden = torch.zeros(*real.shape, d_x.size(1), dtype=of_hidden, device=d_x.device)
        d_hidden[real] = (d_x * scale).to(of_hidden)  # and zeros at padding
        if d_bias is not None:
            d_bias = (d_bias * scale).to(of_weight)
        return d_hidden, (d_weight * scale).to(of_weight), d_bias, *[None] * 6
