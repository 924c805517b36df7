"""The sizes and choices of a Transformer, and the presets of the course.

A configuration checks itself when it is created, so that a wrong size is explained before any
tensor exists. It says nothing about training. Every option is used by a preset or by a lesson.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu"]
Positions = Literal["sinusoidal", "learned"]
Layout = Literal["interleaved", "concatenated"]
Tying = Literal["none", "output", "all"]
AttentionForm = Literal["auto", "matmul", "einsum", "fused"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of an encoder-decoder Transformer (Vaswani et al. 2017, section 3).

    Raises:
        ValueError: a size or choice cannot be built; the message says which and why.
    """

    source_vocab: int  # distinct tokens on the source side, specials included
    target_vocab: int  # … and on the target side
    d_model: int = 512  # width of the residual stream
    d_ff: int = 2048  # hidden width of the feed-forward sublayer
    n_heads: int = 8
    d_head: int | None = None  # width of one head; None means d_model / n_heads
    n_layers: int = 6  # blocks in the encoder, and again in the decoder
    pad_id: int = 0

    norm: Norm = "post"  # after the residual sum as in the paper, or before the sublayer
    norm_affine: bool = True  # learn a scale and a shift in each LayerNorm
    norm_eps: float = 1e-5
    final_norm: bool = False  # one more LayerNorm after the last block of each stack
    activation: Activation = "relu"

    positions: Positions = "sinusoidal"
    layout: Layout = "interleaved"  # sin, cos, sin, cos, … or all sines, then all cosines
    max_len: int = 5000  # longest sequence with a position
    scale_embeddings: bool = True  # × √d_model (section 3.4)
    tying: Tying = "none"  # output = target embedding, or one table for all three

    attention_bias: bool = True  # in the query, key, value and output projections
    feed_forward_bias: bool = True
    output_bias: bool = True

    source_embedding_dropout: float = 0.1
    target_embedding_dropout: float = 0.1
    attention_dropout: float = 0.0  # on the attention weights
    residual_dropout: float = 0.1  # on each sublayer's output (section 5.4)
    feed_forward_dropout: float = 0.0  # on the hidden layer

    attention: AttentionForm = "auto"

    def __post_init__(self) -> None:
        for name in ("source_vocab", "target_vocab", "d_model", "d_ff", "n_layers", "max_len"):
            require_positive_int(name, getattr(self, name))
        resolve_d_head(self.d_model, self.n_heads, self.d_head)
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(
                f"sinusoidal positions need an even d_model, got {self.d_model}: "
                "each frequency fills one sine and one cosine column"
            )
        for name, choices in (
            ("norm", Norm),
            ("activation", Activation),
            ("positions", Positions),
            ("layout", Layout),
            ("tying", Tying),
            ("attention", AttentionForm),
        ):
            require_choice(name, getattr(self, name), choices)
        for name in (n for n in self.__dataclass_fields__ if n.endswith("dropout")):
            require_dropout(name, getattr(self, name))
        for name in (f.name for f in fields(self) if f.type == "bool"):
            if getattr(self, name) not in (True, False):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not self.norm_eps > 0:  # put this way, it also refuses NaN
            raise ValueError(
                f"norm_eps must be positive, got {self.norm_eps}: "
                "it keeps a constant vector from being divided by zero"
            )
        vocab = min(self.source_vocab, self.target_vocab)
        if type(self.pad_id) is not int or not 0 <= self.pad_id < vocab:
            raise ValueError(
                f"pad_id must be a token of both vocabularies (sizes {self.source_vocab} and "
                f"{self.target_vocab}), got {self.pad_id!r}"
            )
        if self.tying == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                "tying='all' shares one table and needs source_vocab == target_vocab, got "
                f"{self.source_vocab} and {self.target_vocab}: use one joint vocabulary"
            )

    @property
    def resolved_d_head(self) -> int:
        """``d_head``, or d_model / n_heads if that is None."""
        return resolve_d_head(self.d_model, self.n_heads, self.d_head)


def resolve_d_head(d_model: int, n_heads: int, d_head: int | None) -> int:
    """``d_head``, or d_model / n_heads if that is None.

    Raises:
        ValueError: n_heads or d_head is not positive, or d_model is not a multiple of n_heads.
    """
    require_positive_int("n_heads", n_heads)
    if d_head is not None:
        require_positive_int("d_head", d_head)
        return d_head
    if d_model % n_heads:
        raise ValueError(
            f"d_model must be a multiple of n_heads, got d_model={d_model} and "
            f"n_heads={n_heads}: choose other sizes or give d_head yourself"
        )
    return d_model // n_heads


def require_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a ``value`` that is not among the ``choices``, a Literal, with a ValueError."""
    if value not in get_args(choices):
        options = ", ".join(map(repr, get_args(choices)))
        raise ValueError(f"{name} must be one of {options}, got {value!r}")


def require_dropout(name: str, value: float) -> None:
    """Refuse a dropout probability outside [0, 1) with a ValueError."""
    if not 0.0 <= value < 1.0:  # put this way, it also refuses NaN
        raise ValueError(f"{name} is a probability and must lie in [0, 1), got {value}")


def require_positive_int(name: str, value: object) -> None:
    """Refuse what is not a whole number from 1 on with a ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")


def preset(name: str, **changes: Any) -> TransformerConfig:
    """The preset called ``name``, with the named fields changed.

    Raises:
        ValueError: no preset has that name.
    """
    if name not in PRESETS:
        close = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f": did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}{hint}")
    return replace(PRESETS[name], **changes)


# The paper's Table 3 (base and big) with its joint vocabulary of about 37,000; `small` is the
# course's own; the other five are the published systems as they were meant, without their bugs.
PRESETS: dict[str, TransformerConfig] = {
    "small": TransformerConfig(
        source_vocab=1000,
        target_vocab=1000,
        d_model=128,
        d_ff=512,
        n_heads=4,
        n_layers=2,
        norm="pre",
        final_norm=True,
        max_len=256,
        source_embedding_dropout=0.0,
        target_embedding_dropout=0.0,
        residual_dropout=0.0,
        attention="matmul",  # the fastest for sentences of ten words
    ),
    "paper_base": TransformerConfig(source_vocab=37_000, target_vocab=37_000, tying="all"),
    "paper_big": TransformerConfig(
        source_vocab=37_000,
        target_vocab=37_000,
        d_model=1024,
        d_ff=4096,
        n_heads=16,
        tying="all",
        source_embedding_dropout=0.3,
        target_embedding_dropout=0.3,
        residual_dropout=0.3,
    ),
    "naive_mt": TransformerConfig(
        source_vocab=6,
        target_vocab=9,
        norm_affine=False,
        scale_embeddings=False,
        attention_bias=False,
        feed_forward_bias=False,
        output_bias=False,
        residual_dropout=0.0,
    ),
    "fastai_qa": TransformerConfig(
        source_vocab=11_336,
        target_vocab=8_152,
        d_model=256,
        d_ff=1024,
        layout="concatenated",
        tying="output",
        pad_id=1,
        target_embedding_dropout=0.0,
        attention_dropout=0.1,
        feed_forward_dropout=0.1,
    ),
    "fastestimator_ted": TransformerConfig(
        source_vocab=29_794,
        target_vocab=30_522,
        d_model=128,
        d_ff=512,
        n_layers=4,
        norm_eps=1e-6,
        max_len=1000,
    ),
    "einsum_scratch": TransformerConfig(
        source_vocab=10,
        target_vocab=10,
        positions="learned",
        max_len=100,
        scale_embeddings=False,
        source_embedding_dropout=0.0,
        target_embedding_dropout=0.0,
        residual_dropout=0.0,
        attention="einsum",
    ),
    "wmt14_de_en": TransformerConfig(
        source_vocab=28_996,
        target_vocab=28_996,
        d_ff=1024,
        n_heads=4,
        activation="gelu",
        positions="learned",
        max_len=128,
        scale_embeddings=False,
        source_embedding_dropout=0.0,
        target_embedding_dropout=0.0,
        residual_dropout=0.0,
        feed_forward_dropout=0.1,
    ),
}
