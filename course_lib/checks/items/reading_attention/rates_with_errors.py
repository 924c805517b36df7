"""Sentences with gold links, and alignment error rates of them that may have an error."""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

Links = set[tuple[int, int]]  # (source index, target index)


@dataclass(frozen=True)
class Sentence:
    """One head's weights on a sentence, and its gold links.

    Attributes:
        weights: (target words + 1, source words), a row for each input token from BOS on.
        sure: links that people are certain of.
        possible: the sure links and those that they are not certain of.
    """

    weights: Tensor
    sure: Links
    _: KW_ONLY
    possible: Links


def align(weights: Tensor) -> Links:
    """Each target word with the source word that it attends to most."""
    return {(int(row.argmax()), t) for t, row in enumerate(weights[:-1])}


def rate(sentence: Sentence, error: str = "") -> float:
    """The alignment error rate of a sentence, or what somebody with an error takes for it."""
    weights, sure, possible = sentence.weights, sentence.sure, sentence.possible
    found = align(weights)
    if error == "columns":
        found = {(s, int(column.argmax())) for s, column in enumerate(weights[:-1].T)}
    if error == "exchanged":
        found = {(t, s) for s, t in found}
    if error == "one_row_down":
        found = {(int(row.argmax()), t) for t, row in enumerate(weights[1:])}
    if error == "end_linked":
        found |= {(int(weights[-1].argmax()), len(weights) - 1)}
    if error == "all_sure":
        sure = possible
    if error == "only_sure":
        possible = sure
    hits = len(found & sure) + len(found & possible)
    return 1 - hits / (len(found) + len(sure))


def draw_sentence(drawn: random.Random, *, plain: bool, hits: float) -> Sentence:
    """A sentence of three to six words, and a head's weights on it.

    Args:
        plain: whether its links are on the diagonal alone.
        hits: the probability that a target word attends to its source word, and not to any.
    """
    n = drawn.randint(3, 6)
    order = list(range(n))
    if not plain:
        i = drawn.randrange(n - 1)
        order[i], order[i + 1] = order[i + 1], order[i]
    sure = {(s, t) for t, s in enumerate(order)}
    possible = set(sure)
    if not plain:
        unsure = drawn.sample(range(n), 2)
        sure -= {(order[unsure[0]], unsure[0])}  # this one is only possible
        possible |= {((order[unsure[1]] + 1) % n, unsure[1])}
    rows = [order[t] if drawn.random() < hits else drawn.randrange(n) for t in range(n)]
    rows.append(n - 1)
    scores = 0.5 * torch.rand(n + 1, n)
    for t, s in enumerate(rows):
        scores[t, s] += 1.5 + drawn.random()
    return Sentence(scores.softmax(-1), sure, possible=possible)
