"""10.target_only_entropy: What English alone is worth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from course_lib import training
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe


class WordPair(NamedTuple):
    """A sentence and its translation, word by word."""

    source: list[str]
    target: list[str]


Pairs = Sequence[WordPair]


END = "<eos>"


def _use_floor(floor: Callable[..., Any], pairs: Sequence[tuple[list[str], list[str]]]) -> Any:
    return floor([WordPair(*pair) for pair in pairs])


def _floor(pairs: Pairs) -> float:
    return training.target_only_entropy([pair.target for pair in pairs])


def _said(*lines: str) -> list[tuple[list[str], list[str]]]:
    """Pairs from lines such as "ich bin: i am"."""
    sides = (line.split(":") for line in lines)
    return [(source.split(), target.split()) for source, target in sides]


BAR = ("ich mochte ein bier: i want a beer .", "ich mochte ein cola: i want a coke .")


def _babble(draw: Draw, count: int, *, words: str = "abc") -> list[tuple[list[str], list[str]]]:
    """Pairs of one to five words from a tiny language, so that beginnings meet again."""

    def sentence() -> list[str]:
        return [words[i] for i in draw.ids(draw.integer(1, 5), low=0, high=len(words) - 1)]

    return [(sentence(), sentence()) for _ in range(count)]


item = Item(
    "10.target_only_entropy",
    reference=_floor,
    use=_use_floor,
    probes=[
        Probe(
            "where the source decides nothing, the floor is 0",
            lambda draw: [
                Call((_said("ich bin es: it is me"),), about="one sentence"),
                Call(
                    (_said("ich bin es: it is me", "das bin ich: it is me"),),
                    about="two sources, one translation",
                ),
            ],
        ),
        Probe(
            "beer or coke is worth 2 · ln 2 / 12",
            lambda draw: [Call((_said(*BAR),), about="the lesson's two sentences")],
        ),
        Probe(
            "what is said more often is less of a surprise",
            lambda draw: [
                Call((_said(*BAR, BAR[0], BAR[0]),), about="three beers, one coke"),
                Call(
                    (_said("ja: yes", "ja: yes", "ja: oh yes", "ja: well", "doch: yes"),),
                    about="one source, several translations",
                ),
            ],
        ),
        Probe(
            "the end of a sentence is to be said, too",
            lambda draw: [
                Call(
                    (_said("ich will: i want", "ich will bier: i want beer", "ich: i"),),
                    about="one target is the beginning of another",
                )
            ],
        ),
        Probe(
            "the whole beginning counts, word by word",
            lambda draw: [
                Call(
                    (_said("a: he can see", "b: she can hear", "c: he can hear"),),
                    about="the same word after two beginnings",
                ),
                Call(
                    (_said("a: ab c d", "b: a bc e", "c: ab c f"),),
                    about="ab c and a bc have the same letters",
                ),
            ],
        ),
        Probe(
            "it holds for any sentences",
            lambda draw: [
                Call((_babble(draw, 15),), about="15 sentences of three words, over and over"),
                Call((_babble(draw, 40, words="xy"),), about="40 sentences of two words"),
            ],
        ),
    ],
    hints=(
        "Cover the source. You know all targets by heart, and what you have read of one so far. "
        "What do you bet on the next word?",
        "Collect for each beginning (all words so far) what came next each time, the end included. "
        "A word that came n_w times out of n has the best probability n_w / n.",
        "following[tuple(words[:place])].append(words[place]) for words = [*target, '<eos>']. Then "
        "each entry costs -log(its count / length of its list); divide by the number of entries.",
    ),
)


Key = Callable[[WordPair, list[str], int], Hashable]


def _beginning(pair: WordPair, words: list[str], place: int) -> Hashable:
    return tuple(words[:place])


def _events(pairs: Pairs, key: Key = _beginning) -> list[tuple[Hashable, str]]:
    """What was known, and the word that came, for each label."""
    events = []
    for pair in pairs:
        words = [*pair.target, END]
        events += [(key(pair, words, place), word) for place, word in enumerate(words)]
    return events


def _mean_surprise(events: Sequence[tuple[Hashable, str]]) -> float:
    known, both = Counter(key for key, _ in events), Counter(events)
    return sum(math.log(known[event[0]] / both[event]) for event in events) / len(events)


@item.misconception(
    "Your model knows only the word before, not the whole beginning.",
    why="A blind model has read its own words so far, all of them. Whoever knows more can do "
    "better: your floor is too high.",
    hint="What has the decoder read when it is asked for the fourth word?",
)
def only_the_word_before(pairs: Pairs) -> float:
    return _mean_surprise(_events(pairs, lambda pair, words, place: tuple(words[:place][-1:])))


@item.misconception(
    "Your model knows how frequent each word is, and nothing of what was said before.",
    why="It is blind for the source, not for its own words: it may read the beginning.",
    hint="Of which words do you count how often they came: of all, or of those after a beginning?",
)
def frequencies_alone(pairs: Pairs) -> float:
    return _mean_surprise(_events(pairs, lambda pair, words, place: None))


@item.misconception(
    "Your model knows at which place a word stands, and not what was said before.",
    why="After 'he can' other words follow than after 'she can'. A model that reads its beginning "
    "can tell them apart.",
    hint="What is it that two sentences must share for a blind model to be in doubt?",
)
def only_the_place(pairs: Pairs) -> float:
    return _mean_surprise(_events(pairs, lambda pair, words, place: place))


@item.misconception(
    "Your model has read the source.",
    why="That is the floor of a model that translates: 0, where each source has one translation. "
    "A blind model may not use it.",
    hint="Which half of a pair is covered?",
)
def reads_the_source(pairs: Pairs) -> float:
    return _mean_surprise(
        _events(pairs, lambda pair, words, place: (*pair.source, ":", *words[:place]))
    )


@item.misconception(
    "Your sentences have no end.",
    why="The end is a label like any other, and may be the one in doubt: 'i want' can stop there "
    "or go on.",
    hint="How many labels does a target of five words have?",
)
def no_end(pairs: Pairs) -> float:
    return _mean_surprise([event for event in _events(pairs) if event[1] != END])


@item.misconception(
    "You divide by the number of sentences.",
    why="The loss that it is compared with is a mean over tokens.",
    hint="How many labels do the two sentences of the lesson have?",
)
def per_sentence(pairs: Pairs) -> float:
    events = _events(pairs)
    return _mean_surprise(events) * len(events) / len(pairs)


@item.misconception(
    "You sum the nats and do not divide.",
    why="The loss that it is compared with is a mean over tokens.",
    hint="How many labels do the two sentences of the lesson have?",
)
def not_divided(pairs: Pairs) -> float:
    events = _events(pairs)
    return _mean_surprise(events) * len(events)


@item.misconception(
    "Your floor is in bits: it comes from log2.",
    why="The loss is in nats. ln 2 nats are one bit.",
    hint="Which logarithm has e as its base?",
)
def floor_in_bits(pairs: Pairs) -> float:
    return _floor(pairs) / math.log(2)


@item.misconception(
    "You count each different target once, however often it is said.",
    why="Where three guests of four order a beer, 'beer' is the better bet, and pays.",
    hint="What happens to a sentence that comes twice?",
)
def each_target_once(pairs: Pairs) -> float:
    return _floor(list({tuple(pair.target): pair for pair in pairs}.values()))


@item.misconception(
    "You give the same probability to all words that ever followed a beginning.",
    why="A blind model knows how often each of them came, and bets accordingly: the floor lies "
    "lower.",
    hint="Three beers and one coke: what is the best bet?",
)
def even_shares(pairs: Pairs) -> float:
    events = _events(pairs)
    kinds = Counter(key for key, _ in set(events))
    return sum(math.log(kinds[key]) for key, _ in events) / len(events)


@item.misconception(
    "You take the mean over beginnings, as if all came equally often.",
    why="A beginning that stands in every sentence is met more often, and so is its doubt.",
    hint="How often is 'i want a' met, and how often 'i want a beer'?",
)
def mean_over_beginnings(pairs: Pairs) -> float:
    events = _events(pairs)
    known, both = Counter(key for key, _ in events), Counter(events)
    nats = sum(math.log(known[key] / both[key, word]) / known[key] for key, word in events)
    return nats / len(known)
