"""Correct answers to the items of lesson 04, written in other ways: all must pass."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def attention_by_einsum(query, key, value, mask=None):
    scores = torch.einsum("bhqe,bhke->bhqk", query * query.shape[-1] ** -0.5, key)
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-1e9, dtype=scores.dtype))
    weights = F.softmax(scores, dim=3)
    return torch.einsum("bhqk,bhke->bhqe", weights, value), weights


def attention_with_a_bias(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT).div(key.size(-1) ** 0.5)
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        scores = scores + bias
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return weights.matmul(value), weights


def attention_query_by_query(query, key, value, mask=None):
    batch, heads, queries, d_head = query.shape
    keys = key.size(2)
    allowed = torch.ones((), dtype=torch.bool) if mask is None else mask
    allowed = allowed.expand(batch, heads, queries, keys)
    rows = []
    for b in range(batch):
        for h in range(heads):
            for q in range(queries):
                scores = torch.stack([query[b, h, q] @ key[b, h, k] for k in range(keys)])
                scores = (scores / math.sqrt(d_head)).masked_fill(~allowed[b, h, q], -math.inf)
                exponentials = (scores - scores.max().detach()).exp()
                rows.append(exponentials / exponentials.sum())
    weights = torch.stack(rows).view(batch, heads, queries, keys)
    return (weights[..., None] * value[:, :, None]).sum(dim=3), weights


def attention_flattened(query, key, value, mask=None):
    scores = torch.bmm(query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2))
    scores = scores.unflatten(0, query.shape[:2]) * (1 / math.sqrt(query.shape[3]))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return [torch.bmm(weights.flatten(0, 1), value.flatten(0, 1)).view_as(weights @ value), weights]


def split_by_view(x, n_heads):
    batch, length, d_model = x.shape
    return x.view(batch, length, n_heads, d_model // n_heads).transpose(1, 2).contiguous()


def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def split_by_loops(x, n_heads):
    batch, length, d_model = x.shape
    d_head = d_model // n_heads
    heads = torch.empty(batch, n_heads, length, d_head, dtype=x.dtype)
    for head in range(n_heads):
        for token in range(length):
            heads[:, head, token] = x[:, token, head * d_head : (head + 1) * d_head]
    return heads


def split_the_other_way(x, n_heads):
    return x.transpose(1, 2).reshape(len(x), n_heads, -1, x.size(1)).transpose(2, 3)


def merge_by_view(x):
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)


def merge_by_cat(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def merge_by_loops(x):
    tokens = [[sentence[:, s].reshape(-1) for s in range(x.size(2))] for sentence in x]
    return torch.stack([torch.stack(sentence) for sentence in tokens])


def merge_by_permute(x):
    return x.permute(0, 2, 1, 3).reshape(x.size(0), x.size(2), -1)


class Projections(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)


class HeadByHead(Projections):
    def forward(self, query, key, value, mask=None):
        contexts = []
        for head in range(self.n_heads):
            rows = slice(head * self.d_head, (head + 1) * self.d_head)
            q, k, v = (
                F.linear(x, layer.weight[rows], layer.bias[rows])
                for x, layer in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
            )
            scores = q @ k.mT / math.sqrt(self.d_head)
            if mask is not None:
                its_mask = mask[:, head] if mask.size(1) > 1 else mask[:, 0]
                scores = scores.masked_fill(~its_mask, -math.inf)
            contexts.append(scores.softmax(-1) @ v)
        return self.out_proj(torch.cat(contexts, dim=-1))


class ByEinsum(Projections):
    def forward(self, query, key, value, mask=None):
        q = self.q_proj(query).unflatten(-1, (self.n_heads, -1))
        k = self.k_proj(key).unflatten(-1, (self.n_heads, -1))
        v = self.v_proj(value).unflatten(-1, (self.n_heads, -1))
        scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / self.d_head**0.5
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e9)
        context = torch.einsum("bhqk,bkhe->bqhe", torch.softmax(scores, -1), v)
        w_o = self.out_proj.weight.view(-1, self.n_heads, self.d_head)
        return torch.einsum("bqhe,dhe->bqd", context, w_o) + self.out_proj.bias


class HeadsInTheBatch(Projections):
    def split(self, x):
        return torch.cat(x.split(self.d_head, dim=2), dim=0)  # (H · B, S, E)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.split(self.q_proj(query)),
            self.split(self.k_proj(key)),
            self.split(self.v_proj(value)),
        )
        scores = torch.bmm(q / math.sqrt(self.d_head), k.mT)
        if mask is not None:
            wide = mask.expand(len(query), self.n_heads, query.size(1), key.size(1))
            scores = scores.masked_fill(~wide.transpose(0, 1).flatten(0, 1), -1e9)
        context = torch.bmm(scores.softmax(dim=2), v)
        return self.out_proj(torch.cat(context.chunk(self.n_heads, dim=0), dim=2))


class TransposedFirst(Projections):
    """Another fix: transpose first, then split the axis of the numbers."""

    def forward(self, query, key, value, mask=None):
        batch = len(query)
        split = (batch, -1, self.n_heads, self.d_head)
        query = self.q_proj(query).view(split).transpose(1, 2)
        key = self.k_proj(key).transpose(1, 2).reshape(batch, self.n_heads, self.d_head, -1)
        value = self.v_proj(value).view(split).transpose(1, 2)
        scores = query @ key / math.sqrt(self.d_head)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return self.out_proj((scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2))


ALTERNATIVES = {
    "04.scaled_dot_product_attention": (
        attention_by_einsum,
        attention_with_a_bias,
        attention_query_by_query,
        attention_flattened,
    ),
    "04.split_heads": (split_by_view, split_by_chunks, split_by_loops, split_the_other_way),
    "04.merge_heads": (merge_by_view, merge_by_cat, merge_by_loops, merge_by_permute),
    "04.multi_head_attention": (HeadByHead, ByEinsum, HeadsInTheBatch),
    "04.bug": (TransposedFirst, ByEinsum, HeadsInTheBatch, HeadByHead),
}
