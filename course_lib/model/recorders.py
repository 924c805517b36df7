"""Who is shown each module's attention; ``recording`` adds itself."""

from collections.abc import Callable
from contextvars import ContextVar

import torch
from torch import Tensor, nn

# Not kept in the modules: threads may share a model, and each has context variables of its own.
RECORDERS: ContextVar[tuple[Callable[..., None], ...]] = ContextVar("RECORDERS", default=())


def show(
    module: nn.Module, queries: Tensor, keys: Tensor, mask: Tensor | None, weights: Tensor | None
) -> None:
    """Show every recorder what an attention computed; a compiled graph has no such variables."""
    if not torch.compiler.is_compiling():
        for recorder in RECORDERS.get():
            recorder(module, queries, keys, mask, weights)
