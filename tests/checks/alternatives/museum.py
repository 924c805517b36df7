"""Correct solutions to the items of lesson 15, written differently: all must pass."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.model import sinusoidal_positions


def next_by_stride(logits, prefix):
    length = prefix.size(1)
    tokens = logits.flatten(0, 1)[length - 1 :: length].max(dim=-1, keepdim=True).indices
    return torch.hstack([prefix, tokens])


def next_by_a_loop(logits, prefix):
    rows = []
    for row, tokens in zip(logits, prefix.tolist(), strict=True):
        rows.append([*tokens, int(row[-1].argmax())])
    return torch.tensor(rows)


def next_by_all_positions(logits, prefix):
    best = logits.log_softmax(dim=2).argmax(dim=2)  # (B, T): the prediction at each position
    return F.pad(prefix, (0, 1)).index_copy(1, torch.tensor([prefix.size(1)]), best[:, -1:])


def letters_with_heads_first(query, key, value, mask):
    scores = torch.einsum("bqhe,bkhe->bhqk", query, key) / query.size(-1) ** 0.5
    weights = scores.masked_fill(mask.logical_not(), -math.inf).softmax(dim=-1)
    return torch.einsum("bhqk,bkhe->bqhe", weights, value)


def letters_by_torch(query, key, value, mask):
    heads_first = (x.transpose(1, 2) for x in (query, key, value))
    return F.scaled_dot_product_attention(*heads_first, attn_mask=mask).transpose(1, 2)


def letters_head_by_head(query, key, value, mask):
    batch, queries, heads, width = query.shape
    mask = mask.expand(batch, heads, queries, key.size(1))
    contexts = []
    for h in range(heads):
        scores = query[:, :, h] @ key[:, :, h].mT / math.sqrt(width)
        scores = torch.where(mask[:, h], scores, torch.tensor(-1e9, dtype=scores.dtype))
        contexts.append(scores.softmax(-1) @ value[:, :, h])
    return torch.stack(contexts, dim=2)


def pairs_by_a_loop(source_text, target_text):
    pairs = []
    for source, target in zip(source_text.splitlines(), target_text.splitlines(), strict=True):
        if source.strip() and target.strip():
            pairs.append((source.strip(), target.strip()))
    return pairs


def pairs_by_index(source_text, target_text):
    sides = [
        [" ".join(line.split()) for line in text.split("\n")] for text in (source_text, target_text)
    ]
    lines = [i for i, line in enumerate(sides[0]) if line != "" and sides[1][i] != ""]
    return [[side[i] for side in sides] for i in lines]


def pairs_by_filter(source_text, target_text):
    sides = (map(str.strip, text.splitlines()) for text in (source_text, target_text))
    both = zip(*sides, strict=True)
    return list(filter(lambda pair: min(map(len, pair)) > 0, both))


def layer_with_scaled_queries(x, w_q, w_k, w_v, w_o, n_heads):
    d_head = x.size(-1) // n_heads
    query, key, value = (
        (x @ w).unflatten(-1, (n_heads, d_head)).transpose(1, 2) for w in (w_q, w_k, w_v)
    )
    weights = ((query * d_head**-0.5) @ key.mT).softmax(dim=-1)
    return (weights @ value).transpose(1, 2).flatten(2) @ w_o


def layer_by_torch(x, w_q, w_k, w_v, w_o, n_heads):
    def split(y):
        return y.reshape(*y.shape[:2], n_heads, -1).transpose(1, 2)

    context = F.scaled_dot_product_attention(split(x @ w_q), split(x @ w_k), split(x @ w_v))
    return context.transpose(1, 2).reshape(x.shape) @ w_o


def layer_head_by_head(x, w_q, w_k, w_v, w_o, n_heads):
    width = w_q.size(1) // n_heads
    out = torch.zeros_like(x)
    for h in range(n_heads):
        part = slice(h * width, (h + 1) * width)
        query, key, value = x @ w_q[:, part], x @ w_k[:, part], x @ w_v[:, part]
        scores = torch.einsum("bqe,bke->bqk", query, key) / math.sqrt(width)
        out = out + scores.softmax(dim=2) @ value @ w_o[part]
    return out


class PositionsNotSaved(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_buffer("encoding", sinusoidal_positions(max_len, d_model), persistent=False)

    def forward(self, x):
        return torch.add(x, self.encoding.narrow(0, 0, x.size(1)).unsqueeze(0))


class PositionsMovedWithTheInput(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = sinusoidal_positions(max_len, d_model)

    def forward(self, x):
        return x + self.table[: x.size(1)].to(x)


class PositionsComputedInForward(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.d_model = d_model

    def forward(self, x):
        table = sinusoidal_positions(x.size(1), self.d_model)
        return table.to(dtype=x.dtype, device=x.device) + x


def best_by_clones(weights, updates, losses):
    best, lowest = {}, math.inf
    for update, loss in zip(updates, losses, strict=True):
        for name, w in weights.items():
            w.add_(update[name])
        if loss < lowest:
            best, lowest = {name: w.clone() for name, w in weights.items()}, loss
    return best


def best_by_deepcopy(weights, updates, losses):
    kept = []
    for update in updates:
        for name in weights:
            weights[name] += update[name]
        kept.append(copy.deepcopy(weights))
    return kept[int(torch.tensor(losses).argmin())]


def best_without_editing(weights, updates, losses):
    best, lowest = weights, math.inf
    for update, loss in zip(updates, losses, strict=True):
        weights = {name: w + update[name] for name, w in weights.items()}
        if lowest > loss:
            best, lowest = weights, loss
    return best


ALTERNATIVES = {
    "15.bug_1": (next_by_stride, next_by_a_loop, next_by_all_positions),
    "15.bug_2": (letters_with_heads_first, letters_by_torch, letters_head_by_head),
    "15.bug_3": (pairs_by_a_loop, pairs_by_index, pairs_by_filter),
    "15.bug_4": (layer_with_scaled_queries, layer_by_torch, layer_head_by_head),
    "15.bug_5": (PositionsNotSaved, PositionsMovedWithTheInput, PositionsComputedInForward),
    "15.bug_6": (best_by_clones, best_by_deepcopy, best_without_editing),
}
