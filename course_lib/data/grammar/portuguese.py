"""Portuguese as Brazilians write it: agreement, contractions, pronouns before the verb.

How function words are aligned, by shared keys: a contraction ("no") has the keys of both its words;
what a verb needs beside it (*confiar em*, *estar sentado*, *ter que*, *gostar de*) expresses the
verb; "me" as a recipient is English "to me"; "mais" belongs to the adjective, "do que" is "than"; a
noun without its "nenhum" is also English "any". Commas have a key only between clauses.

"We" is "a gente", whose verb distinguishes present and past, unlike "compramos".
"""

from __future__ import annotations

from itertools import chain

from course_lib.data.grammar.lexicon import (
    BE,
    ESTAR,
    SPEAKER,
    THAT,
    WHAT,
    Adjective,
    expand,
    portuguese_plural,
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

GENDERS = ("m", "f", "mp", "fp")  # p for the plural


def _forms(row: str) -> dict[str, str]:
    """Forms in the order of the genders; a row may stop early."""
    return dict(zip(GENDERS, row.split(), strict=False))


_THE = _forms("o a os as")
_PRONOUN = _forms("ele ela eles elas")
_DETERMINERS = {
    "the": _THE,
    "a": _forms("um uma"),
    "this": _forms("este esta estes estas"),
    "every": _forms("todo toda"),
    "my": _forms("meu minha meus minhas"),
    "our": _forms("nosso nossa nossos nossas"),
    "own": _forms("seu sua seus suas"),
    "no": _forms("nenhum nenhuma"),
    "much": _forms("muito muita"),
    "many": _forms("- - muitos muitas"),
    "some": _forms("- - alguns algumas"),
    "all": _forms("- - todos_os todas_as"),
    "two": _forms("- - dois duas"),
    "three": _forms("- - três três"),
    "four": _forms("- - quatro quatro"),
    "five": _forms("- - cinco cinco"),
}
_CONTRACTIONS = {
    **{("a", "o"): "ao", ("a", "a"): "à", ("a", "os"): "aos", ("a", "as"): "às"},
    **{
        (preposition, word): letter + word
        for preposition, letter in (("de", "d"), ("em", "n"))
        for word in (*_THE.values(), *_DETERMINERS["this"].values(), *_PRONOUN.values())
    },
}
_BEFORE_NOUN = ("bom", "jovem", "novo", "velho")  # every other adjective follows its noun
_COMPARATIVE = {"bom": "melhor", "grande": "maior", "pequeno": "menor"}
# Temporary states take "estar", except with these kinds of nouns, where the quality lasts.
_STATES = {
    **{"tired": "", "happy": "", "hungry": "", "sick": "", "dirty": "", "broken": "", "cold": ""},
    **{"sad": "text", "warm": "clothes blanket"},
}
_LIVING = expand("animate")
_PEOPLE = ("man", "woman", "child")
_WH = {"where": ("onde", "l"), "when": ("quando", "t"), "why": ("por que", "y")}
_COMMA = ("aber", "denn", "deshalb")  # links that a comma precedes
# Left out: "abrir" has another entry, and the rest would need the subjunctive.
_EXCLUDED = frozenset({"aufmachen.open", "hoffen.hope", "obwohl", "bevor"})


def adjective_form(adjective: Adjective, gender: str, *, comparative: bool = False) -> str:
    """The adjective in gender and number; the comparative only of those with a form for it."""
    form = adjective.pt_feminine if gender[0] == "f" else adjective.pt
    if comparative:
        form = _COMPARATIVE.get(adjective.pt, form)
    return portuguese_plural(form) if gender[-1] == "p" else form


def _agreeing(word: str, gender: str) -> str:
    """A word beside the verb: sentado and sozinho agree with the subject, others do not."""
    return word[:-1] + _THE[gender] if word[-1] == "o" else word


def _gender(phrase: NounPhrase) -> str:
    """Gender and number of the phrase; two joined nouns are feminine only if both are."""
    if phrase.noun is SPEAKER:
        return "m"
    partner = phrase.partner or phrase
    feminine = phrase.noun.pt.gender == partner.noun.pt.gender == "f"
    return ("f" if feminine else "m") + ("p" if is_plural(phrase) else "")


def _person(subject: NounPhrase) -> int:
    """The verb form: 0 eu, 1 ele and a gente, 2 eles."""
    return 2 if person(subject) == 3 else min(person(subject), 1)


def _stand_in(phrase: NounPhrase, path: str, preposition: str) -> str:
    """The pronoun, relative pronoun or question word; "" if the phrase has its noun."""
    if phrase.noun is SPEAKER:
        alone = "eu" if path[-1] == "s" else "mim"
        return phrase.noun.pt.plural if phrase.plural else alone
    if phrase.determiner == "pronoun":
        return _PRONOUN[_gender(phrase)]
    asks = phrase.determiner == "question"
    if not asks and phrase.determiner != "relative":
        return ""
    if phrase.noun is WHAT:
        return "que" if preposition else "o que"
    return "quem" if phrase.noun.kind in _PEOPLE and (asks or preposition) else "que"


def phrase_words(
    phrase: NounPhrase, path: str, *, owner: NounPhrase, negated: bool = False
) -> list[Word]:
    """A noun phrase; ``owner`` is the subject, the owner of "own" things.

    ``negated`` if the clause has a "não" as well: não come nenhuma maçã, não bebe leite.
    """
    gender = phrase.noun.pt.gender + ("p" if phrase.plural else "")
    name = phrase.determiner
    if name == "own" and owner.noun is SPEAKER:
        name = "our" if owner.plural else "my"
    lost = name == "no" and negated and (phrase.plural or phrase.noun.mass)
    shown = name in _DETERMINERS and not lost
    determiner = _DETERMINERS[name][gender].split("_") if shown else []
    keys = (path + "n", path + "d") if lost else (path + "n",)
    words = [Word(phrase.noun.pt.plural if phrase.plural else phrase.noun.pt.singular, keys)]
    if phrase.adjective:
        adjective = Word(adjective_form(phrase.adjective, gender), (path + "a",))
        words.insert(0 if phrase.adjective.pt in _BEFORE_NOUN else 1, adjective)
    words = [*(Word(text, (path + "d",)) for text in determiner), *words]
    if phrase.partner:
        words.append(Word("e", (path + "&",)))
        words += phrase_words(phrase.partner, path + "&", owner=owner)
    if phrase.relative:
        words += clause_words(phrase.relative, path + "r")
    return words


def _role_words(
    phrase: NounPhrase,
    path: str,
    *,
    owner: NounPhrase,
    preposition: str = "",
    keys: tuple[str, ...] = (),
) -> list[Word]:
    """The phrase in its role, after its preposition, with which it may contract."""
    stand_in = _stand_in(phrase, path, preposition)
    words = [Word(text, (path + "n",)) for text in stand_in.split()] or phrase_words(
        phrase, path, owner=owner, negated=phrase.determiner == "no" and path[-1] == "o"
    )
    if not preposition:
        return words
    *before, last = preposition.split("_")
    first = words[0]
    short = _CONTRACTIONS.get((last, first.text))
    joined = [Word(short, (*keys, *first.keys))] if short else [Word(last, keys), first]
    return [*(Word(text, keys) for text in before), *joined, *words[1:]]


def _adverbial(adverbial: Adverbial | None, path: str, owner: NounPhrase) -> list[Word]:
    if adverbial is None:
        return []
    if adverbial.adverb:
        return maybe_adverb(adverbial.adverb, "pt", key=path + "n")
    assert adverbial.preposition and adverbial.noun_phrase
    return _role_words(
        adverbial.noun_phrase,
        path,
        owner=owner,
        preposition=adverbial.preposition.pt,
        keys=(path + "p",),
    )


def _clitic(phrase: NounPhrase | None, preposition: str) -> str:
    """The pronoun before the verb that expresses the phrase; "" for none."""
    if phrase is None or phrase.determiner != "pronoun":
        return ""
    if phrase.noun is SPEAKER:
        me = "nos" if phrase.plural else "me"
        return me if preposition in ("", "a") else ""
    return "" if preposition else _THE[_gender(phrase)]


def _clitics(clause: Clause, path: str) -> dict[str, list[Word]]:
    """The roles that are expressed by a pronoun before the verb."""
    thing = _clitic(clause.object, clause.verb.pt.preposition), (path + "on",)
    recipient = _clitic(clause.recipient, "a"), (path + "rn", path + "rp")
    pronouns = {"object": thing, "recipient": recipient}
    return {role: [Word(text, keys)] for role, (text, keys) in pronouns.items() if text}


def _verb(clause: Clause, path: str, clitics: list[Word]) -> list[Word]:
    """The verb or verbs, with pronouns before the verb that they belong to."""
    verb, key, who = clause.verb.pt, (path + "v",), _person(clause.subject)
    if clause.verb is BE and clause.quality and clause.quality.key in _STATES:
        lasting = clause.subject.noun.kind in _STATES[clause.quality.key].split()
        verb = verb if lasting else ESTAR
    rest: list[Word] = []
    if verb.rest and (clause.subject.noun.kind in _LIVING or clause.subject.noun is SPEAKER):
        rest = [Word(_agreeing(text, _gender(clause.subject)), key) for text in verb.rest]
    if clause.modal or clause.fond:
        likes = ("gosto_de", "gosta_de", "gostam_de")
        head = (path + ("m" if clause.modal else "g"),)
        first = (clause.modal.pt if clause.modal else likes)[who]
        # After a modal "estar sentado" becomes "ficar sentado": quer ficar sentado.
        infinitive = "ficar" if verb.infinitive == "estar" else verb.infinitive
        finite = [Word(text, head) for text in first.split("_")]
        return [*finite, *clitics, Word(infinitive, key), *rest]
    forms = verb.past if clause.tense == "past" else verb.present
    return [*clitics, Word(forms[who], key), *rest]


def _quality(clause: Clause, path: str) -> list[Word]:
    if clause.quality is None:
        return []
    key, gender = (path + "q",), _gender(clause.subject)
    if clause.degree == "positive" or clause.standard is None:
        return [Word(adjective_form(clause.quality, gender), key)]
    standard = _role_words(clause.standard, path + "x", owner=clause.subject)
    than = (path + "xp",)
    if clause.degree == "equal":
        so, adjective = Word("tão", (path + "so",)), adjective_form(clause.quality, gender)
        return [so, Word(adjective, key), Word("quanto", than), *standard]
    adjective = adjective_form(clause.quality, gender, comparative=True)
    more = [] if clause.quality.pt in _COMPARATIVE else [Word("mais", key)]
    return [*more, Word(adjective, key), Word("do", than), Word("que", than), *standard]


def _fields(clause: Clause, path: str) -> dict[str, list[Word]]:
    """The words of every role, in the basic word order."""
    owner, verb = clause.subject, clause.verb.pt
    clitics = _clitics(clause, path)
    negated = clause.negated or (clause.object is not None and clause.object.determiner == "no")
    thing, recipient = [], []
    if clause.object and "object" not in clitics:
        thing = _role_words(
            clause.object,
            path + "o",
            owner=owner,
            preposition=verb.preposition,
            keys=(path + "v",),
        )
    if clause.recipient and "recipient" not in clitics:
        recipient = _role_words(
            clause.recipient, path + "r", owner=owner, preposition="a", keys=(path + "rp",)
        )
    complements = {"object": thing, "recipient": recipient}
    if clause.object and clause.object.relative:  # dá à menina o livro que comprou
        complements = {"recipient": recipient, "object": thing}
    return {
        "subject": _role_words(owner, path + "s", owner=owner),
        "negation": [Word("não", (path + "-",))] if negated else [],
        "frequency": maybe_adverb(clause.frequency, "pt", key=path + "f"),
        "verb": _verb(clause, path, list(chain(*clitics.values()))),
        **complements,
        "quality": _quality(clause, path),
        "manner": [
            Word(_agreeing(word.text, _gender(owner)), word.keys)
            for word in maybe_adverb(clause.manner, "pt", key=path + "h")
        ],
        "company": _adverbial(clause.company, path + "c", owner),
        "location": _adverbial(clause.location, path + "l", owner),
        "time": maybe_adverb(clause.time, "pt", key=path + "t"),
    }


def clause_words(clause: Clause, path: str) -> list[Word]:
    """The clause: a relative pronoun or question word comes first, else the meaning's ``front``.

    A comma follows whatever is moved to the front, except a time.
    """
    fields = _fields(clause, path)
    front = fields.pop(clause.front)
    if clause.front in ("object", "recipient", "location"):
        front = [*front, Word(",")]
    for role, phrase in roles(clause):
        if phrase.determiner in ("relative", "question") and role in fields:
            front = fields.pop(role) + front
    return [*front, *chain(*fields.values())]


def sentence_words(sentence: Sentence) -> list[Word]:
    """The Portuguese sentence, punctuation included."""
    stop = Word("?" if sentence.asks else ".", (".",))
    words = clause_words(sentence.first, "0")
    if sentence.asks in _WH:
        text, key = _WH[sentence.asks]
        words = [*(Word(part, ("0" + key,)) for part in text.split()), *words]
    if sentence.second is None or sentence.link is None:
        return [*words, stop]
    opens = sentence.link_first and sentence.link.pt == "porque"  # "porque" rarely comes first
    link = [Word(t, ("k",)) for t in ("já_que" if opens else sentence.link.pt).split("_")]
    comma, second = Word(",", ("k,",)), clause_words(sentence.second, "1")
    if sentence.link_first:
        return [*link, *words, comma, *second, stop]
    between = [comma, *link] if sentence.link.de in _COMMA else link
    return [*words, *between, *second, stop]


def unclear(sentence: Sentence) -> bool:
    """Whether Portuguese leaves open who or what is meant, or cannot express it simply."""
    first, second, link = sentence.first, sentence.second, sentence.link
    if _unclear_clause(first):
        return True
    if second is None or link is None:
        return False
    # "Não acha que" would need the subjunctive.
    subjunctive = link is THAT and first.negated and first.verb.pt.infinitive != "saber"
    excluded = link.key in _EXCLUDED or subjunctive
    # "Enquanto" needs the imperfect in the past, which only verbs of state have here.
    meanwhile = first if sentence.link_first else second
    ended = link.pt == "enquanto" and meanwhile.tense == "past" and not _is_state(meanwhile)
    return (
        excluded
        or ended
        or _unclear_clause(second)
        or has_unclear_pronoun(first, second, gender=_gender)
    )


def _unclear_clause(clause: Clause) -> bool:
    subject, thing, verb = clause.subject, clause.object, clause.verb
    if verb.key in _EXCLUDED or (subject.determiner == "no" and subject.plural):
        return True
    if any(phrase.relative and _unclear_clause(phrase.relative) for _, phrase in roles(clause)):
        return True
    return (
        _unclear_location(clause)
        or _awkward_clitic(clause)
        # "Anna, o menino vê" would address her.
        or (clause.front == "object" and thing is not None and thing.determiner == "name")
        or (clause.tense == "past" and _habit(clause))
        # Only the object tells "use" from "wear".
        or (thing is not None and thing.noun is WHAT and verb.pt.infinitive == "usar")
        # After a relative clause it is open which clause a time belongs to.
        or (thing is not None and thing.relative is not None and clause.time is not None)
    )


def _is_state(clause: Clause) -> bool:
    """Whether the past is an imperfect: morava, sabia, era."""
    return clause.verb.pt.past[0].endswith(("va", "ia", "era"))


def _habit(clause: Clause) -> bool:
    """A repeated action, whose past would need the imperfect."""
    often = clause.frequency and clause.frequency.key not in ("always", "never")
    return bool(often) or bool(clause.time and clause.time.key == "every day")


def _unclear_location(clause: Clause) -> bool:
    """Somebody who waits "no banco" may be in the bank or on the bench, unlike one who sits."""
    if clause.verb.frame != "resting" or clause.verb.en.base == "sit" or clause.location is None:
        return False
    phrase = clause.location.noun_phrase
    return phrase is not None and phrase.noun.kind in ("bank", "bench")


def _awkward_clitic(clause: Clause) -> bool:
    """Two pronouns before one verb, or "o" before an infinitive, which speakers avoid."""
    clitics = _clitics(clause, "")
    third = "object" in clitics and clause.object and clause.object.noun is not SPEAKER
    return len(clitics) > 1 or bool(third and (clause.modal or clause.fond))
