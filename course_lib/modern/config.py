"""The sizes and choices of a decoder-only Transformer of today.

Every field has the course's name; the name that published ``config.json`` files use stands beside
it. ``published_models`` reads such files; ``counts`` counts parameters and bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from course_lib.model.config import (
    AttentionForm,
    require_choice,
    require_positive_int,
    resolve_d_head,
)

Norm = Literal["rms", "layer"]
Placement = Literal["pre", "post", "both"]
Activation = Literal["swiglu", "geglu", "relu"]
Positions = Literal["rotary", "sinusoidal", "learned", "none"]


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Sizes and choices of a decoder-only Transformer.

    Each choice can be the one of 2017: ``norm="layer"``, ``placement="post"``,
    ``activation="relu"``, ``positions="sinusoidal"``, ``bias=True``, ``scale_embeddings=True``.

    Raises:
        ValueError: a size or choice cannot be built; the message says which and why.
    """

    vocab: int  # vocab_size
    d_model: int  # hidden_size
    d_ff: int  # intermediate_size
    n_heads: int  # num_attention_heads
    n_layers: int  # num_hidden_layers

    n_kv_heads: int | None = None  # num_key_value_heads; None means n_heads, 1 is multi-query
    d_head: int | None = None  # head_dim; None means d_model / n_heads
    d_latent: int | None = None  # kv_lora_rank: one latent for keys and values of all heads
    d_rotary: int = 0  # qk_rope_head_dim: features that carry the position beside a latent
    qk_norm: bool = False  # use_qk_norm: RMSNorm of each head's queries and keys
    windows: tuple[int | None, ...] = (None,)  # sliding_window, repeated over the layers
    bias: bool = False  # attention_bias and mlp_bias

    norm: Norm = "rms"
    placement: Placement = "pre"  # before each sublayer, after the sum, or before and after it
    norm_eps: float = 1e-6  # rms_norm_eps
    activation: Activation = "swiglu"  # hidden_act, of a gated network unless "relu"
    n_experts: int = 0  # num_experts; 0 means one dense feed-forward network
    top_k: int = 2  # num_experts_per_tok
    d_expert: int | None = None  # moe_intermediate_size; None means d_ff

    positions: Positions = "rotary"
    rope_base: float = 10_000.0  # rope_theta
    local_rope_base: float | None = None  # rope_local_base_freq, of layers with a window
    max_len: int = 4096  # max_position_embeddings
    tied: bool = True  # tie_word_embeddings
    scale_embeddings: bool = False  # × √d_model, as in 2017 and in Gemma

    attention: AttentionForm = "auto"

    def __post_init__(self) -> None:
        for name in ("vocab", "d_model", "d_ff", "n_layers", "max_len", "top_k"):
            require_positive_int(name, getattr(self, name))
        for name in ("n_kv_heads", "d_latent", "d_expert"):
            if getattr(self, name) is not None:
                require_positive_int(name, getattr(self, name))
        for name, choices in (
            ("norm", Norm),
            ("placement", Placement),
            ("activation", Activation),
            ("positions", Positions),
            ("attention", AttentionForm),
        ):
            require_choice(name, getattr(self, name), choices)
        for name in (f.name for f in fields(self) if f.type == "bool"):
            if getattr(self, name) not in (True, False):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for name in ("norm_eps", "rope_base", "local_rope_base"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 < value < math.inf):
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        resolve_d_head(self.d_model, self.n_heads, self.d_head)
        self._check_keys()
        self._check_windows()
        self._check_experts()

    def _check_keys(self) -> None:
        if self.n_heads % self.resolved_n_kv_heads:
            raise ValueError(
                f"n_heads must be a multiple of n_kv_heads, got n_heads={self.n_heads} and "
                f"n_kv_heads={self.n_kv_heads}: each head of keys serves equally many queries"
            )
        if self.positions == "rotary" and self.d_latent is None and self.resolved_d_head % 2:
            raise ValueError(
                f"rotary positions need an even d_head, got {self.resolved_d_head}: "
                "each frequency turns a pair of features"
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(f"sinusoidal positions need an even d_model, got {self.d_model}")
        if type(self.d_rotary) is not int or self.d_rotary < 0 or self.d_rotary % 2:
            raise ValueError(
                f"d_rotary must be an even number of features, or 0, got {self.d_rotary!r}"
            )
        if self.d_latent is None:
            if self.d_rotary:
                raise ValueError(
                    f"d_rotary={self.d_rotary} needs d_latent: without a latent, rotary positions "
                    "turn all features of a head"
                )
        elif self.n_kv_heads is not None or self.qk_norm:
            raise ValueError(
                f"d_latent={self.d_latent} makes the keys of all heads from one latent, so "
                f"n_kv_heads={self.n_kv_heads} and qk_norm={self.qk_norm} have no meaning: leave "
                "them out"
            )
        elif (self.positions == "rotary") != (self.d_rotary > 0):
            raise ValueError(
                "with d_latent, rotary positions need features of their own, got "
                f"positions={self.positions!r} and d_rotary={self.d_rotary}: give "
                'positions="rotary" and an even d_rotary, or positions="none" and d_rotary=0'
            )

    def _check_windows(self) -> None:
        if not isinstance(self.windows, tuple) or not self.windows:
            raise ValueError(
                f"windows must be a tuple such as (512, 512, None), got {self.windows!r}: "
                "it is repeated over the layers, and None means no window"
            )
        for window in self.windows:
            if window is not None and (type(window) is not int or window < 1):
                raise ValueError(
                    f"a window must be a positive number of tokens, or None, got {window!r}: "
                    "a window of 1 sees the token itself alone"
                )

    def _check_experts(self) -> None:
        if type(self.n_experts) is not int or self.n_experts < 0:
            raise ValueError(f"n_experts must be a whole number from 0 on, got {self.n_experts!r}")
        if self.n_experts and self.top_k > self.n_experts:
            raise ValueError(
                f"top_k must be at most n_experts={self.n_experts}, got {self.top_k}: "
                "a token cannot visit more experts than there are"
            )

    @property
    def resolved_d_head(self) -> int:
        """``d_head``, or d_model / n_heads if that is None."""
        return resolve_d_head(self.d_model, self.n_heads, self.d_head)

    @property
    def resolved_n_kv_heads(self) -> int:
        """``n_kv_heads``, or n_heads if that is None."""
        return self.n_kv_heads or self.n_heads

    @property
    def layer_windows(self) -> tuple[int | None, ...]:
        """The window of each layer."""
        return tuple(self.windows[i % len(self.windows)] for i in range(self.n_layers))
