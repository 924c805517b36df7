"""LayerNorm, and the residual connection with a norm (section 3.1 of the paper).

``blocks`` puts it around attention and the feed-forward network.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.model.config import Norm, require_choice
from course_lib.model.dropout import Dropout


def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, " d_model"] | None = None,
    bias: Float[Tensor, " d_model"] | None = None,
    *,
    eps: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """Shift and scale each vector to mean 0 and variance 1 (Ba et al. 2016, equation 4)."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    normed = (x - mean) / torch.sqrt(variance + eps)
    if weight is not None:
        normed = normed * weight
    return normed if bias is None else normed + bias


class AddNorm(nn.Module):
    """The residual connection around a sublayer, with its LayerNorm (section 3.1).

    post: norm(x + sublayer(x)), as in the paper; pre: x + sublayer(norm(x)), with no norm on the
    residual path. Parameters: ``norm.weight`` and ``norm.bias`` (d_model,).
    """

    def __init__(
        self,
        d_model: int,
        dropout: float = 0.1,
        *,
        norm: Norm = "post",
        affine: bool = True,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        require_choice("norm", norm, Norm)
        self.is_pre = norm == "pre"
        self.norm = nn.LayerNorm(d_model, eps=eps, elementwise_affine=affine)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        """Add what ``sublayer`` computes, a tensor of the same shape, to x."""
        if self.is_pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
