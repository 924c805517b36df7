"""12.paired_bootstrap: how often one system beats another on sentences drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe


def _paired_bootstrap(
    first: Float[Tensor, " sentences"],
    second: Float[Tensor, " sentences"],
    resamples: Int[Tensor, "samples sentences"],
) -> float:
    first_means, second_means = first[resamples].mean(dim=1), second[resamples].mean(dim=1)
    return float(_worth(first_means, second_means).mean())


def _worth(first_means: Tensor, second_means: Tensor) -> Tensor:
    """What each sample counts: 1 if the second mean is higher, ½ if the two are equal."""
    return (second_means > first_means).double() + (second_means == first_means).double() / 2


# Scores that can tie are multiples of 1/8, and N is then a power of two: every sum, mean and
# difference is exact, in whichever order and with whatever weights it is computed.
def _eighths(draw: Draw, n: int) -> Tensor:
    return draw.ids(n, low=0, high=80) / 8


def _samples(draw: Draw, r: int, n: int) -> Tensor:
    return draw.ids(r, n, low=0, high=n - 1)


def _similar(
    draw: Draw, r: int, n: int, *, dtype: torch.dtype = torch.float32, about: str = ""
) -> Call:
    """The second system is a little better in the mean, and wins most samples, but not all."""
    first, difference = draw.normal(n, std=3.0, dtype=dtype), draw.normal(n, dtype=dtype)
    difference = difference - difference.mean() + 0.7 * difference.std() / n**0.5
    about = about or f"two similar systems, {r} samples of {n} sentences"
    return Call((first, first + difference, _samples(draw, r, n)), about=about)


def _close(draw: Draw, r: int, n: int) -> Call:
    """float64 scores whose differences float32 cannot hold; all sums are exact."""
    first = 64 + _eighths(draw, n).double()
    second = first + draw.ids(n, low=-3, high=3).double() * 2.0**-20
    about = "float64 scores that differ by millionths"
    return Call((first, second, _samples(draw, r, n)), about=about)


def _exact_matches(draw: Draw) -> list[Call]:
    def outputs(right: int) -> Tensor:
        return (torch.randperm(8, generator=draw.generator) < right).float()

    score, resamples = _eighths(draw, 8), _samples(draw, 20, 8)
    return [
        Call((outputs(5), outputs(5), resamples), about="0 or 1 per sentence, 5 of 8 right each"),
        Call((outputs(6), outputs(5), resamples), about="0 or 1 per sentence, 6 and 5 of 8 right"),
        Call((score, score.clone(), resamples), about="two systems with the same scores"),
    ]


def _always_a_little_better(draw: Draw) -> list[Call]:
    hard, resamples = _eighths(draw, 16), _samples(draw, 25, 16)
    about = "the {} system is better by 1/8 on every sentence"
    return [
        Call((hard, hard + 0.125, resamples), about=about.format("second")),
        Call((hard + 0.125, hard, resamples), about=about.format("first")),
    ]


def _one_sentence_decides(draw: Draw) -> list[Call]:
    """On all sentences but one a system wins by 1/8, and on that one it loses by 5."""
    score, resamples = _eighths(draw, 8), _samples(draw, 30, 8)
    other = score - 0.125
    other[draw.integer(0, 7)] += 5.125
    about = "the {} system wins by a lot on one sentence, and loses by 1/8 on seven"
    return [
        Call((score, other, resamples), about=about.format("second")),
        Call((other, score, resamples), about=about.format("first")),
    ]


def _drawn_twice(draw: Draw) -> list[Call]:
    """The second system wins all samples but the first and the last."""
    first, second = torch.tensor([8.0, 0, 0, 0]), torch.tensor([0.0, 3, 3, 1])
    repeated = [[0, 0, 1, 2], [0, 1, 1, 1], [0, 1, 2, 2], [1, 1, 3, 3], [1, 2, 2, 1], [0, 0, 2, 1]]
    resamples, better = torch.tensor(repeated), torch.tensor([0.0, 3, 3, 3])
    return [
        Call((first, second, resamples), about="the first system is better on the whole set"),
        Call((first, better, resamples), about="the second system is better on the whole set"),
    ]


def _of_any_size(draw: Draw) -> list[Call]:
    one, resamples = _eighths(draw, 1), _samples(draw, 6, 1)
    square = _similar(draw, 12, 12, about="R = N = 12")
    return [
        square,
        _similar(draw, 1, 9, about="a single sample"),
        Call((one, one + 1, resamples), about="a single sentence"),
        Call((one, one.clone(), resamples), about="a single sentence, and the same score"),
        _similar(draw, 14, 10, dtype=torch.float64, about="float64"),
        _close(draw, 14, 8),
    ]


item = Item(
    "12.paired_bootstrap",
    reference=_paired_bootstrap,
    probes=[
        Probe(
            "it is the share of the samples in which the second system's mean is higher",
            lambda draw: [_similar(draw, 40, 12), _similar(draw, 15, 30), _similar(draw, 25, 20)],
        ),
        Probe("a sample in which both means are equal counts half", _exact_matches),
        Probe("both systems are scored on the same sentences", _always_a_little_better),
        Probe("the means decide, not the number of sentences won", _one_sentence_decides),
        Probe("a sentence that is drawn twice counts twice", _drawn_twice),
        Probe("any R and N, equal ones too, and float64", _of_any_size),
    ],
    hints=(
        "Take a single sample. What is each system's score on it, and what does the sample count?",
        "first[resamples] has the shape (R, N): a score for each sentence drawn. Take the mean "
        "over the N sentences of each sample, for both systems. Then compare the R pairs of means, "
        "and average what they count: 1, ½ or 0.",
        "A small example: if t is torch.tensor([10.0, 20, 60]), then t[torch.tensor([[0, 0, 2], "
        "[1, 1, 1]])] has the rows 10 10 60 and 20 20 20, one for each sample. Along which axis "
        "do you take the mean? (a > b).double() is 1 where a is larger, and 0 where b is larger "
        "or both are equal. What do you have to add for a tie?",
    ),
)


@item.switchable
def bootstrap_with(on: frozenset[str]) -> Callable[..., Any]:
    """paired_bootstrap with these misconceptions."""

    def answer(first: Tensor, second: Tensor, resamples: Tensor) -> Any:
        if "first_higher" in on:
            first, second = second, first
        if "sorted_scores" in on:
            first, second = first.sort().values, second.sort().values
        if "whole_set" in on:
            resamples = torch.arange(len(first))[None]
        if "first_sample_only" in on:
            resamples = resamples[:1]
        if "last_sample_only" in on:
            resamples = resamples[-1:]
        second_resamples = resamples_of_second(resamples)
        drawn, second_drawn = first[resamples], second[second_resamples]
        if "only_first_resampled" in on:
            second_drawn = second.expand_as(drawn)
        if "only_second_resampled" in on:
            drawn = first.expand_as(second_drawn)
        if on & {"sentences_won", "share_of_sentences"}:
            won = _worth(drawn, second_drawn)
            if "share_of_sentences" in on:
                return share_of(won)
            return share_of(_worth(torch.full((len(won),), 0.5).double(), won.mean(dim=1)))
        a, b = mean(drawn, resamples), mean(second_drawn, second_resamples)
        if "every_pair" in on:
            a, b = a[:, None].expand(-1, len(b)), b[None].expand(len(a), -1)
        return float((b - a).mean()) if "mean_difference" in on else share_of(worth(a, b))

    def resamples_of_second(resamples: Tensor) -> Tensor:
        if "draws_again" in on:
            return torch.randint(resamples.size(1), resamples.shape)
        return resamples.roll(1, 0) if "another_sample_for_the_second" in on else resamples

    def mean(scores: Tensor, resamples: Tensor) -> Tensor:
        if "means_over_samples" in on:
            return scores.mean(dim=0)
        if "mean_of_all_samples" in on:
            return scores.mean()[None]
        if "median" in on:
            return scores.median(dim=1).values
        if "median_between_two" in on:
            return scores.quantile(0.5, dim=1)
        if "each_sentence_once" in on:
            pairs = zip(scores, resamples.tolist(), strict=True)
            return torch.stack([row[[*map(drawn.index, {*drawn})]].mean() for row, drawn in pairs])
        return scores.mean(dim=1)

    def worth(a: Tensor, b: Tensor) -> Tensor:
        if "ties_won" in on:
            return (b >= a).double()
        if on & {"ties_lost", "ties_left_out", "ties_left_out_unless_all_tie"}:
            won = (b > a).double()
            if "ties_lost" in on or ("ties_left_out_unless_all_tie" in on and bool((a == b).all())):
                return won
            return won[a != b]
        return _worth(a, b)

    def share_of(won: Tensor) -> Any:
        if "not_averaged" in on:
            return won
        if "a_count" in on:
            return float(won.sum())
        share = float(won.mean())
        if "wins_minus_losses" in on:
            share = 2 * share - 1
        if "two_sided" in on:
            share = 2 * min(share, 1 - share)
        return 100 * share if "in_per_cent" in on else share

    return answer


item.switch(
    "first_higher",
    "You count the samples in which the first system is better.",
    why="The number should say how often the second system wins. Yours says how often it loses.",
    hint="Which of the two means do you want to be the larger one?",
)
item.switch(
    "ties_lost",
    "A sample in which both means are equal counts nothing in your code.",
    why="A system compared with itself would never win, which looks as if it were clearly worse. "
    "With ½ for each tie, the result is ½.",
    hint="What should come out when both systems have the same scores?",
)
item.switch(
    "ties_won",
    "A sample in which both means are equal counts as a win in your code.",
    why="A system compared with itself would always win. With ½ for each tie, the result is ½.",
    hint="What is an equal mean worth, and what does your comparison make of it?",
)
item.switch(
    "ties_left_out",
    "You leave out the samples in which both means are equal, instead of counting them half.",
    why="Then you divide by fewer than R samples; if all of them are ties, no sample is left.",
    hint="By what number do you divide, and what should a tie add to the numerator?",
    spellings=["ties_left_out_unless_all_tie"],
)
item.switch(
    "sentences_won",
    "You count the sentences on which each system is better, and ignore by how much.",
    why="A system can win most sentences by very little, and lose a few by much. The mean takes "
    "both into account.",
    hint="Which comes first: the mean over the sentences of a sample, or the comparison?",
    spellings=["share_of_sentences"],
)
item.switch(
    "whole_set",
    "Your result is that of the whole set, as if there were no resamples.",
    why="Which of them is better on these sentences is known already. The question is how often "
    "that holds for other sentences, and the samples stand for those.",
    hint="Which sentences does your first comparison use? It should be those of sample 0, and "
    "there should be R comparisons.",
)
item.switch(
    "mean_of_all_samples",
    "You average over all samples together, and compare once.",
    why="The mean over so many samples is nearly that of the whole set. How much it changes from "
    "sample to sample, which is what the bootstrap is for, gets lost.",
    hint="How many comparisons does your code make, and how many should it make?",
)
item.switch(
    "first_sample_only",
    "You use only one of the samples.",
    why="A single comparison gives 0, ½ or 1. The share needs all R of them.",
    hint="Do you have a `return` inside the loop, an index too many, or a result that each sample "
    "overwrites?",
    spellings=["last_sample_only"],
)
item.switch(
    "draws_again",
    "In each comparison, the two systems are scored on different sentences.",
    why="That's the unpaired bootstrap. One system may then draw the easy sentences and the other "
    "the hard ones, and chance hides a difference that is there on every sentence.",
    hint="Which sentences does each of the two systems get in sample 0?",
    spellings=["another_sample_for_the_second"],
)
item.switch(
    "every_pair",
    "You compare each sample's mean of one system with every sample's mean of the other.",
    why="Most of these pairs are scores on different sentences, so it isn't a paired comparison. "
    "There should be R comparisons, not R².",
    hint="With which of the R means of the second system do you compare the first system's third?",
)
item.switch(
    "only_first_resampled",
    "Only one system is scored on the samples; the other one keeps its mean on the whole set.",
    why="A sample of hard sentences then makes one system look worse, and not the other.",
    hint="Where in your code does `resamples` occur? It belongs to both systems.",
    spellings=["only_second_resampled"],
)
item.switch(
    "sorted_scores",
    "You sort the scores of each system, so that an index no longer means the same sentence.",
    why="Index 3 is then the fourth-worst score of both systems, from two different sentences.",
    hint="What does an index in `resamples` stand for?",
)
item.switch(
    "each_sentence_once",
    "A sentence that was drawn several times counts only once in your means.",
    why="A sample drawn with replacement has N sentences, counted with repetition. Without it, the "
    "samples differ less from the whole set than new sentences would.",
    hint="Over how many scores is your mean of the sample 0, 0, 2? A set, `unique` or a mask "
    "forgets how often.",
)
item.switch(
    "means_over_samples",
    "Your means run over the samples, and not over the sentences of each sample.",
    why="Each sample should give one mean per system, so R in all. Yours mix all samples.",
    hint="Which axis of (R, N) should be gone after the mean?",
)
item.switch(
    "median",
    "You compare medians instead of means.",
    why="The median ignores how good the best outputs are and how bad the worst. The score of a "
    "system is the mean over its sentences.",
    hint="What does the task call a system's score on a sample?",
    spellings=["median_between_two"],
)
item.switch(
    "mean_difference",
    "You return how much better the second system is in the mean, not how often it is better.",
    why="The size of a difference doesn't say whether it's more than chance: that depends on how "
    "much it changes from sample to sample.",
    hint="For each sample you need 1, ½ or 0. What is left of the size of the difference?",
)
item.switch(
    "wins_minus_losses",
    "Your result is wins minus losses: it runs from −1 to 1.",
    why="Two equal systems get 0 from you, and should get ½.",
    hint="What does a sample count that the second system loses?",
)
item.switch(
    "two_sided",
    "Your result is a two-sided p-value.",
    why="It is small where one of the two wins nearly always, whichever that is. The task asks for "
    "the share of samples that the second system wins.",
    hint="When the second system wins every sample, what should come out?",
)
item.switch(
    "not_averaged",
    "You return one number for each comparison instead of their mean.",
    why="The result is a single number: the share of the samples that the second system wins.",
    hint="What is left to do with 1, ½ and 0 for each sample?",
)
item.switch(
    "a_count",
    "You return in how many samples the second system wins, not in what share of them.",
    why="Twice as many samples would double it.",
    hint="Out of how many?",
)
item.switch(
    "in_per_cent",
    "Your result is a percentage.",
    why="The task asks for a share from 0 to 1.",
    hint="What do you return when the second system wins every sample, and what should it be?",
)
