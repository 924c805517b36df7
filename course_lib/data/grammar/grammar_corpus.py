"""Generated sentence pairs with gold alignments, in splits that never overlap."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from random import Random

from course_lib.data.grammar import english, german, portuguese
from course_lib.data.grammar.meaning import Sentence, uses
from course_lib.data.grammar.meaning_sampler import sample_meaning
from course_lib.data.grammar.word_alignment import Word, align, texts
from course_lib.data.pairs import SentencePair
from course_lib.errors import CourseError

SPLITS = ("train", "valid", "test", "compositional")
SHORTEST, LONGEST = 3, 30  # words of a sentence, its final punctuation included

# Words that never occur in these constructions in train, valid and test, though both are frequent.
HELD_OUT = frozenset(
    (word, construction)
    for construction, words in {
        "relative": "dog horse woman.f doctor.m book car",  # the head of a relative clause
        "subordinate": "lesen.read helfen.help schlafen.sleep trinken.drink suchen.look_for",
        "question": "kaufen.buy öffnen.open besuchen.visit tanzen.dance geben.give",
        "modal": "finden.find waschen.wash schreiben.write folgen.follow",
        "fronted": "teacher.m wolf letter apple key",
        "pronoun": "baker.f lion lamp coat door",
    }.items()
    for word in words.split()
)


@dataclass(frozen=True)
class Language:
    """A source language: how it expresses a meaning, and which meanings it leaves ambiguous."""

    words: Callable[[Sentence], list[Word]]
    _: KW_ONLY
    unclear: Callable[[Sentence], bool]
    held_out: frozenset[tuple[str, str]] = HELD_OUT


LANGUAGES = {
    "grammar_de_en": Language(german.sentence_words, unclear=german.unclear),
    "grammar_pt_en": Language(
        portuguese.sentence_words,
        unclear=portuguese.unclear,
        # These infinitives occur only after modals: held out, the forms would never be seen.
        held_out=HELD_OUT - {("finden.find", "modal"), ("folgen.follow", "modal")},
    ),
}


def split_of(source: tuple[str, ...]) -> str:
    """The split of a sentence without held-out combinations, whatever the seed and the size.

    A hash of the source words decides: 80 % go to train, 10 % each to valid and test.
    """
    digest = hashlib.blake2b(" ".join(source).encode(), digest_size=4).digest()
    return {8: "valid", 9: "test"}.get(int.from_bytes(digest) % 10, "train")


def sample_meanings(
    name: str, split: str, *, seed: int = 0
) -> Iterator[tuple[Sentence, SentencePair]]:
    """An endless sequence of distinct meanings of a split, each with its sentence pair."""
    language = LANGUAGES[name]
    rng = Random(f"{name} {split} {seed}")
    seen: set[tuple[str, ...]] = set()
    while True:
        sentence = sample_meaning(rng)
        held_out = split == "compositional"
        if language.held_out.isdisjoint(uses(sentence)) == held_out or language.unclear(sentence):
            continue
        source = language.words(sentence)
        words = texts(source)
        if words in seen or not (held_out or split_of(words) == split):
            continue
        target = english.sentence_words(sentence)
        if not (SHORTEST <= len(source) <= LONGEST and SHORTEST <= len(target) <= LONGEST):
            continue
        seen.add(words)
        yield sentence, SentencePair(words, texts(target), align(source, target))


def sample_pairs(name: str, split: str, *, size: int, seed: int = 0) -> list[SentencePair]:
    """``size`` distinct pairs of a split, the same for the same arguments.

    On a terminal, a progress bar appears after two seconds.

    Raises:
        CourseError: there is no such grammar or split, or the size is not positive.
    """
    if name not in LANGUAGES:
        raise CourseError(f"the grammar must be one of {', '.join(LANGUAGES)}, got {name!r}")
    if split not in SPLITS:
        raise CourseError(f"the split must be one of {', '.join(SPLITS)}, got {split!r}")
    if size < 1:
        raise CourseError(f"the size must be a positive number of pairs, got {size}")
    from tqdm.auto import tqdm

    meanings = sample_meanings(name, split, seed=seed)
    quiet = bool(os.environ.get("COURSE_QUIET")) or None  # None: where nobody looks
    bar = tqdm(range(size), desc=split, unit=" pairs", delay=2, leave=False, disable=quiet)
    return [next(meanings)[1] for _ in bar]
