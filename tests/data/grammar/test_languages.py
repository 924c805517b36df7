"""How German and English express the same meaning, sentence by sentence."""

import pytest

from course_lib.data.grammar import english, german, lexicon
from course_lib.data.grammar.lexicon import ADJECTIVES, BE, LINKS, NOUNS, VERBS
from course_lib.data.grammar.meaning import Adverbial, Clause, NounPhrase, Sentence
from course_lib.data.grammar.word_alignment import align, texts

N = {noun.key: noun for noun in NOUNS}
V = {verb.key: verb for verb in VERBS}
A = {adjective.key: adjective for adjective in ADJECTIVES}
LINK = {link.key: link for link in LINKS}
TIME = {time.key: time for time in lexicon.TIMES}
MODAL = {modal.key: modal for modal in lexicon.MODALS}
MAN, WOMAN, DOG = (NounPhrase(N[key]) for key in ("man.m", "woman.f", "dog"))
BOOK, LETTER, DOOR = (NounPhrase(N[key]) for key in ("book", "letter", "door"))
TODAY = TIME["today"]
GARDEN = NounPhrase(N["garden"])
INTO_THE_GARDEN = Adverbial(lexicon.INTO, GARDEN)
IN_THE_GARDEN = Adverbial(lexicon.LOCATIVES[0], GARDEN)


def german_and_english(sentence):
    return tuple(
        " ".join(texts(language.sentence_words(sentence))) for language in (german, english)
    )


def simple(verb, subject, thing=None, **rest):
    return Sentence(Clause(V[verb], subject, object=thing, **rest))


CASES = {
    "a fronted time inverts the German clause": (
        simple("lesen.read", WOMAN, LETTER, time=TODAY, front="time"),
        "heute liest die frau den brief .",
        "today the woman reads the letter .",
    ),
    "only the case of a fronted object tells who does what": (
        simple("sehen.see", MAN, DOG, front="object"),
        "den hund sieht der mann .",
        "the man sees the dog .",
    ),
    "a separable prefix closes the main clause": (
        simple("aufmachen.open", MAN, DOOR),
        "der mann macht die tür auf .",
        "the man opens the door .",
    ),
    "a modal sends the infinitive to the end": (
        simple("aufmachen.open", MAN, DOOR, modal=MODAL["want to"]),
        "der mann will die tür aufmachen .",
        "the man wants to open the door .",
    ),
    "the perfect becomes the simple past": (
        simple("gehen.go", WOMAN, tense="past", location=INTO_THE_GARDEN),
        "die frau ist in den garten gegangen .",
        "the woman went into the garden .",
    ),
    "a location in the dative is in, not into": (
        simple("laufen.run", WOMAN, location=IN_THE_GARDEN),
        "die frau läuft im garten .",
        "the woman runs in the garden .",
    ),
    "nicht needs do-support": (
        simple("lesen.read", MAN, BOOK, negated=True),
        "der mann liest das buch nicht .",
        "the man does not read the book .",
    ),
    "kein is not and a": (
        simple("essen.eat", MAN, NounPhrase(N["apple"], "no")),
        "der mann isst keinen apfel .",
        "the man does not eat an apple .",
    ),
    "a question inverts German and supports English with do": (
        Sentence(Clause(V["lesen.read"], MAN, object=BOOK, tense="past"), asks="truth"),
        "hat der mann das buch gelesen ?",
        "did the man read the book ?",
    ),
    "an asked recipient strands its to": (
        Sentence(
            Clause(
                V["geben.give"], MAN, object=BOOK, recipient=NounPhrase(lexicon.WHO, "question")
            ),
            asks="noun",
        ),
        "wem gibt der mann das buch ?",
        "who does the man give the book to ?",
    ),
    "gern is likes to": (
        simple("lesen.read", WOMAN, BOOK, fond=True),
        "die frau liest gern das buch .",
        "the woman likes to read the book .",
    ),
    "adjectives agree after mein as after ein": (
        simple(
            "sehen.see",
            NounPhrase(N["dog"], "my", adjective=A["old"]),
            NounPhrase(N["horse"], "a", adjective=A["small"]),
        ),
        "mein alter hund sieht ein kleines pferd .",
        "my old dog sees a small horse .",
    ),
    "weak masculines change in the accusative": (
        simple("sehen.see", WOMAN, NounPhrase(N["student.m"])),
        "die frau sieht den studenten .",
        "the woman sees the student .",
    ),
    "own takes the subject's gender": (
        simple("suchen.look_for", WOMAN, NounPhrase(N["hat"], "own")),
        "die frau sucht ihren hut .",
        "the woman looks for her hat .",
    ),
    "a comparison is short or long in English": (
        Sentence(Clause(BE, BOOK, quality=A["expensive"], degree="comparative", standard=LETTER)),
        "das buch ist teurer als der brief .",
        "the book is more expensive than the letter .",
    ),
    "a relative clause puts its verb last": (
        simple(
            "schlafen.sleep",
            NounPhrase(
                N["man.m"],
                relative=Clause(
                    V["helfen.help"], WOMAN, object=NounPhrase(N["man.m"], "relative"), tense="past"
                ),
            ),
        ),
        "der mann , dem die frau geholfen hat , schläft .",
        "the man who the woman helped sleeps .",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_meaning_is_expressed_in_both_languages(case):
    sentence, *expected = CASES[case]
    assert german_and_english(sentence) == tuple(expected)


@pytest.mark.parametrize(
    ("first", "pronoun", "expected"),
    [
        ("spoon", "er", "it"),
        ("lamp", "sie", "it"),
        ("book", "es", "it"),
        ("teacher.f", "sie", "she"),
        ("teacher.m", "er", "he"),
        ("girl.f", "es", "she"),
    ],
)
def test_a_pronoun_follows_its_antecedent(first, pronoun, expected):
    noun = N[first]
    sentence = Sentence(
        Clause(BE, NounPhrase(noun), quality=A["beautiful"]),
        Clause(BE, NounPhrase(noun, "pronoun"), quality=A["old"]),
        link=LINK["weil"],
    )
    source, target = german_and_english(sentence)
    assert source.endswith(f", weil {pronoun} alt ist .")
    assert target.endswith(f" because {expected} is old .")


def test_a_subordinate_clause_that_opens_the_sentence_inverts_the_main_one():
    opened = Clause(V["aufmachen.open"], MAN, object=DOOR)
    second = Clause(V["schlafen.sleep"], NounPhrase(N["man.m"], "pronoun"))
    assert german_and_english(Sentence(opened, second, link=LINK["weil"], link_first=True)) == (
        "weil der mann die tür aufmacht , schläft er .",
        "because the man opens the door , he sleeps .",
    )


def test_a_fronted_object_that_shows_no_case_is_unclear():
    child = NounPhrase(N["child"])
    assert german.unclear(simple("sehen.see", WOMAN, child, front="object"))
    assert not german.unclear(simple("sehen.see", MAN, child, front="object"))
    assert not german.unclear(
        simple("sehen.see", WOMAN, NounPhrase(N["child"], plural=True), front="object")
    )
    assert not german.unclear(simple("lesen.read", WOMAN, BOOK, front="object"))


def test_a_question_for_the_object_of_an_ambiguous_verb_is_unclear():
    what = NounPhrase(lexicon.WHAT, "question")
    for verb, unclear in {"tragen.wear": True, "fahren.ride": True, "lesen.read": False}.items():
        assert german.unclear(Sentence(Clause(V[verb], MAN, object=what), asks="noun")) is unclear


def test_a_pronoun_that_fits_two_antecedents_is_unclear():
    tired = Clause(BE, NounPhrase(N["man.m"], "pronoun"), quality=A["tired"])
    assert german.unclear(
        Sentence(Clause(V["sehen.see"], MAN, object=DOG), tired, link=LINK["weil"])
    )
    assert not german.unclear(
        Sentence(Clause(V["sehen.see"], MAN, object=BOOK), tired, link=LINK["weil"])
    )


def test_links_follow_the_meaning_and_not_the_positions():
    sentence = simple("geben.give", MAN, NounPhrase(N["apple"], "no"), recipient=WOMAN)
    source, target = german.sentence_words(sentence), english.sentence_words(sentence)
    linked = {(source[i].text, target[j].text) for i, j in align(source, target)}
    assert linked == {
        ("der", "the"),
        ("mann", "man"),
        ("gibt", "does"),
        ("gibt", "give"),
        ("der", "to"),
        ("frau", "woman"),
        ("keinen", "not"),
        ("keinen", "an"),
        ("apfel", "apple"),
        (".", "."),
    }


def _slots():
    """Every slot of a German frame with the kinds that may fill it: (slot, kinds)."""
    for verb in VERBS:
        yield (verb.de.prefix + verb.de.plural, "subject"), verb.subjects
        yield (verb.de.prefix + verb.de.plural, "object"), verb.objects
    for preposition in [*lexicon.LOCATIVES, lexicon.INTO, lexicon.TO]:
        yield (preposition.de, preposition.case), preposition.kinds


def test_no_slot_admits_two_senses_of_an_ambiguous_word():
    assert len({noun.de.singular for noun in lexicon.HOMONYMS}) >= 5
    filled = {}
    for slot, kinds in _slots():
        filled.setdefault(slot, []).extend(kinds)
    for slot, kinds in filled.items():
        words = [noun.de.singular for noun in lexicon.HOMONYMS if noun.kind in kinds]
        assert len(words) == len(set(words)), slot


def test_senses_of_one_german_verb_share_no_object():
    for first in VERBS:
        for second in VERBS:
            same = first.de[2] == second.de[2] and first.de.prefix == second.de.prefix
            if same and first.en != second.en:
                assert not first.objects & second.objects, (first.key, second.key)


def test_every_frame_names_kinds_that_exist():
    kinds = {noun.kind for noun in NOUNS} | {"speaker"}
    frames = [verb.subjects | verb.objects for verb in VERBS] + [a.kinds for a in ADJECTIVES]
    assert frozenset().union(*frames) <= kinds


@pytest.mark.parametrize(
    ("noun", "form"), [("man.m", "männern"), ("woman.f", "frauen"), ("dog", "hunden")]
)
def test_the_dative_plural_ends_in_n(noun, form):
    assert german.noun_form(N[noun], plural=True, case="dative") == form
    assert german.noun_form(N[noun], plural=True, case="nominative") == N[noun].de.plural
