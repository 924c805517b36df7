"""Draw random clauses: who does what to whom, where and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

from course_lib.data.grammar import lexicon, word_lists
from course_lib.data.grammar.choices import (
    adjectives_of,
    draw,
    draw_noun,
    maybe,
    nouns_of,
    verbs_between,
    verbs_of,
    weighted_kinds,
)
from course_lib.data.grammar.lexicon import (
    ADJECTIVES,
    BE,
    HOMONYMS,
    SPEAKER,
    VERBS,
    Adjective,
    Noun,
    Verb,
)
from course_lib.data.grammar.meaning import NUMBERS, Clause, NounPhrase, roles
from course_lib.data.grammar.phrases import (
    ANYWHERE,
    DOING_LOCATIONS,
    PERSONS,
    draw_company,
    draw_location,
    draw_object,
    draw_phrase,
    draw_resting_location,
    draw_subject,
)

_FRAMES = {
    "transitive": 46,
    "intransitive": 15,
    "dative": 8,
    "giving": 9,
    "resting": 10,
    "moving": 8,
    "copula": 10,
}
_DESCRIBED = {"the": 6, "this": 2, "my": 4, "our": 2}  # is old


DOING = frozenset(word_lists.DOING.split())
FIRM = frozenset({"the", "my", "our", "own", "this", "name", "pronoun"})  # may be negated


def draw_clause(
    rng: Random,
    *,
    subject: NounPhrase | None = None,
    objects: Sequence[NounPhrase] = (),
    tense: str = "",
    plain: bool = False,
) -> Clause:
    """Draw a clause; its object may be one of the pronouns ``objects``, ``plain`` omits extras."""
    verb = _choose_verb(rng, subject, objects)
    if verb is BE:
        return _copula(rng, subject, tense=tense)
    subject = subject or draw_subject(rng, verb.subjects)
    thing = recipient = location = None
    if verb.objects:
        pronouns = [phrase for phrase in objects if phrase.noun.kind in verb.objects]
        if pronouns and maybe(rng, 0.9):
            thing = rng.choice(pronouns)
        else:
            noun = draw_noun(rng, verb.objects)
            while noun is subject.noun or (subject.partner and noun is subject.partner.noun):
                noun = draw_noun(rng, verb.objects)
            thing = draw_object(rng, noun, subject=subject)
    if verb.frame == "giving":
        noun = draw_noun(rng, PERSONS)
        while noun is subject.noun:
            noun = draw_noun(rng, PERSONS)
        people = [phrase for phrase in objects if phrase.noun.kind in PERSONS]
        recipient = rng.choice(people) if people else draw_object(rng, noun, subject=subject)
        if recipient.determiner == "no":
            recipient = replace(recipient, determiner="the")
    doing = verb.en.base in DOING
    if verb.frame == "resting":
        location = draw_resting_location(rng, verb, subject=subject)
    elif verb.frame == "moving":
        jumps = verb.en.base == "jump"
        whither = lexicon.INTO if jumps else rng.choice((lexicon.INTO, lexicon.TO))
        location = draw_location(rng, ANYWHERE, preposition=whither)
    elif doing and not plain and maybe(rng, 0.2):
        location = draw_location(rng, DOING_LOCATIONS)
    clause = Clause(verb, subject, object=thing, recipient=recipient, location=location)
    return _with_extras(rng, clause, tense=tense, doing=doing, plain=plain)


def _choose_verb(rng: Random, subject: NounPhrase | None, objects: Sequence[NounPhrase]) -> Verb:
    if subject and objects and maybe(rng, 0.6):
        fitting = verbs_between(subject.noun.kind, rng.choice(objects).noun.kind)
        if fitting:
            return rng.choice(fitting)
    if subject is None:
        frame = draw(rng, _FRAMES)
        return BE if frame == "copula" else rng.choice(verbs_of(frame))
    for _ in range(3):  # a thing has few verbs: after three tries, take "is"
        frame = draw(rng, _FRAMES)
        verbs = [] if frame == "copula" else verbs_of(frame, subject.noun.kind)
        if verbs:
            return rng.choice(verbs)
    return BE


def draw_tense(rng: Random, tense: str) -> str:
    """The given tense, if any, else mostly the present."""
    return tense or ("past" if maybe(rng, 0.32) else "present")


def _with_extras(rng: Random, clause: Clause, *, tense: str, doing: bool, plain: bool) -> Clause:
    free = tense != "past" and not plain
    modal = rng.choice(lexicon.MODALS) if free and maybe(rng, 0.13) else None
    person = clause.subject.noun.kind in PERSONS or clause.subject.noun is SPEAKER
    if modal and not person and modal.en[0] in ("want", "should", "may"):
        modal = lexicon.MODALS[0]
    clause, negated = _negate(rng, clause)
    may_be_fond = doing and person and free and not (modal or negated or clause.location)
    fond = may_be_fond and maybe(rng, 0.25)
    tense = "present" if modal or fond else draw_tense(rng, tense)
    time = frequency = manner = company = None
    if not plain:
        if maybe(rng, 0.22):
            time = _time(rng, tense, has_modal=modal is not None, negated=negated)
        elif not (negated or modal or fond or clause.recipient) and maybe(rng, 0.12):
            frequency = rng.choice(lexicon.FREQUENCIES)
        if doing and not fond and not negated and clause.location is None and maybe(rng, 0.2):
            manner = rng.choice(lexicon.MANNERS)
        elif doing and person and not negated and clause.location is None and maybe(rng, 0.2):
            company = draw_company(rng, clause.subject)
    return replace(
        clause,
        tense=tense,
        modal=modal,
        fond=fond,
        negated=negated and not _has_no(clause),
        time=time,
        frequency=frequency,
        manner=manner,
        company=company,
    )


def _has_no(clause: Clause) -> bool:
    return any(phrase.determiner == "no" for _, phrase in roles(clause))


def _negate(rng: Random, clause: Clause) -> tuple[Clause, bool]:
    """The clause with at most one negation ("no" in a phrase, or "not"), and whether it has one."""
    subject, thing = clause.subject, clause.object
    if subject.determiner == "no":
        if thing and thing.determiner in ("no", "a", "bare"):
            thing = replace(thing, determiner="the")
        return replace(clause, object=thing), True
    phrases = [phrase for role, phrase in roles(clause) if role in ("subject", "object")]
    if thing and thing.determiner == "no":
        if subject.determiner in FIRM:
            return clause, True
        return replace(clause, object=replace(thing, determiner="the")), False
    firm = all(phrase.determiner in FIRM for phrase in phrases)
    return clause, firm and maybe(rng, 0.13)


def _time(rng: Random, tense: str, *, has_modal: bool, negated: bool) -> lexicon.Adverb:
    now = "modal" if has_modal else tense
    times = [time for time in lexicon.TIMES if time.use in ("any", now)]
    # "Not every day" is not "every day not".
    return rng.choice([time for time in times if not (negated and time.key == "every day")])


@cache
def _describable(adjective: Adjective) -> list[Noun]:
    """Nouns that "is old" does not leave ambiguous."""
    nouns = [n for kind in weighted_kinds(adjective.kinds) for n in nouns_of(kind)]
    return [noun for noun in nouns if noun not in HOMONYMS]


@cache
def kinds_describable(adjective: Adjective) -> frozenset[str]:
    """The kinds of the nouns that this adjective can describe clearly."""
    return frozenset(noun.kind for noun in _describable(adjective))


def _copula(rng: Random, subject: NounPhrase | None, *, tense: str) -> Clause:
    """Somebody or something is old, or is somewhere."""
    if subject is None:
        adjective = rng.choice(ADJECTIVES)
        noun = rng.choice(nouns_of(rng.choice(weighted_kinds(kinds_describable(adjective)))))
        subject = draw_phrase(rng, noun, determiners=_DESCRIBED, described=0.35)
        if subject.adjective is adjective:
            subject = replace(subject, adjective=None)
    else:
        known = adjectives_of(subject.noun.kind) or adjectives_of("bench")
        adjective = rng.choice(known)
    tense = draw_tense(rng, tense)
    negated = subject.determiner in FIRM and maybe(rng, 0.13)
    time = frequency = None
    if maybe(rng, 0.1):
        time = _time(rng, tense, has_modal=False, negated=negated)
    elif not negated and subject.determiner != "no" and maybe(rng, 0.1):
        frequency = rng.choice(lexicon.FREQUENCIES)
    return Clause(
        BE,
        subject,
        quality=adjective,
        tense=tense,
        negated=negated,
        time=time,
        frequency=frequency,
    )


def _relative(rng: Random, head: NounPhrase) -> Clause | None:
    """A clause about the head, with a relative pronoun in place of the head."""
    pronoun = NounPhrase(head.noun, "relative", plural=head.plural)
    if maybe(rng, 0.5):
        clause = draw_clause(rng, subject=pronoun, plain=True)
        return clause if clause.subject is pronoun else None
    takers = [
        v for v in VERBS if v.frame in ("transitive", "dative") and head.noun.kind in v.objects
    ]
    if not takers:
        return None
    verb = rng.choice(takers)
    subject = draw_phrase(
        rng, draw_noun(rng, verb.subjects - {"child"}), determiners={"the": 3, "my": 1}
    )
    if subject.noun is head.noun:
        return None
    return Clause(verb, replace(subject, adjective=None), object=pronoun, tense=draw_tense(rng, ""))


def add_relative(rng: Random, clause: Clause) -> Clause:
    """The clause with a relative clause after its subject, or after an object that ends it."""
    role = rng.choice(("subject", "object"))
    head = clause.object if role == "object" else clause.subject
    if head is None or head.determiner not in (
        "the",
        "a",
        "this",
        "many",
        "some",
        *NUMBERS,
    ):
        return clause
    ends = clause.tense == "present" and not (
        clause.modal or clause.location or clause.company or clause.manner or clause.verb.de.prefix
    )
    if head.partner or head.noun.mass or (role == "object" and (not ends or clause.negated)):
        return clause
    relative = _relative(rng, head)
    if relative is None or (relative.verb is BE and clause.verb is BE):
        return clause
    head = replace(head, relative=relative)
    return replace(clause, object=head) if role == "object" else replace(clause, subject=head)
