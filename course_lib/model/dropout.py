"""Dropout whose mask costs a random byte an element (section 5.4; Srivastava et al. 2014)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set a share p of the elements to zero and scale the others so that the mean stays.

    On a CPU an element falls if its random byte is below 256 · p, rounded: drawing eight bytes at
    once is several times faster than asking for each element on its own. So p is rounded to the
    next 1/256 (0.1 becomes 26/256 = 0.1016), and the others are scaled by the share that is really
    kept. Other devices, and a p that would round to 0 or 1, are left to PyTorch.

    Args:
        x: of any shape and floating type.
        p: share to drop.
        training: False returns x.

    Raises:
        ValueError: p is not a probability.
    """
    dropped = round(256 * p)
    if not training or p == 0 or not 0 < dropped < 256 or x.device.type != "cpu":
        return F.dropout(x, p, training)
    kept = random_bytes(x.shape).ge_(dropped)  # 1 or 0 an element; in place, it stays a byte
    return x * kept.to(x.dtype) * (256 / (256 - dropped))


def random_bytes(shape: torch.Size) -> Tensor:
    """Bytes 0 … 255, all equally likely, from PyTorch's global generator."""
    n = shape.numel()
    words = torch.empty((n + 7) // 8, dtype=torch.int64).random_(-(2**63), None)  # all 64 bits
    return words.view(torch.uint8)[:n].view(shape)


class Dropout(nn.Dropout):
    """``dropout`` as a module: it acts while training only."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape, unchanged."""
        return dropout(input, self.p, self.training)
