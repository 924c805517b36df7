"""Batches of sentence pairs, made by a program that may have an error."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from course_lib.data import SentencePair
from course_lib.data.grammar import sample_pairs

ROWS = 4  # in a batch
LEAST_CUT, MOST_CUT = 2, 4  # sentences that are too long
PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"


@dataclass(frozen=True)
class Batch:
    """One batch; source, input and labels are rows of tokens, pads included."""

    epoch: int
    sentences: Sequence[int]
    _: KW_ONLY
    source: Sequence[Sequence[str]]
    input: Sequence[Sequence[str]]
    labels: Sequence[Sequence[str]]


@dataclass(frozen=True)
class TwoLogs:
    """Batches of the same sentences, by two programs.

    Attributes:
        most: labels of a sentence; longer ones are cut.
        right: "A" or "B".
    """

    pairs: Sequence[SentencePair]
    most: int
    _: KW_ONLY
    batches: Mapping[str, Sequence[Batch]]
    right: str
    error: str
    line: int

    @property
    def wrong(self) -> str:
        return "B" if self.right == "A" else "A"


def _padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    longest = max(map(len, rows))
    return [[*row, *[PAD] * (longest - len(row))] for row in rows]


def _batch(
    pairs: Sequence[SentencePair], sentences: Sequence[int], *, epoch: int, most: int, error: str
) -> Batch:
    """The batch of these sentences."""
    targets = []
    for n in sentences:
        words = pairs[n].target
        ended = [*words, EOS][:most] if error == "end" else [*words[: most - 1], EOS]
        targets.append([BOS, *ended])
    if error == "partners":
        targets.sort(key=len)
    rows = _padded(targets)
    read = [row[:-1] for row in rows]
    labels = read if error == "shift" else [row[1:] for row in rows]
    source = _padded([pairs[n].source for n in sentences])
    return Batch(epoch, sentences, source=source, input=read, labels=labels)


def _epoch(lengths: Sequence[int], drawn: random.Random, error: str) -> list[list[int]]:
    """Sentences of similar lengths in batches, and the batches in random order."""
    order = sorted(range(len(lengths)), key=lambda n: (lengths[n], drawn.random()))
    batches = [order[start : start + ROWS] for start in range(0, len(order), ROWS)]
    if error == "lost":
        batches.pop()
    if error == "twice":
        batches[-1] = order[-ROWS:]  # so that the last batch is full, too
    drawn.shuffle(batches)
    return batches


def _two_epochs(
    pairs: Sequence[SentencePair], most: int, drawn: random.Random, error: str
) -> list[Batch]:
    """Two epochs."""
    lengths = [len(pair.source) for pair in pairs]
    epochs = [_epoch(lengths, drawn, error) for _ in range(2)]
    if error == "order":
        epochs[1] = epochs[0]
    return [
        _batch(pairs, sentences, epoch=epoch, most=most, error=error)
        for epoch, batches in enumerate(epochs, 1)
        for sentences in batches
    ]


def _first_line(pairs: Sequence[SentencePair], most: int, log: Sequence[Batch], error: str) -> int:
    """The first line in which an error shows; 0 for none."""
    in_epoch = len(log) // 2
    if error in ("", "lost", "order"):
        return {"": 0, "lost": in_epoch, "order": in_epoch + 1}[error]
    for line, batch in enumerate(log, 1):
        right = _batch(pairs, batch.sentences, epoch=batch.epoch, most=most, error="")
        earlier = [
            n for other in log[: line - 1] if other.epoch == batch.epoch for n in other.sentences
        ]
        if batch != right or set(batch.sentences) & set(earlier):
            return line
    return 0


def _repeated(log: Sequence[Batch]) -> int:
    """How many batches stand in the same line of both epochs."""
    both = zip(log[: len(log) // 2], log[len(log) // 2 :], strict=True)
    return sum(set(one.sentences) == set(other.sentences) for one, other in both)


def draw_logs(drawn: random.Random, error: str) -> TwoLogs:
    """Two logs, of which one has this error."""
    right = drawn.choice("AB")
    size = drawn.choice([17, 18, 19, 21, 22, 23])  # no multiple of ROWS
    while True:
        seed = drawn.randrange(1000)
        some = sample_pairs("grammar_de_en", "train", size=3 * size, seed=seed)
        pairs = [pair for pair in some if len(pair.target) <= 14][:size]
        by_length = sorted(len(pair.target) + 1 for pair in pairs)
        most = by_length[-drawn.randint(LEAST_CUT, MOST_CUT)] - 1
        logs = {
            each: _two_epochs(pairs, most, drawn, "" if each == right else error) for each in "AB"
        }
        wrong = logs["B" if right == "A" else "A"]
        line = _first_line(pairs, most, wrong, error)
        too_long = sum(length > most for length in by_length)
        same = [_repeated(log) for each, log in logs.items() if each == right or error != "order"]
        if line and LEAST_CUT <= too_long <= MOST_CUT and not any(same):
            return TwoLogs(pairs, most, batches=logs, right=right, error=error, line=line)
