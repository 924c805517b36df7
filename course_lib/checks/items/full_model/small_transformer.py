"""A small Transformer and padded inputs for the items of lesson 08."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw
from course_lib.model import Transformer, TransformerConfig

Fields = Mapping[str, Any]  # of a TransformerConfig, as plain data


SMALL: Fields = {
    "source_vocab": 11,
    "target_vocab": 13,
    "d_model": 8,
    "d_ff": 12,
    "n_heads": 2,
    "n_layers": 1,
    "max_len": 64,
    "source_embedding_dropout": 0.0,
    "target_embedding_dropout": 0.0,
    "residual_dropout": 0.0,
}


def model_call(draw: Draw, *inputs: Tensor, about: str, **more: Any) -> Call:
    """A call of a small Transformer; keywords that ``use_module`` doesn't know go to the config."""
    known = ("train", "method", "learns")
    kwargs = {name: more.pop(name) for name in known if name in more}
    dtype, gradients = more.pop("dtype", torch.float32), more.pop("gradients", False)
    config = {**SMALL, **more}
    model = Transformer(TransformerConfig(**config))
    weights = {name: weight.to(dtype) for name, weight in draw.weights(model).items()}
    return Call(
        inputs, {"config": config, "weights": weights, **kwargs}, about=about, gradients=gradients
    )


def pair(
    draw: Draw, batch: int, source: int, target: int, *, pad_id: int = 0, left: bool = False
) -> tuple[Tensor, Tensor]:
    """Padded source and target tokens; some target ids are beyond the source vocabulary."""
    padding: dict[str, Any] = {"pad_id": pad_id, "left": left}
    return (
        draw.tokens(batch, source, high=10, **padding),
        draw.tokens(batch, target, high=12, **padding),
    )
