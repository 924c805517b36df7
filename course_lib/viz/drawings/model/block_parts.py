"""What a block of the model is made of, found out by running it, so that no drawing of it lies."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_lib.model import causal_mask
from course_lib.model.config import Norm


@dataclass(frozen=True, kw_only=True)
class Sublayer:
    """One sublayer with its residual connection.

    Args:
        name: of the module in the block, such as "self_attention".
        norm: whether the LayerNorm stands before the sublayer or after the sum.
        reads_memory: its keys and values are made of the encoder's output.
        is_masked: it is given the mask of the target, so that no word attends to a later one.
    """

    name: str
    norm: Norm
    reads_memory: bool = False
    is_masked: bool = False


class _Call(NamedTuple):
    name: str
    given: list[Any]
    output: Any


NORM = "norm"  # of a call; a sublayer has the name of its module
TARGET, SOURCE = 3, 4  # lengths of the sentences that are run


def read_block(block: nn.Module, *, is_decoder: bool) -> tuple[Sublayer, ...]:
    """Run a block on random vectors, and say which sublayers it has, in the order of their calls.

    Sublayers are the block's own modules with parameters; its LayerNorms may be inside others.

    Args:
        block: called as ``block(x)``, or ``block(x, memory, target_mask)``.
        is_decoder: which of the two.

    Raises:
        ValueError: the block does not add each sublayer's output to its input, with a norm before
            the sublayer or after the sum.
    """
    block = deepcopy(block).eval()
    norms = [module for module in block.modules() if isinstance(module, nn.LayerNorm)]
    if not norms:
        raise ValueError(
            f"expected a block with LayerNorms, got {type(block).__name__} without any"
        )
    width = norms[0].normalized_shape[-1]
    generator = torch.Generator().manual_seed(0)
    like = next(block.parameters(), torch.empty(0))
    x, memory = (torch.randn(1, n, width, generator=generator).to(like) for n in (TARGET, SOURCE))
    mask = causal_mask(TARGET, device=like.device)
    calls: list[_Call] = []
    for name, module in block.named_modules():
        kind = NORM if _is_norm(module) else name if _is_sublayer(name, module) else ""
        if kind:
            module.register_forward_hook(_recorder(kind, calls), with_kwargs=True)
    with torch.no_grad():
        output = block(x, memory, mask) if is_decoder else block(x)
    return _sublayers(type(block).__name__, calls, x, output, memory=memory, mask=mask)


def _is_norm(module: nn.Module) -> bool:
    return isinstance(module, nn.LayerNorm)


def _is_sublayer(name: str, module: nn.Module) -> bool:
    own = bool(name) and "." not in name and any(True for _ in module.parameters())
    return own and not any(map(_is_norm, module.modules()))


def _recorder(name: str, calls: list[_Call]) -> Callable[..., None]:
    def record(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        calls.append(_Call(name, [*args, *named.values()], output))

    return record


def _sublayers(
    block: str, calls: list[_Call], x: Tensor, output: Tensor, *, memory: Tensor, mask: Tensor
) -> tuple[Sublayer, ...]:
    """Follow the residual stream ``x`` through the calls to the block's output."""
    found = []
    rest = list(calls)
    while rest:
        first, second = rest[0], rest[1] if len(rest) > 1 else None
        if second is None or (first.name == NORM) == (second.name == NORM):
            raise ValueError(
                f"expected one norm for each sublayer, got the calls "
                f"{', '.join(call.name for call in calls)} in {block}"
            )
        norm: Norm = "pre" if first.name == NORM else "post"
        call = second if norm == "pre" else first
        added = x + call.output
        if norm == "pre":
            is_residual = _same(first.given[0], x) and _same(call.given[0], first.output)
            x = added
        else:
            is_residual = _same(call.given[0], x) and _same(second.given[0], added)
            x = second.output
        if not is_residual:
            raise ValueError(
                f"expected {block} to add the output of {call.name} to its input: "
                f"is its residual connection missing?"
            )
        found.append(
            Sublayer(
                name=call.name,
                norm=norm,
                reads_memory=any(each is memory for each in call.given[1:]),
                is_masked=any(each is mask for each in call.given[1:]),
            )
        )
        rest = rest[2:]
    if not _same(output, x):
        raise ValueError(
            f"expected {block} to return its residual stream, got something else: "
            f"is a residual connection missing around {found[-1].name if found else 'it'}?"
        )
    return tuple(found)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(torch.allclose(one, other, rtol=1e-4, atol=1e-5))
