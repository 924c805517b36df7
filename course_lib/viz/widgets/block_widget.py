"""Lesson 07: ablate parts of the blocks, and see how the predictions change."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.errors import CourseError
from course_lib.model import AddNorm, Transformer
from course_lib.viz.plots.curves import plot_bars
from course_lib.viz.widgets.interactive_figure import ALL, DrawnFigure, InteractiveFigure, interact

SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
PARTS = (*SUBLAYERS, "norms", "residuals")


def block_widget(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    *,
    target_tokens: Sequence[str] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> InteractiveFigure:
    """Uncheck parts of one block or of all; see how much each predicted distribution changes.

    The change is the total variation distance: the probability that moves to other tokens, from 0
    (none) to 1 (all).

    Args:
        model: trained or not.
        source: token ids of one sentence, (1, S).
        target: what the decoder reads, (1, T).
        target_tokens: one for each target id; by default the ids.
        vocabulary: the target tokens in the order of their ids; with it, the alt text says what
            the model predicts instead.

    Raises:
        CourseError: not exactly one sentence, or tokens that do not fit it.
    """
    tokens = [str(i) for i in target[0].tolist()] if target_tokens is None else target_tokens
    if len(source) != 1 or len(target) != 1 or len(tokens) != target.size(1):
        raise CourseError(
            f"expected one source (1, S), one target (1, T) and T target tokens, got "
            f"{tuple(source.shape)}, {tuple(target.shape)} and {len(tokens)} tokens: "
            "pick one sentence, such as source[:1]"
        )
    intact = _predict(model, source, target)

    def draw(stack: str = "decoder", layer: int = ALL, **checked: bool) -> DrawnFigure:
        off = [part for part in PARTS if not checked[part]]
        layers = getattr(model, stack).layers
        with ablated(list(layers) if layer == ALL else [layers[layer]], off):
            predicted = _predict(model, source, target)
        change = (predicted - intact).abs().sum(-1) / 2  # (T,)
        what = f"without {', '.join(off)}".replace("_", "-") if off else "nothing ablated"
        where = "all layers" if layer == ALL else f"layer {layer}"
        ax = plot_bars(
            {
                f"{i} {token}": moved
                for i, (token, moved) in enumerate(zip(tokens, change.tolist(), strict=True))
            },
            title=f"{stack.capitalize()}, {where}: {what}",
            value="probability that moves to other tokens",
            group="after reading",
            limits=(0, 1),
            decimals=2,
        )
        text = (
            f"{stack.capitalize()}, {where}, {what}: {change.mean():.2f} of the probability moves "
            "to other tokens."
        )
        if stack == "encoder" and "cross_attention" in off:
            text += " An encoder has no cross-attention to ablate."
        if vocabulary is not None:
            before, after = (
                " ".join(vocabulary[i] for i in p.argmax(-1).tolist()) for p in (intact, predicted)
            )
            text += f" Instead of {before!r} the most probable tokens are {after!r}."
        return ax, text

    count = range(len(model.encoder.layers))
    return interact(
        draw,
        stack=["encoder", "decoder"],
        layer=[("all", ALL), *((str(i), i) for i in count)],
        # Opens without the part that shows most: the source is not read.
        **(dict.fromkeys(PARTS, True) | {"cross_attention": False}),
    )


@contextmanager
def ablated(blocks: Collection[nn.Module], parts: Collection[str]) -> Iterator[None]:
    """Ablate some parts of the blocks within a with statement.

    An ablated sublayer outputs zeros; a norm returns its input; without residuals, AddNorm does
    not add its input. The parameters are not changed.

    Args:
        blocks: encoder or decoder blocks.
        parts: some of PARTS; those that a block does not have are ignored.
    """
    with ExitStack() as hooks:
        for name, module in (named for block in blocks for named in block.named_modules()):
            if hook := _hook(name, module, parts):
                hooks.callback(module.register_forward_hook(hook).remove)
        yield


def _hook(name: str, module: nn.Module, parts: Collection[str]) -> Callable[..., Any] | None:
    """What ablates a module of a block, which has this name in it; None if it stays."""
    if name in SUBLAYERS and name in parts:
        return _zeros
    if isinstance(module, nn.LayerNorm) and "norms" in parts:
        return lambda _, args, output: args[0]
    if isinstance(module, AddNorm) and "residuals" in parts:
        return _without_residual
    return None


def _zeros(_: nn.Module, args: Any, output: Tensor) -> Tensor:
    return torch.zeros_like(output)


def _without_residual(add_norm: AddNorm, args: Any, output: Tensor) -> Tensor:
    x, sublayer = args
    return sublayer(add_norm.norm(x)) if add_norm.is_pre else add_norm.norm(sublayer(x))


@torch.no_grad()
def _predict(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Probabilities of the next token at each target position, (T, V), without dropout."""
    was_training = model.training
    try:
        return model.eval()(source, target)[0].softmax(-1).cpu()
    finally:
        model.train(was_training)
