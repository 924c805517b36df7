"""Lesson 07: switch off parts of the blocks, and see how far the output moves."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.errors import CourseError
from course_lib.model import AddNorm, Transformer
from course_lib.viz.curves import plot_bars
from course_lib.viz.interactive_figure import ALL, Explorer, Picture, explore

SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
PARTS = (*SUBLAYERS, "norms", "residuals")


def block_widget(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    *,
    target_words: Sequence[str] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> Explorer:
    """Untick parts of one block or of all; see how much of each prediction moves elsewhere.

    What moves is the share of the probability that changes its word: 0 nothing, 1 everything.

    Args:
        model: trained or not.
        source: tokens of one sentence, (1, S).
        target: what the decoder reads, (1, T).
        target_words: one for each target token; by default their ids.
        vocabulary: the target's words in the order of their ids; with it, the words say what the
            model predicts instead.

    Raises:
        CourseError: not one sentence, or words that do not fit it.
    """
    words = [str(i) for i in target[0].tolist()] if target_words is None else target_words
    if len(source) != 1 or len(target) != 1 or len(words) != target.size(1):
        raise CourseError(
            f"expected one source (1, S), one target (1, T) and T words, got "
            f"{tuple(source.shape)}, {tuple(target.shape)} and {len(words)} words: "
            "pick one sentence, such as source[:1]"
        )
    whole = _predict(model, source, target)

    def draw(
        stack: str = "decoder",
        layer: int = ALL,
        self_attention: bool = True,
        cross_attention: bool = True,
        feed_forward: bool = True,
        norms: bool = True,
        residuals: bool = True,
    ) -> Picture:
        ticks = (self_attention, cross_attention, feed_forward, norms, residuals)
        off = [part for part, on in zip(PARTS, ticks, strict=True) if not on]
        layers = getattr(model, stack).layers
        with switched_off(list(layers) if layer == ALL else [layers[layer]], off):
            now = _predict(model, source, target)
        moved = (now - whole).abs().sum(-1) / 2  # (T,)
        what = f"without {', '.join(off)}".replace("_", "-") if off else "nothing is off"
        where = "all layers" if layer == ALL else f"layer {layer}"
        ax = plot_bars(
            {
                f"{i} {word}": m
                for i, (word, m) in enumerate(zip(words, moved.tolist(), strict=True))
            },
            title=f"{stack.capitalize()}, {where}: {what}",
            value="share of the prediction that moves",
            group="after reading",
            limits=(0, 1),
            decimals=2,
        )
        text = (
            f"{stack.capitalize()}, {where}, {what}: {moved.mean():.2f} of the predictions moves."
        )
        if stack == "encoder" and not cross_attention:
            text += " An encoder has no cross-attention to switch off."
        if vocabulary is not None:
            said, says = ([vocabulary[i] for i in p.argmax(-1).tolist()] for p in (whole, now))
            text += f" Instead of {' '.join(said)!r} the likeliest words are {' '.join(says)!r}."
        return ax, text

    count = range(len(model.encoder.layers))
    return explore(
        draw,
        stack=["encoder", "decoder"],
        layer=[("all", ALL), *((str(i), i) for i in count)],
        **dict.fromkeys(PARTS, True),
    )


@contextmanager
def switched_off(blocks: Collection[nn.Module], parts: Collection[str]) -> Iterator[None]:
    """While it runs, the blocks do without some of their parts.

    A sublayer that is off adds nothing; a norm hands on what it gets; without residual, AddNorm
    forgets its input. Nothing of this touches the parameters.

    Args:
        blocks: encoder or decoder blocks.
        parts: names out of PARTS; what a block does not have is left out.
    """
    with ExitStack() as hooks:
        for module in (m for block in blocks for m in block.modules()):
            for hook in _hooks(module, parts):
                hooks.callback(module.register_forward_hook(hook).remove)
        for block in blocks:
            for name, part in block.named_children():
                if name in SUBLAYERS and name in parts:
                    hooks.callback(part.register_forward_hook(_nothing).remove)
        yield


def _hooks(module: nn.Module, parts: Collection[str]) -> list[Callable[..., Any]]:
    if isinstance(module, nn.LayerNorm) and "norms" in parts:
        return [lambda _, args, output: args[0]]
    if isinstance(module, AddNorm) and "residuals" in parts:
        return [_without_residual]
    return []


def _nothing(_: nn.Module, args: Any, output: Tensor) -> Tensor:
    return torch.zeros_like(output)


def _without_residual(add_norm: AddNorm, args: Any, output: Tensor) -> Tensor:
    x, sublayer = args
    return sublayer(add_norm.norm(x)) if add_norm.is_pre else add_norm.norm(sublayer(x))


@torch.no_grad()
def _predict(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Probabilities of the next token after each, (T, V), without dropout."""
    was_training = model.training
    try:
        return model.eval()(source, target)[0].softmax(-1).cpu()
    finally:
        model.train(was_training)
