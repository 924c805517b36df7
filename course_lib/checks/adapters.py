"""How the subject of an item is used, where calling it is not all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.call import Answer, Call, weighted_sum
from course_lib.checks.compare import Difference, answers_differ, first_difference
from course_lib.checks.item import Comparison


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
    module.zero_grad()
    weighted_sum(first).backward()
    named = dict(module.named_parameters())
    return {"output": output, "gradients": {name: named[name].grad for name in weights}}


def require_module(module: Any) -> nn.Module:
    """The module itself.

    Raises:
        WrongParameters: it is none.
    """
    if not isinstance(module, nn.Module):
        raise WrongParameters(
            f"expected a torch.nn.Module, got {type(module).__name__}: does your class inherit it?"
        )
    return module


def _named(parameters: Sequence[str], *, most: int = 4) -> str:
    """The first few of them; a whole model has hundreds."""
    more = f" and {len(parameters) - most} more" if len(parameters) > most else ""
    return ", ".join(parameters[:most]) + more


def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into the parameters of the same names.

    Raises:
        WrongParameters: it is no module, or names or shapes of its parameters are others.
    """
    require_module(module)
    own = {name: tuple(p.shape) for name, p in module.named_parameters()}
    wanted = {name: tuple(w.shape) for name, w in weights.items()}
    if own != wanted:
        missing = _named([f"{n} {s}" for n, s in wanted.items() if own.get(n) != s])
        extra = _named([f"{n} {s}" for n, s in own.items() if wanted.get(n) != s])
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


def compare_last_dropout(share: float, *, tolerance: float = 1e-4) -> Comparison:
    """For two calls with one input, in use and in training: dropout is the last thing done.

    In use the answer is the reference's. In training it is the same with about this share of zeros,
    independent of each other, and the rest scaled up by 1 / (1 - share). The answer must be large,
    thousands of numbers, and none of them zero in use.
    """

    def judge(
        calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
    ) -> Difference | None:
        clean, noisy = expected[0].value, answers[1].value
        if difference := answers_differ(expected[0], answers[0], tolerance=tolerance):
            quiet = answers_differ(expected[0], answers[1], tolerance=tolerance) is None
            where = "in use, and not in training" if quiet else "in use"
            return Difference(difference.kind, difference.expected, difference.got, where)
        if not isinstance(noisy, Tensor) or noisy.shape != clean.shape:
            return first_difference(clean, noisy, tolerance=tolerance, where="in training")
        zeros = noisy == 0
        found = float(zeros.float().mean())
        if found < 0.01:
            same = torch.allclose(clean, noisy, rtol=tolerance, atol=tolerance)
            where = "what falls in training" if same else "where it falls in training"
            return Difference("value", f"about {share:.0%} zeros", "none", where)
        if abs(found - share) > 0.04:
            where = "share of zeros in training"
            return Difference("value", f"about {share:.2f}", f"{found:.2f}", where)
        if zeros.all(dim=-1).any() or torch.equal(zeros[0], zeros[1]):
            where = "zeros in training"
            return Difference("value", "each number to fall by itself", "whole rows", where)
        grown = torch.where(zeros, 0.0, clean / (1 - share))
        if difference := first_difference(grown, noisy, tolerance=tolerance):
            where = "what training leaves"
            return Difference("value", difference.expected, difference.got, where)
        return None

    return judge
