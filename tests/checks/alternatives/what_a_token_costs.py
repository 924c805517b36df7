"""Correct solutions to the items of lesson 18, written differently: all must pass."""

import math
from itertools import cycle, islice

import torch

from course_lib.model import attention_matmul, causal_mask, merge_heads, split_heads
from course_lib.modern import rotate, window_mask


def bytes_layer_by_layer(config, length, batch=1, bytes_per_number=2):
    total = 0
    for window in config.layer_windows:
        kept = length if window is None or window > length else window
        if config.d_latent is None:
            keys = kept * config.resolved_n_kv_heads * config.resolved_d_head
            total += keys + keys
        else:
            total += kept * config.d_latent
            total += kept * config.d_rotary
    return total * batch * bytes_per_number


def bytes_from_the_fields_alone(config, length, batch=1, bytes_per_number=2):
    heads = config.n_kv_heads or config.n_heads
    width = config.d_head or config.d_model // config.n_heads
    one = 2 * heads * width if config.d_latent is None else config.d_latent + config.d_rotary
    windows = islice(cycle(config.windows), config.n_layers)
    return sum(min(length, w or length) for w in windows) * one * bytes_per_number * batch


def bytes_of_tensors_without_memory(config, length, batch=1, bytes_per_number=2):
    made = []
    for window in config.layer_windows:
        kept = min(length, window if window is not None else math.inf)
        if config.d_latent:
            shapes = (batch, kept, config.d_latent), (batch, kept, config.d_rotary)
        else:
            shapes = ((batch, config.resolved_n_kv_heads, kept, config.resolved_d_head),) * 2
        made += [torch.empty(shape, device="meta") for shape in shapes]
    return sum(x.numel() for x in made) * bytes_per_number


def bytes_as_a_tensor(config, length, batch=1, bytes_per_number=2):
    limits = torch.tensor([length if w is None else w for w in config.layer_windows])
    tokens = limits.clamp(max=length).sum()
    if config.d_latent is not None:
        return tokens * (config.d_latent + config.d_rotary) * batch * bytes_per_number
    heads = config.resolved_n_kv_heads * config.resolved_d_head
    return tokens * 2 * heads * batch * bytes_per_number


def joined(past, key, value):
    if past is None:
        return key, value
    return torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)


def grouped_with_expand(query, key, value, past=None, window=None):
    key, value = joined(past, key, value)
    b, h, n, _ = query.shape
    g, total = key.shape[1:3]
    far = total if window is None else window
    many = [
        x[:, :, None].expand(-1, -1, h // g, -1, -1).reshape(b, h, total, -1) for x in (key, value)
    ]
    mask = causal_mask(n, total) & window_mask(n, total, window=far)
    return attention_matmul(query, *many, mask)[0], (key, value)


def grouped_without_copies(query, key, value, past=None, window=None):
    keys, values = joined(past, key, value)
    by_group = query.unflatten(1, (keys.size(1), -1))  # (B, G, H / G, n, E)
    scores = by_group @ keys[:, :, None].mT / query.size(-1) ** 0.5
    total = keys.size(2)
    back = torch.arange(total - query.size(2), total)[:, None] - torch.arange(total)
    hidden = (back < 0) | (back >= (window or total))
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return (weights @ values[:, :, None]).flatten(1, 2), [keys, values]


def grouped_head_by_head(query, key, value, past=None, window=None):
    keys, values = joined(past, key, value)
    shared = query.size(1) // keys.size(1)
    heads = []
    for h in range(query.size(1)):
        rows = []
        for i in range(query.size(2)):
            last = keys.size(2) - query.size(2) + i + 1
            first = 0 if window is None else max(0, last - window)
            k, v = keys[:, h // shared, first:last], values[:, h // shared, first:last]
            scores = (k @ query[:, h, i, :, None])[..., 0] / math.sqrt(query.size(-1))
            rows.append((scores.softmax(-1)[:, None] @ v)[:, 0])
        heads.append(torch.stack(rows, dim=1))
    return torch.stack(heads, dim=1), (keys, values)


def grouped_by_index(query, key, value, past=None, window=None):
    past_key, past_value = past or (key[:, :, :0], value[:, :, :0])
    key, value = torch.cat((past_key, key), -2), torch.cat((past_value, value), -2)
    which = torch.arange(query.size(1)) // (query.size(1) // key.size(1))
    scores = torch.einsum("bhqe,bhke->bhqk", query, key[:, which]) * query.size(-1) ** -0.5
    ones = torch.ones_like(scores[0, 0])
    seen = ones.tril(key.size(2) - query.size(2))
    if window is not None:
        seen = seen - ones.tril(key.size(2) - query.size(2) - window)
    scores = scores + (1 - seen) * torch.finfo(scores.dtype).min
    return torch.einsum("bhqk,bhkv->bhqv", scores.softmax(-1), value[:, which]), (key, value)


def grouped_with_stacks(query, key, value, past=None, window=None):
    key, value = joined(past, key, value)
    times = query.shape[1] // key.shape[1]
    k, v = (torch.stack([x] * times, dim=2).flatten(1, 2) for x in (key, value))
    n, total = query.shape[2], key.shape[2]
    mask = causal_mask(n, total)
    if window is not None:
        mask = mask & window_mask(n, total, window=window)
    scores = torch.einsum("bhqe,bhke->bhqk", query, k) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), -1)
    return torch.einsum("bhqk,bhkv->bhqv", weights, v), (key, value)


def latent_with_matmul(query, latent, k_up, v_up):
    heads, d_head = query.shape[1], query.shape[3]
    w_k, w_v = k_up.view(heads, d_head, -1), v_up.view(heads, d_head, -1)
    scores = query @ w_k @ latent[:, None].transpose(-2, -1) / math.sqrt(d_head)
    return scores.softmax(-1) @ latent[:, None] @ w_v.transpose(-2, -1)


def latent_head_by_head(query, latent, k_up, v_up):
    heads = []
    for h in range(query.size(1)):
        w_k, w_v = (w.chunk(query.size(1))[h] for w in (k_up, v_up))
        scores = (query[:, h] @ w_k) @ latent.mT / query.size(3) ** 0.5
        heads.append((scores.softmax(-1) @ latent) @ w_v.T)
    return torch.stack(heads, 1)


def latent_by_linear(query, latent, k_up, v_up):
    out = []
    for q, w_k, w_v in zip(
        query.unbind(1), k_up.chunk(query.size(1)), v_up.chunk(query.size(1)), strict=True
    ):
        asked = torch.nn.functional.linear(q, w_k.T) * q.size(-1) ** -0.5
        weights = torch.softmax(torch.einsum("bql,bkl->bqk", asked, latent), dim=2)
        out.append(torch.nn.functional.linear(torch.einsum("bqk,bkl->bql", weights, latent), w_v))
    return torch.stack(out, dim=1)


def latent_all_heads_as_queries(query, latent, k_up, v_up):
    """All heads ask the same latents, so they may stand in a row."""
    b, h, q, e = query.shape
    asked = torch.einsum("bhqe,hel->bhql", query / math.sqrt(e), k_up.view(h, e, -1)).flatten(1, 2)
    mixed = torch.bmm(torch.softmax(torch.bmm(asked, latent.transpose(1, 2)), -1), latent)
    return torch.einsum("bhql,hel->bhqe", mixed.view(b, h, q, -1), v_up.view(h, e, -1))


def online_with_a_loop_over_queries_too(query, key, value, block):
    """As the course's own: blocks of queries as well."""
    n_queries, n_keys = query.size(2), key.size(2)
    allowed = causal_mask(n_queries, n_keys)
    outputs = []
    for first in range(0, n_queries, block):
        q = query[:, :, first : first + block] / query.size(-1) ** 0.5
        m = torch.full((*q.shape[:3], 1), -math.inf, dtype=q.dtype)
        s, o = torch.zeros_like(m), 0.0
        for start in range(0, n_keys, block):
            scores = q @ key[:, :, start : start + block].mT
            seen = allowed[..., first : first + block, start : start + block]
            scores = scores.masked_fill(~seen, -math.inf)
            new = m.maximum(scores.max(-1, keepdim=True).values)
            p = (scores - new).exp()
            s = s * (m - new).exp() + p.sum(-1, keepdim=True)
            o = o * (m - new).exp() + p @ value[:, :, start : start + block]
            m = new
        outputs.append(o / s)
    return torch.cat(outputs, 2)


def online_with_logsumexp(query, key, value, block):
    """Each block's context, weighed by the log of its sum of exponentials."""
    allowed = causal_mask(query.size(2), key.size(2))
    parts = zip(key.split(block, 2), value.split(block, 2), allowed.split(block, 3), strict=True)
    total, mean = None, None
    for keys, values, seen in parts:
        scores = query @ keys.mT / math.sqrt(query.size(-1))
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
        here = scores.logsumexp(-1, keepdim=True)
        context = scores.softmax(-1) @ values
        if total is None:
            total, mean = here, context
        else:
            both = torch.logaddexp(total, here)
            mean = mean * (total - both).exp() + context * (here - both).exp()
            total = both
    return mean


def online_from_right_to_left(query, key, value, block):
    q = query / math.sqrt(query.size(-1))
    n_queries, n_keys = query.size(2), key.size(2)
    own = torch.arange(n_keys - n_queries, n_keys)[:, None]
    largest = query.new_full((*query.shape[:3], 1), torch.finfo(query.dtype).min / 2)
    total, summed = 0.0, 0.0
    for stop in range(n_keys, 0, -block):
        start = max(0, stop - block)
        hidden = torch.arange(start, stop) > own
        scores = (q @ key[:, :, start:stop].mT).masked_fill(hidden, -math.inf)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights, factor = (scores - new).exp(), (largest - new).exp()
        total = total * factor + weights.sum(-1, keepdim=True)
        summed = summed * factor + weights @ value[:, :, start:stop]
        largest = new
    return summed / total


def online_in_two_passes(query, key, value, block):
    """The largest score of all blocks first, and then the sums: two reads, no rescaling."""
    allowed = causal_mask(query.size(2), key.size(2))

    def scores(start):
        found = query @ key[:, :, start : start + block].mT / math.sqrt(query.size(-1))
        return found.masked_fill(~allowed[..., start : start + block], -math.inf)

    starts = range(0, key.size(2), block)
    largest = scores(0).amax(-1, keepdim=True)
    for start in starts:
        largest = torch.maximum(largest, scores(start).amax(-1, keepdim=True))
    total, summed = 0, 0
    for start in starts:
        weights = (scores(start) - largest).exp()
        total = total + weights.sum(-1, keepdim=True)
        summed = summed + weights @ value[:, :, start : start + block]
    return summed / total


def online_running_mean(query, key, value, block):
    """Divides in each block, and multiplies what came before by what it was divided by."""
    allowed = causal_mask(query.size(2), key.size(2))
    largest = torch.full_like(query[..., :1], -math.inf)
    total, mean = torch.zeros_like(largest), torch.zeros(1)
    for i in range(math.ceil(key.size(2) / block)):
        part = slice(i * block, (i + 1) * block)
        scores = query.matmul(key[:, :, part].mT) / math.sqrt(query.size(-1))
        scores = scores.masked_fill(~allowed[..., part], -math.inf)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights = torch.exp(scores - new)
        before = total * torch.exp(largest - new)
        total = before + weights.sum(-1, keepdim=True)
        mean = (mean * before + weights @ value[:, :, part]) / total
        largest = new
    return mean


def rotary_rows_that_are_new(query, key, value, past):
    start = 0 if past is None else past[0].size(2)
    positions = torch.arange(start, start + query.size(2))
    query = rotate(query, positions)
    if past is not None:
        key = torch.cat((past[0], key), dim=2)
        value = torch.cat((past[1], value), dim=2)
    new = rotate(key[:, :, start:], positions)
    key = torch.cat((key[:, :, :start], new), dim=2)
    return attention_matmul(query, key, value, causal_mask(query.size(2), key.size(2)))[0], (
        key,
        value,
    )


def rotary_before_they_are_joined(query, key, value, past):
    old_key, old_value = (key[:, :, :0], value[:, :, :0]) if past is None else past
    n, t = query.size(2), old_key.size(2)
    now = t + torch.arange(n)
    key = torch.cat((old_key, rotate(key, now)), 2)
    value = torch.cat((old_value, value), 2)
    scores = rotate(query, now) @ key.mT / math.sqrt(query.size(-1))
    scores = scores.masked_fill(~torch.ones(n, t + n).tril(t).bool(), -math.inf)
    return scores.softmax(-1) @ value, (key, value)


def rotary_only_the_tail_by_itself(query, key, value, past):
    start = past[0].shape[2] if past else 0
    all_positions = torch.arange(start + key.shape[2])
    if past:
        keys = torch.cat([past[0], key], 2)
        keys[:, :, start:] = rotate(key, all_positions[start:])
        values = torch.cat([past[1], value], 2)
    else:
        keys, values = rotate(key, all_positions), value
    q = rotate(query, all_positions[start:])
    context, _ = attention_matmul(q, keys, values, causal_mask(q.shape[2], keys.shape[2]))
    return split_heads(merge_heads(context), q.size(1)), (keys, values)


ALTERNATIVES = {
    "18.cache_bytes": (
        bytes_layer_by_layer,
        bytes_from_the_fields_alone,
        bytes_of_tensors_without_memory,
        bytes_as_a_tensor,
    ),
    "18.grouped_query_attention": (
        grouped_with_expand,
        grouped_without_copies,
        grouped_head_by_head,
        grouped_by_index,
        grouped_with_stacks,
    ),
    "18.latent_absorbed": (
        latent_with_matmul,
        latent_head_by_head,
        latent_by_linear,
        latent_all_heads_as_queries,
    ),
    "18.online_attention": (
        online_with_a_loop_over_queries_too,
        online_with_logsumexp,
        online_from_right_to_left,
        online_in_two_passes,
        online_running_mean,
    ),
    "18.bug": (
        rotary_rows_that_are_new,
        rotary_before_they_are_joined,
        rotary_only_the_tail_by_itself,
    ),
}
