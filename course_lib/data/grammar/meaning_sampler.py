"""Draw random meanings: one clause or two, questions, reported speech and comparisons."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from course_lib.data.grammar import lexicon
from course_lib.data.grammar.choices import draw, maybe, nouns_of, verbs_of, weighted_kinds
from course_lib.data.grammar.clauses import (
    DOING,
    FIRM,
    add_relative,
    draw_clause,
    draw_tense,
    kinds_describable,
)
from course_lib.data.grammar.lexicon import ADJECTIVES, BE, SPEAKER, Adjective, Link, Noun
from course_lib.data.grammar.meaning import Clause, NounPhrase, Sentence, is_plural, roles
from course_lib.data.grammar.phrases import PERSONS, draw_phrase, draw_subject

_SHAPES = {"simple": 34, "question": 16, "linked": 30, "reported": 12, "compared": 10}
_COMPARED = {"the": 4, "a": 6, "this": 1, "my": 3, "our": 1}  # is older than
_UNREFERABLE = frozenset({"no", "every", "bare", "question", "much", "pronoun"})


def _front(rng: Random, clause: Clause) -> Clause:
    """Let a role other than the subject open the clause; a language may ignore it."""
    choices = []
    if clause.time:
        choices += ["time", "time"]
    if clause.location and clause.location.noun_phrase and clause.verb.frame == "resting":
        choices.append("location")
    for role in ("object", "recipient"):
        phrase = clause.object if role == "object" else clause.recipient
        if phrase and phrase.determiner in ("the", "my", "our", "this", "name"):
            fits = clause.subject.determiner not in ("no", "every")
            choices += [role] if fits and not phrase.relative and not clause.negated else []
    if not choices or clause.subject.relative or not maybe(rng, 0.5):
        return clause
    return replace(clause, front=rng.choice(choices))


def _compared_phrase(rng: Random, noun: Noun, adjective: Adjective) -> NounPhrase:
    phrase = draw_phrase(rng, noun, determiners=_COMPARED, described=0.4)
    return replace(phrase, adjective=None) if phrase.adjective is adjective else phrase


def _compared(rng: Random) -> Sentence:
    adjective = rng.choice([a for a in ADJECTIVES if a.de_comparative])
    kind = rng.choice(
        [k for k in weighted_kinds(kinds_describable(adjective)) if len(nouns_of(k)) > 1]
    )
    first, second = rng.sample(nouns_of(kind), 2)
    clause = Clause(
        BE,
        _compared_phrase(rng, first, adjective),
        quality=adjective,
        degree="comparative" if maybe(rng, 0.7) else "equal",
        standard=_compared_phrase(rng, second, adjective),
        tense=draw_tense(rng, ""),
    )
    return Sentence(replace(clause, negated=clause.degree == "equal" and maybe(rng, 0.3)))


def _simple(rng: Random) -> Sentence:
    clause = draw_clause(rng)
    if maybe(rng, 0.6):
        clause = add_relative(rng, clause)
    return Sentence(_front(rng, clause))


def _question(rng: Random) -> Sentence:
    clause = draw_clause(rng)
    asks = rng.choice(("truth", "truth", "noun", "noun", "where", "when", "why"))
    if asks == "truth":
        return Sentence(clause, asks=asks)
    if asks == "where":
        somewhere = clause.verb.frame in ("resting", "intransitive") or clause.verb.en.base in DOING
        if clause.verb.frame in ("moving", "copula") or not somewhere:
            return _question(rng)
        return Sentence(replace(clause, location=None, company=None, manner=None), asks=asks)
    if asks == "when":
        clause = replace(clause, time=None, frequency=None)
    if asks != "noun":
        return Sentence(clause, asks=asks)
    return _question_noun(rng, clause)


def _question_noun(rng: Random, clause: Clause) -> Sentence:
    owned = any(phrase.determiner == "own" for _, phrase in roles(clause))
    no = any(phrase.determiner == "no" for _, phrase in roles(clause))
    role = rng.choice(("subject", "object", "recipient"))
    who = NounPhrase(lexicon.WHO, "question")
    if role == "subject" and clause.subject.noun.kind in PERSONS and not owned and not no:
        return Sentence(replace(clause, subject=who), asks="noun")
    if role == "object" and clause.object and not no:
        person = clause.object.noun.kind in PERSONS
        if person or clause.verb.frame != "dative":
            asked = who if person else NounPhrase(lexicon.WHAT, "question")
            return Sentence(replace(clause, object=asked, negated=False), asks="noun")
    if role == "recipient" and clause.recipient and not no:
        return Sentence(replace(clause, recipient=who, negated=False), asks="noun")
    return _question(rng)


def _pronouns(clause: Clause) -> list[NounPhrase]:
    """Pronouns for the noun phrases of the clause: first the subject, then the object."""
    found = []
    for phrase in (clause.subject, clause.object):
        if phrase is None:
            continue
        noun = phrase.noun
        sexless = noun.kind == "child" and not is_plural(phrase)
        if phrase.determiner not in _UNREFERABLE and not sexless:
            found.append(replace(phrase, determiner="pronoun", adjective=None, relative=None))
        elif noun is SPEAKER and phrase is clause.subject:
            found.append(phrase)
    return found


def _second(rng: Random, first: Clause, *, tense: str = "") -> Clause:
    """A second clause, which mostly continues with a pronoun for a noun phrase of the first."""
    pronouns = _pronouns(first)
    subject = rng.choice(pronouns) if pronouns and maybe(rng, 0.85) else None
    others = [phrase for phrase in pronouns if phrase is not subject and phrase.noun is not SPEAKER]
    second = draw_clause(rng, subject=subject, objects=others, tense=tense)
    while second.verb is first.verb and second.verb is not BE:
        second = draw_clause(rng, subject=subject, objects=others, tense=tense)
    return second


def _clumsy(link: Link, first: Clause, second: Clause) -> bool:
    """Whether the two clauses repeat a quality, or date one "is" by another."""
    states = [clause.verb is BE for clause in (first, second)]
    if any(states) and link.tense == "same":  # before it was new
        return True
    used = (first.quality, first.subject.adjective)
    return all(states) and (link.tense != "any" or second.quality in used)


def _linked(rng: Random) -> Sentence:
    link = rng.choice(lexicon.LINKS)
    tense = link.tense if link.tense in ("present", "past") else draw_tense(rng, "")
    first = draw_clause(rng, tense=tense)
    explains = link.en in ("because", "although") and tense == "present"
    second = _second(rng, first, tense="" if explains else tense)
    if link.tense != "any":  # something that never happens cannot date something else
        first = replace(first, negated=False, frequency=None)
        second = replace(second, negated=False, frequency=None, time=None)
    if _clumsy(link, first, second):
        return _linked(rng)
    link_first = link.order == "final" and maybe(rng, 0.3)
    return Sentence(
        first if link_first else _front(rng, first), second, link=link, link_first=link_first
    )


def _reported(rng: Random) -> Sentence:
    asking = maybe(rng, 0.25)
    verb = rng.choice(verbs_of("asking" if asking else "reporting"))
    subject = draw_subject(rng, verb.subjects)
    first = Clause(verb, subject, tense=draw_tense(rng, ""))
    if not asking and subject.determiner in FIRM and maybe(rng, 0.13):
        first = replace(first, negated=True)
    link = lexicon.WHETHER if asking else lexicon.THAT
    tense = "past" if first.tense == "past" else ""
    return Sentence(first, _second(rng, first, tense=tense), link=link)


_BUILDERS = {
    "simple": _simple,
    "question": _question,
    "linked": _linked,
    "reported": _reported,
    "compared": _compared,
}


def sample_meaning(rng: Random) -> Sentence:
    """One meaning. Whether a language expresses it clearly, its ``unclear`` decides."""
    return _BUILDERS[draw(rng, _SHAPES)](rng)
