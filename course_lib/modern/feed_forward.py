"""The gated feed-forward network (Shazeer 2020, equation 6)."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model import FeedForward
from course_lib.modern.config import DecoderConfig

GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "swiglu": F.silu,
    "geglu": lambda x: F.gelu(x, approximate="tanh"),
}


class GatedFeedForward(nn.Module):
    """FFN(x) = W₂ · (activation(W_gate · x) ⊙ W₁ · x), position-wise.

    Parameters: ``gate.weight`` and ``expand.weight`` (d_ff, d_model), ``contract.weight``
    (d_model, d_ff), and biases if ``bias=True``. Three matrices: with 2/3 of the width it has as
    many parameters as a network with two, see ``gated_width``.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, activation: str = "swiglu", bias: bool = False
    ) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=bias)
        self.expand = nn.Linear(d_model, d_ff, bias=bias)
        self.contract = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = GATES[activation]

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Transform each position without regard to the others."""
        hidden = self.activation(self.gate(x)) * self.expand(x)  # (batch, length, d_ff)
        return self.contract(hidden)


def gated_width(d_ff: int, *, multiple_of: int = 1) -> int:
    """The width of a gated network that has as many weights as an ungated one of width ``d_ff``.

    Args:
        multiple_of: round up to a multiple, as Llama does for its hardware.
    """
    return -(-2 * d_ff // (3 * multiple_of)) * multiple_of


def feed_forward(config: DecoderConfig) -> nn.Module:
    """The feed-forward network of one block.

    Raises:
        NotImplementedError: the configuration has experts, which can be counted but not built.
    """
    if config.n_experts:
        raise NotImplementedError(
            f"a mixture of n_experts={config.n_experts} can be counted (parameter_parts) but not "
            "built: use n_experts=0"
        )
    if config.activation == "relu":
        return FeedForward(config.d_model, config.d_ff, 0.0, bias=config.bias)
    return GatedFeedForward(
        config.d_model, config.d_ff, activation=config.activation, bias=config.bias
    )
