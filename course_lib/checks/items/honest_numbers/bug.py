"""12.bug: a standard error that falls too fast with the number of sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

BUG = """\
def exact_match(outputs, references):
    right = 0
    for output, reference in zip(outputs, references):
        if output == reference:
            right = right + 1
    n = len(references)
    share = right / n
    error = math.sqrt(share * (1 - share)) / n
    return share, error
"""


Sentences = Sequence[str]
WORDS = "the cat dog sees likes old garden".split()


def _share_and_n(outputs: Sentences, references: Sentences) -> tuple[float, int]:
    pairs = list(zip(outputs, references, strict=True))
    return sum(a == b for a, b in pairs) / len(pairs), len(pairs)


def _exact_match(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, math.sqrt(share * (1 - share) / n)


def _outputs(draw: Draw, right: int, n: int) -> Call:
    """Outputs that are wrong have a capital letter or one word more than their reference, or are
    the reference of the next sentence.
    """
    ids = draw.ids(n, 4, low=0, high=len(WORDS) - 1).tolist()
    # Joined twice: what is right equals its reference, and is another object.
    references, again = ([" ".join(WORDS[i] for i in row) for row in ids] for _ in range(2))
    ranks = torch.randperm(n, generator=draw.generator).tolist()
    outputs = list(again)
    for i, rank in enumerate(ranks):
        if rank >= right:
            line, other = again[i], references[(i + 1) % n]
            wrong = line.capitalize(), f"{line} .", f"{line} ." if other == line else other
            outputs[i] = wrong[rank % 3]
    return Call((outputs, references), about=f"{right} of {n} sentences right")


def _four_times_as_many(draw: Draw) -> list[Call]:
    n = draw.integer(15, 40)
    right = draw.integer(n // 2 + 1, n - 2)
    return [_outputs(draw, right, n), _outputs(draw, 4 * right, 4 * n)]


item = Item(
    "12.bug",
    reference=_exact_match,
    bug=Bug(BUG, line=8),
    probes=[
        Probe(
            "four times as many sentences halve the standard error",
            _four_times_as_many,
        ),
        Probe(
            "the standard error is largest for a share of one half",
            lambda draw: [
                _outputs(draw, right, 24)
                for right in (draw.integer(1, 5), 12, draw.integer(19, 23))
            ],
        ),
        Probe(
            "with all sentences right, or none, the standard error is 0",
            lambda draw: [_outputs(draw, 7, 7), _outputs(draw, 0, draw.integer(4, 9))],
        ),
        Probe(
            "there may be few sentences",
            lambda draw: [
                _outputs(draw, 1, 2),
                _outputs(draw, draw.integer(1, 2), 3),
                _outputs(draw, 1, draw.integer(4, 6)),
                _outputs(draw, 1, 1),
            ],
        ),
    ],
    hints=(
        "Take 17 of 20 sentences right, and then 68 of 80. The share is the same. What happens to "
        "the second number, and what should?",
        "The number of sentences that are right changes by √(n · p · (1 − p)) or so from one test "
        "set to the next. What do you divide by to make a share of that?",
        "Take 100 sentences, half of them right. The number of right ones has the standard "
        "deviation √(100 · ½ · ½) = 5, and so the share has 5 / 100 = 0.05. What does the "
        "function return?",
    ),
)


@item.misconception(
    "The standard error is still divided by n: four times as many sentences quarter it.",
    why="More sentences help less than that. The standard error of a share falls with √n, so "
    "yours is √n times too small, and almost any difference looks significant.",
    hint="By what do you divide √(p(1 − p)) in all: by n, or by √n?",
)
def divided_by_n(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, math.sqrt(share * (1 - share)) / n


@item.misconception(
    "Your error doesn't depend on the number of sentences.",
    why="√(p(1 − p)) is the standard deviation of a single sentence, which is 0 or 1. The mean of "
    "many such numbers changes less from one test set to the next.",
    hint="What should four times as many sentences do to the error?",
)
def of_one_sentence(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, _ = _share_and_n(outputs, references)
    return share, math.sqrt(share * (1 - share))


@item.misconception(
    "Your error is a variance: the root is missing.",
    why="It is the square of the standard error. It can't be written behind a ±, since it has "
    "another unit than the share.",
    hint="For 17 of 20 sentences right, you return 0.0064. Of which number is that the square?",
)
def no_root(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, share * (1 - share) / n


@item.misconception(
    "Your error is that of the number of right sentences, not of their share.",
    why="√(n · p(1 − p)) grows with the number of sentences. The share is the count divided by n, "
    "and so is its error.",
    hint="Do you multiply by √n, or divide by it?",
)
def of_the_count(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, math.sqrt(share * (1 - share) * n)


@item.misconception(
    "You return two standard errors.",
    why="That's what is usually written behind ±, and it covers about 95 %. The task asks for the "
    "standard error itself, so that whoever reads it knows what it is.",
    hint="By what factor is your error larger than √(p(1 − p) / n)?",
)
def two_of_them(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, error = _exact_match(outputs, references)
    return share, 2 * error


@item.misconception(
    "Your error has n − 1 where the formula has n, be it written out or inside a function such as "
    "torch.std.",
    why="n − 1 belongs to a standard deviation estimated from deviations. The lesson's formula "
    "for a share has n. With n − 1, a single sentence needs a special case, or you divide by 0.",
    hint="Which part of your code divides by n − 1? Compare it with the lesson's formula for a "
    "share.",
)
def one_less(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, math.sqrt(share * (1 - share) / (n - 1))


@item.spelling("one_less")
def one_less_but_for_one(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, math.sqrt(share * (1 - share) / max(1, n - 1))


@item.misconception(
    "The factor 1 − p is missing from your error.",
    why="If all sentences are right, p is 1, so p(1 − p) and the lesson's standard error are 0. "
    "Yours isn't. Under Deeper, the lesson shows what to write behind a share near 1, where a ± "
    "of 0 promises too much.",
    hint="What does your function return when all sentences are right?",
)
def without_the_wrong_ones(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, math.sqrt(share / n)


@item.spelling("without_the_wrong_ones")
def the_share_over_the_root(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, share / math.sqrt(n)


@item.misconception(
    "Your error depends on the number of sentences alone, not on the share.",
    why="1 / √n is more than any share can move, and ½ / √n is right only for a share of one half.",
    hint="Only one line was wrong. Which of its factors was right?",
)
def of_the_worst_case(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, 0.5 / math.sqrt(n)


@item.spelling("of_the_worst_case")
def of_twice_the_worst_case(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, n = _share_and_n(outputs, references)
    return share, 1 / math.sqrt(n)


@item.misconception(
    "The error is right, but the share is no longer one: the number of right sentences is divided "
    "by √n.",
    why="The share is the number of right sentences out of n, and line 7 had that right. Only its "
    "error has a root of n in it.",
    hint="Line 7 was right as it was. Which of the two results needs the √n?",
)
def share_over_the_root(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, error = _exact_match(outputs, references)
    return share * math.sqrt(len(references)), error


@item.misconception(
    "Your function now returns percentages.",
    why="The task asks for a share from 0 to 1, and its error in the same unit.",
    hint="What do you return when all sentences are right, and what should it be?",
)
def in_per_cent(outputs: Sentences, references: Sentences) -> tuple[float, float]:
    share, error = _exact_match(outputs, references)
    return 100 * share, 100 * error
