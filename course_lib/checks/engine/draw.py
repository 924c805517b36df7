"""Random test inputs for the probes: edge cases included, and the same for the same seed."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Draw:
    """Draws test inputs. All its tensors come from one generator on the CPU."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def normal(self, *shape: int, std: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
        """Normally distributed numbers with mean 0."""
        # Drawn in float64 whatever the dtype, so that a test in float32 has the same inputs.
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64).to(dtype) * std

    def strided(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """As ``normal``, but not contiguous: a transposed view, like heads after splitting."""
        *rest, a, b = shape
        return self.normal(*rest, b, a, dtype=dtype).transpose(-2, -1)

    def ids(self, *shape: int, low: int = 1, high: int = 19) -> Tensor:
        """Token ids from low to high."""
        return torch.randint(low, high + 1, shape, generator=self.generator)

    def tokens(
        self, batch: int, length: int, *, pad_id: int = 0, left: bool = False, high: int = 19
    ) -> Tensor:
        """Sentences (batch, length) of different lengths, the first without padding; none is empty.

        Real tokens are never ``pad_id``; if that is not 0, the first sentence has a token 0.
        """
        tokens = self.ids(batch, length, low=0, high=high - 1)
        tokens = torch.where(tokens >= pad_id, tokens + 1, tokens)  # leaves out pad_id alone
        if pad_id:
            tokens[0, 0] = 0
        for row in tokens[1:]:
            pads = self.integer(1, length - 1) if length > 1 else 0
            row[:pads] = pad_id
        return tokens if left else tokens.flip(1)

    def mask(self, *shape: int, share: float = 0.6) -> Tensor:
        """Boolean, True for about this share; at least one True in each row of the last axis."""
        mask = torch.rand(*shape, generator=self.generator) < share
        mask[..., 0] |= ~mask.any(dim=-1)  # a row without any has no softmax
        return mask

    def weights(self, module: nn.Module, *, std: float = 0.5) -> dict[str, Tensor]:
        """Parameters for a module like this one, none of them at its usual initial value."""
        return {
            name: self.normal(*p.shape, std=std, dtype=p.dtype)
            + (1.0 if name.endswith("norm.weight") else 0.0)
            for name, p in module.named_parameters()
        }
