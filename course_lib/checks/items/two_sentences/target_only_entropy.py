"""10.target_only_entropy: the lowest loss that is possible without the source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from course_lib import training
from course_lib.checks.engine import Call, Draw, Item, Probe


class WordPair(NamedTuple):
    """A sentence and its translation, word by word."""

    source: list[str]
    target: list[str]


Pairs = Sequence[WordPair]


END = "<eos>"


def _use_entropy(entropy: Callable[..., Any], pairs: Sequence[tuple[list[str], list[str]]]) -> Any:
    return entropy([WordPair(*pair) for pair in pairs])


def _target_only_entropy(pairs: Pairs) -> float:
    return training.target_only_entropy([pair.target for pair in pairs])


def _pairs_from(*lines: str) -> list[tuple[list[str], list[str]]]:
    """Pairs from lines such as "ich bin: i am"."""
    sides = (line.split(":") for line in lines)
    return [(source.split(), target.split()) for source, target in sides]


BAR = ("ich mochte ein bier: i want a beer .", "ich mochte ein cola: i want a coke .")


def _random_pairs(
    draw: Draw, count: int, *, words: str = "abc"
) -> list[tuple[list[str], list[str]]]:
    """Pairs of one to five words from a tiny vocabulary, so that prefixes recur."""

    def sentence() -> list[str]:
        return [words[i] for i in draw.ids(draw.integer(1, 5), low=0, high=len(words) - 1)]

    return [(sentence(), sentence()) for _ in range(count)]


item = Item(
    "10.target_only_entropy",
    reference=_target_only_entropy,
    use=_use_entropy,
    probes=[
        Probe(
            "where the source decides nothing, the entropy is 0",
            lambda draw: [
                Call((_pairs_from("ich bin es: it is me"),), about="one sentence"),
                Call(
                    (_pairs_from("ich bin es: it is me", "das bin ich: it is me"),),
                    about="two sources, one translation",
                ),
            ],
        ),
        Probe(
            "beer or coke costs 2 · ln 2 / 12",
            lambda draw: [Call((_pairs_from(*BAR),), about="the lesson's two sentences")],
        ),
        Probe(
            "a more frequent target is less of a surprise",
            lambda draw: [
                Call(
                    (_pairs_from(BAR[1], *draw.integer(2, 9) * BAR[:1]),),
                    about="many beers, one coke",
                ),
                Call(
                    (
                        _pairs_from(
                            *draw.integer(2, 9) * ["ja: yes"], "ja: oh yes", "ja: well", "doch: yes"
                        ),
                    ),
                    about="one source, several translations",
                ),
            ],
        ),
        Probe(
            "the end of a sentence is a label, too",
            lambda draw: [
                Call(
                    (
                        _pairs_from(
                            *draw.integer(1, 9) * ["ich will: i want"],
                            "ich will bier: i want beer",
                            "ich: i",
                        ),
                    ),
                    about="one target is a prefix of another",
                )
            ],
        ),
        Probe(
            "the whole prefix counts, word by word",
            lambda draw: [
                Call(
                    (
                        _pairs_from(
                            *draw.integer(1, 9) * ["a: he can see"],
                            "b: she can hear",
                            "c: he can hear",
                        ),
                    ),
                    about="the same word after two prefixes",
                ),
                Call(
                    (_pairs_from("a: ab c d", "b: a bc e", "c: ab c f"),),
                    about="ab c and a bc have the same letters",
                ),
            ],
        ),
        Probe(
            "it works for any sentences",
            lambda draw: [
                Call((_random_pairs(draw, 15),), about="15 sentences made of three words"),
                Call(
                    (_random_pairs(draw, 40, words="xy"),), about="40 sentences made of two words"
                ),
            ],
        ),
    ],
    hints=(
        "Cover the source. You've memorised all targets, and you know the words of this one so "
        "far. What would you bet on as the next word?",
        "A prefix is all the words so far. For each prefix, collect what came next each time, "
        "including the end. If a word came n_w times out of n, the best probability for it is n_w "
        "/ n.",
        'By hand: if "the" was followed by dog, dog and cat, these three tokens cost −ln ⅔ − ln ⅔ '
        "− ln ⅓ = 1.91 nats in all. With following = defaultdict(list), "
        'following[("the",)].append("dog") adds a token to the list of this prefix. A prefix has '
        "to be a tuple, because a list can't be a key. Which prefix belongs to the first word, "
        "and what follows the last one?",
    ),
)


@item.switchable
def entropy_with(on: frozenset[str]) -> Callable[[Pairs], float]:
    """target_only_entropy with these misconceptions."""

    def answer(pairs: Pairs) -> float:
        if on & {"each_target_once", "each_pair_once"}:
            source = "each_pair_once" in on
            once = {(tuple(pair.source) * source, tuple(pair.target)): pair for pair in pairs}
            pairs = list(once.values())
        nats, labels = nats_and_labels([event for pair in pairs for event in events_of(pair)])
        if "not_divided" in on:
            labels = 1
        if "per_sentence" in on:
            labels = len(pairs)
        entropy = nats / labels / (math.log(2) if "entropy_in_bits" in on else 1)
        if "wrong_sign" in on:
            entropy = -entropy
        return math.exp(entropy) if "perplexity" in on else entropy

    def events_of(pair: WordPair) -> list[tuple[Hashable, str]]:
        """What the model knows, and the word that follows, for each label."""
        words = pair.target if "no_end" in on else [*pair.target, END]
        if "counts_bos" in on:
            words = ["<bos>", *words]
        return [(known(pair, words, position), word) for position, word in enumerate(words)]

    def known(pair: WordPair, words: list[str], position: int) -> Hashable:
        prefix = tuple(words[:position])
        if "frequencies_alone" in on:
            prefix = ()
        if "only_the_position" in on:
            prefix = (str(position),)
        if "only_the_word_before" in on:
            prefix = prefix[-1:]
        if "joined_prefix" in on:
            prefix = ("".join(prefix),)
        return (*pair.source, ":", *prefix) if "reads_the_source" in on else prefix

    def nats_and_labels(events: Sequence[tuple[Hashable, str]]) -> tuple[float, int]:
        prefixes, both = Counter(prefix for prefix, _ in events), Counter(events)
        kinds = Counter(prefix for prefix, _ in both)
        nats, even = 0.0, "even_shares" in on
        for prefix, word in events:
            n = prefixes[prefix]
            cost = math.log(kinds[prefix] if even else n / both[prefix, word])
            nats += cost / n if "mean_over_prefixes" in on else cost
        return nats, len(prefixes) if "mean_over_prefixes" in on else len(events)

    return answer


item.switch(
    "only_the_word_before",
    "Your model knows only the previous word, not the whole prefix.",
    why="A source-blind decoder still attends to all target words so far. With more to go on it "
    "can do better: your entropy is too high.",
    hint="Which words does the decoder have when it predicts the fourth?",
)
item.switch(
    "frequencies_alone",
    "Your model knows how frequent each word is, but not which words came before.",
    why="It doesn't see the source, but it does see the target's own prefix.",
    hint="Which words do you count: all of them, or those that follow a certain prefix?",
)
item.switch(
    "only_the_position",
    "Your model knows the position of a word, but not which words came before.",
    why="'he can' is followed by other words than 'she can'. A model that knows the prefix can "
    "tell them apart.",
    hint="What do two sentences have to share for a source-blind model to be uncertain?",
)
item.switch(
    "reads_the_source",
    "Your model uses the source.",
    why="What you compute is the lowest loss of a model that translates. It's 0 if each source "
    "has one translation. A source-blind model may not use the source.",
    hint="Which half of a pair is covered?",
)
item.switch(
    "no_end",
    "You don't count the end of a sentence.",
    why="The end is a label like any other, and it may be the uncertain one: 'i want' can stop "
    "there or go on.",
    hint="How many labels does a target of five words have?",
)
item.switch(
    "per_sentence",
    "You divide by the number of sentences.",
    why="The loss that you'll compare it with is a mean over tokens.",
    hint="How many labels do the two sentences of the lesson have?",
)
item.switch(
    "not_divided",
    "You sum the nats but don't divide.",
    why="The loss that you'll compare it with is a mean over tokens.",
    hint="How many labels do the two sentences of the lesson have?",
)
item.switch(
    "entropy_in_bits",
    "Your entropy is in bits: 1.44 times what it is in nats.",
    why="The loss is in nats. Both log2 and a division by ln 2 = 0.69 give bits.",
    hint="Which logarithm has e as its base?",
)
item.switch(
    "each_target_once",
    "You count a pair, or a target, that occurs several times only once.",
    why="If three guests out of four order a beer, 'beer' is the better bet, and that lowers the "
    "loss.",
    hint="What happens to a pair of sentences that occurs twice?",
    spellings=["each_pair_once"],
)
item.switch(
    "even_shares",
    "You give the same probability to every word that ever followed a prefix.",
    why="A model that has memorised the targets knows how often each word came, and bets "
    "accordingly: its loss is lower.",
    hint="Three beers and one coke: what's the best bet?",
)
item.switch(
    "mean_over_prefixes",
    "You take the mean over prefixes, as if all were equally frequent.",
    why="A prefix that occurs in every sentence comes up more often, and so does its uncertainty.",
    hint="How often does 'i want a' occur, and how often 'i want a beer'?",
)
item.switch(
    "joined_prefix",
    "You join the words of a prefix without a space between them.",
    why="'ab c' and 'a bc' are different prefixes, but joined they're the same letters.",
    hint="What does a dictionary need as its keys: strings, or anything that's hashable?",
)
item.switch(
    "counts_bos",
    "You count one label too many for each sentence, perhaps its start.",
    why="No model has to predict <bos>: the decoder is given it. One label more for each sentence "
    "makes the result too small.",
    hint="How many labels does a target of five words have?",
)
item.switch(
    "perplexity",
    "You return the perplexity.",
    why="The loss that you'll compare it with is in nats. The perplexity is e to the power of "
    "that.",
    hint="Which function do you apply last?",
)
item.switch(
    "wrong_sign",
    "Your entropy is negative.",
    why="A probability is at most 1, so its logarithm is at most 0. The loss is minus that.",
    hint="What is ln 0.5? And what should the loss be for p = 0.5?",
)
