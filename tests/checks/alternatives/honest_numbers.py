"""Correct solutions to the items of lesson 12, written differently: all must pass."""

import math
from collections import Counter, defaultdict

import sacrebleu
import torch


def ngrams(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def bleu_with_counters(hypotheses, references, max_n=4):
    logs = []
    for n in range(1, max_n + 1):
        matches = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            a, b = Counter(ngrams(hypothesis, n)), Counter(ngrams(reference, n))
            matches += (a & b).total()
            total += a.total()
        if matches == 0:
            return 0.0
        logs.append(math.log(matches / total))
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * math.exp(sum(logs) / max_n + min(0, 1 - r / c))


def bleu_crossing_out(hypotheses, references, max_n=4):
    matches, total = defaultdict(int), defaultdict(int)
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, max_n + 1):
            left = ngrams(reference, n)
            for ngram in ngrams(hypothesis, n):
                total[n] += 1
                if ngram in left:
                    left.remove(ngram)
                    matches[n] += 1
    product = math.prod(matches[n] / max(1, total[n]) for n in range(1, max_n + 1))
    c, r = sum(len(words) for words in hypotheses), sum(len(words) for words in references)
    penalty = 1.0 if c >= r else 0.0 if c == 0 else math.e ** (1 - r / c)
    return 100 * penalty * product ** (1 / max_n)


def bleu_from_the_counts_of_sacrebleu(hypotheses, references, max_n=4):
    metric = sacrebleu.BLEU(
        tokenize="none", smooth_method="none", max_ngram_order=max_n, force=True
    )
    lines, targets = map(" ".join, hypotheses), map(" ".join, references)
    found = metric.corpus_score(list(lines), [list(targets)])
    if 0 in found.counts:
        return 0.0
    logs = torch.tensor(found.counts).double().log() - torch.tensor(found.totals).double().log()
    return 100 * found.bp * logs.mean().exp().item()


def bootstrap_by_loops(first, second, resamples):
    a, b, points = first.tolist(), second.tolist(), 0.0
    for sample in resamples.tolist():
        x, y = sum(a[i] for i in sample), sum(b[i] for i in sample)
        points += 1.0 if y > x else 0.5 if y == x else 0.0
    return points / len(resamples)


def bootstrap_of_differences(first, second, resamples):
    difference = (second - first)[resamples].sum(dim=1)
    return ((difference.sign() + 1) / 2).mean()


def bootstrap_by_counts(first, second, resamples):
    ones = torch.ones_like(resamples, dtype=first.dtype)
    counts = torch.zeros_like(ones).scatter_add_(1, resamples, ones)  # (R, N): how often drawn
    a, b = counts @ first, counts @ second
    return torch.heaviside(b - a, torch.tensor(0.5, dtype=b.dtype)).mean().item()


def bootstrap_by_gather(first, second, resamples):
    both = torch.stack((first, second)).double()[:, None].expand(-1, len(resamples), -1)
    a, b = both.gather(2, resamples.expand(2, -1, -1)).mean(dim=-1)
    return (torch.count_nonzero(b > a) + torch.count_nonzero(b >= a)).item() / (2 * len(a))


def share_divided_by_a_root(outputs, references):
    hits = [float(a == b) for a, b in zip(outputs, references, strict=True)]
    share = sum(hits) / len(hits)
    return share, math.sqrt(share * (1 - share)) / math.sqrt(len(hits))


def share_by_the_standard_deviation(outputs, references):
    hits = torch.tensor([a == b for a, b in zip(outputs, references, strict=True)]).double()
    return hits.mean().item(), (hits.std(correction=0) / len(hits) ** 0.5).item()


def share_by_the_counts(outputs, references):
    n = len(references)
    wrong = sum(map(str.__ne__, outputs, references))
    return [1 - wrong / n, ((n - wrong) * wrong / n**3) ** 0.5]


ALTERNATIVES = {
    "12.bleu": (bleu_with_counters, bleu_crossing_out, bleu_from_the_counts_of_sacrebleu),
    "12.paired_bootstrap": (
        bootstrap_by_loops,
        bootstrap_of_differences,
        bootstrap_by_counts,
        bootstrap_by_gather,
    ),
    "12.bug": (
        share_divided_by_a_root,
        share_by_the_standard_deviation,
        share_by_the_counts,
    ),
}
