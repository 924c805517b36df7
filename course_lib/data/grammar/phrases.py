"""Draw random noun phrases and adverbials."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

from course_lib.data.grammar import lexicon, word_lists
from course_lib.data.grammar.choices import adjectives_of, draw, draw_noun, maybe
from course_lib.data.grammar.lexicon import SPEAKER, Noun, Preposition, Verb
from course_lib.data.grammar.meaning import Adverbial, NounPhrase

_SUBJECT = {
    "the": 50,
    "a": 18,
    "my": 8,
    "our": 4,
    "this": 6,
    "every": 3,
    "no": 3,
    "plural": 14,
}
_OBJECT = {"the": 40, "a": 24, "own": 14, "this": 5, "my": 3, "no": 4, "plural": 14}
_PLURAL = {
    "two": 3,
    "three": 2,
    "four": 1,
    "five": 1,
    "many": 3,
    "some": 3,
    "all": 2,
    "bare": 3,
}
_MASS = {"bare": 8, "the": 6, "own": 3, "no": 2, "much": 3, "this": 1}
_MASS_SUBJECT = {"the": 4, "this": 1, "our": 1}
_LOCATION = {"the": 70, "a": 16, "this": 8, "our": 6}
_COMPANY = {"the": 5, "own": 4, "a": 2}
# A goal is scored, not owned; of a lake, a sea or a queue there is one.
_ONLY = {
    "lake": {"the": 1},
    "sea": {"the": 1},
    "queue": {"the": 1},
    "goal": {"a": 5, "the": 2, "plural": 3},
}
_SINGULAR = frozenset({"lake", "sea", "queue", "area", "building", "tree"})
_UNOWNED = frozenset(word_lists.UNOWNED.split())
PERSONS = frozenset({"man", "woman", "child"})


def draw_phrase(
    rng: Random, noun: Noun, *, determiners: dict[str, int], described: float = 0.25
) -> NounPhrase:
    """A noun with a fitting determiner and number, and sometimes an adjective."""
    if noun is SPEAKER:
        return NounPhrase(noun, "pronoun", plural=maybe(rng, 0.4))
    if noun.name:
        return NounPhrase(noun, "name")
    if noun.mass:
        determiners = _MASS if "own" in determiners else _MASS_SUBJECT
    if noun.kind in _SINGULAR:
        determiners = _LOCATION
    determiner = draw(rng, _ONLY.get(noun.kind, determiners))
    if determiner in ("my", "our", "own") and noun.en.singular in _UNOWNED:
        determiner = "the"
    plural = determiner == "plural"
    if plural:
        determiner = draw(rng, _PLURAL)
    elif determiner in ("the", "my", "our", "own", "no", "this") and not (
        noun.mass or noun.kind in _SINGULAR
    ):
        plural = maybe(rng, 0.3)
    adjectives = adjectives_of(noun.kind)
    described_as = rng.choice(adjectives) if adjectives and maybe(rng, described) else None
    return NounPhrase(noun, determiner, plural=plural, adjective=described_as)


def draw_subject(rng: Random, kinds: frozenset[str]) -> NounPhrase:
    """A noun phrase as a subject, sometimes with a second person."""
    subject = draw_phrase(rng, draw_noun(rng, kinds), determiners=_SUBJECT)
    definite = subject.determiner in ("the", "name") and not subject.plural
    if definite and subject.noun.kind in PERSONS and maybe(rng, 0.06):
        other = draw_noun(rng, frozenset({"man", "woman"}))
        if other is not subject.noun:
            partner = NounPhrase(other, "name" if other.name else "the")
            return NounPhrase(subject.noun, subject.determiner, partner=partner)
    return subject


def _can_own(subject: NounPhrase) -> bool:
    noun = subject.noun
    hidden = subject.determiner in ("question", "every", "no")
    return not hidden and (
        noun is SPEAKER or bool(noun.sex) or (noun.kind == "child" and subject.plural)
    )


def draw_object(rng: Random, noun: Noun, *, subject: NounPhrase) -> NounPhrase:
    """A noun phrase as an object."""
    if noun.kind in PERSONS and subject.noun is not SPEAKER and maybe(rng, 0.06):
        return NounPhrase(SPEAKER, "pronoun", plural=maybe(rng, 0.4))
    phrase = draw_phrase(rng, noun, determiners=_OBJECT)
    if phrase.determiner == "own" and not _can_own(subject):
        return replace(phrase, determiner="the")
    return phrase


@cache
def _prepositions(kind: str) -> list[Preposition]:
    return [preposition for preposition in lexicon.LOCATIVES if kind in preposition.kinds]


def draw_location(
    rng: Random, kinds: frozenset[str], *, preposition: Preposition | None = None
) -> Adverbial:
    """An adverb such as "here", or a preposition with a fitting noun."""
    if preposition is None and maybe(rng, 0.2):
        return Adverbial(adverb=rng.choice(lexicon.HERE))
    noun = draw_noun(rng, preposition.kinds if preposition else kinds)
    preposition = preposition or rng.choice(_prepositions(noun.kind))
    described = 0.0 if noun.kind in _ONLY else 0.15
    phrase = draw_phrase(rng, noun, determiners=_LOCATION, described=described)
    return Adverbial(preposition, replace(phrase, plural=False))


ANYWHERE = lexicon.expand(word_lists.ANYWHERE)
DOING_LOCATIONS = lexicon.expand(word_lists.DOING_LOCATIONS)
_RESTING = {base: lexicon.expand(classes) for base, classes in word_lists.RESTING.items()}


def draw_resting_location(rng: Random, verb: Verb, *, subject: NounPhrase) -> Adverbial:
    """A location where somebody or something can sit, stand or lie."""
    person = subject.noun.kind in PERSONS or subject.noun is SPEAKER
    if person and verb.en.base in ("wait", "stand") and maybe(rng, 0.25):
        return draw_location(rng, ANYWHERE, preposition=lexicon.QUEUE)
    return draw_location(rng, _RESTING.get(verb.en.base, ANYWHERE))


def draw_company(rng: Random, subject: NounPhrase) -> Adverbial:
    """With or without whom."""
    preposition = lexicon.WITH if maybe(rng, 0.7) else lexicon.WITHOUT
    noun = draw_noun(rng, preposition.kinds)
    if noun is subject.noun:
        noun = lexicon.NAMES[0] if subject.noun is not lexicon.NAMES[0] else lexicon.NAMES[1]
    phrase = draw_phrase(rng, noun, determiners=_COMPANY)
    if phrase.determiner == "own" and not _can_own(subject):
        phrase = replace(phrase, determiner="the")
    if noun.kind == "animal":
        phrase = replace(phrase, plural=False)
    return Adverbial(preposition, phrase)
