"""Check a gold alignment against the lexicon, by the words alone."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import product

from course_lib.data.grammar import german, portuguese
from course_lib.data.grammar.lexicon import ADJECTIVES, BE, ESTAR, NOUNS, VERBS
from course_lib.data.pairs import SentencePair

_CASES = ("nominative", "accusative", "dative")


@cache
def _german_senses() -> dict[str, set[str]]:
    """German content form -> the senses it may have."""
    senses: dict[str, set[str]] = defaultdict(set)
    senses["hause"].add("home")
    for noun in NOUNS:
        for case in _CASES:
            senses[german.noun_form(noun, case=case, plural=False)].add(noun.key)
            senses[german.noun_form(noun, case=case, plural=True)].add(noun.key)
    for verb in VERBS:
        for form in verb.de[:4]:
            senses[form].add(verb.key)
            senses[verb.de.prefix + form].add(verb.key)
    for adjective in ADJECTIVES:
        stem = german.adjective_stem(adjective)
        forms = [stem + ending for ending in ("e", "en", "er", "es")]
        for form in (*forms, adjective.de, adjective.de_comparative):
            senses[form].add(adjective.key)
    return senses


@cache
def _english_senses() -> dict[str, set[str]]:
    """English content form -> the senses it may have."""
    senses: dict[str, set[str]] = defaultdict(set)
    senses["home"].add("home")
    for noun in NOUNS:
        senses[noun.en.singular].add(noun.key)
        senses[noun.en.plural].add(noun.key)
    for verb in VERBS:
        for form in verb.en[:3]:
            senses[form].add(verb.key)
    for adjective in ADJECTIVES:
        senses[adjective.en].add(adjective.key)
        senses[adjective.en_comparative].add(adjective.key)
    return senses


@cache
def _portuguese_senses() -> dict[str, set[str]]:
    """Portuguese content form -> the senses it may have."""
    senses: dict[str, set[str]] = defaultdict(set)
    senses["casa"].add("home")
    for noun in NOUNS:
        senses[noun.pt.singular].add(noun.key)
        senses[noun.pt.plural].add(noun.key)
    for verb in VERBS:
        for form in (verb.pt.infinitive, *verb.pt.present, *verb.pt.past):
            senses[form].add(verb.key)
        if verb.pt.infinitive == "estar":
            senses["ficar"].add(verb.key)
    for adjective in ADJECTIVES:
        for gender, comparative in product(portuguese.GENDERS, (False, True)):
            form = portuguese.adjective_form(adjective, gender, comparative=comparative)
            senses[form].add(adjective.key)
    for form in (*ESTAR.present, *ESTAR.past):
        senses[form].add(BE.key)
    return senses


def check_alignment(pair: SentencePair, *, name: str = "grammar_de_en") -> list[str]:
    """What is wrong with the gold alignment of a pair of that grammar; an empty list if nothing is.

    Every word except a comma must have a link, no link may leave the sentences, punctuation may be
    linked only with punctuation, and nouns, verbs and adjectives only with words of their sense.
    """
    source, target, alignment = pair
    inside = [(i, j) for i, j in alignment if 0 <= i < len(source) and 0 <= j < len(target)]
    problems = [f"link {link} is out of range" for link in sorted(alignment - set(inside))]
    source_links: dict[int, set[int]] = {i: set() for i in range(len(source))}
    english_links: dict[int, set[int]] = {j: set() for j in range(len(target))}
    for i, j in inside:
        source_links[i].add(j)
        english_links[j].add(i)
        if (source[i] in ",.?") != (target[j] in ",.?"):
            problems.append(f"punctuation is linked with a word: {source[i]} - {target[j]}")
    own = _german_senses() if name == "grammar_de_en" else _portuguese_senses()
    en = _english_senses()
    for i, word in enumerate(source):
        others = [target[j] for j in source_links[i]]
        problems += _problems(word, own, others, en)
    for j, word in enumerate(target):
        others = [source[i] for i in english_links[j]]
        problems += _problems(word, en, others, own)
    return problems


def _problems(
    word: str, own: dict[str, set[str]], others: list[str], theirs: dict[str, set[str]]
) -> list[str]:
    if not others:
        return [] if word == "," else [f"{word} has no link"]
    if word not in own or BE.key in own[word]:  # "está" may be "is", which has no entry
        return []
    shared = any(own[word] & theirs.get(other, set()) for other in others)
    return [] if shared else [f"{word} is linked with {' '.join(others)}, of another sense"]
