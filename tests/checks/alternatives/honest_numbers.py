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


ALTERNATIVES = {
    "12.bleu": (bleu_with_counters, bleu_crossing_out, bleu_from_the_counts_of_sacrebleu),
}
