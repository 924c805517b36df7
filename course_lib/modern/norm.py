"""RMSNorm: a LayerNorm without the mean (Zhang and Sennrich 2019, equation 4)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def rms_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, " d_model"] | None = None,
    *,
    eps: float = 1e-6,
) -> Float[Tensor, "*batch d_model"]:
    """Divide each vector by its root mean square, then multiply by ``weight``.

    On vectors of mean 0 it equals ``layer_norm``. Squares overflow in float16 from 256 on, so the
    mean is computed in float32.
    """
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    normed = (wide * torch.rsqrt(mean_square + eps)).to(x.dtype)
    return normed if weight is None else normed * weight


class RMSNorm(nn.Module):
    """``rms_norm`` with a learned ``weight`` (d_model,), which starts at 1."""

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalise each vector."""
        return rms_norm(x, self.weight, eps=self.eps)
