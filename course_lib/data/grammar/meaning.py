"""The meaning of a sentence, independent of any language.

A meaning is a tree of senses and roles: who does what to whom, where, when, in which tense. It has
no words, no word order and no case; each language module turns it into words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from course_lib.data.grammar.lexicon import (
    SPEAKER,
    Adjective,
    Adverb,
    Link,
    Modal,
    Noun,
    Preposition,
    Verb,
)

NUMBERS = ("two", "three", "four", "five")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A participant.

    ``determiner`` is the, a, this, every, my, our, own (the subject's), no, bare, much, many,
    some, all, a number, or name; or, if a pronoun stands for the noun, pronoun, relative or
    question. A pronoun keeps the noun of its antecedent, so that each language finds the gender.
    """

    noun: Noun
    determiner: str = "the"
    _: KW_ONLY
    plural: bool = False
    adjective: Adjective | None = None
    relative: Clause | None = None
    partner: NounPhrase | None = None


@dataclass(frozen=True, slots=True)
class Adverbial:
    """Where, where to or with whom: a preposition with a noun phrase, or an adverb."""

    preposition: Preposition | None = None
    noun_phrase: NounPhrase | None = None
    _: KW_ONLY
    adverb: Adverb | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb with its arguments and adverbials.

    ``tense`` is present or past. ``fond`` is "likes to". ``quality`` is the adjective of "is old",
    with ``degree`` positive, equal (as old as) or comparative, and the ``standard`` compared with.
    ``front`` names the role that comes first, if the language allows that.
    """

    verb: Verb
    subject: NounPhrase
    _: KW_ONLY
    object: NounPhrase | None = None
    recipient: NounPhrase | None = None
    location: Adverbial | None = None
    company: Adverbial | None = None
    time: Adverb | None = None
    frequency: Adverb | None = None
    manner: Adverb | None = None
    quality: Adjective | None = None
    degree: str = "positive"
    standard: NounPhrase | None = None
    tense: str = "present"
    modal: Modal | None = None
    fond: bool = False
    negated: bool = False
    front: str = "subject"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One clause, or two with a link.

    ``asks`` is "" for a statement, else truth (yes or no), noun (who, what), where, when or why.
    With ``link_first``, the linked clause, which is then subordinate, opens the sentence.
    """

    first: Clause
    second: Clause | None = None
    _: KW_ONLY
    link: Link | None = None
    link_first: bool = False
    asks: str = ""


def noun_phrases(clause: Clause) -> Iterator[tuple[str, NounPhrase]]:
    """Every (role, noun phrase) of a clause, those of partners and relative clauses included."""
    for role, phrase in roles(clause):
        yield role, phrase
        if phrase.partner:
            yield role, phrase.partner
        if phrase.relative:
            yield from noun_phrases(phrase.relative)


def roles(clause: Clause) -> Iterator[tuple[str, NounPhrase]]:
    """The (role, noun phrase) pairs of the clause itself."""
    for role in ("subject", "object", "recipient", "standard"):
        if phrase := getattr(clause, role):
            yield role, phrase
    for role in ("location", "company"):
        adverbial = getattr(clause, role)
        if adverbial and adverbial.noun_phrase:
            yield role, adverbial.noun_phrase


def has_unclear_pronoun(
    first: Clause, second: Clause, *, gender: Callable[[NounPhrase], str]
) -> bool:
    """Whether a pronoun of ``second`` has more than one possible antecedent in ``first``.

    ``gender`` gives noun phrases the same text if the language has one pronoun for them.
    """
    antecedents = Counter(
        gender(phrase)
        for _, phrase in noun_phrases(first)
        if phrase.noun is not SPEAKER and phrase.determiner not in ("relative", "pronoun")
    )
    return any(
        antecedents[gender(phrase)] > 1
        for _, phrase in noun_phrases(second)
        if phrase.determiner == "pronoun" and phrase.noun is not SPEAKER
    )


def is_plural(phrase: NounPhrase) -> bool:
    """Whether the phrase is plural: by number, or because two nouns are joined by "and"."""
    return phrase.plural or phrase.partner is not None


def person(phrase: NounPhrase) -> int:
    """The verb form that agrees with a subject: 0 I, 1 other singular, 2 we, 3 other plural."""
    return (0 if phrase.noun is SPEAKER else 1) + (2 if is_plural(phrase) else 0)


def uses(sentence: Sentence) -> frozenset[tuple[str, str]]:
    """Every (sense, construction) of the sentence: which word occurs in which construction."""
    found: set[tuple[str, str]] = set()
    linked = sentence.link.order if sentence.link else "main"
    asserted = "subordinate" if sentence.link_first else "main"
    _clause_uses(sentence.first, "question" if sentence.asks else asserted, found)
    if sentence.second:
        final = linked == "final" and not sentence.link_first
        _clause_uses(sentence.second, "subordinate" if final else "main", found)
    return frozenset(found)


def _clause_uses(clause: Clause, context: str, found: set[tuple[str, str]]) -> None:
    verb = clause.verb.key
    found.add((verb, context))
    found.add((verb, clause.tense))
    if clause.modal:
        found.add((verb, "modal"))
    if clause.negated:
        found.add((verb, "negated"))
    if clause.quality:
        found.add((clause.quality.key, clause.degree))
    for role, phrase in roles(clause):
        noun = phrase.noun.key
        found.add((noun, phrase.determiner if phrase.determiner == "pronoun" else role))
        if role == clause.front and role in ("object", "recipient"):
            found.add((noun, "fronted"))
        if phrase.adjective:
            found.add((phrase.adjective.key, role))
            if phrase.plural:
                found.add((phrase.adjective.key, "plural"))
        if phrase.relative:
            found.add((noun, "relative"))
            _clause_uses(phrase.relative, "in_relative", found)


def constructions(sentence: Sentence) -> frozenset[str]:
    """The names of the constructions in the sentence."""
    labels = {construction for _, construction in uses(sentence)}
    if sentence.link:
        labels.add(sentence.link.key)
    if sentence.asks:
        labels.add(f"asks_{sentence.asks}")
    return frozenset(labels)
