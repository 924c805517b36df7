"""Correct solutions to the items of lesson 10, written differently: all must pass."""

import math
from collections import Counter, defaultdict
from itertools import groupby

import torch
from torch.nn import functional as F

from course_lib.data import teacher_forcing


def loss_by_gather(logits, labels, pad_id):
    costs = -logits.log_softmax(-1).gather(2, labels.unsqueeze(-1)).squeeze(-1)
    real = labels.ne(pad_id)
    return (costs * real).sum() / real.sum().clamp(min=1)


def loss_by_one_hot(logits, labels, pad_id):
    real = (labels != pad_id).to(logits.dtype)
    right = F.one_hot(labels, logits.size(-1)).to(logits.dtype)
    ln_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    return -torch.einsum("btv,btv,bt->", ln_p, right, real) / max(1.0, float(real.sum()))


def loss_of_selected_rows(logits, labels, pad_id):
    real = labels != pad_id
    if not real.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[real], labels[real])


def loss_position_by_position(logits, labels, pad_id):
    total, count = logits.sum() * 0.0, 0
    for rows, tokens in zip(logits, labels.tolist(), strict=True):
        for row, token in zip(rows, tokens, strict=True):
            if token != pad_id:
                shifted = row - row.max()
                total = total + shifted.exp().sum().log() - shifted[token]
                count += 1
    return total / max(count, 1)


def loss_vocabulary_on_axis_one(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    real = labels != pad_id
    return torch.where(real, losses, 0.0).sum() / torch.clamp(real.sum(), min=1)


def loss_with_nan_replaced(logits, labels, pad_id):
    flat = logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
    return F.cross_entropy(*flat, ignore_index=pad_id).nan_to_num(0.0)


def step_with_slices(model, batch, optimizer, pad_id):
    optimizer.zero_grad()
    source, target = batch
    loss = loss_by_gather(model(source, target[:, :-1]), target[:, 1:], pad_id)
    loss.backward()
    optimizer.step()
    return float(loss)


def step_that_sets_the_mode(model, batch, optimizer, pad_id):
    model.train()
    model.zero_grad(set_to_none=False)
    decoder_input, labels = teacher_forcing(batch.target, pad_id)
    logits = model(batch.source.to(model.device), decoder_input)
    loss = F.cross_entropy(logits.mT, labels, ignore_index=pad_id)
    value = loss.detach().item()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return value


def step_by_autograd(model, batch, optimizer, pad_id):
    decoder_input, labels = batch.target[:, :-1], batch.target[:, 1:]
    loss = loss_by_one_hot(model(batch.source, decoder_input), labels, pad_id)
    parameters = list(model.parameters())
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        parameter.grad = gradient
    optimizer.step()
    return loss.tolist()


def entropy_by_lists(pairs):
    following = defaultdict(list)
    for pair in pairs:
        words = [*pair.target, None]
        for position, word in enumerate(words):
            following[tuple(words[:position])].append(word)
    nats = -sum(
        math.log(nexts.count(w) / len(nexts)) for nexts in following.values() for w in nexts
    )
    return nats / sum(len(nexts) for nexts in following.values())


def entropy_by_counters(pairs):
    after = defaultdict(Counter)
    for _, target in pairs:
        prefix = ()
        for word in [*target, "</end>"]:
            after[prefix][word] += 1
            prefix = (*prefix, word)
    total = sum(counts.total() for counts in after.values())
    entropy = torch.zeros((), dtype=torch.float64)
    for counts in after.values():
        n = torch.tensor(list(counts.values()), dtype=torch.float64)
        share = n / n.sum()
        entropy = entropy - (n.sum() / total) * (share * share.log()).sum()
    return entropy.item()


def entropy_by_sorting(pairs):
    steps = sorted(
        (words[:i], words[i])
        for words in ([*target, "~end"] for _, target in pairs)
        for i in range(len(words))
    )
    nats = 0.0
    for _, group in groupby(steps, key=lambda step: step[0]):
        nexts = [word for _, word in group]
        for count in Counter(nexts).values():
            nats += count * (math.log(len(nexts)) - math.log(count))
    return nats / len(steps)


def entropy_by_whole_sentences(pairs):
    """Along a sentence the probabilities multiply to the share of the whole sentence."""
    sentences = Counter(tuple(pair.target) for pair in pairs)
    count = len(pairs)
    nats = sum(n * math.log(count / n) for n in sentences.values())
    return nats / sum(n * (len(sentence) + 1) for sentence, n in sentences.items())


def _losses(model, sources, target, pad_id):
    with torch.no_grad():
        return [
            loss_by_gather(model(source, target[:, :-1]), target[:, 1:], pad_id)
            for source in sources
        ]


def gap_by_cat(model, source, target, pad_id):
    shuffled = torch.cat([source[-1:], source[:-1]])
    own, other = _losses(model, (source, shuffled), target, pad_id)
    return float(other - own)


def gap_by_index(model, source, target, pad_id):
    before = (torch.arange(len(source)) - 1) % len(source)
    own, other = _losses(model, (source, source[before]), target, pad_id)
    return other.item() - own.item()


def gap_sentence_by_sentence(model, source, target, pad_id):
    nats, count = 0.0, 0
    for i in range(len(source)):
        for sign, row in ((-1, i), (1, i - 1)):
            logits = model(source[row][None], target[i : i + 1, :-1])[0]
            losses = F.cross_entropy(logits, target[i, 1:], reduction="none", ignore_index=pad_id)
            nats += sign * losses.detach().sum().item()
        count += int((target[i, 1:] != pad_id).sum())
    return nats / count


ALTERNATIVES = {
    "10.masked_cross_entropy": (
        loss_by_gather,
        loss_by_one_hot,
        loss_of_selected_rows,
        loss_position_by_position,
        loss_vocabulary_on_axis_one,
        loss_with_nan_replaced,
    ),
    "10.train_step": (step_with_slices, step_that_sets_the_mode, step_by_autograd),
    "10.target_only_entropy": (
        entropy_by_lists,
        entropy_by_counters,
        entropy_by_sorting,
        entropy_by_whole_sentences,
    ),
    "10.bug": (gap_by_cat, gap_by_index, gap_sentence_by_sentence),
}
