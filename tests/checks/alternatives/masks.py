"""Correct answers to the items of lesson 06, written in other ways: all must pass."""

import math

import torch
from torch.nn import functional as F


def padding_by_loops(tokens, pad_id):
    mask = torch.zeros(tokens.size(0), 1, 1, tokens.size(1), dtype=torch.bool)
    for b, row in enumerate(tokens.tolist()):
        for s, token in enumerate(row):
            mask[b, 0, 0, s] = token != pad_id
    return mask


def padding_by_unsqueeze(tokens, pad_id):
    return ~tokens.eq(pad_id).unsqueeze(1).unsqueeze(2)


def padding_by_where(tokens, pad_id):
    real = torch.where(tokens == pad_id, torch.tensor(False), torch.tensor(True))
    return real.view(len(tokens), 1, 1, -1)


def causal_by_comparison(size):
    at = torch.arange(size)
    return (at[None, :] <= at[:, None])[None, None]


def causal_by_loops(size):
    rows = [[key <= query for key in range(size)] for query in range(size)]
    return torch.tensor(rows).reshape(1, 1, size, size)


def causal_by_triu(size):
    return ~torch.triu(torch.ones(size, size), diagonal=1).bool().view(1, 1, size, size)


def decoder_by_logical_and(tokens, pad_id):
    return torch.logical_and(padding_by_unsqueeze(tokens, pad_id), causal_by_triu(tokens.shape[1]))


def decoder_by_product_of_booleans(tokens, pad_id):
    return padding_by_where(tokens, pad_id) * causal_by_comparison(tokens.size(-1))


def decoder_by_loops(tokens, pad_id):
    batch, length = tokens.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for query in range(length):
            for key in range(query + 1):
                mask[b, 0, query, key] = bool(tokens[b, key] != pad_id)
    return mask


def softmax_by_where(scores, mask=None):
    if mask is None:
        return F.softmax(scores, dim=-1)
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.where(mask, filled.softmax(-1), torch.zeros((), dtype=scores.dtype))


def softmax_by_hand(scores, mask=None):
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    mask = mask.expand(scores.shape)
    lowest = torch.finfo(scores.dtype).min
    shifted = scores - scores.masked_fill(~mask, lowest).amax(-1, keepdim=True).detach()
    exponentials = torch.exp(shifted.masked_fill(~mask, -100.0)) * mask
    return exponentials / exponentials.sum(-1, keepdim=True).clamp(
        min=1e-30 if scores.dtype != torch.float16 else 1e-7
    )


def softmax_row_by_row(scores, mask=None):
    if mask is None:
        return torch.softmax(scores, -1)
    mask = mask.expand_as(scores).reshape(-1, scores.size(-1))
    rows = []
    for row, allowed in zip(scores.reshape(-1, scores.size(-1)), mask, strict=True):
        weights = torch.zeros_like(row)
        if allowed.any():
            weights = weights.masked_scatter(allowed, row[allowed].softmax(0))
        rows.append(weights)
    return torch.stack(rows).view(scores.shape)


def _cross(query, key, source, pad_id, softmax):
    scores = torch.einsum("bhtk,bhsk->bhts", query, key) / math.sqrt(key.shape[-1])
    return softmax(scores, padding_by_unsqueeze(source, pad_id))


def cross_row_by_row(query, key, source, pad_id):
    return _cross(query, key, source, pad_id, softmax_row_by_row)


def cross_by_hand(query, key, source, pad_id):
    return _cross(query, key, source, pad_id, softmax_by_hand)


def cross_with_a_bias(query, key, source, pad_id):
    scores = query.matmul(key.mT) * query.shape[-1] ** -0.5
    bias = torch.zeros(source.shape).masked_fill(source == pad_id, -math.inf)
    return torch.softmax(scores + bias[:, None, None], dim=3)


ALTERNATIVES = {
    "06.padding_mask": (padding_by_loops, padding_by_unsqueeze, padding_by_where),
    "06.causal_mask": (causal_by_comparison, causal_by_loops, causal_by_triu),
    "06.decoder_mask": (
        decoder_by_logical_and,
        decoder_by_product_of_booleans,
        decoder_by_loops,
    ),
    "06.masked_softmax": (softmax_by_where, softmax_by_hand, softmax_row_by_row),
    "06.bug": (cross_row_by_row, cross_by_hand, cross_with_a_bias),
}
