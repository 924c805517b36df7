"""Draw meanings at random: which senses go together, and how often each construction comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from course_lib.data.grammar import lexicon, tables
from course_lib.data.grammar.lexicon import (
    ADJECTIVES,
    BE,
    HOMONYMS,
    SPEAKER,
    VERBS,
    Adjective,
    Link,
    Noun,
    Preposition,
    Verb,
)
from course_lib.data.grammar.meaning import (
    NUMBERS,
    Clause,
    NounPhrase,
    Place,
    Sentence,
    is_plural,
    roles,
)

T = TypeVar("T")

_FRAMES = {
    "transitive": 46,
    "intransitive": 15,
    "dative": 8,
    "giving": 9,
    "resting": 10,
    "moving": 8,
    "copula": 10,
}
_SHAPES = {"simple": 34, "question": 16, "linked": 30, "reported": 12, "compared": 10}
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
_PLACE = {"the": 70, "a": 16, "this": 8, "our": 6}
_DESCRIBED = {"the": 6, "this": 2, "my": 4, "our": 2}  # is old
_COMPARED = {"the": 4, "a": 6, "this": 1, "my": 3, "our": 1}  # is older than
_COMPANY = {"the": 5, "own": 4, "a": 2}
# A goal is scored, not owned; of a lake, a sea or a queue there is one.
_ONLY = {
    "lake": {"the": 1},
    "sea": {"the": 1},
    "queue": {"the": 1},
    "goal": {"a": 5, "the": 2, "plural": 3},
}
_SINGULAR = frozenset({"lake", "sea", "queue", "area", "building", "tree"})
# Kinds are drawn before nouns: a kind of one noun, as all ambiguous words are, is seen often.
_KIND_WEIGHTS = {
    **{"man": 4, "woman": 4, "animal": 2, "speaker": 2, "fruit": 2},
    **{"bench": 3, "ceiling": 4, "court": 3, "bank": 2, "pear": 2, "lock": 2, "snake": 2},
}
_UNOWNED = frozenset(tables.UNOWNED.split())
_DOING = frozenset(tables.DOING.split())
_PERSONS = frozenset({"man", "woman", "child"})
_FIRM = frozenset({"the", "my", "our", "own", "this", "name", "pronoun"})  # may be negated
_UNREFERABLE = frozenset({"no", "every", "bare", "question", "much", "pronoun"})


@cache
def _weighted(table: tuple[tuple[str, int], ...]) -> list[str]:
    return [name for name, weight in table for _ in range(weight)]


def _draw(rng: Random, table: dict[str, int]) -> str:
    return rng.choice(_weighted(tuple(table.items())))


def _maybe(rng: Random, probability: float) -> bool:
    return rng.random() < probability


@cache
def nouns_of(kind: str) -> list[Noun]:
    """The nouns of one kind; the speaker is a kind of its own."""
    return [SPEAKER] if kind == "speaker" else [n for n in lexicon.NOUNS if n.kind == kind]


@cache
def _kinds(kinds: frozenset[str]) -> list[str]:
    # Sorted, because a set has no stable order and a seed must mean one thing.
    return [kind for kind in sorted(kinds) for _ in range(_KIND_WEIGHTS.get(kind, 1))]


@cache
def _verbs(frame: str, kind: str = "") -> list[Verb]:
    return [v for v in VERBS if v.frame == frame and (not kind or kind in v.subjects)]


@cache
def _verbs_between(subject: str, thing: str) -> list[Verb]:
    frames = ("transitive", "dative")
    return [v for frame in frames for v in _verbs(frame, subject) if thing in v.objects]


@cache
def adjectives_of(kind: str) -> list[Adjective]:
    """The adjectives that a noun of this kind may have."""
    return [adjective for adjective in ADJECTIVES if kind in adjective.kinds]


def _noun(rng: Random, kinds: frozenset[str]) -> Noun:
    return rng.choice(nouns_of(rng.choice(_kinds(kinds))))


def _phrase(
    rng: Random, noun: Noun, *, determiners: dict[str, int], described: float = 0.25
) -> NounPhrase:
    if noun is SPEAKER:
        return NounPhrase(noun, "pronoun", plural=_maybe(rng, 0.4))
    if noun.name:
        return NounPhrase(noun, "name")
    if noun.mass:
        determiners = _MASS if "own" in determiners else _MASS_SUBJECT
    if noun.kind in _SINGULAR:
        determiners = _PLACE
    determiner = _draw(rng, _ONLY.get(noun.kind, determiners))
    if determiner in ("my", "our", "own") and noun.en.singular in _UNOWNED:
        determiner = "the"
    plural = determiner == "plural"
    if plural:
        determiner = _draw(rng, _PLURAL)
    elif determiner in ("the", "my", "our", "own", "no", "this") and not (
        noun.mass or noun.kind in _SINGULAR
    ):
        plural = _maybe(rng, 0.3)
    adjectives = adjectives_of(noun.kind)
    described_as = rng.choice(adjectives) if adjectives and _maybe(rng, described) else None
    return NounPhrase(noun, determiner, plural, described_as)


def _subject(rng: Random, kinds: frozenset[str]) -> NounPhrase:
    subject = _phrase(rng, _noun(rng, kinds), determiners=_SUBJECT)
    definite = subject.determiner in ("the", "name") and not subject.plural
    if definite and subject.noun.kind in _PERSONS and _maybe(rng, 0.06):
        other = _noun(rng, frozenset({"man", "woman"}))
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


def _object(rng: Random, noun: Noun, subject: NounPhrase) -> NounPhrase:
    if noun.kind in _PERSONS and subject.noun is not SPEAKER and _maybe(rng, 0.06):
        return NounPhrase(SPEAKER, "pronoun", plural=_maybe(rng, 0.4))
    phrase = _phrase(rng, noun, determiners=_OBJECT)
    if phrase.determiner == "own" and not _can_own(subject):
        return replace(phrase, determiner="the")
    return phrase


@cache
def _prepositions(kind: str) -> list[Preposition]:
    return [preposition for preposition in lexicon.PLACES if kind in preposition.kinds]


def _place(rng: Random, kinds: frozenset[str], *, preposition: Preposition | None = None) -> Place:
    if preposition is None and _maybe(rng, 0.2):
        return Place(adverb=rng.choice(lexicon.HERE))
    noun = _noun(rng, preposition.kinds if preposition else kinds)
    preposition = preposition or rng.choice(_prepositions(noun.kind))
    described = 0.0 if noun.kind in _ONLY else 0.15
    phrase = _phrase(rng, noun, determiners=_PLACE, described=described)
    return Place(preposition, replace(phrase, plural=False))


_ANYWHERE = lexicon.expand(tables.ANYWHERE)
_DOING_PLACES = lexicon.expand(tables.DOING_PLACES)
_RESTING = {base: lexicon.expand(classes) for base, classes in tables.RESTING.items()}


def _resting_place(rng: Random, verb: Verb, subject: NounPhrase) -> Place:
    person = subject.noun.kind in _PERSONS or subject.noun is SPEAKER
    if person and verb.en.base in ("wait", "stand") and _maybe(rng, 0.25):
        return _place(rng, _ANYWHERE, preposition=lexicon.QUEUE)
    return _place(rng, _RESTING.get(verb.en.base, _ANYWHERE))


def _company(rng: Random, subject: NounPhrase) -> Place:
    preposition = lexicon.WITH if _maybe(rng, 0.7) else lexicon.WITHOUT
    noun = _noun(rng, preposition.kinds)
    if noun is subject.noun:
        noun = lexicon.NAMES[0] if subject.noun is not lexicon.NAMES[0] else lexicon.NAMES[1]
    phrase = _phrase(rng, noun, determiners=_COMPANY)
    if phrase.determiner == "own" and not _can_own(subject):
        phrase = replace(phrase, determiner="the")
    if noun.kind == "animal":
        phrase = replace(phrase, plural=False)
    return Place(preposition, phrase)


def _clause(
    rng: Random,
    *,
    subject: NounPhrase | None = None,
    objects: Sequence[NounPhrase] = (),
    tense: str = "",
    plain: bool = False,
) -> Clause:
    """Draw a clause; ``objects`` are pronouns for its object to be, ``plain`` drops extras."""
    verb = _choose_verb(rng, subject, objects)
    if verb is BE:
        return _copula(rng, subject, tense=tense)
    subject = subject or _subject(rng, verb.subjects)
    thing = recipient = place = None
    if verb.objects:
        pronouns = [phrase for phrase in objects if phrase.noun.kind in verb.objects]
        if pronouns and _maybe(rng, 0.9):
            thing = rng.choice(pronouns)
        else:
            noun = _noun(rng, verb.objects)
            while noun is subject.noun or (subject.partner and noun is subject.partner.noun):
                noun = _noun(rng, verb.objects)
            thing = _object(rng, noun, subject)
    if verb.frame == "giving":
        noun = _noun(rng, _PERSONS)
        while noun is subject.noun:
            noun = _noun(rng, _PERSONS)
        people = [phrase for phrase in objects if phrase.noun.kind in _PERSONS]
        recipient = rng.choice(people) if people else _object(rng, noun, subject)
        if recipient.determiner == "no":
            recipient = replace(recipient, determiner="the")
    doing = verb.en.base in _DOING
    if verb.frame == "resting":
        place = _resting_place(rng, verb, subject)
    elif verb.frame == "moving":
        jumps = verb.en.base == "jump"
        whither = lexicon.INTO if jumps else rng.choice((lexicon.INTO, lexicon.TO))
        place = _place(rng, _ANYWHERE, preposition=whither)
    elif doing and not plain and _maybe(rng, 0.2):
        place = _place(rng, _DOING_PLACES)
    clause = Clause(verb, subject, thing, recipient, place)
    return _with_extras(rng, clause, tense=tense, doing=doing, plain=plain)


def _choose_verb(rng: Random, subject: NounPhrase | None, objects: Sequence[NounPhrase]) -> Verb:
    if subject and objects and _maybe(rng, 0.6):
        fitting = _verbs_between(subject.noun.kind, rng.choice(objects).noun.kind)
        if fitting:
            return rng.choice(fitting)
    if subject is None:
        frame = _draw(rng, _FRAMES)
        return BE if frame == "copula" else rng.choice(_verbs(frame))
    for _ in range(3):  # a thing has few verbs: after three tries it simply is something
        frame = _draw(rng, _FRAMES)
        verbs = [] if frame == "copula" else _verbs(frame, subject.noun.kind)
        if verbs:
            return rng.choice(verbs)
    return BE


def _tense(rng: Random, tense: str) -> str:
    return tense or ("past" if _maybe(rng, 0.32) else "present")


def _with_extras(rng: Random, clause: Clause, *, tense: str, doing: bool, plain: bool) -> Clause:
    free = tense != "past" and not plain
    modal = rng.choice(lexicon.MODALS) if free and _maybe(rng, 0.13) else None
    person = clause.subject.noun.kind in _PERSONS or clause.subject.noun is SPEAKER
    if modal and not person and modal.en[0] in ("want", "should", "may"):
        modal = lexicon.MODALS[0]
    clause, negated = _negate(rng, clause)
    may_be_fond = doing and person and free and not (modal or negated or clause.place)
    fond = may_be_fond and _maybe(rng, 0.25)
    tense = "present" if modal or fond else _tense(rng, tense)
    time = frequency = manner = company = None
    if not plain:
        if _maybe(rng, 0.22):
            time = _time(rng, tense, has_modal=modal is not None, negated=negated)
        elif not (negated or modal or fond or clause.recipient) and _maybe(rng, 0.12):
            frequency = rng.choice(lexicon.FREQUENCIES)
        if doing and not fond and not negated and clause.place is None and _maybe(rng, 0.2):
            manner = rng.choice(lexicon.MANNERS)
        elif doing and person and not negated and clause.place is None and _maybe(rng, 0.2):
            company = _company(rng, clause.subject)
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
    """The clause with at most one negation, and whether it has one ("no" in a phrase, or not)."""
    subject, thing = clause.subject, clause.object
    if subject.determiner == "no":
        if thing and thing.determiner in ("no", "a", "bare"):
            thing = replace(thing, determiner="the")
        return replace(clause, object=thing), True
    phrases = [phrase for role, phrase in roles(clause) if role in ("subject", "object")]
    if thing and thing.determiner == "no":
        if subject.determiner in _FIRM:
            return clause, True
        return replace(clause, object=replace(thing, determiner="the")), False
    firm = all(phrase.determiner in _FIRM for phrase in phrases)
    return clause, firm and _maybe(rng, 0.13)


def _time(rng: Random, tense: str, *, has_modal: bool, negated: bool) -> lexicon.Adverb:
    now = "modal" if has_modal else tense
    times = [time for time in lexicon.TIMES if time.use in ("any", now)]
    # "Not every day" is not "every day not".
    return rng.choice([time for time in times if not (negated and time.key == "every day")])


@cache
def _describable(adjective: Adjective) -> list[Noun]:
    """Nouns that "is old" does not leave ambiguous."""
    nouns = [n for kind in _kinds(adjective.kinds) for n in nouns_of(kind)]
    return [noun for noun in nouns if noun not in HOMONYMS]


@cache
def _kinds_describable(adjective: Adjective) -> frozenset[str]:
    return frozenset(noun.kind for noun in _describable(adjective))


def _copula(rng: Random, subject: NounPhrase | None, *, tense: str) -> Clause:
    """Somebody or something is old, or is somewhere."""
    if subject is None:
        adjective = rng.choice(ADJECTIVES)
        noun = rng.choice(nouns_of(rng.choice(_kinds(_kinds_describable(adjective)))))
        subject = _phrase(rng, noun, determiners=_DESCRIBED, described=0.35)
        if subject.adjective is adjective:
            subject = replace(subject, adjective=None)
    else:
        known = adjectives_of(subject.noun.kind) or adjectives_of("bench")
        adjective = rng.choice(known)
    tense = _tense(rng, tense)
    negated = subject.determiner in _FIRM and _maybe(rng, 0.13)
    time = frequency = None
    if _maybe(rng, 0.1):
        time = _time(rng, tense, has_modal=False, negated=negated)
    elif not negated and subject.determiner != "no" and _maybe(rng, 0.1):
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


def _compared_phrase(rng: Random, noun: Noun, adjective: Adjective) -> NounPhrase:
    phrase = _phrase(rng, noun, determiners=_COMPARED, described=0.4)
    return replace(phrase, adjective=None) if phrase.adjective is adjective else phrase


def _compared(rng: Random) -> Sentence:
    adjective = rng.choice([a for a in ADJECTIVES if a.de_comparative])
    kind = rng.choice([k for k in _kinds(_kinds_describable(adjective)) if len(nouns_of(k)) > 1])
    first, second = rng.sample(nouns_of(kind), 2)
    clause = Clause(
        BE,
        _compared_phrase(rng, first, adjective),
        quality=adjective,
        degree="comparative" if _maybe(rng, 0.7) else "equal",
        standard=_compared_phrase(rng, second, adjective),
        tense=_tense(rng, ""),
    )
    return Sentence(replace(clause, negated=clause.degree == "equal" and _maybe(rng, 0.3)))


def _relative(rng: Random, head: NounPhrase) -> Clause | None:
    """A clause about the head, with a relative pronoun in the head's place."""
    pronoun = NounPhrase(head.noun, "relative", head.plural)
    if _maybe(rng, 0.5):
        clause = _clause(rng, subject=pronoun, plain=True)
        return clause if clause.subject is pronoun else None
    takers = [
        v for v in VERBS if v.frame in ("transitive", "dative") and head.noun.kind in v.objects
    ]
    if not takers:
        return None
    verb = rng.choice(takers)
    subject = _phrase(rng, _noun(rng, verb.subjects - {"child"}), determiners={"the": 3, "my": 1})
    if subject.noun is head.noun:
        return None
    return Clause(verb, replace(subject, adjective=None), pronoun, tense=_tense(rng, ""))


def _add_relative(rng: Random, clause: Clause) -> Clause:
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
        clause.modal or clause.place or clause.company or clause.manner or clause.verb.de.prefix
    )
    if head.partner or head.noun.mass or (role == "object" and (not ends or clause.negated)):
        return clause
    relative = _relative(rng, head)
    if relative is None or (relative.verb is BE and clause.verb is BE):
        return clause
    head = replace(head, relative=relative)
    return replace(clause, object=head) if role == "object" else replace(clause, subject=head)


def _front(rng: Random, clause: Clause) -> Clause:
    """Let another role than the subject open the clause; languages may ignore it."""
    choices = []
    if clause.time:
        choices += ["time", "time"]
    if clause.place and clause.place.noun_phrase and clause.verb.frame == "resting":
        choices.append("place")
    for role in ("object", "recipient"):
        phrase = clause.object if role == "object" else clause.recipient
        if phrase and phrase.determiner in ("the", "my", "our", "this", "name"):
            fits = clause.subject.determiner not in ("no", "every")
            choices += [role] if fits and not phrase.relative and not clause.negated else []
    if not choices or clause.subject.relative or not _maybe(rng, 0.5):
        return clause
    return replace(clause, front=rng.choice(choices))


def _simple(rng: Random) -> Sentence:
    clause = _clause(rng)
    if _maybe(rng, 0.6):
        clause = _add_relative(rng, clause)
    return Sentence(_front(rng, clause))


def _question(rng: Random) -> Sentence:
    clause = _clause(rng)
    asks = rng.choice(("truth", "truth", "noun", "noun", "where", "when", "why"))
    if asks == "truth":
        return Sentence(clause, asks=asks)
    if asks == "where":
        somewhere = (
            clause.verb.frame in ("resting", "intransitive") or clause.verb.en.base in _DOING
        )
        if clause.verb.frame in ("moving", "copula") or not somewhere:
            return _question(rng)
        return Sentence(replace(clause, place=None, company=None, manner=None), asks=asks)
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
    if role == "subject" and clause.subject.noun.kind in _PERSONS and not owned and not no:
        return Sentence(replace(clause, subject=who), asks="noun")
    if role == "object" and clause.object and not no:
        person = clause.object.noun.kind in _PERSONS
        if person or clause.verb.frame != "dative":
            asked = who if person else NounPhrase(lexicon.WHAT, "question")
            return Sentence(replace(clause, object=asked, negated=False), asks="noun")
    if role == "recipient" and clause.recipient and not no:
        return Sentence(replace(clause, recipient=who, negated=False), asks="noun")
    return _question(rng)


def _pronouns(clause: Clause) -> list[NounPhrase]:
    """Pronouns for what the clause has named: the subject's first, then the object's."""
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
    """A clause that goes on about the first one's subject or object, as a pronoun, or does not."""
    pronouns = _pronouns(first)
    subject = rng.choice(pronouns) if pronouns and _maybe(rng, 0.85) else None
    others = [phrase for phrase in pronouns if phrase is not subject and phrase.noun is not SPEAKER]
    second = _clause(rng, subject=subject, objects=others, tense=tense)
    while second.verb is first.verb and second.verb is not BE:
        second = _clause(rng, subject=subject, objects=others, tense=tense)
    return second


def _clumsy(link: Link, first: Clause, second: Clause) -> bool:
    """Whether the two clauses repeat a quality, or put one "is" in time by another."""
    states = [clause.verb is BE for clause in (first, second)]
    if any(states) and link.tense == "same":  # before it was new
        return True
    said = (first.quality, first.subject.adjective)
    return all(states) and (link.tense != "any" or second.quality in said)


def _linked(rng: Random) -> Sentence:
    link = rng.choice(lexicon.LINKS)
    tense = link.tense if link.tense in ("present", "past") else _tense(rng, "")
    first = _clause(rng, tense=tense)
    explains = link.en in ("because", "although") and tense == "present"
    second = _second(rng, first, tense="" if explains else tense)
    if link.tense != "any":  # what never happens gives no time to something else
        first = replace(first, negated=False, frequency=None)
        second = replace(second, negated=False, frequency=None, time=None)
    if _clumsy(link, first, second):
        return _linked(rng)
    link_first = link.order == "final" and _maybe(rng, 0.3)
    return Sentence(first if link_first else _front(rng, first), second, link, link_first)


def _reported(rng: Random) -> Sentence:
    asking = _maybe(rng, 0.25)
    verb = rng.choice(_verbs("asking" if asking else "reporting"))
    subject = _subject(rng, verb.subjects)
    first = Clause(verb, subject, tense=_tense(rng, ""))
    if not asking and subject.determiner in _FIRM and _maybe(rng, 0.13):
        first = replace(first, negated=True)
    link = lexicon.WHETHER if asking else lexicon.THAT
    tense = "past" if first.tense == "past" else ""
    return Sentence(first, _second(rng, first, tense=tense), link)


_BUILDERS = {
    "simple": _simple,
    "question": _question,
    "linked": _linked,
    "reported": _reported,
    "compared": _compared,
}


def sample_meaning(rng: Random) -> Sentence:
    """One meaning; whether a language can say it clearly is for that language to judge."""
    return _BUILDERS[_draw(rng, _SHAPES)](rng)
