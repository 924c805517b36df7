"""Run a model as it translates: without dropout, and without gradients."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards each part is in the mode it was in.

    A model that is in evaluation mode is not touched, so threads may share it.
    """
    modes = {module: module.training for module in model.modules()}
    if any(modes.values()):
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes.items():
            if module.training is not mode:
                module.training = mode
