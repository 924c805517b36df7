"""Correct solutions to the items of lesson 09, written differently: all must pass."""

import itertools

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from course_lib.data import Batch


def collate_by_pad_sequence(pairs, pad_id, pad_left=False):
    side = "left" if pad_left else "right"
    return tuple(
        pad_sequence([torch.tensor(ids) for ids in column], True, pad_id, padding_side=side)
        for column in zip(*pairs, strict=True)
    )


def collate_into_a_full_tensor(pairs, pad_id, pad_left=False):
    batch = []
    for sequences in ([p.source for p in pairs], [p.target for p in pairs]):
        filled = torch.full((len(pairs), max(map(len, sequences))), pad_id)
        for row, ids in zip(filled, sequences, strict=True):
            if pad_left:
                row[len(row) - len(ids) :] = torch.tensor(ids)
            else:
                row[: len(ids)] = torch.tensor(ids)
        batch.append(filled)
    return Batch(*batch)


def collate_by_functional_pad(pairs, pad_id, pad_left=False):
    def one(column):
        rows = [torch.tensor(ids) for ids in column]
        gaps = [max(map(len, rows)) - len(row) for row in rows]
        widths = [(gap, 0) if pad_left else (0, gap) for gap in gaps]
        return torch.stack([F.pad(r, w, value=pad_id) for r, w in zip(rows, widths, strict=True)])

    return [one([pair[side] for pair in pairs]) for side in (0, 1)]


def collate_by_zip_longest(pairs, pad_id, pad_left=False):
    step = -1 if pad_left else 1  # reversed before and after

    def one(column):
        rows = [ids[::step] for ids in column]
        columns = list(itertools.zip_longest(*rows, fillvalue=pad_id))
        return torch.from_numpy(np.array(columns, dtype=np.int64).T[:, ::step].copy())

    sources, targets = zip(*pairs, strict=True)
    return one(sources), one(targets)


def forcing_by_where(target, pad_id=0):
    decoder_input, labels = target[:, :-1], target[:, 1:]
    return decoder_input, torch.where(decoder_input != pad_id, labels, pad_id)


def forcing_by_unfold(target, pad_id=0):
    pairs = target.unfold(1, 2, 1)  # (B, T - 1, 2)
    decoder_input, labels = pairs.unbind(-1)
    real = (decoder_input != pad_id).long()
    return decoder_input, labels * real + pad_id * (1 - real)


def forcing_by_loops(target, pad_id=0):
    decoder_input, labels = [], []
    for row in target.tolist():
        pairs = list(itertools.pairwise(row))
        decoder_input.append([token for token, _ in pairs])
        labels.append([pad_id if token == pad_id else following for token, following in pairs])
    return torch.tensor(decoder_input), torch.tensor(labels)


def forcing_by_narrow_and_clone(target, pad_id=0):
    length = target.shape[1] - 1
    decoder_input = target.narrow(1, 0, length).contiguous()
    labels = target.narrow(1, 1, length).clone()
    labels[decoder_input.eq(pad_id)] = pad_id
    return [decoder_input, labels]


def bucket_with_an_open_batch(lengths, max_tokens):
    batches, batch = [], []
    for length, i in sorted((length, i) for i, length in enumerate(lengths)):
        if batch and length * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch = [*batch, i]
    return [*batches, batch] if batch else batches


def bucket_by_argsort(lengths, max_tokens):
    order = torch.tensor(lengths, dtype=torch.long).argsort(stable=True).tolist()
    batches = []
    while order:
        rows = 1
        while rows < len(order) and (rows + 1) * lengths[order[rows]] <= max_tokens:
            rows += 1
        batches.append(order[:rows])
        order = order[rows:]
    return batches


def bucket_by_recursion(lengths, max_tokens):
    def cut(order):
        fits = [n * lengths[i] <= max_tokens or n == 1 for n, i in enumerate(order, 1)]
        rows = fits.index(False) if False in fits else len(order)
        return (tuple(order[:rows]), *cut(order[rows:])) if order else ()

    return cut(np.argsort(np.array(lengths, dtype=int), kind="stable").tolist())


def decoder_batch_token_by_token(targets, max_len, pad_id, bos_id, eos_id):
    longest = min(max_len, 2 + max(map(len, targets)))
    batch = torch.full((len(targets), longest), pad_id)
    batch[:, 0] = bos_id
    for row, tokens in enumerate(targets):
        position = 1
        for token in tokens:
            if position < max_len - 1:
                batch[row, position] = token
                position += 1
        batch[row, position] = eos_id
    return batch[:, :-1], batch[:, 1:]


def decoder_batch_by_padding_each_part(targets, max_len, pad_id, bos_id, eos_id):
    kept = [[*tokens][: max_len - 2] for tokens in targets]
    decoder_input = pad_sequence([torch.tensor([bos_id, *t]) for t in kept], True, pad_id)
    labels = pad_sequence([torch.tensor([*t, eos_id]) for t in kept], True, pad_id)
    full = pad_sequence([torch.tensor([bos_id, *t, eos_id]) for t in kept], True, pad_id)
    # The input of a short target also holds its <eos>, where there is nothing to predict.
    decoder_input = torch.where(decoder_input == pad_id, full[:, :-1], decoder_input)
    return decoder_input, labels


def decoder_batch_truncated_then_fixed(targets, max_len, pad_id, bos_id, eos_id):
    rows = []
    for tokens in targets:
        row = [bos_id, *tokens, eos_id]
        rows.append(row if len(row) <= max_len else [*row[: max_len - 1], eos_id])
    longest = max(map(len, rows))
    batch = torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
    return batch[:, :-1], batch[:, 1:]


ALTERNATIVES = {
    "09.collate": (
        collate_by_pad_sequence,
        collate_into_a_full_tensor,
        collate_by_functional_pad,
        collate_by_zip_longest,
    ),
    "09.teacher_forcing": (
        forcing_by_where,
        forcing_by_unfold,
        forcing_by_loops,
        forcing_by_narrow_and_clone,
    ),
    "09.bucket": (bucket_with_an_open_batch, bucket_by_argsort, bucket_by_recursion),
    "09.bug": (
        decoder_batch_token_by_token,
        decoder_batch_by_padding_each_part,
        decoder_batch_truncated_then_fixed,
    ),
}
