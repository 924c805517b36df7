"""Encoder and decoder made of your blocks, with the parameter names of the course's own.

Since the names are the same, weights go from one to the other, and a run of yours can be loaded,
translated with and graded by the course's Transformer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from course_lib import model
from course_lib.mine.parts import course_part, own_library
from course_lib.model import TransformerConfig


def _part(name: str) -> Any:
    library = own_library()
    return course_part(name) if library is None else library.part(name)


def _is_own(name: str) -> bool:
    library = own_library()
    return library is not None and library.is_own(name)


def takes_own_blocks(config: TransformerConfig) -> bool:
    """Whether a config is what the exercises ask for: the paper's block, and nothing else."""
    return (
        (config.norm, config.activation, config.d_head) == ("post", "relu", None)
        and (config.norm_affine and config.attention_bias and config.feed_forward_bias)
        and config.norm_eps == 1e-5
        and config.attention_dropout == config.feed_forward_dropout == 0
    )


class Encoder(model.Encoder):
    """As the course's; of the paper's form, with your blocks, or with your parts in the course's
    blocks. Parts: ``layers``, ``final_norm``.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        if takes_own_blocks(config):
            self.layers = _layers("EncoderBlock", model.EncoderBlock, config)


class Decoder(model.Decoder):
    """As ``Encoder``. It has no cache: your attention knows of none."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        if takes_own_blocks(config):
            self.layers = _layers("DecoderBlock", _DecoderBlock, config)


def _layers(
    name: str, course_block: Callable[[TransformerConfig], nn.Module], config: TransformerConfig
) -> nn.ModuleList:
    make = _own_block if _is_own(name) else _block_of_parts
    return nn.ModuleList(make(name, course_block, config) for _ in range(config.n_layers))


def _own_block(name: str, _: Any, config: TransformerConfig) -> nn.Module:
    """The learner's block, under the course's names."""
    own = _part(name)(config.d_model, config.n_heads, config.d_ff, config.residual_dropout)
    return _Renamed(own, norms=2 if name == "EncoderBlock" else 3)


def _block_of_parts(
    name: str, course_block: Callable[[TransformerConfig], Any], config: TransformerConfig
) -> nn.Module:
    """The course's block, with the learner's attention and feed-forward network in it."""
    block = course_block(config)
    attentions = ("self_attention", "cross_attention")[: 1 if name == "EncoderBlock" else 2]
    for attention in attentions:
        setattr(block, attention, _part("MultiHeadAttention")(config.d_model, config.n_heads))
    block.feed_forward = _part("FeedForward")(config.d_model, config.d_ff, 0.0)
    return block


class _DecoderBlock(model.DecoderBlock):
    """The course's block for an attention that knows of no cache."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        **_: Any,
    ) -> Tensor:
        x = self.add_norm_1(x, lambda y: self.self_attention(y, y, y, target_mask))
        x = self.add_norm_2(x, lambda y: self.cross_attention(y, memory, memory, memory_mask))
        return self.add_norm_3(x, self.feed_forward)


class _Renamed(nn.Module):
    """A learner's block whose ``norm_1`` is called ``add_norm_1.norm``, as in the course's."""

    own: nn.Module

    def __init__(self, own: nn.Module, *, norms: int) -> None:
        super().__init__()
        object.__setattr__(self, "own", own)  # not registered: its parts are, under other names
        for name, child in own.named_children():
            number = name.removeprefix("norm_")
            if number.isdigit() and int(number) <= norms:
                holder = nn.Module()
                holder.norm = child
                self.add_module(f"add_norm_{number}", holder)
            else:
                self.add_module(name, child)

    def train(self, mode: bool = True) -> _Renamed:
        """Set the mode of the block, too, which may look at its own."""
        self.own.train(mode)
        return super().train(mode)

    def _apply(self, *args: Any, **kwargs: Any) -> _Renamed:
        """Move the block's own parameters and buffers, which are all that there are."""
        self.own._apply(*args, **kwargs)
        return self

    def forward(self, *inputs: Any, **_: Any) -> Any:
        """Call the block; caches are for the course's own blocks."""
        return self.own(*inputs)
