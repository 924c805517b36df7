"""German: case, agreement, the position of the verb, and word order.

How function words are aligned, by shared keys: the auxiliary of the perfect and a separable prefix
express the verb; a preposition contracted with an article ("im") has the keys of both; "kein" is
both a negation and a determiner; the first word of a recipient carries the dative, which is English
"to". Commas have a key only between clauses, where English may have one too.
"""

from __future__ import annotations

from course_lib.data.grammar.lexicon import (
    BE,
    HOMONYM_VERBS,
    SPEAKER,
    WHAT,
    Adjective,
    Noun,
    Preposition,
)
from course_lib.data.grammar.meaning import (
    Adverbial,
    Clause,
    NounPhrase,
    Sentence,
    has_unclear_pronoun,
    is_plural,
    person,
    roles,
)
from course_lib.data.grammar.word_alignment import Word, maybe_adverb

_CASES = ("nominative", "accusative", "dative")
_Forms = dict[str, dict[str, str]]  # by case, then by gender


def _forms(*rows: str) -> _Forms:
    """Rows in the order of the cases, each with the forms for m, f, n and the plural p."""
    return {
        case: {gender: form.strip("-") for gender, form in zip("mfnp", row.split(), strict=True)}
        for case, row in zip(_CASES, rows, strict=True)
    }


_THE = _forms("der die das die", "den die das die", "dem der dem den")
_RELATIVE = _forms("der die das die", "den die das die", "dem der dem denen")
_PRONOUN = _forms("er sie es sie", "ihn sie es sie", "ihm ihr ihm ihnen")
_THIS_ENDING = _forms("er e es e", "en e es e", "em er em en")
_A_ENDING = _forms("- e - e", "en e - e", "em er em en")
_WEAK = _forms("e e e en", "en e e en", "en en en en")
_MIXED = _forms("er e es en", "en e es en", "en en en en")
_STRONG = _forms("er e es e", "en e es e", "em er em en")
_SPEAKER = {"nominative": "ich wir", "accusative": "mich uns", "dative": "mir uns"}
_WHO = {"nominative": "wer", "accusative": "wen", "dative": "wem"}
_LIKE_THIS = {"this": "dies", "every": "jed", "all": "all"}
_LIKE_A = {"a": "ein", "no": "kein", "my": "mein", "our": "unser"}
_UNINFLECTED = {
    "bare": "",
    "name": "",
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "much": "viel",
}
_PLURAL_ONLY = {"many": "viel", "some": "einig"}
_CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}
_WH = {"where": ("wo", "l"), "when": ("wann", "t"), "why": ("warum", "y")}


def noun_form(noun: Noun, *, plural: bool, case: str) -> str:
    """The noun in its number and case: weak masculines and the dative plural take an ending."""
    form = noun.de
    if plural:
        dative = case == "dative" and form.plural[-1] not in "ns"
        return form.plural + "n" if dative else form.plural
    return form.plural if form.weak and case != "nominative" else form.singular


def adjective_stem(adjective: Adjective) -> str:
    """The stem before the endings: teur- of teuer, müd- of müde."""
    if adjective.de.endswith("euer"):
        return adjective.de[:-2] + "r"
    return adjective.de.removesuffix("e")


def _gender(phrase: NounPhrase) -> str:
    return "p" if is_plural(phrase) else phrase.noun.de.gender


def _determiner(phrase: NounPhrase, case: str, owner: NounPhrase) -> tuple[str, _Forms]:
    """The determiner ("" for none) and the adjective endings that it requires."""
    gender = "p" if phrase.plural else phrase.noun.de.gender
    name = phrase.determiner
    if name == "the":
        return _THE[case][gender], _WEAK
    if name in _LIKE_THIS:
        return _LIKE_THIS[name] + _THIS_ENDING[case][gender], _WEAK
    if name in _UNINFLECTED:
        return _UNINFLECTED[name], _STRONG
    if name in _PLURAL_ONLY:
        return _PLURAL_ONLY[name] + _THIS_ENDING[case]["p"], _STRONG
    stem = _possessive(owner) if name == "own" else _LIKE_A[name]
    return stem + _A_ENDING[case][gender], _MIXED


def _possessive(owner: NounPhrase) -> str:
    if owner.noun is SPEAKER:
        return "unser" if owner.plural else "mein"
    return "ihr" if _gender(owner) in "fp" else "sein"


def _stand_in(phrase: NounPhrase, case: str) -> str:
    """The pronoun, relative pronoun or question word; "" if the phrase has its noun."""
    if phrase.noun is SPEAKER:
        return _SPEAKER[case].split()[phrase.plural]
    if phrase.determiner == "pronoun":
        return _PRONOUN[case][_gender(phrase)]
    if phrase.determiner == "relative":
        return _RELATIVE[case][_gender(phrase)]
    if phrase.determiner == "question":
        return "was" if phrase.noun is WHAT else _WHO[case]
    return ""


def phrase_words(phrase: NounPhrase, path: str, *, case: str, owner: NounPhrase) -> list[Word]:
    """A noun phrase in its case; ``owner`` is the subject, the owner of "own" things."""
    stand_in = _stand_in(phrase, case)
    if stand_in:
        return [Word(stand_in, (path + "n",))]
    determiner, endings = _determiner(phrase, case, owner)
    words = []
    if determiner:
        keys = (path + "d", path[:-1] + "-") if phrase.determiner == "no" else (path + "d",)
        words.append(Word(determiner, keys))
    if phrase.adjective:
        ending = endings[case]["p" if phrase.plural else phrase.noun.de.gender]
        words.append(Word(adjective_stem(phrase.adjective) + ending, (path + "a",)))
    words.append(Word(noun_form(phrase.noun, plural=phrase.plural, case=case), (path + "n",)))
    if phrase.partner:
        words.append(Word("und", (path + "&",)))
        words += phrase_words(phrase.partner, path + "&", case=case, owner=owner)
    if phrase.relative:
        inner = clause_words(phrase.relative, path + "r", order="final")
        words += [Word(","), *inner, Word(",")]
    return words


def _adverbial(adverbial: Adverbial | None, path: str, owner: NounPhrase) -> list[Word]:
    if adverbial is None:
        return []
    if adverbial.adverb:
        return maybe_adverb(adverbial.adverb, "de", key=path + "n")
    assert adverbial.preposition and adverbial.noun_phrase
    case = adverbial.preposition.case
    words = phrase_words(adverbial.noun_phrase, path, case=case, owner=owner)
    return _contract(adverbial.preposition, words, path)


def _contract(preposition: Preposition, words: list[Word], path: str) -> list[Word]:
    key = path + "p"
    first = words[0]
    short = _CONTRACTIONS.get((preposition.de, first.text))
    if short:
        return [Word(short, (key, *first.keys)), *words[1:]]
    return [Word(preposition.de, (key,)), *words]


def _verb(clause: Clause, path: str) -> tuple[Word, list[Word], str]:
    """The finite verb, the verb that ends the clause, and the prefix separated from the first."""
    verb, who, key = clause.verb.de, person(clause.subject), (path + "v",)
    if clause.modal:
        modal = clause.modal.de_singular if who < 2 else clause.modal.de_plural
        return Word(modal, (path + "m",)), [Word(verb.prefix + verb.plural, key)], ""
    if clause.tense == "present":
        form = (verb.first, verb.third, verb.plural, verb.plural)[who]
        return Word(form, key), [], verb.prefix
    if clause.verb is BE:
        return Word("war" if who < 2 else "waren", key), [], ""
    auxiliaries = {"haben": "habe hat haben haben", "sein": "bin ist sind sind"}
    auxiliary = auxiliaries[verb.auxiliary].split()[who]
    return Word(auxiliary, key), [Word(verb.prefix + verb.participle, key)], ""


def _quality(clause: Clause, path: str) -> list[Word]:
    if clause.quality is None:
        return []
    key = (path + "q",)
    if clause.degree == "positive" or clause.standard is None:
        return [Word(clause.quality.de, key)]
    standard = phrase_words(clause.standard, path + "x", case="nominative", owner=clause.subject)
    if clause.degree == "comparative":
        return [
            Word(clause.quality.de_comparative, key),
            Word("als", (path + "xp",)),
            *standard,
        ]
    return [
        Word("so", (path + "so",)),
        Word(clause.quality.de, key),
        Word("wie", (path + "xp",)),
        *standard,
    ]


def _is_pronoun(phrase: NounPhrase | None) -> bool:
    return phrase is not None and (phrase.determiner == "pronoun")


def _fields(clause: Clause, path: str) -> dict[str, list[Word]]:
    """The words of every role, in the order of the German middle field."""
    owner = clause.subject
    thing, recipient = [], []
    if clause.object:
        case = "dative" if clause.verb.frame == "dative" else "accusative"
        thing = phrase_words(clause.object, path + "o", case=case, owner=owner)
    if clause.recipient:
        recipient = phrase_words(clause.recipient, path + "r", case="dative", owner=owner)
        first = recipient[0]
        recipient[0] = Word(first.text, (*first.keys, path + "rp"))
    fields = {"subject": phrase_words(owner, path + "s", case="nominative", owner=owner)}
    if _is_pronoun(clause.object):
        fields["object"] = thing
    if _is_pronoun(clause.recipient):
        fields["recipient"] = recipient
    fields["time"] = maybe_adverb(clause.time, "de", key=path + "t")
    fields["frequency"] = maybe_adverb(clause.frequency, "de", key=path + "f")
    fields["fond"] = [Word("gern", (path + "g",))] if clause.fond else []
    fields.setdefault("recipient", recipient)
    fields.setdefault("object", thing)
    fields["negation"] = [Word("nicht", (path + "-",))] if clause.negated else []
    fields["manner"] = maybe_adverb(clause.manner, "de", key=path + "h")
    fields["company"] = _adverbial(clause.company, path + "c", owner)
    fields["location"] = _adverbial(clause.location, path + "l", owner)
    fields["quality"] = _quality(clause, path)
    return fields


def clause_words(clause: Clause, path: str, *, order: str) -> list[Word]:
    """The clause with its verb second ("main"), first ("inverted") or last ("final")."""
    finite, end, prefix = _verb(clause, path)
    fields = _fields(clause, path)
    front: list[Word] = []
    if order == "main":
        front = fields.pop(clause.front)
    for role, phrase in roles(clause):
        if phrase.determiner in ("relative", "question") and role in fields:
            front = fields.pop(role)
    middle = [word for words in fields.values() for word in words]
    if order == "final":
        return [*front, *middle, *end, Word(prefix + finite.text, finite.keys)]
    return [
        *front,
        finite,
        *middle,
        *end,
        *([Word(prefix, finite.keys)] if prefix else []),
    ]


def _tidy(words: list[Word]) -> list[Word]:
    """Drop the comma after a relative clause where other punctuation follows."""
    following = [*words[1:], Word(".")]
    return [
        word
        for word, after in zip(words, following, strict=True)
        if word.text != "," or after.text not in ",.?"
    ]


def sentence_words(sentence: Sentence) -> list[Word]:
    """The German sentence, punctuation included."""
    stop = Word("?" if sentence.asks else ".", (".",))
    if sentence.asks:
        words = clause_words(sentence.first, "0", order="inverted")
        if sentence.asks in _WH:
            text, key = _WH[sentence.asks]
            words = [Word(text, ("0" + key,)), *words]
        return _tidy([*words, stop])
    if sentence.second is None or sentence.link is None:
        return _tidy([*clause_words(sentence.first, "0", order="main"), stop])
    link, comma = Word(sentence.link.de, ("k",)), Word(",", ("k,",))
    if sentence.link_first:
        first = clause_words(sentence.first, "0", order="final")
        second = clause_words(sentence.second, "1", order="inverted")
        return _tidy([link, *first, comma, *second, stop])
    first = clause_words(sentence.first, "0", order="main")
    second = clause_words(sentence.second, "1", order=sentence.link.order)
    between = [link] if link.text == "und" else [comma, link]
    return _tidy([*first, *between, *second, stop])


def unclear(sentence: Sentence) -> bool:
    """Whether German leaves open who does what, what a verb means, or whom a pronoun refers to."""
    clauses = [sentence.first, *([sentence.second] if sentence.second else [])]
    asked = sentence.first.object
    if asked and asked.determiner == "question" and sentence.first.verb in HOMONYM_VERBS:
        return True  # in "was trägt er?", no object tells "wear" from "carry"
    if any(_unclear_clause(clause) for clause in clauses):
        return True
    return sentence.second is not None and has_unclear_pronoun(
        sentence.first, sentence.second, gender=_pronoun_gender
    )


def _unclear_clause(clause: Clause) -> bool:
    for _, phrase in roles(clause):
        if phrase.relative and _unclear_clause(phrase.relative):
            return True
        if phrase.determiner == "relative" and phrase is clause.object:
            return _could_swap(clause, phrase)
    if clause.front == "object" and clause.object:
        return _could_swap(clause, clause.object)
    return (
        clause.front == "recipient"
        and clause.recipient is not None
        and _could_swap(clause, clause.recipient)
    )


def _could_swap(clause: Clause, early: NounPhrase) -> bool:
    """Whether the subject and ``early``, which precedes it, could swap roles unnoticed."""
    subject, verb = clause.subject, clause.verb
    if person(subject) != person(early) or subject.noun is SPEAKER:
        return False
    fits = early.noun.kind in verb.subjects and subject.noun.kind in verb.objects
    if not fits and early is not clause.recipient:
        return False
    dative = early is clause.recipient or verb.frame == "dative"
    return not (_shows_case(early, dative=dative) or _shows_case(subject, dative=False))


def _shows_case(phrase: NounPhrase, *, dative: bool) -> bool:
    """Whether the phrase's form distinguishes nominative from accusative (or dative)."""
    if phrase.determiner == "name":
        return False
    return dative or _gender(phrase) == "m"


def _pronoun_gender(phrase: NounPhrase) -> str:
    """The gender, where "f" stands for the plural as well: both are "sie"."""
    gender = _gender(phrase)
    return "f" if gender == "p" else gender
