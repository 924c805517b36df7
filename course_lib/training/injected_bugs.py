"""Bugs of published systems that change what a model learns, to be injected on purpose.

Each function gives a correct model one bug of the published code. A recipe lists their names, and a
checkpoint remembers them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from course_lib.model import AddNorm, Dropout, MultiHeadAttention, Transformer
from course_lib.model.positions import PositionalEncoding


def positions_without_width(model: Transformer) -> None:
    """Frequencies 10000^-i instead of 10000^(-i / d_model): all but one are as good as zero, and
    all but two columns of the table alike for all positions (`fastai_qa`).
    """
    for module in model.modules():
        if isinstance(module, PositionalEncoding):
            length, width = module.table.shape
            frequencies = 10000.0 ** -torch.arange(0.0, width, 2.0)
            angles = torch.arange(length)[:, None] * frequencies
            module.table = torch.cat((angles.sin(), angles.cos()), dim=1).to(model.device)


def embeddings_from_normal(model: Transformer) -> None:
    """Embeddings with variance 1 that are also the output's weights: logits of the size of
    √d_model, and a loss at initialisation far above ln V (`fastai_qa`).
    """
    with torch.no_grad():
        model.target_embedding.tokens.weight.normal_()


def scores_by_width(model: Transformer) -> None:
    """Scores divided by √d_model instead of √d_head (`einsum_scratch`)."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            d_head = module.q_proj.out_features // module.n_heads
            factor = math.sqrt(d_head / module.d_model)
            module.q_proj.register_forward_hook(_times(factor))


def _times(factor: float) -> Callable[[nn.Module, tuple[Tensor], Tensor], Tensor]:
    return lambda module, inputs, output: output * factor


def dropout_after_norm(model: Transformer) -> None:
    """Dropout on the result of each LayerNorm, so on the residual stream itself, instead of on what
    a sublayer adds to it (`einsum_scratch`).
    """
    for module in model.modules():
        if isinstance(module, AddNorm):
            # A part of the norm, so that train() and eval() reach it.
            module.norm.add_module("dropout", module.dropout)
            module.dropout = Dropout(0.0)
            module.norm.register_forward_hook(lambda norm, _, output: norm.dropout(output))


def encoder_without_dropout(model: Transformer) -> None:
    """The dropout probability was passed as `bias`, so the encoder had none (`wmt14_de_en`)."""
    for part in (model.source_embedding, model.encoder):
        for module in part.modules():
            if isinstance(module, Dropout):
                module.p = 0.0
            if isinstance(module, MultiHeadAttention):
                module.dropout_p = 0.0


BUGS: dict[str, Callable[[Transformer], None]] = {
    bug.__name__: bug
    for bug in (
        positions_without_width,
        embeddings_from_normal,
        scores_by_width,
        dropout_after_norm,
        encoder_without_dropout,
    )
}
# These change the initial weights, so a trained model needs them no more.
ONLY_AT_INITIALISATION = {"embeddings_from_normal"}


def inject_bugs(names: Iterable[str], model: Transformer, *, trained: bool = False) -> None:
    """Give the model these bugs; a ``trained`` one only those that outlast its initialisation."""
    for name in names:
        if not (trained and name in ONLY_AT_INITIALISATION):
            BUGS[name](model)
