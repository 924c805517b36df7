"""Correct solutions to the items of lesson 11, written differently: all must pass."""

import math

import torch
from torch.nn import functional as F

from course_lib.training import masked_cross_entropy


def rate_by_cases(step, d_model, warmup):
    if step < warmup:
        return step / (warmup * math.sqrt(d_model * warmup))
    return 1 / math.sqrt(d_model * step)


def rate_from_the_peak(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    return peak * min(step / warmup, math.sqrt(warmup / step))


def rate_with_tensors(step, d_model, warmup):
    step = torch.tensor(float(step))
    return torch.minimum(step.rsqrt(), step * warmup**-1.5) / math.sqrt(d_model)


def loss_of_soft_labels(logits, labels, pad_id, smoothing):
    vocab = logits.shape[-1]
    soft = (1 - smoothing) * F.one_hot(labels, vocab).to(logits.dtype) + smoothing / vocab
    cross = -torch.einsum("btv,btv->bt", soft, torch.log_softmax(logits, 2))
    real = (labels != pad_id).to(logits.dtype)
    return (cross * real).sum() / real.sum().clamp(min=1)


def loss_by_pytorch(logits, labels, pad_id, smoothing):
    if (labels == pad_id).all():
        return 0.0 * logits.sum()
    return F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=pad_id, label_smoothing=smoothing
    )


def loss_from_the_masked_loss(logits, labels, pad_id, smoothing):
    real = labels != pad_id
    uniform = (logits.logsumexp(-1) - logits.mean(-1))[real].sum() / real.sum().clamp(min=1)
    hard = masked_cross_entropy(logits, labels, pad_id)  # the exercise imports it
    return (1 - smoothing) * hard + smoothing * uniform


def loss_position_by_position(logits, labels, pad_id, smoothing):
    losses = [logits.sum() * 0.0]
    for b in range(labels.size(0)):
        for t in range(labels.size(1)):
            if labels[b, t] != pad_id:
                log_p = logits[b, t] - logits[b, t].logsumexp(0)
                losses.append(
                    -(1 - smoothing) * log_p[labels[b, t]] - smoothing * log_p.sum() / len(log_p)
                )
    return torch.stack(losses).sum() / max(1, len(losses) - 1)


def weights_by_masked_select(batches, pad_id):
    total, tokens = 0.0, 0
    for logits, labels in batches:
        weight = labels.masked_select(labels != pad_id).numel()
        total += weight * float(loss_of_soft_labels(logits, labels, pad_id, 0.0))
        tokens += weight
    return total / tokens


def all_in_one_sum(batches, pad_id):
    total = sum(
        F.cross_entropy(a.flatten(0, 1), b.flatten(), ignore_index=pad_id, reduction="sum")
        for a, b in batches
    )
    return total / sum(int((b != pad_id).sum()) for _, b in batches)


def all_tokens_in_a_row(batches, pad_id):
    logits = torch.cat([a.flatten(0, 1) for a, _ in batches])
    labels = torch.cat([b.flatten() for _, b in batches])
    return F.cross_entropy(logits[labels != pad_id], labels[labels != pad_id]).item()


ALTERNATIVES = {
    "11.inverse_sqrt_lr": (rate_by_cases, rate_from_the_peak, rate_with_tensors),
    "11.label_smoothed_loss": (
        loss_of_soft_labels,
        loss_by_pytorch,
        loss_from_the_masked_loss,
        loss_position_by_position,
    ),
    "11.bug": (weights_by_masked_select, all_in_one_sum, all_tokens_in_a_row),
}
