"""The position-wise feed-forward network (section 3.3 of the paper)."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model.config import Activation, require_choice
from course_lib.model.dropout import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """FFN(x) = W₂ · activation(W₁ · x), position-wise (equation 2).

    Parameters: ``expand.weight`` (d_ff, d_model), ``contract.weight`` (d_model, d_ff), and biases
    unless ``bias=False``.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float = 0.1,
        *,
        activation: Activation = "relu",
        bias: bool = True,
    ) -> None:
        super().__init__()
        require_choice("activation", activation, Activation)
        self.expand = nn.Linear(d_model, d_ff, bias=bias)
        self.contract = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Transform each position without regard to the others."""
        hidden = self.activation(self.expand(x))  # (batch, length, d_ff)
        return self.contract(self.dropout(hidden))
