"""13.alignment_error_rate: How wrong are the links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.reading_attention.shared import Links, refusal


def _of_sets(
    rate: Callable[[Links, Links, Links], float],
    predicted: Sequence[Sequence[int]],
    sure: Sequence[Sequence[int]],
    possible: Sequence[Sequence[int]],
    *,
    refused: bool = False,
) -> dict[str, Any]:
    """Hand the links over as sets of tuples, and see whether the sets are still the same."""
    given = [{tuple(link) for link in links} for links in (predicted, sure, possible)]
    before = [set(links) for links in given]
    if refused:
        return refusal(rate, *given)
    value = rate(*given)
    return {"rate": value, "the sets it was given": "as before" if given == before else "changed"}


def _alignment_error_rate(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError("an alignment error rate needs a link, found or sure, got none")
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure))


def _three_sets(
    draw: Draw, hits: int, maybe_hits: int, wrong: int, *, missed: int, maybe_missed: int
) -> list[list[list[int]]]:
    """Links found, sure and possible, with so many in each part where they overlap."""
    order = torch.randperm(48, generator=draw.generator).tolist()
    parts = (hits, missed, maybe_hits, maybe_missed, wrong)
    cells = iter([[cell % 8, cell // 8] for cell in order])
    hit, missed_ones, maybe_hit, maybe_missed_ones, wrong_ones = (
        [next(cells) for _ in range(size)] for size in parts
    )
    sure = hit + missed_ones
    return [wrong_ones + maybe_hit + hit, sure, sure + maybe_hit + maybe_missed_ones]


def _sentences(draw: Draw) -> list[Call]:
    calls = []
    for hits, maybe, wrong in ((3, 2, 1), (5, 1, 3), (2, 3, 2)):
        missed, unseen = draw.integer(1, 4), draw.integer(1, 3)
        links = _three_sets(draw, hits, maybe, wrong, missed=missed, maybe_missed=unseen)
        calls.append(Call(tuple(links), about=f"{hits} sure links found of {hits + missed}"))
    return calls


def _all_sure(draw: Draw) -> list[Call]:
    found, sure, _ = _three_sets(draw, 4, 0, 2, missed=3, maybe_missed=0)
    return [
        Call((found, sure, sure), about="all gold links are sure"),
        Call((sure, sure, sure), about="all found, and nothing else"),
    ]


def _extremes(draw: Draw) -> list[Call]:
    found, sure, possible = _three_sets(draw, 3, 2, 0, missed=0, maybe_missed=3)
    wrong, hard, _ = _three_sets(draw, 0, 0, 4, missed=2, maybe_missed=0)
    return [
        Call((found, sure, possible), about="all sure links found, and some possible ones"),
        Call((wrong, hard, hard), about="nothing found is possible"),
        Call(([], sure, possible), about="nothing found"),
        Call((found, [], possible), about="no gold link is sure"),
    ]


def _many_sentences(draw: Draw) -> list[Call]:
    found, sure, possible = _three_sets(draw, 2, 1, 1, missed=3, maybe_missed=2)
    # What was found in the one is sure in the other, so that the number of the sentence matters.
    both = [[found, sure, possible], [sure, found, possible + found]]
    joined = [
        [[b, *link] for b, links in enumerate(both) for link in links[part]] for part in range(3)
    ]
    return [Call(tuple(joined), about="links (sentence, source, target) of two sentences")]


item = Item(
    "13.alignment_error_rate",
    reference=_alignment_error_rate,
    use=_of_sets,
    probes=[
        Probe("sure links must be found, and possible ones do no harm", _sentences),
        Probe("where all links are sure, both sides count alike", _all_sure),
        Probe("0 is perfect, and 1 is when nothing fits", _extremes),
        Probe("links of many sentences are counted together", _many_sentences),
        Probe(
            "without any link there is no rate",
            lambda draw: [
                Call(([], [], []), {"refused": True}, about="nothing found and nothing to find"),
                Call(([], [], [[0, 1]]), {"refused": True}, about="only a possible link"),
            ],
        ),
    ],
    hints=(
        "Take ich–I, trinke–drink, trinke–tea of the lesson and count by hand: what is found, what "
        "is sure, what is both?",
        "Four counts are needed: A ∩ S, A ∩ P, A and S. Python's sets have & for what is in both. "
        "See to the case in which the lower part is 0 first.",
        "1 - (len(... & sure) + len(... & possible)) / (len(...) + len(...))",
    ),
)


@item.misconception(
    "You count how much is right, and not how much is wrong: a perfect head gets 1.",
    why="It is an error rate: 0 is perfect. Whoever takes the lowest would take the worst head.",
    hint="What has to be done with a share that is right to make it a share that is wrong?",
)
def share_that_is_right(predicted: Links, sure: Links, possible: Links) -> float:
    return 1 - _alignment_error_rate(predicted, sure, possible)


@item.misconception(
    "Only sure links count for you: a possible link that is found costs as much as a wrong one.",
    why="Possible links are those about which the people who drew them did not agree. A head may "
    "find them or not; neither is a misconception.",
    hint="Where does your code use its third argument?",
)
def possible_links_ignored(predicted: Links, sure: Links, possible: Links) -> float:
    return _alignment_error_rate(predicted, sure, sure)


@item.misconception(
    "You treat possible links as if they were sure: a head pays for each that it does not find.",
    why="People disagree about them, so nobody has to find them. Only sure links are a duty.",
    hint="Which gold links does the formula count below the line?",
)
def possible_links_are_a_duty(predicted: Links, sure: Links, possible: Links) -> float:
    return _alignment_error_rate(predicted, possible, possible)


@item.misconception(
    "Above the line you count as you should, but below it stand the possible links.",
    why="Then finding all sure links and nothing else is no longer perfect.",
    hint="Below the line: what was found, and what had to be found.",
)
def possible_below_the_line(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(possible))


@item.misconception(
    "You measure only what was found: a head that finds one right link and stops gets 0.",
    why="That is one minus precision. Links that are missed have to cost something, too.",
    hint="Which of the two sides, what was found and what was to be found, is not in your code?",
)
def missed_links_are_free(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted:
        if not sure:
            raise ValueError
        return 1.0
    return 1 - len(predicted & possible) / len(predicted)


@item.misconception(
    "You measure only what had to be found: a head that links all with all gets 0.",
    why="That is one minus recall. Links that are wrong have to cost something, too.",
    hint="Which of the two sides, what was found and what was to be found, is not in your code?",
)
def wrong_links_are_free(predicted: Links, sure: Links, possible: Links) -> float:
    if not sure:
        if not predicted:
            raise ValueError
        return 1.0
    return 1 - len(predicted & sure) / len(sure)


@item.misconception(
    "You divide what is in both sets by what is in either.",
    why="That is another measure, Jaccard's. Where all links are sure it orders heads alike, but "
    "its numbers cannot be compared with anybody's error rates.",
    hint="The formula adds two sizes below the line. Is that the size of a union?",
)
def divided_by_the_union(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    return 1 - len(predicted & sure) / len(predicted | sure)


@item.misconception(
    "You take the mean of two shares: of what was found and of what had to be found.",
    why="The rate divides once, so a set with more links weighs more. The mean of two shares lets "
    "a head with a single link have half a perfect score.",
    hint="Add above the line, add below the line, then divide.",
)
def mean_of_two_shares(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    precision = len(predicted & possible) / len(predicted) if predicted else 0.0
    recall = len(predicted & sure) / len(sure) if sure else 0.0
    return 1 - (precision + recall) / 2


@item.misconception(
    "With no link at all you divide 0 by 0.",
    why="The task says what is due there: a ValueError. A ZeroDivisionError tells whoever reads it "
    "nothing about alignments.",
    hint="Look at what stands below the line before you divide.",
)
def divides_nothing_by_nothing(predicted: Links, sure: Links, possible: Links) -> float:
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure))


@item.misconception(
    "With no link at all your rate is 0, perfect.",
    why="Nothing was measured. An empty file of links would win every comparison.",
    hint="What does the task say about this case?",
)
def nothing_is_perfect(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        return 0.0
    return _alignment_error_rate(predicted, sure, possible)


@item.misconception(
    "Your rate is right, but the set of links found is another afterwards.",
    why="&= changes the set itself. Whoever measures the same links once more gets another rate.",
    hint="Which operators make a new set, and which change the one at hand?",
)
def eats_its_input(predicted: Links, sure: Links, possible: Links) -> float:
    rate = _alignment_error_rate(predicted, sure, possible)
    predicted &= sure
    return rate
