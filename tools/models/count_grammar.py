"""Read what the grammar generates, or count it: ``python -m tools.models.count_grammar``.

Without options it counts the words and constructions of 30,000 training pairs and gives a lower
bound of the number of sentences; ``--sample 20 --split test`` prints 20 pairs to read instead.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice

from course_lib.data import SentencePair
from course_lib.data.grammar import LANGUAGES, SPLITS, german, portuguese
from course_lib.data.grammar.choices import adjectives_of, nouns_of
from course_lib.data.grammar.grammar_corpus import sample_meanings
from course_lib.data.grammar.lexicon import VERBS, Noun
from course_lib.data.grammar.meaning import NounPhrase, Sentence, constructions
from course_lib.data.grammar.word_alignment import texts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print sentence pairs, or counts."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.models.count_grammar", description=__doc__
    )
    parser.add_argument("--name", choices=sorted(LANGUAGES), default="grammar_de_en")
    parser.add_argument("--split", choices=SPLITS, default="train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=0, help="print this many pairs, do not count")
    parser.add_argument("--size", type=int, default=30_000, help="how many pairs to count over")
    options = parser.parse_args(arguments)
    meanings = sample_meanings(options.name, options.split, seed=options.seed)
    if options.sample:
        print("\n".join(pair_with_links(pair) for _, pair in islice(meanings, options.sample)))
    else:
        print(counts(list(islice(meanings, options.size))))
        print(f"more than {lower_bound(options.name):.1e} distinct source sentences")


def pair_with_links(pair: SentencePair) -> str:
    """The two sentences, and under them each source word with the target words linked to it."""
    links = [
        f"{word}={'+'.join(pair.target[j] for i, j in sorted(pair.alignment) if i == position)}"
        for position, word in enumerate(pair.source)
    ]
    return f"{' '.join(pair.source)}\n{' '.join(pair.target)}\n    {' '.join(links)}\n"


def counts(sampled: Sequence[tuple[Sentence, SentencePair]]) -> str:
    """Lines with the number of distinct words of each side, and how often each construction is."""
    lines = []
    for name, sentences in (
        ("source", [pair.source for _, pair in sampled]),
        ("target", [pair.target for _, pair in sampled]),
    ):
        words = Counter(word for sentence in sentences for word in sentence)
        often = sum(n >= 20 for n in words.values())
        mean = words.total() / len(sentences)
        lines.append(
            f"{name}: {len(words)} words, {often} of them 20 times or more; mean length {mean:.1f}"
        )
    labels = Counter(label for meaning, _ in sampled for label in constructions(meaning))
    return "\n".join([*lines, *(f"{n:8} {label}" for label, n in labels.most_common())])


def lower_bound(name: str = "grammar_de_en") -> int:
    """Number of distinct source sentences "A und B" of clauses such as "der bäcker kauft das brot".

    A and B are present, transitive, with a man or woman as subject and a thing as object, both
    definite singulars with one adjective or none; senses that the source language does not tell
    apart are counted once. Everything else (tenses, plurals, questions, …) comes on top.
    """
    objects: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for verb in VERBS:
        if verb.frame == "transitive" and {"man", "woman"} <= verb.subjects:
            for kind in verb.objects - {"man", "woman", "child", "speaker"}:
                for noun in nouns_of(kind):
                    german_verb = verb.de.prefix + verb.de.plural
                    infinitive = verb.pt.infinitive if name == "grammar_pt_en" else german_verb
                    objects[infinitive] |= _definite_phrases(noun, "accusative", name=name)
    people = [noun for kind in ("man", "woman") for noun in nouns_of(kind) if not noun.name]
    subjects = set().union(*(_definite_phrases(noun, "nominative", name=name) for noun in people))
    clauses = sum(len(subjects) * len(things) for things in objects.values())
    return clauses**2


def _definite_phrases(noun: Noun, case: str, *, name: str) -> set[tuple[str, ...]]:
    """The noun in the singular with "the", plain and with each of its adjectives."""
    phrases = [NounPhrase(noun, adjective=a) for a in (None, *adjectives_of(noun.kind))]
    if name == "grammar_pt_en":
        return {texts(portuguese.phrase_words(p, "s", owner=p)) for p in phrases}
    return {texts(german.phrase_words(p, "s", case=case, owner=p)) for p in phrases}


if __name__ == "__main__":
    main()
