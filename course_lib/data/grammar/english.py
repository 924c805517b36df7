"""English: do-support, agreement, fixed word order.

How function words are aligned, by shared keys: "do" expresses what it supports (the verb, the modal
or "like"); "to" after want, have and like belongs to them; "to" before a recipient translates the
dative; "more" expresses the adjective it compares; "a" and "any" after "not" translate "kein".
"""

from __future__ import annotations

from course_lib.data.grammar.lexicon import BE, SPEAKER
from course_lib.data.grammar.meaning import (
    Adverbial,
    Clause,
    NounPhrase,
    Sentence,
    is_plural,
    person,
    roles,
)
from course_lib.data.grammar.word_alignment import Word, maybe_adverb

_PERSONS = ("man", "woman", "child")
_BE = {"present": "am is are are", "past": "was was were were"}
_PRONOUNS = {  # subject, object, possessive
    "m": ("he", "him", "his"),
    "f": ("she", "her", "her"),
    "": ("it", "it", "its"),
    "p": ("they", "them", "their"),
}
_SPEAKER = (("i", "me", "my"), ("we", "us", "our"))
_WH = {"where": "l", "when": "t", "why": "y"}
_COMMA = ("aber", "deshalb")  # links that have a comma before them in English, too


def _pronoun(phrase: NounPhrase) -> tuple[str, str, str]:
    if phrase.noun is SPEAKER:
        return _SPEAKER[phrase.plural]
    return _PRONOUNS["p" if is_plural(phrase) else phrase.noun.sex]


def _determiner(phrase: NounPhrase, owner: NounPhrase, *, negated: bool) -> str:
    name = phrase.determiner
    if name == "own":
        return _pronoun(owner)[2]
    if name == "no" and negated:
        return "any" if phrase.plural or phrase.noun.mass else "a"
    if name == "this":
        return "these" if phrase.plural else "this"
    return "" if name in ("bare", "name") else name


def phrase_words(
    phrase: NounPhrase, path: str, *, owner: NounPhrase, negated: bool = False
) -> list[Word]:
    """A noun phrase; ``negated`` if the clause has "not" instead of the phrase's "no"."""
    key = (path + "n",)
    if phrase.noun is SPEAKER or phrase.determiner == "pronoun":
        return [Word(_pronoun(phrase)[not path.endswith("s")], key)]
    if phrase.determiner == "relative":
        return [Word("who" if phrase.noun.kind in _PERSONS else "that", key)]
    noun = phrase.noun.en.plural if phrase.plural else phrase.noun.en.singular
    if phrase.determiner == "question":
        return [Word(noun, key)]
    determiner = _determiner(phrase, owner, negated=negated)
    words = [Word(determiner, (path + "d",))] if determiner else []
    if phrase.adjective:
        words.append(Word(phrase.adjective.en, (path + "a",)))
    words.append(Word(noun, key))
    if phrase.partner:
        words.append(Word("and", (path + "&",)))
        words += phrase_words(phrase.partner, path + "&", owner=owner)
    if phrase.relative:
        words += clause_words(phrase.relative, path + "r")
    return words


def _adverbial(adverbial: Adverbial | None, path: str, owner: NounPhrase) -> list[Word]:
    if adverbial is None:
        return []
    if adverbial.adverb:
        return maybe_adverb(adverbial.adverb, "en", key=path + "n")
    assert adverbial.preposition and adverbial.noun_phrase
    words = [Word(text, (path + "p",)) for text in adverbial.preposition.en.split()]
    return words + phrase_words(adverbial.noun_phrase, path, owner=owner)


def _head(clause: Clause, path: str) -> tuple[list[str], tuple[str, ...], list[Word]]:
    """The verb that takes tense and person (base, third person, past), its key, what follows it."""
    verb, key = clause.verb.en, (path + "v",)
    rest = [Word(text, key) for text in verb.rest]
    if clause.modal:
        base, *to = clause.modal.en
        third = {"want": "wants", "have": "has"}.get(base, base)
        head = (path + "m",)
        return (
            [base, third, base],
            head,
            [*(Word(t, head) for t in to), Word(verb.base, key), *rest],
        )
    if clause.fond:
        head = (path + "g",)
        return (
            ["like", "likes", "liked"],
            head,
            [Word("to", head), Word(verb.base, key), *rest],
        )
    return [verb.base, verb.third, verb.past], key, rest


def _verb(clause: Clause, path: str, *, inverted: bool) -> tuple[list[Word], list[Word]]:
    """The auxiliary, which precedes the subject in a question, with "not"; and the other verbs."""
    (base, third, past), head, rest = _head(clause, path)
    who = person(clause.subject)
    negated = clause.negated or (clause.object is not None and clause.object.determiner == "no")
    negation = (path + "-",)
    no = [Word("not", negation)] if negated else []
    if clause.verb is BE:
        return [Word(_BE[clause.tense].split()[who], head), *no], []
    if base in ("can", "should", "may"):
        if negated and base == "can" and not inverted:
            return [Word("cannot", (*head, *negation))], rest
        return [Word(base, head), *no], rest
    if negated or inverted:
        present = "does" if who == 1 else "do"
        do = "did" if clause.tense == "past" else present
        return [Word(do, head), *no], [Word(base, head), *rest]
    form = past if clause.tense == "past" else third if who == 1 else base
    return [], [Word(form, head), *rest]


def _quality(clause: Clause, path: str) -> list[Word]:
    if clause.quality is None:
        return []
    key, adjective = (path + "q",), clause.quality
    if clause.degree == "positive" or clause.standard is None:
        return [Word(adjective.en, key)]
    standard = phrase_words(clause.standard, path + "x", owner=clause.subject)
    if clause.degree == "equal":
        so, as_ = Word("as", (path + "so",)), Word("as", (path + "xp",))
        return [so, Word(adjective.en, key), as_, *standard]
    longer = [Word("more", key), Word(adjective.en, key)]
    shorter = [Word(adjective.en_comparative, key)]
    compared = longer if adjective.en_comparative == "-" else shorter
    return [*compared, Word("than", (path + "xp",)), *standard]


def _objects(clause: Clause, path: str, hidden: str) -> list[Word]:
    """Particle, object and recipient; ``hidden`` is the role that has been moved to the front."""
    owner = clause.subject
    particle = [Word(clause.verb.en.particle, (path + "v",))] if clause.verb.en.particle else []
    words = particle
    if clause.object and hidden != "object":
        negated = clause.object.determiner == "no"
        thing = phrase_words(clause.object, path + "o", owner=owner, negated=negated)
        pronoun = clause.object.determiner == "pronoun"
        words = thing + particle if pronoun else particle + thing
    if clause.recipient:
        words = [*words, Word("to", (path + "rp",))]
        if hidden != "recipient":
            words += phrase_words(clause.recipient, path + "r", owner=owner)
    return words


def clause_words(clause: Clause, path: str, *, asks: str = "") -> list[Word]:
    """The clause; a relative pronoun or question word comes first, and a question inverts."""
    hidden, front = "", []
    for role, phrase in roles(clause):
        if phrase.determiner in ("relative", "question"):
            hidden = role
            if role != "subject":
                front = phrase_words(phrase, path + role[0], owner=clause.subject)
    inverted = bool(asks) and hidden != "subject"
    auxiliary, verbs = _verb(clause, path, inverted=inverted)
    subject = phrase_words(clause.subject, path + "s", owner=clause.subject)
    frequency = maybe_adverb(clause.frequency, "en", key=path + "f")
    time = maybe_adverb(clause.time, "en", key=path + "t")
    if asks in _WH:
        front = [Word(asks, (path + _WH[asks],))]
    elif clause.front == "time" and not asks:
        front, time = time, []
    # In a question "not" follows the subject: does the man not read?
    before, after = (auxiliary[:1], auxiliary[1:]) if inverted else ([], auxiliary)
    return [
        *front,
        *before,
        *subject,
        *after,
        *frequency,
        *verbs,
        *_objects(clause, path, hidden),
        *_quality(clause, path),
        *maybe_adverb(clause.manner, "en", key=path + "h"),
        *_adverbial(clause.company, path + "c", clause.subject),
        *_adverbial(clause.location, path + "l", clause.subject),
        *time,
    ]


def _a_or_an(words: list[Word]) -> list[Word]:
    following = [*words[1:], Word(".")]
    return [
        Word("an", word.keys) if word.text == "a" and after.text[0] in "aeiou" else word
        for word, after in zip(words, following, strict=True)
    ]


def sentence_words(sentence: Sentence) -> list[Word]:
    """The English sentence, punctuation included."""
    stop = Word("?" if sentence.asks else ".", (".",))
    words = clause_words(sentence.first, "0", asks=sentence.asks)
    if sentence.second and sentence.link:
        link, comma = Word(sentence.link.en, ("k",)), Word(",", ("k,",))
        second = clause_words(sentence.second, "1")
        if sentence.link_first:
            words = [link, *words, comma, *second]
        else:
            words += [comma, link] if sentence.link.de in _COMMA else [link]
            words += second
    return _a_or_an([*words, stop])
