"""How the subject of an item is used, where calling it is not all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class WrongParameters(Exception):
    """A learner's module whose parameters cannot take the given weights."""


def use_module(
    make: Callable[..., nn.Module],
    *inputs: Any,
    init: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    train: bool = False,
    method: str = "__call__",
    learns: bool = False,
    **kwargs: Any,
) -> Any:
    """Make a module, give it weights under the documented names, and call it.

    Args:
        make: the learner's class.
        inputs, kwargs: of the call.
        init: what it is made with.
        weights: its parameters by name. Buffers are the learner's own affair.
        train: its mode.
        method: what to call, "__call__" for the module itself.
        learns: give the gradients of all parameters, too, as {"output": …, "gradients": {…}}.

    Raises:
        WrongParameters: names or shapes of its parameters are others.
    """
    module = make(**init)
    load_weights(module, weights)
    module.train(train)
    output = getattr(module, method)(*inputs, **kwargs)
    if not learns:
        return output
    first = output[0] if isinstance(output, tuple) else output
    weighting = torch.cos(torch.arange(first.numel(), dtype=first.dtype)).view(first.shape)
    module.zero_grad()
    (first * weighting).sum().backward()
    named = dict(module.named_parameters())
    return {"output": output, "gradients": {name: named[name].grad for name in weights}}


def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into the parameters of the same names.

    Raises:
        WrongParameters: it is no module, or names or shapes of its parameters are others.
    """
    if not isinstance(module, nn.Module):
        raise WrongParameters(
            f"expected a torch.nn.Module, got {type(module).__name__}: does your class inherit it?"
        )
    own = {name: tuple(p.shape) for name, p in module.named_parameters()}
    wanted = {name: tuple(w.shape) for name, w in weights.items()}
    if own != wanted:
        missing = ", ".join(f"{n} {s}" for n, s in wanted.items() if own.get(n) != s)
        extra = ", ".join(f"{n} {s}" for n, s in own.items() if wanted.get(n) != s)
        raise WrongParameters(
            f"expected parameters {missing or 'no more than those asked for'}; "
            f"got {extra or 'none in their place'}: names and shapes are part of the task"
        )
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(weights[name])
    dtype = next(iter(weights.values())).dtype if weights else torch.float32
    if dtype != torch.float32:
        module.to(dtype)
