"""14.alignment_error_rate: how far an alignment is from the gold one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.reading_attention.alignment_links import Links, refusal


def _of_sets(
    rate: Callable[[Links, Links, Links], float],
    predicted: Sequence[Sequence[int]],
    sure: Sequence[Sequence[int]],
    possible: Sequence[Sequence[int]],
    *,
    refused: bool = False,
) -> dict[str, Any]:
    """Pass the links as sets of tuples, and report whether the sets are unchanged afterwards."""
    given = [{tuple(link) for link in links} for links in (predicted, sure, possible)]
    before = [set(links) for links in given]
    if refused:
        return refusal(rate, *given)
    value = rate(*given)
    return {"rate": value, "the sets it was given": "as before" if given == before else "changed"}


def _alignment_error_rate(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError("an alignment error rate needs a predicted or a sure link, got neither")
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure))


def _three_sets(
    draw: Draw, hits: int, maybe_hits: int, wrong: int, *, missed: int, maybe_missed: int
) -> list[list[list[int]]]:
    """Predicted, sure and possible links, with these numbers in each part of their overlap."""
    order = torch.randperm(48, generator=draw.generator).tolist()
    parts = (hits, missed, maybe_hits, maybe_missed, wrong)
    links = iter([[number % 8, number // 8] for number in order])
    hit, missed_ones, maybe_hit, maybe_missed_ones, wrong_ones = (
        [next(links) for _ in range(size)] for size in parts
    )
    sure = hit + missed_ones
    return [wrong_ones + maybe_hit + hit, sure, sure + maybe_hit + maybe_missed_ones]


def _sentences(draw: Draw) -> list[Call]:
    calls = []
    for maybe, wrong in ((2, 1), (1, 3), (3, 2)):
        hits, missed, unseen = draw.integer(2, 14), draw.integer(1, 9), draw.integer(1, 3)
        links = _three_sets(draw, hits, maybe, wrong, missed=missed, maybe_missed=unseen)
        calls.append(Call(tuple(links), about=f"{hits} of {hits + missed} sure links predicted"))
    return calls


def _all_sure(draw: Draw) -> list[Call]:
    hits, missed = draw.integer(3, 9), draw.integer(2, 9)
    found, sure, _ = _three_sets(draw, hits, 0, 2, missed=missed, maybe_missed=0)
    return [
        Call((found, sure, sure), about="all gold links are sure"),
        Call((sure, sure, sure), about="all predicted, and nothing else"),
    ]


def _extremes(draw: Draw) -> list[Call]:
    found, sure, possible = _three_sets(draw, draw.integer(2, 9), 2, 0, missed=0, maybe_missed=3)
    wrong, hard, _ = _three_sets(draw, 0, 0, 4, missed=2, maybe_missed=0)
    return [
        Call((found, sure, possible), about="all sure links predicted, and some possible ones"),
        Call((wrong, hard, hard), about="no predicted link is possible"),
        Call(([], sure, possible), about="no links predicted"),
        Call((found, [], possible), about="no gold link is sure"),
        Call((found, [], []), about="links predicted, and no gold link"),
    ]


def _many_sentences(draw: Draw) -> list[Call]:
    hits, missed = draw.integer(2, 9), draw.integer(2, 9)
    found, sure, possible = _three_sets(draw, hits, 1, 1, missed=missed, maybe_missed=2)
    # What is predicted in one is sure in the other, so that the sentence index matters.
    both = [[found, sure, possible], [sure, found, possible + found]]
    joined = [
        [[b, *link] for b, links in enumerate(both) for link in links[part]] for part in range(3)
    ]
    one_word = [[0, 1, 2], [0, 1, 3]], [[0, 1, 2]], [[0, 1, 2]]
    return [
        Call(tuple(joined), about="links (sentence, source, target) of two sentences"),
        Call(one_word, about="two links (sentence, source, target) of one source token"),
    ]


item = Item(
    "14.alignment_error_rate",
    reference=_alignment_error_rate,
    use=_of_sets,
    probes=[
        Probe("sure links must be predicted, and possible ones do no harm", _sentences),
        Probe("if all links are sure, missing and wrong links count the same", _all_sure),
        Probe("0 is perfect, and 1 means that nothing matches", _extremes),
        Probe("links of many sentences are counted together", _many_sentences),
        Probe(
            "without any link there is no rate",
            lambda draw: [
                Call(([], [], []), {"refused": True}, about="no links at all"),
                Call(([], [], [[0, 1]]), {"refused": True}, about="only a possible link"),
            ],
        ),
    ],
    hints=(
        "Take ich–I, trinke–drink, trinke–tea from the lesson and count by hand: which links are "
        "predicted, which are sure, which are both?",
        "You need the sizes of four sets: A ∩ S, A ∩ P, A and S. In Python, & gives the "
        "intersection of two sets. Deal with a denominator of 0 first.",
        "In numbers: if 4 links are predicted, 3 of them possible and 2 of these also sure, and "
        "if there are 5 sure links in all, the rate is 1 − (2 + 3) / (4 + 5) = 0.44. In Python, "
        "{1, 2, 3} & {2, 3, 4} is {2, 3}, and len gives the size of a set.",
    ),
)


@item.misconception(
    "You compute how much is right instead of how much is wrong: a perfect head gets 1.",
    why="It's an error rate, so 0 is perfect. Choosing the lowest would choose the worst head.",
    hint="How do you turn the share that's right into the share that's wrong?",
)
def share_that_is_right(predicted: Links, sure: Links, possible: Links) -> float:
    return 1 - _alignment_error_rate(predicted, sure, possible)


@item.misconception(
    "You count only sure links: predicting a possible link costs as much as a wrong one.",
    why="Possible links are those of which the people who aligned the sentences weren't certain. "
    "A head may predict them or not, and neither is an error.",
    hint="Where does your code use its third argument?",
)
def possible_links_ignored(predicted: Links, sure: Links, possible: Links) -> float:
    return _alignment_error_rate(predicted, sure, sure)


@item.misconception(
    "You treat possible links as if they were sure: each one that isn't predicted counts as an "
    "error.",
    why="The people who aligned the sentences weren't certain of them, so no head has to predict "
    "them. Only sure links are required.",
    hint="Which gold links are in the denominator of the formula?",
)
def possible_links_are_a_duty(predicted: Links, sure: Links, possible: Links) -> float:
    return _alignment_error_rate(predicted, possible, possible)


@item.misconception(
    "Your numerator is right, but your denominator has the possible links.",
    why="Then predicting exactly the sure links is no longer perfect.",
    hint="In the denominator: what was predicted, and what had to be predicted.",
)
def possible_below_the_line(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(possible))


@item.spelling("possible_below_the_line")
def possible_below_the_line_and_in_the_guard(
    predicted: Links, sure: Links, possible: Links
) -> float:
    if not predicted and not possible:
        raise ValueError
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(possible))


@item.spelling("possible_below_the_line")
def possible_below_the_line_without_a_guard(
    predicted: Links, sure: Links, possible: Links
) -> float:
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(possible))


@item.misconception(
    "You measure only what was predicted: a head with a single link, which is right, gets 0.",
    why="That's one minus precision. Missing links have to cost something, too.",
    hint="Two sets have to be compared: the predicted links and the gold ones. Whose size doesn't "
    "matter in your code?",
)
def missed_links_are_free(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted:
        if not sure:
            raise ValueError
        return 1.0
    return 1 - len(predicted & possible) / len(predicted)


@item.misconception(
    "You measure only what had to be predicted: a head that links every word to every other gets "
    "0.",
    why="That's one minus recall. Wrong links have to cost something, too.",
    hint="Two sets have to be compared: the predicted links and the gold ones. Whose size doesn't "
    "matter in your code?",
)
def wrong_links_are_free(predicted: Links, sure: Links, possible: Links) -> float:
    if not sure:
        if not predicted:
            raise ValueError
        return 1.0
    return 1 - len(predicted & sure) / len(sure)


@item.misconception(
    "Your rate compares the intersection of predicted and sure links with their union.",
    why="That's a different measure, the Jaccard index. If all links are sure it ranks heads the "
    "same way, but its values can't be compared with published error rates.",
    hint="The formula adds two sizes in the denominator. Is that the size of a union?",
)
def divided_by_the_union(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    return 1 - len(predicted & sure) / len(predicted | sure)


@item.misconception(
    "You average two shares: one of the predicted links, one of the links that had to be "
    "predicted.",
    why="The formula divides once, so the larger set counts more. With the mean of two shares, a "
    "head with a single right link already gets half of a perfect score.",
    hint="Add up the numerators, add up the denominators, then divide.",
)
def mean_of_two_shares(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    precision = len(predicted & possible) / len(predicted) if predicted else 0.0
    recall = len(predicted & sure) / len(sure) if sure else 0.0
    return 1 - (precision + recall) / 2


@item.misconception(
    "Without a predicted or a sure link you divide 0 by 0.",
    why="The task asks for a ValueError. A ZeroDivisionError tells the caller nothing about "
    "alignments.",
    hint="Check the denominator before you divide.",
)
def divides_nothing_by_nothing(predicted: Links, sure: Links, possible: Links) -> float:
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure))


@item.misconception(
    "Without any links your rate is 0, perfect.",
    why="Nothing was measured. If both files of links were empty, nobody would notice.",
    hint="What does the task say about this case?",
)
def nothing_is_perfect(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        return 0.0
    return _alignment_error_rate(predicted, sure, possible)


@item.misconception(
    "You add up the sizes of all three sets in the denominator.",
    why="Then predicting exactly the sure links is no longer perfect. Possible links only appear "
    "in the numerator.",
    hint="How many sizes does the formula add in the denominator, and of which sets?",
)
def all_three_below_the_line(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure) + len(possible))


@item.misconception(
    "You count a predicted link once if it's possible: sure ones don't count twice.",
    why="The denominator counts predicted links and sure ones. A sure link that is predicted is in "
    "both sets, so it has to count twice in the numerator as well.",
    hint="In how many terms of your numerator is a predicted sure link counted?",
)
def each_link_once(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    return 1 - len(predicted & possible) / (len(predicted) + len(sure))


@item.misconception(
    "Your ValueError is raised too early: if only one of the two sets is empty there is a rate.",
    why="A head that predicts nothing misses every sure link, and its rate is 1. That is a result, "
    "and a bad one.",
    hint="What does your condition say if only one of the sets is empty? When exactly is the "
    "denominator 0?",
)
def raised_too_early(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted or not sure:
        raise ValueError
    return _alignment_error_rate(predicted, sure, possible)


@item.misconception(
    "Your rate is right, but one of the three sets has changed afterwards.",
    why="&= changes the set itself, and so do intersection_update, remove and add. Whoever uses "
    "the three sets again may get a different rate.",
    hint="Which operators and methods make a new set, and which change an existing one?",
)
def eats_its_input(predicted: Links, sure: Links, possible: Links) -> float:
    rate = _alignment_error_rate(predicted, sure, possible)
    predicted &= sure
    return rate


@item.spelling("eats_its_input")
def eats_what_is_not_possible(predicted: Links, sure: Links, possible: Links) -> float:
    rate = _alignment_error_rate(predicted, sure, possible)
    predicted &= possible
    return rate


@item.spelling("eats_its_input")
def eats_the_sure_links(predicted: Links, sure: Links, possible: Links) -> float:
    rate = _alignment_error_rate(predicted, sure, possible)
    sure &= predicted
    return rate


@item.spelling("eats_its_input")
def eats_the_possible_links(predicted: Links, sure: Links, possible: Links) -> float:
    rate = _alignment_error_rate(predicted, sure, possible)
    possible &= predicted
    return rate
