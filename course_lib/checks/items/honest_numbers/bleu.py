"""12.bleu: BLEU from n-grams, equal to sacrebleu's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import sacrebleu

from course_lib.checks.engine import Call, Draw, Item, Probe

Sentences = Sequence[Sequence[str]]


WORDS = "the a cat dog sees likes old garden in of . ?".split()


def _of_sacrebleu(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
    metric = sacrebleu.BLEU(
        max_ngram_order=max_n, tokenize="none", smooth_method="none", force=True
    )
    lines = ([" ".join(words) for words in sentences] for sentences in (hypotheses, references))
    hypothesis_lines, reference_lines = lines
    return metric.corpus_score(hypothesis_lines, [reference_lines]).score


def _sentence(draw: Draw, length: int) -> list[str]:
    return [WORDS[i] for i in draw.ids(length, low=0, high=len(WORDS) - 1).tolist()]


def _with_errors(draw: Draw, words: list[str]) -> list[str]:
    """One word in five is replaced; the first four stay, so that one 4-gram always matches."""
    kept = draw.mask(len(words), share=0.8).tolist()
    other = _sentence(draw, len(words))
    return [
        a if keep or i < 4 else b
        for i, (a, b, keep) in enumerate(zip(words, other, kept, strict=True))
    ]


def _corpus(draw: Draw, *lengths: int) -> tuple[list[list[str]], list[list[str]]]:
    references = [_sentence(draw, length) for length in lengths]
    return [_with_errors(draw, words) for words in references], references


def _good_and_bad(draw: Draw) -> Call:
    hypotheses, references = _corpus(draw, 12, 6, 9)
    wrong, right = _sentence(draw, 15), _sentence(draw, 15)
    return Call(([*hypotheses, wrong], [*references, right]), about="4 sentences")


def _cut(draw: Draw, share: float) -> Call:
    hypotheses, references = _corpus(draw, 14, 10, 12)
    short = [words[: max(1, int(share * len(words)))] for words in hypotheses]
    return Call((short, references), about=f"translations truncated to {share:.0%} of their length")


def _lengthened(draw: Draw) -> Call:
    hypotheses, references = _corpus(draw, 8, 10)
    hypotheses = [words + _sentence(draw, draw.integer(3, 5)) for words in hypotheses]
    return Call((hypotheses, references), about="translations longer than the references")


def _one_long_one_short(draw: Draw) -> Call:
    hypotheses, references = _corpus(draw, 9, 12, 10)
    hypotheses[0] += _sentence(draw, 4)
    hypotheses[1] = hypotheses[1][:5]
    return Call((hypotheses, references), about="one translation too long, another too short")


def _repeated(draw: Draw) -> list[Call]:
    references = ["the old dog sees the cat in the garden .".split(), _sentence(draw, 8)]
    hypotheses = ["the the the the old dog sees the cat the the".split(), list(references[1])]
    doubled = [references[0] + references[0], hypotheses[1]]
    return [
        Call((hypotheses, references), about="a word repeated too often"),
        Call((doubled, references), about="a sentence repeated"),
    ]


def _few_ngrams(draw: Draw) -> list[Call]:
    long, references = _corpus(draw, 10, 9)
    shorts = [["the", "cat", "."], ["?"], []]
    expected = [["the", "cat", "."], [".", "?"], ["a", "dog"]]
    return [
        Call((shorts[:1], expected[:1]), about="a perfect sentence of 3 words"),
        Call(
            ([*long, *shorts], [*references, *expected]), about="short sentences among longer ones"
        ),
        Call(([["a", "dog"], []], [["the", "cat"], ["of"]]), about="no word in common"),
        Call(([[], []], [["the", "cat"], ["of"]]), about="all translations empty"),
    ]


def _alike(draw: Draw) -> list[Call]:
    words, longer = _sentence(draw, 8), _sentence(draw, 10)
    return [
        Call(([["The", *words]], [["the", *words]]), about="a capital letter"),
        Call(([longer[5:] + longer[:5]], [longer]), about="two halves swapped"),
        Call(
            ([["ab", "c", *words]], [["a", "bc", *words]]),
            about="ab c and a bc have the same letters",
        ),
    ]


item = Item(
    "12.bleu",
    reference=_of_sacrebleu,
    probes=[
        Probe(
            "n-grams are counted over the whole corpus, and divided once",
            lambda draw: [_good_and_bad(draw), Call(_corpus(draw, 5, 20, 7), about="3 sentences")],
        ),
        Probe(
            "the references themselves score 100",
            lambda draw: [
                Call(([words], [words]), about="one sentence")
                for words in (_sentence(draw, 9), _sentence(draw, 4))
            ],
        ),
        Probe("an n-gram counts at most as often as it occurs in the reference", _repeated),
        Probe(
            "translations that are too short get a penalty, and longer ones don't",
            lambda draw: [
                _cut(draw, 0.5),
                _cut(draw, 0.9),
                _lengthened(draw),
                _one_long_one_short(draw),
            ],
        ),
        Probe(
            "max_n sets the length of the longest n-grams",
            lambda draw: [
                Call((*_corpus(draw, 11, 8, 6), max_n), about=f"max_n is {max_n}")
                for max_n in (1, 2, 3, 6)
            ],
        ),
        Probe(
            "if nothing matches for some n the score is 0, and short sentences are no problem",
            _few_ngrams,
        ),
        Probe(
            "capital letters, word order and word boundaries matter",
            _alike,
        ),
    ],
    hints=(
        "For each n from 1 to max_n you need two numbers for the whole corpus: how many n-grams "
        "the translations have, and how many of them count as matches.",
        "Make a Counter of the n-grams of each sentence, for both sides; a & b keeps the smaller "
        "counts. Add up over all sentences, divide, take the geometric mean, multiply by the "
        "brevity penalty and by 100.",
        'Small examples: Counter("aab") & Counter("abb") holds one a and one b, and its total() '
        "is 2. The pairs of four words are words[0:2], words[1:3] and words[2:4], and tuple(...) "
        "of each can be counted. The geometric mean of ½ and ⅛ is the root of their product, ¼. "
        "With 8 words in the translations and 10 in the references, the penalty is exp(1 − 10/8). "
        "When should it be 1?",
    ),
)


NGrams = Counter[tuple[str, ...]]


@item.switchable
def bleu_with(on: frozenset[str]) -> Callable[..., float]:
    """BLEU with these misconceptions."""

    def answer(hypotheses: Sentences, references: Sentences, max_n: int = 4) -> float:
        if "mean_of_scores" in on:
            pairs = zip(hypotheses, references, strict=True)
            return sum(score([a], [b], max_n) for a, b in pairs) / len(hypotheses)
        return score(hypotheses, references, max_n)

    def score(hypotheses: Sentences, references: Sentences, max_n: int) -> float:
        if "joined_sentences" in on:
            hypotheses, references = ([list(chain(*s))] for s in (hypotheses, references))
        max_n = 4 if "always_four" in on else max_n
        longest = max_n - 1 if on & {"one_length_short", "one_length_short_root_too"} else max_n
        precisions = [precision(hypotheses, references, n) for n in range(1, longest + 1)]
        root = len(precisions) if "one_length_short_root_too" in on else max_n
        points = 1 if "up_to_one" in on else 100
        c, r = sum(map(len, hypotheses)), sum(map(len, references))
        return points * brevity(c, r) * mean(precisions, root)

    def precision(hypotheses: Sentences, references: Sentences, n: int) -> float:
        """Of the n-grams of this length; 0 if there is none."""
        counts = [
            (ngrams(hypothesis, n), ngrams(reference, n))
            for hypothesis, reference in zip(hypotheses, references, strict=True)
        ]
        if "clipped_over_the_corpus" in on:
            counts = [(_added(a for a, _ in counts), _added(b for _, b in counts))]
        found = [matches(hypothesis, reference) for hypothesis, reference in counts]
        totals = [(b if "recall" in on else a).total() for a, b in counts]
        if "mean_of_precisions" in on:
            each = zip(found, totals, strict=True)
            return sum(f / total if total else 0.0 for f, total in each) / len(found)
        if "no_guard" in on:
            return sum(found) / sum(totals)
        if "no_guard_in_the_loop" in on:
            return math.exp(math.log(sum(found) / sum(totals)))
        more = 1 if "smoothed" in on else 0
        total = sum(totals) + more
        if "short_sentences_subtract" in on:
            total = sum(len(words) - n + 1 for words in hypotheses)
        return (sum(found) + more) / total if total else 0.0

    def ngrams(words: Sequence[str], n: int) -> NGrams:
        if "lower_case" in on:
            words = [word.lower() for word in words]
        ends = range(n, len(words) + (0 if "last_ngram_lost" in on else 1))
        if "shorter_ngrams_at_the_end" in on:
            ends = range(n, len(words) + n)
        if "joined_words" in on:
            return Counter(("".join(words[i - n : i]),) for i in ends)
        all_of_them = [tuple(words[i - n : i]) for i in ends]
        if "same_position" in on:
            return Counter((str(i), *ngram) for i, ngram in enumerate(all_of_them))
        return Counter(set(all_of_them) if "sets_of_ngrams" in on else all_of_them)

    def matches(hypothesis: NGrams, reference: NGrams) -> int:
        if "not_clipped" in on:
            return sum(count for ngram, count in hypothesis.items() if ngram in reference)
        return (hypothesis & reference).total()

    def brevity(c: int, r: int) -> float:
        if "long_ones_punished" in on:
            return math.exp(min(0.0, 1 - c / r))
        if c == 0 and not on & {"no_guard", "no_guard_in_the_loop"}:
            return 0.0
        if "no_brevity_penalty" in on:
            return 1.0
        if "long_ones_rewarded" in on:
            return math.exp(1 - r / c)
        if "short_ones_rewarded" in on:
            return math.exp(1 - c / r) if c < r else 1.0
        if "penalty_in_proportion" in on:
            return min(1.0, c / r)
        return math.exp(min(0.0, 1 - r / c))

    def mean(precisions: Sequence[float], root: int) -> float:
        if "arithmetic_mean" in on:
            return sum(precisions) / root
        if "arithmetic_mean_unless_one_is_zero" in on:
            return sum(precisions) / root if all(precisions) else 0.0
        if "lengths_without_match_left_out" in on:
            precisions = [share for share in precisions if share > 0]
            root = len(precisions)
            if root == 0:
                return 0.0
        if "fourth_root" in on:
            root = 4
        if "no_root" in on:
            return math.prod(precisions)
        if "no_guard" in on:
            return math.exp(sum(map(math.log, precisions)) / root)
        return float(math.prod(precisions) ** (1 / root))

    return answer


def _added(counters: Iterable[NGrams]) -> NGrams:
    """The counts of all of them."""
    return sum(counters, NGrams())


item.switch(
    "not_clipped",
    "Your matches aren't clipped: an n-gram counts as often as it occurs in the translation.",
    why="In 'the the the the', every word would count as right for each reference with a 'the' in "
    "it.",
    hint="Each n-gram of the reference can be matched only once.",
)
item.switch(
    "sets_of_ngrams",
    "Your code counts each n-gram once, however often it occurs.",
    why="A sentence may contain 'the' twice, and both may be right.",
    hint="In your code, how many single words does 'the cat sees the dog' have? A set and the "
    "keys of a dict forget how often.",
)
item.switch(
    "clipped_over_the_corpus",
    "You clip over the whole corpus: an n-gram may match one in another sentence's reference.",
    why="A word that's wrong in one translation would count as right if it's missing from another.",
    hint="Which of the two do you do first for each length: clip, or add up the sentences?",
)
item.switch(
    "joined_sentences",
    "You join all sentences into one long text before you cut it into n-grams.",
    why="Some n-grams then begin in one sentence and end in the next, and a word may match one in "
    "another sentence's reference.",
    hint="Add up counts, not sentences.",
)
item.switch(
    "joined_words",
    "You join the words of an n-gram without a space between them.",
    why="'ab c' and 'a bc' are different words, but joined they're the same letters.",
    hint="Which keys of your counts could tell 'ab c' from 'a bc'? They needn't be strings.",
)
item.switch(
    "same_position",
    "Your n-grams match only at the same position of both sentences.",
    why="One more word at the start, and nothing would match any more.",
    hint="Does it matter for BLEU where in the reference an n-gram occurs?",
)
item.switch(
    "last_ngram_lost",
    "The last n-gram of each sentence is missing.",
    why="A sentence of 5 words has 4 pairs of neighbours and 5 single words. You count one too "
    "few.",
    hint="At which index does the last n-gram of a sentence begin?",
)
item.switch(
    "shorter_ngrams_at_the_end",
    "At the end of a sentence you count n-grams of fewer than n words.",
    why="The last word alone is no pair. A slice that reaches beyond the end of a list is "
    "shorter, zip_longest fills up, and neither raises an error.",
    hint="Print all n-grams of a sentence of three words, for n = 2.",
)
item.switch(
    "short_sentences_subtract",
    "Your total is too small when a translation is shorter than n − 1 words.",
    why="A sentence of one word has no n-grams of length 4. The number of words − n + 1 is "
    "negative there.",
    hint="In your code, how many n-grams of length 4 does a sentence of one word have?",
)
item.switch(
    "lower_case",
    "Your code ignores capital letters.",
    why="sacrebleu treats 'The' and 'the' as different words unless it's told not to.",
    hint="Does your code change the words before it compares them?",
)
item.switch(
    "mean_of_scores",
    "Your score is the mean of the sentence scores.",
    why="A sentence without a matching 4-gram scores 0, however good it is. Corpus BLEU adds up "
    "the counts of all sentences before it divides.",
    hint="Which comes first: the sum over the sentences or the division?",
)
item.switch(
    "mean_of_precisions",
    "Your precisions are means of each sentence's precision.",
    why="A sentence of two words then counts as much as one of twenty. Corpus BLEU adds up the "
    "counts of all sentences before it divides.",
    hint="Which comes first: the sum over the sentences or the division?",
)
item.switch(
    "no_brevity_penalty",
    "Your score has no brevity penalty.",
    why="A translation that contains only the one word that's certain would have perfect "
    "precision.",
    hint="What happens to your score when the second half of a translation is left out?",
)
item.switch(
    "long_ones_rewarded",
    "Your brevity penalty rewards translations that are too long.",
    why="exp(1 − r / c) is above 1 there. The penalty is never more than 1: surplus words already "
    "lower the precisions.",
    hint="What's the largest value a penalty factor can have?",
)
item.switch(
    "long_ones_punished",
    "Your brevity penalty applies to translations that are too long instead of too short.",
    why="A short translation gets high precisions too easily, and that's what the penalty is for.",
    hint="r is the length of the references, c that of the translations. Which one is in the "
    "numerator?",
)
item.switch(
    "short_ones_rewarded",
    "Your brevity penalty is above 1 for translations that are too short.",
    why="It should lower their score, since a short translation gets high precisions too easily.",
    hint="For half a translation, is your exponent positive or negative?",
)
item.switch(
    "penalty_in_proportion",
    "Your brevity penalty is c / r, proportional to the length.",
    why="It should be exponential: at half the words you lose 63 %, not 50 %.",
    hint="Look at the formula again: what does e do there?",
)
item.switch(
    "arithmetic_mean",
    "You take the arithmetic mean of the precisions.",
    why="BLEU multiplies them and takes the root, so that one low precision lowers the score more.",
    hint="There is more than one kind of mean.",
    spellings=["arithmetic_mean_unless_one_is_zero"],
)
item.switch(
    "no_root",
    "You multiply the precisions, but the root is missing.",
    why="Without it, a larger max_n would lower every score but a perfect one.",
    hint="For the geometric mean of max_n factors, which root do you need?",
)
item.switch(
    "fourth_root",
    "You always take the fourth root, whatever max_n is.",
    why="The geometric mean of 2 precisions is the square root of their product.",
    hint="How many precisions do you multiply?",
)
item.switch(
    "lengths_without_match_left_out",
    "Your mean leaves out the values of n for which nothing matches.",
    why="A translation with no matching pair of words would be scored by its single words. If one "
    "factor is 0, the geometric mean is 0.",
    hint="What does the task say about an n for which nothing matches?",
)
item.switch(
    "no_guard",
    "Your code raises an error if there are no n-grams of some length.",
    why="A precision is then 0 divided by 0. Without matches it is 0, and a logarithm of 0 would "
    "raise an error, too.",
    hint="What is the score in these cases? Find it before you divide or take a logarithm.",
    spellings=["no_guard_in_the_loop"],
)
item.switch(
    "one_length_short",
    "Your n-grams end at max_n − 1 words.",
    why="The longest n-grams, which are the hardest to match, are missing. A range leaves its end "
    "out: range(1, 4) is 1, 2, 3.",
    hint="For max_n = 4, print every n for which your code counts n-grams.",
    spellings=["one_length_short_root_too"],
)
item.switch(
    "recall",
    "Your matches are divided by the number of n-grams in the references.",
    why="That's recall: how much of the reference was found. BLEU asks how much of the translation "
    "is right, and leaves the rest to the brevity penalty.",
    hint="Precision: out of all n-grams in the translations, how many are right?",
)
item.switch(
    "up_to_one",
    "Your score runs from 0 to 1.",
    why="sacrebleu, like most papers, reports points from 0 to 100.",
    hint="What do you get if the translations are the references themselves?",
)
item.switch(
    "smoothed",
    "Your counts are smoothed: 1 is added to matches and totals.",
    why="Smoothed BLEU exists, but it's a different score: here, no match means 0.",
    hint="Compare with sacrebleu's smooth_method='none'.",
)
item.switch(
    "always_four",
    "Your score always uses n-grams of up to four words.",
    why="max_n is an argument: with 2, only single words and pairs count.",
    hint="Two things depend on max_n: the lengths that you count, and the root. Do both in your "
    "code?",
)
