"""Read what the grammar says: ``python -m course_lib.data.grammar --sample 20 --split test``."""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import islice

from course_lib.data.grammar.count import lower_bound
from course_lib.data.grammar.grammar_corpus import LANGUAGES, SPLITS, sample_meanings
from course_lib.data.grammar.meaning import Sentence, constructions
from course_lib.data.pairs import SentencePair


def show(pair: SentencePair) -> str:
    """The two sentences, and under them every source word with its target words."""
    links = [
        f"{word}={'+'.join(pair.target[j] for i, j in sorted(pair.alignment) if i == position)}"
        for position, word in enumerate(pair.source)
    ]
    return f"{' '.join(pair.source)}\n{' '.join(pair.target)}\n    {' '.join(links)}\n"


def main() -> None:
    """Print samples, or counts over ``--size`` pairs."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.data.grammar", description=__doc__)
    parser.add_argument("--name", choices=sorted(LANGUAGES), default="grammar_de_en")
    parser.add_argument("--split", choices=SPLITS, default="train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=0, help="how many pairs to print")
    parser.add_argument("--count", action="store_true", help="count words and constructions")
    parser.add_argument("--size", type=int, default=30_000, help="how many pairs to count over")
    options = parser.parse_args()
    meanings = sample_meanings(options.name, options.split, seed=options.seed)
    for _, pair in islice(meanings, options.sample):
        print(show(pair))
    if options.count:
        count(list(islice(meanings, options.size)))
        print(f"more than {lower_bound(options.name):.1e} distinct source sentences")


def count(sampled: list[tuple[Sentence, SentencePair]]) -> None:
    """Print the distinct words of both sides, and the constructions."""
    for side, name in enumerate(("source", "target")):
        words = Counter(word for _, pair in sampled for word in pair[side])
        often = sum(n >= 20 for n in words.values())
        mean = words.total() / len(sampled)
        print(
            f"{name}: {len(words)} words, {often} of them 20 times or more; mean length {mean:.1f}"
        )
    labels = Counter(label for meaning, _ in sampled for label in constructions(meaning))
    for label, n in labels.most_common():
        print(f"{n:8} {label}")


if __name__ == "__main__":
    main()
