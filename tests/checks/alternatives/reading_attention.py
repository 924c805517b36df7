"""Correct solutions to the items of lesson 14, written differently: all must pass."""

import numpy as np
import torch


def rate_by_loops(predicted, sure, possible):
    if len(predicted) + len(sure) == 0:
        raise ValueError("no links")
    above = 0
    for link in predicted:
        above += (link in sure) + (link in possible)
    return 1.0 - above / (len(predicted) + len(sure))


def rate_by_what_is_wrong(predicted, sure, possible):
    """Each missing sure link costs one, and so does each predicted link that isn't possible."""
    links = len(predicted) + len(sure)
    if not links:
        raise ValueError
    missed, impossible, unsure = sure - predicted, predicted - possible, predicted - sure
    # |A| + |S| − |A∩S| − |A∩P| = |S \ A| + |A \ P|
    assert len(unsure) >= len(impossible)
    return torch.tensor((len(missed) + len(impossible)) / links, dtype=torch.float64)


def rate_by_two_shares(predicted, sure, possible):
    """The mean of precision and recall, weighted by the sizes of the sets."""
    sizes = np.array([len(predicted), len(sure)])
    if sizes.sum() == 0:
        raise ValueError("nothing to measure")
    hits = np.array([len(predicted.intersection(possible)), len(sure.intersection(predicted))])
    return float(np.average(1 - hits / np.maximum(sizes, 1), weights=sizes))


def align_by_loops(weights):
    links = set()
    for t in range(weights.shape[0] - 1):
        best = 0
        for s in range(weights.shape[1]):
            if weights[t, s] > weights[t, best]:
                best = s
        links.add((best, t))
    return links


def align_by_zip(weights):
    strongest = torch.max(weights, dim=1).indices.tolist()
    return set(zip(strongest[:-1], range(len(strongest)), strict=False))


def align_by_sorting(weights):
    order = torch.argsort(weights, dim=-1, descending=True).numpy()
    return frozenset((order[t, 0], t) for t in range(len(order) - 1))


def entropy_by_loops(weights, lengths):
    total = torch.zeros(weights.size(1))
    for b, length in enumerate(lengths.tolist()):
        for q in range(length):
            row = weights[b, :, q, :length]
            total += -(row * row.clamp(min=1e-38).log()).sum(dim=-1)
    return total / sum(lengths.tolist())


def entropy_of_real_tokens(weights, lengths):
    real = torch.arange(weights.size(2))[None] < lengths[:, None]
    rows = weights.transpose(1, 2)[real]  # (real tokens, H, S)
    return -torch.xlogy(rows, rows).sum(dim=-1).mean(dim=0)


def entropy_by_nanmean(weights, lengths):
    entropy = torch.special.entr(weights).sum(dim=-1)
    pads = torch.arange(weights.size(2)) >= lengths.unsqueeze(1)
    entropy = entropy.masked_fill(pads.unsqueeze(1), torch.nan)
    return entropy.transpose(0, 1).flatten(1).nanmean(dim=1)


ALTERNATIVES = {
    "14.alignment_error_rate": (rate_by_loops, rate_by_what_is_wrong, rate_by_two_shares),
    "14.align": (align_by_loops, align_by_zip, align_by_sorting),
    "14.bug": (entropy_by_loops, entropy_of_real_tokens, entropy_by_nanmean),
}
