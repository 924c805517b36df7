"""Correct answers to the items of lesson 05, written in other ways: all must pass."""

import math

import torch
from torch.nn import functional as F


def by_product(a, b):
    return (a * b).sum(dim=-1)


def by_diagonal(a, b):
    return (a @ b.mT).diagonal(dim1=1, dim2=2)


def pairs(a, b):
    return zip(a, b, strict=True)


def token_by_token(a, b):
    return torch.stack([torch.stack([x[s] @ y[s] for s in range(len(x))]) for x, y in pairs(a, b)])


def by_columns_and_rows(a, b):
    return a[:, :, None] * b[:, None, :]


def by_bmm(a, b):
    return torch.bmm(a.unsqueeze(2), b.unsqueeze(1))


def sentence_by_sentence(a, b):
    return torch.stack([torch.outer(u, v) for u, v in pairs(a, b)])


def scores_by_transposing(query, key):
    return query.transpose(1, 2) @ key.permute(0, 2, 3, 1)


def scores_with_other_letters(query, key):
    return torch.einsum("wxyz,wvyz->wyxv", query, key)


def scores_by_loops(query, key):
    heads = [query[:, :, h] @ key[:, :, h].mT for h in range(query.size(2))]
    return torch.stack(heads, dim=1)


def scores_in_two_steps(query, key):
    return torch.einsum("bqhke->bhqk", query[:, :, :, None] * key.transpose(1, 2)[:, None])


def trace_by_diagonal(weights):
    return weights.diagonal(dim1=-2, dim2=-1).sum(-1)


def trace_by_eye(weights):
    return (weights * torch.eye(weights.size(-1), dtype=weights.dtype)).sum(dim=(2, 3))


def trace_by_loops(weights):
    return sum(weights[:, :, s, s] for s in range(weights.size(2)))


def weighted_in_two_steps(weights, value, share):
    return torch.einsum("h,bhqk->bqk", share, weights) @ value


def weighted_by_matmul(weights, value, share):
    return ((weights @ value[:, None]) * share[:, None, None]).sum(dim=1)


def weighted_head_by_head(weights, value, share):
    return sum(share[h] * (weights[:, h] @ value) for h in range(len(share)))


def attention_by_matmul(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def attention_scaled_before(query, key, value, mask=None):
    scores = torch.einsum("...qe,...ke->...qk", query / query.size(-1) ** 0.5, key)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=3)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def attention_softmax_by_hand(query, key, value, mask=None):
    scores = torch.einsum("bhqe,bhke->bhqk", query, key) * query.shape[3] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    total = torch.einsum("bhqk->bhq", exponentials)
    context = torch.einsum("bhqk,bhke,bhq->bhqe", exponentials, value, 1 / total)
    return context, exponentials / total[..., None]


def heads_after_tokens(x, w_q, w_k, w_v, w_o, mask=None):
    query, key, value = (torch.einsum("bsd,dhe->bshe", x, w) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bqhe,bkhe->bhqk", query, key) / math.sqrt(w_q.size(2))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhqk,bkhe,hed->bqd", weights, value, w_o), weights


def heads_by_matmul(x, w_q, w_k, w_v, w_o, mask=None):
    batch, length, _ = x.shape
    _, heads, width = w_q.shape
    query, key, value = (
        (x @ w.reshape(-1, heads * width)).view(batch, length, heads, width).transpose(1, 2)
        for w in (w_q, w_k, w_v)
    )
    context, weights = attention_by_matmul(query, key, value, mask)
    return context.transpose(1, 2).flatten(2) @ w_o.reshape(heads * width, -1), weights


def heads_one_by_one(x, w_q, w_k, w_v, w_o, mask=None):
    output, weights = 0, []
    for h in range(w_q.size(1)):
        query, key, value = x @ w_q[:, h], x @ w_k[:, h], x @ w_v[:, h]
        scores = query @ key.mT / math.sqrt(w_q.size(2))
        if mask is not None:
            its_mask = mask.expand(len(x), w_q.size(1), x.size(1), x.size(1))[:, h]
            scores = scores.masked_fill(~its_mask, -math.inf)
        weights.append(scores.softmax(dim=-1))
        output = output + weights[-1] @ value @ w_o[h]
    return output, torch.stack(weights, dim=1)


def bug_by_matmul(x, w_q, w_k, w_v, w_o):
    return heads_by_matmul(x, w_q, w_k, w_v, w_o)[0]


def bug_one_by_one(x, w_q, w_k, w_v, w_o):
    return heads_one_by_one(x, w_q, w_k, w_v, w_o)[0]


def bug_with_other_letters(x, w_q, w_k, w_v, w_o):
    query, key, value = (torch.einsum("bsd,dhe->bhse", x, w) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bhqe,bhke->bhqk", query, key)
    weights = (scores / math.sqrt(query.size(-1))).softmax(dim=-1)
    context = torch.einsum("bhij,bhje->bhie", weights, value)
    return torch.einsum("bhqe,hed->bqd", context, w_o)


ALTERNATIVES = {
    "05.puzzle_1": (by_product, by_diagonal, token_by_token),
    "05.puzzle_2": (by_columns_and_rows, by_bmm, sentence_by_sentence),
    "05.puzzle_3": (
        scores_by_transposing,
        scores_with_other_letters,
        scores_by_loops,
        scores_in_two_steps,
    ),
    "05.puzzle_4": (trace_by_diagonal, trace_by_eye, trace_by_loops),
    "05.puzzle_5": (weighted_in_two_steps, weighted_by_matmul, weighted_head_by_head),
    "05.attention_einsum": (
        attention_by_matmul,
        attention_scaled_before,
        attention_softmax_by_hand,
    ),
    "05.multi_head_einsum": (heads_after_tokens, heads_by_matmul, heads_one_by_one),
    "05.bug": (bug_by_matmul, bug_one_by_one, bug_with_other_letters),
}
