"""Call a learner's module with given weights, and test its dropout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine.call import Answer, Call, weighted_sum
from course_lib.checks.engine.compare import Difference, answers_differ, first_difference
from course_lib.checks.engine.item import Comparison


class WrongParameters(Exception):
    """A learner's module whose parameters cannot take the given weights."""


class WrongResult(Exception):
    """A learner's result of another type than an adapter has to unpack."""


class GradientCut(Exception):
    """A learner's result that no parameter gets a gradient from."""


class NotData(Exception):
    """An answer that is to be data, and takes it from a variable outside of it."""


def call_for_data(subject: Callable[[], Any]) -> Any:
    """Call a function whose answer is data, written into it.

    Grading makes no run: a variable of the notebook that holds one would be missing there.

    Raises:
        NotData: the function reads a variable of the notebook that holds data.
    """
    names = getattr(getattr(subject, "__code__", None), "co_names", ())
    known = getattr(subject, "__globals__", {})
    for name in names:
        if name in known and not (callable(known[name]) or isinstance(known[name], ModuleType)):
            raise NotData(
                f"expected numbers and letters written into the answer, and yours takes `{name}` "
                "from outside of it, where grading has no run to fill it: write what it holds"
            )
    return subject()


def use_module(
    make: Callable[..., nn.Module],
    *inputs: Any,
    init: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    positional: Sequence[Any] = (),
    train: bool = False,
    method: str = "__call__",
    learns: bool = False,
    **kwargs: Any,
) -> Any:
    """Create a module, load weights under the documented names, and call it.

    Args:
        make: the learner's class.
        inputs, kwargs: arguments of the call.
        init, positional: arguments of the constructor.
        weights: the parameters by name. Buffers are up to the learner.
        train: training mode; otherwise evaluation mode.
        method: what to call, "__call__" for the module itself.
        learns: also return the gradients of all parameters, as {"output": …, "gradients": {…}}.

    Raises:
        WrongParameters: its parameters have other names or shapes.
        GradientCut: gradients are asked for, and the output depends on no parameter.
    """
    # The initial weights are random, so both modules get the same ones before they are compared.
    module = make(*positional, **init)
    load_weights(module, weights)
    module.train(train)
    output = getattr(module, method)(*inputs, **kwargs)
    if not learns:
        return output
    first = output[0] if isinstance(output, tuple) else output  # weights or caches come second
    module.zero_grad()
    total = weighted_sum(first)
    if not total.requires_grad:
        raise GradientCut(
            "no gradient reaches any parameter: the path from the result back to them is cut "
            "somewhere"
        )
    total.backward()
    named = dict(module.named_parameters())
    return {"output": output, "gradients": {name: named[name].grad for name in weights}}


def require_module(module: Any) -> nn.Module:
    """The module itself.

    Raises:
        WrongParameters: it is not a module.
    """
    if not isinstance(module, nn.Module):
        raise WrongParameters(
            f"expected a torch.nn.Module, got {type(module).__name__}: "
            "does your class inherit from it?"
        )
    return module


def _list_names(parameters: Sequence[str], *, most: int = 4) -> str:
    """The first few of them; a whole model has hundreds."""
    more = f" and {len(parameters) - most} more" if len(parameters) > most else ""
    return ", ".join(parameters[:most]) + more


def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into the parameters of the same names.

    Raises:
        WrongParameters: it is not a module, or its parameters have other names or shapes.
    """
    require_module(module)
    own = {name: tuple(p.shape) for name, p in module.named_parameters()}
    wanted = {name: tuple(w.shape) for name, w in weights.items()}
    if wanted and not own:
        raise WrongParameters(
            f"expected parameters {_list_names([f'{n} {s}' for n, s in wanted.items()])}; your "
            "module has none at all: modules in a plain list or dict aren't registered, nor are "
            "plain tensors"
        )
    twice = dict(module.named_parameters(remove_duplicate=False)).keys() - own.keys()
    if shared := sorted(twice & wanted.keys()):
        raise WrongParameters(
            f"expected parameters of their own for {_list_names(shared)}; in your module these "
            "names belong to parameters that have another name, too: several names share one"
        )
    if own != wanted:
        missing = _list_names([f"{n} {s}" for n, s in wanted.items() if own.get(n) != s])
        extra = _list_names([f"{n} {s}" for n, s in own.items() if wanted.get(n) != s])
        raise WrongParameters(
            f"expected parameters {missing or 'no more than those asked for'}; "
            f"got {extra or 'none of these'}: names and shapes are part of the task"
        )
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(weights[name])
    # A test in float64 moves the buffers as well, which have no weights here.
    dtype = next(iter(weights.values())).dtype if weights else torch.float32
    if dtype != torch.float32:
        module.to(dtype)


EVALUATION = "in evaluation mode"  # where a difference is that ends a test of dropout
Finding = tuple[str, str, str]  # where, what was expected, what came


def compare_under_dropout(
    find: Callable[[Call, Tensor, Tensor], Finding | None], *, tolerance: float = 1e-4
) -> Comparison:
    """For one input in evaluation mode and then in training mode.

    In evaluation mode the answer must be the reference's. In training mode, where it is random,
    ``find`` says what is wrong with it: from the call, the reference's answer in evaluation mode
    and the answer in training mode, a tensor of the same shape.
    """

    def compare(
        calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
    ) -> Difference | None:
        clean, noisy = expected[0].value, answers[1].value
        if difference := answers_differ(expected[0], answers[0], tolerance=tolerance):
            unchanged = answers_differ(expected[0], answers[1], tolerance=tolerance) is None
            where = EVALUATION + (", and not in training mode" if unchanged else "")
            return Difference(
                difference.kind, expected=difference.expected, got=difference.got, where=where
            )
        finding = find(calls[1], clean, noisy)
        if finding is None:
            return None
        where, right, wrong = finding
        return Difference("value", expected=right, got=wrong, where=where)

    return compare


def compare_last_dropout(share: float, *, tolerance: float = 1e-4) -> Comparison:
    """As ``compare_under_dropout``: dropout is the last operation.

    In training mode about this share of the elements must be zero, each independently, and the
    others scaled up by 1 / (1 - share). The answer needs thousands of elements, none of them zero
    in evaluation mode.
    """

    def find(call: Call, clean: Tensor, noisy: Tensor) -> Finding | None:
        # Which elements are dropped is random: only what holds for every draw can be tested.
        zeros = noisy == 0
        found = float(zeros.float().mean())
        if found < 0.01:
            same = torch.allclose(clean, noisy, rtol=tolerance, atol=tolerance)
            where = "dropout in training mode" if same else "position of dropout in training mode"
            return where, f"about {share:.0%} zeros", "none"
        if abs(found - share) > 0.04:
            return "share of zeros in training mode", f"about {share:.2f}", f"{found:.2f}"
        if zeros.all(dim=-1).any() or torch.equal(zeros[0], zeros[1]):
            return "zeros in training mode", "each element dropped independently", "whole rows"
        scaled = torch.where(zeros, 0.0, clean / (1 - share))
        if difference := first_difference(scaled, noisy, tolerance=tolerance):
            return "elements that dropout keeps", difference.expected, difference.got
        return None

    return compare_under_dropout(find, tolerance=tolerance)
