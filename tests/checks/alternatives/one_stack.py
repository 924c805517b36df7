"""Correct answers to the items of lesson 16, written in other ways: all must pass."""

import itertools

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from course_lib.model import causal_mask
from course_lib.modern import IGNORED, DecoderCache, PrefixBatch


def prefix_by_loops(lengths, length):
    rows = [
        [[key < n or key <= query for key in range(length)] for query in range(length)]
        for n in lengths.tolist()
    ]
    return torch.tensor(rows).view(-1, 1, length, length)


def prefix_by_slices(lengths, length):
    mask = torch.ones(len(lengths), 1, length, length, dtype=torch.bool).tril()
    for row, n in zip(mask, lengths, strict=True):
        row[:, :, :n] = True
    return mask


def prefix_by_a_square(lengths, length):
    """Queries behind the prefix see it in their past: the square of the source is enough."""
    at = torch.arange(length)
    inside = at[None, :] < lengths[:, None]
    square = inside[:, :, None] & inside[:, None, :]
    return (square | (at[:, None] >= at[None, :])).unsqueeze(1)


def prefix_by_the_larger_of_two(lengths, length):
    """A query sees the keys up to itself, or up to the end of the prefix."""
    at = torch.arange(length)
    last = torch.maximum(at[None, :], lengths[:, None] - 1)  # (batch, query)
    return (at <= last[..., None])[:, None]


def prefix_by_what_is_hidden(lengths, length):
    at = torch.arange(length)
    hidden = (at[None, :] > at[:, None]) & (at >= lengths.view(-1, 1, 1, 1))
    return hidden.logical_not()


def prefix_by_triu(lengths, length):
    future = torch.triu(torch.ones(length, length), diagonal=1).bool()
    inside = torch.stack([torch.arange(length) < n for n in lengths])
    return ~future[None, None] | inside.unsqueeze(1).unsqueeze(1)


def prefix_by_logical_or(lengths, length):
    inside = torch.arange(length).expand(len(lengths), -1) < lengths.unsqueeze(-1)
    return torch.logical_or(causal_mask(length), inside[:, None, None])


def prefix_by_sums(lengths, length):
    inside = (torch.arange(length) < lengths[:, None]).int()[:, None, None, :]
    return (causal_mask(length).int() + inside) > 0


def prefix_by_numpy(lengths, length):
    at = np.arange(length)
    mask = (at[None, None] <= at[None, :, None]) | (at[None, None] < lengths.numpy()[:, None, None])
    return torch.from_numpy(mask)[:, None]


def prefix_by_where(lengths, length):
    at = torch.arange(length)
    open_to_all = at.view(1, 1, 1, -1) < lengths.view(-1, 1, 1, 1)
    return torch.where(open_to_all, torch.tensor(True), causal_mask(length))


def joined_by_full_tensors(pairs, pad_id, bos_id, eos_id):
    longest = max(len(s) + len(t) for s, t in pairs) + 2
    tokens = torch.full((len(pairs), longest), pad_id)
    labels = torch.full((len(pairs), longest), IGNORED)
    prefix = torch.zeros(len(pairs), dtype=torch.long)
    for i, (source, target) in enumerate(pairs):
        row = torch.tensor([*source, bos_id, *target, eos_id])
        tokens[i, : len(row)] = row
        labels[i, len(source) : len(row) - 1] = row[len(source) + 1 :]
        prefix[i] = len(source)
    return tokens, prefix, labels


def joined_by_pad_sequence(pairs, pad_id, bos_id, eos_id):
    rows = [torch.tensor([*s, bos_id, *t, eos_id]) for s, t in pairs]
    labels = [
        torch.cat((torch.full((len(s),), IGNORED), torch.tensor([*t, eos_id, IGNORED])))
        for s, t in pairs
    ]
    return (
        pad_sequence(rows, batch_first=True, padding_value=pad_id),
        torch.tensor([len(s) for s, _ in pairs]),
        pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    )


def joined_by_a_shift(pairs, pad_id, bos_id, eos_id):
    """The labels are the tokens, rolled by one, and masked by position."""
    rows = [[*list(s), bos_id, *list(t), eos_id] for s, t in pairs]
    lengths = torch.tensor([len(row) for row in rows])
    prefix = torch.tensor([len(s) for s, _ in pairs])
    tokens = torch.tensor([[*row, *[pad_id] * (int(lengths.max()) - len(row))] for row in rows])
    at = torch.arange(tokens.size(1))
    counts = (at >= prefix[:, None]) & (at < lengths[:, None] - 1)
    labels = tokens.roll(-1, dims=1).masked_fill(~counts, IGNORED)
    return PrefixBatch(tokens, prefix, labels)


def joined_by_where(pairs, pad_id, bos_id, eos_id):
    tokens, prefix, _ = joined_by_full_tensors(pairs, pad_id, bos_id, eos_id)
    following = torch.cat((tokens[:, 1:], torch.full((len(pairs), 1), pad_id)), dim=1)
    ends = prefix + torch.tensor([len(t) for _, t in pairs]) + 1
    at = torch.arange(tokens.size(1)).expand_as(tokens)
    inside = (at >= prefix.unsqueeze(1)) * (at < ends.unsqueeze(1))
    return [tokens, prefix, torch.where(inside, following, IGNORED)]


def joined_by_zip_longest(pairs, pad_id, bos_id, eos_id):
    def padded(rows, fill):
        return torch.tensor([*zip(*itertools.zip_longest(*rows, fillvalue=fill), strict=True)])

    rows = [[*s, bos_id, *t, eos_id] for s, t in pairs]
    labels = [[IGNORED for _ in s] + [*t, eos_id] for s, t in pairs]
    labels[0] = labels[0] + [IGNORED] * (max(map(len, rows)) - len(labels[0]))
    return (
        padded(rows, pad_id),
        torch.tensor([*map(len, [s for s, _ in pairs])]),
        padded(labels, -100),
    )


def joined_token_by_token(pairs, pad_id, bos_id, eos_id):
    longest = max(len(s) + len(t) + 2 for s, t in pairs)
    tokens, labels, prefix = [], [], []
    for source, target in pairs:
        row, below = [], []
        for token in source:
            row.append(token)
            below.append(IGNORED)
        prefix.append(len(row))
        for token, following in zip([bos_id, *target], [*target, eos_id], strict=True):
            row.append(token)
            below.append(following)
        row.append(eos_id)
        below.append(IGNORED)
        while len(row) < longest:
            row.append(pad_id)
            below.append(IGNORED)
        tokens.append(row)
        labels.append(below)
    return torch.LongTensor(tokens), torch.LongTensor(prefix), torch.LongTensor(labels)


def joined_by_functional_pad(pairs, pad_id, bos_id, eos_id):
    rows, labels = [], []
    for source, target in pairs:
        rows.append(torch.tensor([*source, bos_id, *target, eos_id]))
        below = torch.tensor([*target, eos_id])
        labels.append(F.pad(below, (len(source), 1), value=IGNORED))
    longest = max(row.numel() for row in rows)
    return (
        torch.stack([F.pad(row, (0, longest - len(row)), value=pad_id) for row in rows]),
        torch.tensor([len(source) for source, _ in pairs]),
        torch.stack([F.pad(row, (0, longest - len(row)), value=IGNORED) for row in labels]),
    )


def joined_by_numpy(pairs, pad_id, bos_id, eos_id):
    longest = max(len(s) + len(t) + 2 for s, t in pairs)
    tokens = np.full((len(pairs), longest), pad_id, dtype=np.int64)
    labels = np.full((len(pairs), longest), -100, dtype=np.int64)
    for i, (source, target) in enumerate(pairs):
        n = len(source)
        tokens[i, : n + len(target) + 2] = [*source, bos_id, *target, eos_id]
        labels[i, n : n + len(target) + 1] = [*target, eos_id]
    prefix = np.array([len(source) for source, _ in pairs])
    return torch.from_numpy(tokens), torch.from_numpy(prefix), torch.from_numpy(labels)


@torch.no_grad()
def continued_with_a_cache(model, tokens, max_new, eos_id, prefix_length):
    cache = DecoderCache(model.config)
    prefix = tokens.new_full((tokens.size(0),), prefix_length)
    new, ended, read = [], torch.zeros(len(tokens)).bool(), tokens
    while len(new) < max_new and not ended.all():
        token = model(read, prefix=prefix, cache=cache)[:, -1].argmax(-1)
        token[ended] = eos_id
        ended |= token.eq(eos_id)
        new.append(token)
        read = token[:, None]
    return torch.stack(new, dim=1)


def continued_row_by_row(model, tokens, max_new, eos_id, prefix_length):
    rows = []
    with torch.inference_mode():
        for row in tokens:
            text = row.tolist()
            for _ in range(max_new):
                logits = model(torch.tensor([text]), prefix=torch.tensor([prefix_length]))
                text.append(int(logits[0, -1].argmax()))
                if text[-1] == eos_id:
                    break
            rows.append(text[len(row) :])
    longest = max(map(len, rows))
    return torch.tensor([row + [eos_id] * (longest - len(row)) for row in rows])


def continued_by_where(model, tokens, max_new, eos_id, prefix_length):
    start, text = tokens.shape[1], tokens.clone()
    prefix = torch.tensor([prefix_length] * len(tokens))
    with torch.no_grad():
        while text.shape[1] < start + max_new:
            logits = model(text, prefix=prefix)
            best = logits[:, -1, :].softmax(dim=-1).max(dim=-1).indices
            ended = (text[:, start:] == eos_id).any(dim=1)
            text = torch.cat([text, torch.where(ended, eos_id, best)[:, None]], dim=1)
            if (text[:, start:] == eos_id).any(dim=1).all():
                break
    return text[:, start:]


def continued_into_a_full_tensor(model, tokens, max_new, eos_id, prefix_length):
    given = tokens.size(1)
    text = torch.full((len(tokens), given + max_new), eos_id)
    text[:, :given] = tokens
    alive = torch.ones(len(tokens), dtype=torch.bool)
    with torch.no_grad():
        for at in range(given, given + max_new):
            prefix = torch.full((len(tokens),), prefix_length)
            best = model(text[:, :at], prefix=prefix)[:, -1].topk(1).indices[:, 0]
            text[alive, at] = best[alive]
            alive &= text[:, at] != eos_id
            if not alive.any():
                return text[:, given : at + 1]
    return text[:, given:]


def continued_by_recursion(model, tokens, max_new, eos_id, prefix_length):
    def grow(text, left):
        if left == 0 or (text[:, tokens.size(1) :] == eos_id).any(1).all():
            return text
        done = (text[:, tokens.size(1) :] == eos_id).any(1)
        with torch.no_grad():
            logits = model(text, prefix=torch.full([len(text)], prefix_length))[:, -1]
        logits = logits.masked_fill(done[:, None], -1e9)
        logits[done, eos_id] = 0.0
        return grow(torch.cat((text, logits.argmax(1, keepdim=True)), 1), left - 1)

    return grow(tokens, max_new)[:, tokens.size(1) :]


def _loss(model, tokens, labels, prefix):
    logits = model(tokens, prefix=prefix)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


def loss_by_the_first_label(model, tokens, labels, pad_id):
    return _loss(model, tokens, labels, (labels != IGNORED).int().argmax(dim=1))


def loss_by_counting(model, tokens, labels, pad_id):
    real, counted = tokens != pad_id, labels != IGNORED
    return _loss(model, tokens, labels, (real & ~counted).sum(dim=1) - 1)


def loss_by_the_padding(model, tokens, labels, pad_id):
    other = (labels == IGNORED).sum(dim=1)
    return _loss(model, tokens, labels, other - (tokens == pad_id).sum(dim=1) - 1)


def loss_by_loops(model, tokens, labels, pad_id):
    prefix = [next(i for i, n in enumerate(row) if n != IGNORED) for row in labels.tolist()]
    return _loss(model, tokens, labels, torch.tensor(prefix))


def loss_by_a_running_sum(model, tokens, labels, pad_id):
    before = (labels != IGNORED).cumsum(dim=1) == 0
    return _loss(model, tokens, labels, before.sum(dim=1))


def loss_row_by_row(model, tokens, labels, pad_id):
    costs = []
    for row, below in zip(tokens, labels, strict=True):
        n = int((below != IGNORED).nonzero()[0])
        log_p = model(row[None], prefix=torch.tensor([n]))[0].log_softmax(-1)
        costs += [-log_p[i, label] for i, label in enumerate(below) if label != IGNORED]
    return torch.stack(costs).mean()


ALTERNATIVES = {
    "16.prefix_mask": (
        prefix_by_loops,
        prefix_by_slices,
        prefix_by_a_square,
        prefix_by_the_larger_of_two,
        prefix_by_what_is_hidden,
        prefix_by_triu,
        prefix_by_logical_or,
        prefix_by_sums,
        prefix_by_numpy,
        prefix_by_where,
    ),
    "16.join_pairs": (
        joined_by_full_tensors,
        joined_by_pad_sequence,
        joined_by_a_shift,
        joined_by_where,
        joined_by_zip_longest,
        joined_token_by_token,
        joined_by_functional_pad,
        joined_by_numpy,
    ),
    "16.continue_greedily": (
        continued_with_a_cache,
        continued_row_by_row,
        continued_by_where,
        continued_into_a_full_tensor,
        continued_by_recursion,
    ),
    "16.bug": (
        loss_by_the_first_label,
        loss_by_counting,
        loss_by_the_padding,
        loss_by_loops,
        loss_by_a_running_sum,
        loss_row_by_row,
    ),
}
