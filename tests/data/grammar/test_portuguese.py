"""Portuguese: a sentence for every rule, and properties of the whole corpus."""

from collections import Counter
from itertools import islice

import pytest

from course_lib.data.grammar import LANGUAGES, SPLITS, english, lexicon, portuguese
from course_lib.data.grammar.grammar_corpus import sample_meanings
from course_lib.data.grammar.lexicon import ADJECTIVES, BE, LINKS, NOUNS, SPEAKER, VERBS
from course_lib.data.grammar.meaning import Adverbial, Clause, NounPhrase, Sentence, uses
from course_lib.data.grammar.word_alignment import align, texts
from course_lib.data.pairs import SentencePair
from tests.data.grammar.alignment_check import check_alignment

pytestmark = pytest.mark.xdist_group("portuguese")  # what it samples is shared

NAME = "grammar_pt_en"
HELD_OUT = LANGUAGES[NAME].held_out
N = {noun.key: noun for noun in NOUNS}
V = {verb.key: verb for verb in VERBS}
A = {adjective.key: adjective for adjective in ADJECTIVES}
LINK = {link.key: link for link in LINKS}
MODAL = {modal.key: modal for modal in lexicon.MODALS}
TIME = {time.key: time for time in lexicon.TIMES}
OFTEN, ALWAYS = lexicon.FREQUENCIES[:2]
MAN, WOMAN, DOG, BOOK = (NounPhrase(N[key]) for key in ("man.m", "woman.f", "dog", "book"))
ME, WE = (NounPhrase(SPEAKER, "pronoun", plural=plural) for plural in (False, True))
HER = NounPhrase(N["woman.f"], "pronoun")


def in_portuguese(sentence):
    return " ".join(texts(portuguese.sentence_words(sentence)))


def in_portuguese_and_english(sentence):
    return in_portuguese(sentence), " ".join(texts(english.sentence_words(sentence)))


def simple(verb, subject, thing=None, **rest):
    return Sentence(Clause(V[verb], subject, object=thing, **rest))


def at(key, preposition="on"):
    found = next(p for p in lexicon.LOCATIVES if p.key == preposition)
    return Adverbial(found, NounPhrase(N[key]))


def phrase(key, determiner="the", plural=False, adjective=None):
    return NounPhrase(
        N[key], determiner, plural=plural, adjective=A[adjective] if adjective else None
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (phrase("house", adjective="red"), "a casa vermelha"),
        (phrase("newspaper", "this", True, "blue"), "estes jornais azuis"),
        (phrase("queen.f", "my", True, "good"), "minhas boas rainhas"),
        (phrase("lion", "a", adjective="young"), "um jovem leão"),
        (phrase("poem", "many", True, "long"), "muitos poemas longos"),
        (phrase("letter", "two", True, "old"), "duas velhas cartas"),
        (phrase("window", "all", True, "dirty"), "todas as janelas sujas"),
        (phrase("man.m", "every"), "todo homem"),
    ],
)
def test_determiner_and_adjective_agree_with_the_noun(words, expected):
    assert " ".join(texts(portuguese.phrase_words(words, "0s", owner=words))) == expected


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (at("bed"), "na cama"),
        (at("garden", "in"), "no jardim"),
        (at("school", "next to"), "ao lado da escola"),
        (Adverbial(lexicon.LOCATIVES[0], phrase("city", "this")), "nesta cidade"),
        (Adverbial(lexicon.LOCATIVES[2], phrase("museum", "this")), "atrás deste museu"),
        (Adverbial(lexicon.INTO, phrase("kitchen")), "para a cozinha"),
        (Adverbial(lexicon.LOCATIVES[0], phrase("park", "a")), "em um parque"),
    ],
)
def test_a_preposition_contracts_with_the_article_or_does_not(location, expected):
    assert in_portuguese(simple("tanzen.dance", ME, location=location)) == f"eu danço {expected} ."


SENTENCES = {
    "the recipient's preposition contracts": (
        simple("geben.give", MAN, BOOK, recipient=WOMAN),
        "o homem dá o livro à mulher .",
        "the man gives the book to the woman .",
    ),
    "we are a gente, whose past differs from the present": (
        simple("kaufen.buy", WE, BOOK, tense="past"),
        "a gente comprou o livro .",
        "we bought the book .",
    ),
    "a verb of state has the imperfect": (
        simple("kennen.know", WOMAN, MAN, tense="past"),
        "a mulher conhecia o homem .",
        "the woman knew the man .",
    ),
    "the spelling keeps the sound": (
        simple("abholen.pick_up", ME, MAN, tense="past"),
        "eu busquei o homem .",
        "i picked up the man .",
    ),
    "a modal takes the infinitive": (
        simple("lesen.read", MAN, BOOK, modal=MODAL["have to"], negated=True),
        "o homem não tem que ler o livro .",
        "the man does not have to read the book .",
    ),
    "no is não and nenhum": (
        simple("essen.eat", MAN, phrase("apple", "no")),
        "o homem não come nenhuma maçã .",
        "the man does not eat an apple .",
    ),
    "what has no singular loses its nenhum": (
        simple("trinken.drink", MAN, phrase("milk", "no")),
        "o homem não bebe leite .",
        "the man does not drink any milk .",
    ),
    "no before the verb negates alone": (
        simple("schlafen.sleep", phrase("dog", "no")),
        "nenhum cachorro dorme .",
        "no dog sleeps .",
    ),
    "an object pronoun precedes the verb": (
        simple("sehen.see", MAN, HER, negated=True),
        "o homem não a vê .",
        "the man does not see her .",
    ),
    "me precedes the infinitive": (
        simple("helfen.help", MAN, ME, modal=MODAL["want to"]),
        "o homem quer me ajudar .",
        "the man wants to help me .",
    ),
    "a preposition keeps its pronoun after the verb": (
        simple("vertrauen.trust", MAN, HER),
        "o homem confia nela .",
        "the man trusts her .",
    ),
    "a gente contracts as a noun does": (
        simple("vertrauen.trust", MAN, WE),
        "o homem confia na gente .",
        "the man trusts us .",
    ),
    "a topic stands before a comma": (
        simple("sehen.see", MAN, DOG, front="object"),
        "o cachorro , o homem vê .",
        "the man sees the dog .",
    ),
    "own is of the subject's sex in English only": (
        simple("suchen.look_for", WOMAN, phrase("hat", "own")),
        "a mulher procura seu chapéu .",
        "the woman looks for her hat .",
    ),
    "what lasts is ser": (
        Sentence(Clause(BE, WOMAN, quality=A["rich"], tense="past")),
        "a mulher era rica .",
        "the woman was rich .",
    ),
    "what passes is estar": (
        Sentence(Clause(BE, WOMAN, quality=A["tired"])),
        "a mulher está cansada .",
        "the woman is tired .",
    ),
    "warm clothes stay warm": (
        Sentence(Clause(BE, phrase("jacket"), quality=A["warm"])),
        "a jaqueta é quente .",
        "the jacket is warm .",
    ),
    "a man and a woman are masculine": (
        Sentence(Clause(BE, NounPhrase(N["woman.f"], partner=MAN), quality=A["tired"])),
        "a mulher e o homem estão cansados .",
        "the woman and the man are tired .",
    ),
    "more is mais": (
        Sentence(Clause(BE, phrase("house"), quality=A["expensive"], degree="comparative",
                        standard=BOOK)),
        "a casa é mais cara do que o livro .",
        "the house is more expensive than the book .",
    ),
    "bigger is one word": (
        Sentence(Clause(BE, phrase("dog", plural=True), quality=A["big"], degree="comparative",
                        standard=phrase("mouse"))),
        "os cachorros são maiores do que o rato .",
        "the dogs are bigger than the mouse .",
    ),
    "as old as is tão quanto": (
        Sentence(Clause(BE, MAN, quality=A["old"], degree="equal", standard=WOMAN)),
        "o homem é tão velho quanto a mulher .",
        "the man is as old as the woman .",
    ),
    "one who sits is seated, and agrees": (
        simple("sitzen.sit", phrase("woman.f", plural=True), location=at("bench")),
        "as mulheres estão sentadas no banco .",
        "the women sit on the bench .",
    ),
    "a seated infinitive is ficar": (
        simple("sitzen.sit", MAN, location=at("chair"), modal=MODAL["want to"]),
        "o homem quer ficar sentado na cadeira .",
        "the man wants to sit on the chair .",
    ),
    "alone agrees": (
        simple("tanzen.dance", WOMAN, manner=lexicon.MANNERS[-1]),
        "a mulher dança sozinha .",
        "the woman dances alone .",
    ),
    "word order tells an object relative clause": (
        simple("schlafen.sleep", NounPhrase(N["man.m"], relative=Clause(
            V["sehen.see"], WOMAN, object=NounPhrase(N["man.m"], "relative")))),
        "o homem que a mulher vê dorme .",
        "the man who the woman sees sleeps .",
    ),
    "from a subject relative clause": (
        simple("schlafen.sleep", NounPhrase(N["man.m"], relative=Clause(
            V["sehen.see"], NounPhrase(N["man.m"], "relative"), object=WOMAN))),
        "o homem que vê a mulher dorme .",
        "the man who sees the woman sleeps .",
    ),
    "a relative pronoun follows the verb's preposition": (
        simple("schlafen.sleep", NounPhrase(N["man.m"], relative=Clause(
            V["vertrauen.trust"], WOMAN, object=NounPhrase(N["man.m"], "relative")))),
        "o homem em quem a mulher confia dorme .",
        "the man who the woman trusts sleeps .",
    ),
    "only the question mark asks": (
        Sentence(Clause(V["lesen.read"], MAN, object=BOOK, tense="past"), asks="truth"),
        "o homem leu o livro ?",
        "did the man read the book ?",
    ),
    "an asked object comes first": (
        Sentence(
            Clause(V["lesen.read"], MAN, object=NounPhrase(lexicon.WHAT, "question")), asks="noun"
        ),
        "o que o homem lê ?",
        "what does the man read ?",
    ),
    "an asked recipient takes its preposition along": (
        Sentence(
            Clause(
                V["geben.give"], MAN, object=BOOK, recipient=NounPhrase(lexicon.WHO, "question")
            ),
            asks="noun",
        ),
        "a quem o homem dá o livro ?",
        "who does the man give the book to ?",
    ),
    "why is two words": (
        Sentence(Clause(V["weinen.cry"], WOMAN), asks="why"),
        "por que a mulher chora ?",
        "why does the woman cry ?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_a_meaning_is_expressed_in_both_languages(case):
    sentence, *expected = SENTENCES[case]
    assert in_portuguese_and_english(sentence) == tuple(expected)
    assert not portuguese.unclear(sentence)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            simple("sitzen.sit", MAN, location=at("bench")),
            simple("arbeiten.work", MAN, location=at("bank", "in")),
        ),
        (simple("essen.eat", MAN, phrase("dish")), simple("waschen.wash", MAN, phrase("plate"))),
        (simple("tragen.wear", MAN, phrase("hat")), simple("benutzen.use", MAN, phrase("spoon"))),
        (simple("anmachen.turn_on", MAN, phrase("radio")), simple("anrufen.call", MAN, WOMAN)),
        (simple("krähen.crow", phrase("rooster")), simple("singen.sing", MAN)),
        (
            simple("liegen.lie", BOOK, location=at("table")),
            simple("stehen.stand", phrase("cup"), location=at("table")),
        ),
        (
            simple("finden.find", MAN, BOOK),
            Sentence(
                Clause(V["denken.think"], MAN), Clause(V["schlafen.sleep"], MAN), link=lexicon.THAT
            ),
        ),
    ],
)
def test_a_portuguese_word_has_two_translations_and_its_sentence_decides(one, other):
    (source_one, target_one), (source_other, target_other) = (
        in_portuguese_and_english(one),
        in_portuguese_and_english(other),
    )
    ambiguous = {"banco", "prato", "usa", "liga", "canta", "está", "acha"}
    assert ambiguous & set(source_one.split()) & set(source_other.split())
    shared = set(target_one.split()) & set(target_other.split())
    assert shared <= {"the", "man", "a", "table", "on", "."}
    assert not portuguese.unclear(one)
    assert not portuguese.unclear(other)


@pytest.mark.parametrize(
    ("first", "pronoun", "expected"),
    [
        ("glass", "ele", "it"),
        ("lamp", "ele", "it"),
        ("knife", "ela", "it"),
        ("teacher.f", "ela", "she"),
        ("teacher.m", "ele", "he"),
    ],
)
def test_a_pronoun_follows_its_antecedent(first, pronoun, expected):
    sentence = Sentence(
        Clause(BE, phrase(first), quality=A["beautiful"]),
        Clause(BE, phrase(first, "pronoun"), quality=A["old"]),
        link=LINK["weil"],
    )
    source, target = in_portuguese_and_english(sentence)
    assert f" porque {pronoun} é velh" in source
    assert f" because {expected} is old ." in target


UNCLEAR = {
    "subjunctive": Sentence(Clause(V["hoffen.hope"], MAN), Clause(V["schlafen.sleep"], MAN),
                            link=lexicon.THAT),
    "negated opinion": Sentence(Clause(V["denken.think"], MAN, negated=True),
                                Clause(V["schlafen.sleep"], ME), link=lexicon.THAT),
    "past meanwhile": Sentence(Clause(V["lesen.read"], ME, object=BOOK, tense="past"),
                               Clause(V["schlafen.sleep"], MAN, tense="past"),
                               link=LINK["während"]),
    "past habit": simple("lesen.read", MAN, BOOK, frequency=OFTEN, tense="past"),
    "plural of nenhum": simple("schlafen.sleep", phrase("dog", "no", True)),
    "bench or bank": simple("warten.wait", MAN, location=at("bench")),
    "use or wear": Sentence(
        Clause(V["tragen.wear"], MAN, object=NounPhrase(lexicon.WHAT, "question")), asks="noun"),
    "o before an infinitive": simple("sehen.see", MAN, HER, modal=MODAL["can"]),
    "two pronouns": simple("geben.give", MAN, phrase("book", "pronoun"), recipient=ME),
    "a call instead of a topic": simple("sehen.see", MAN, NounPhrase(N["anna"], "name"),
                                        front="object"),
    "whose time": simple("lesen.read", MAN, NounPhrase(N["book"], relative=Clause(
        V["kaufen.buy"], WOMAN, object=NounPhrase(N["book"], "relative"))), time=TIME["today"]),
    "two men for one pronoun": Sentence(Clause(V["sehen.see"], MAN, object=DOG), Clause(
        BE, NounPhrase(N["man.m"], "pronoun"), quality=A["tired"]), link=LINK["weil"]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_portuguese_leaves_open_or_cannot_say_plainly_is_unclear(name):
    assert portuguese.unclear(UNCLEAR[name])


def test_what_is_almost_but_not_quite_unclear_is_generated():
    assert not portuguese.unclear(simple("lesen.read", MAN, BOOK, frequency=ALWAYS, tense="past"))
    lived = Clause(V["wohnen.live"], WOMAN, location=at("city", "in"), tense="past")
    slept = Clause(V["schlafen.sleep"], MAN, tense="past")
    assert not portuguese.unclear(Sentence(slept, lived, link=LINK["während"]))
    assert portuguese.unclear(Sentence(slept, lived, link=LINK["während"], link_first=True))
    knew = Clause(V["wissen.know"], MAN, negated=True)
    assert not portuguese.unclear(
        Sentence(knew, Clause(V["schlafen.sleep"], ME), link=lexicon.THAT)
    )


def test_a_reason_that_opens_the_sentence_is_ja_que():
    reason, rest = Clause(V["weinen.cry"], WOMAN), Clause(V["schlafen.sleep"], MAN)
    assert (
        in_portuguese(Sentence(reason, rest, link=LINK["weil"]))
        == "a mulher chora porque o homem dorme ."
    )
    opened = Sentence(reason, rest, link=LINK["weil"], link_first=True)
    assert in_portuguese(opened) == "já que a mulher chora , o homem dorme ."


def test_links_follow_the_meaning_and_not_the_positions():
    sentence = simple("geben.give", MAN, phrase("apple", "no", adjective="red"), recipient=WOMAN)
    source, target = portuguese.sentence_words(sentence), english.sentence_words(sentence)
    linked = {(source[i].text, target[j].text) for i, j in align(source, target)}
    assert linked == {
        ("o", "the"),
        ("homem", "man"),
        ("não", "not"),
        ("dá", "does"),
        ("dá", "give"),
        ("nenhuma", "a"),
        ("maçã", "apple"),
        ("vermelha", "red"),
        ("à", "to"),
        ("à", "the"),
        ("mulher", "woman"),
        (".", "."),
    }


def test_verbs_that_share_a_portuguese_word_share_no_object():
    for first in VERBS:
        for second in VERBS:
            same = first.pt.infinitive == second.pt.infinitive
            same &= first.pt.preposition == second.pt.preposition
            if same and first.en != second.en:
                assert not first.objects & second.objects, (first.key, second.key)


def test_verbs_that_share_a_portuguese_word_and_take_no_object_differ_in_subject_or_frame():
    for first in VERBS:
        for second in VERBS:
            same = first.pt == second.pt and first.frame == second.frame
            if same and first.en != second.en and not first.objects:
                assert not first.subjects & second.subjects, (first.key, second.key)


def test_nouns_that_share_a_portuguese_word_fill_no_slot_together():
    words = Counter(noun.pt.singular for noun in NOUNS)
    shared = [noun for noun in NOUNS if words[noun.pt.singular] > 1]
    assert {noun.pt.singular for noun in shared} == {"banco", "prato"}
    for one in shared:
        for other in shared:
            if one is not other and one.pt == other.pt:
                for verb in VERBS:
                    assert not {one.kind, other.kind} <= verb.objects, verb.key


@pytest.fixture(scope="module")
def train_by_seed():
    return [list(islice(sample_meanings(NAME, "train", seed=s), 3_000)) for s in (11, 12, 13)]


@pytest.fixture(scope="module")
def train(train_by_seed):
    """9,000 meanings; a sentence may come again, from another seed."""
    return [each for part in train_by_seed for each in part]


@pytest.fixture(scope="module")
def others():
    sizes = {"valid": 250, "test": 250, "compositional": 900}
    return {
        split: list(islice(sample_meanings(NAME, split, seed=split), sizes[split]))
        for split in SPLITS[1:]
    }


@pytest.mark.slow
def test_one_portuguese_sentence_has_one_translation(train):
    translations = {}
    for _, pair in train:
        assert translations.setdefault(pair.source, pair.target) == pair.target
    assert len(translations) < len(train)  # else nothing was compared


@pytest.mark.slow
def test_pairs_of_a_split_are_distinct(train_by_seed):
    for part in train_by_seed:
        assert len({pair.source for _, pair in part}) == len(part)


@pytest.mark.slow
def test_no_sentence_is_in_two_splits(train, others):
    seen = {pair.source for _, pair in train}
    for sampled in others.values():
        sources = {pair.source for _, pair in sampled}
        assert not seen & sources
        seen |= sources


@pytest.mark.slow
def test_held_out_combinations_occur_in_compositional_only(train, others):
    for meaning, _ in [*train, *others["valid"], *others["test"]]:
        assert not HELD_OUT & uses(meaning)
    found = [HELD_OUT & uses(meaning) for meaning, _ in others["compositional"]]
    assert all(found)
    assert frozenset().union(*found) == HELD_OUT


@pytest.mark.slow
def test_no_frequent_word_is_only_in_compositional(train, others):
    for side in (0, 1):
        words = Counter(word for _, pair in train for word in pair[side])
        new = Counter(word for _, pair in others["compositional"] for word in pair[side])
        assert not {word for word, count in new.items() if count >= 8 and not words[word]}


def test_six_hundred_words_a_side_are_learnable(train):
    for side, most in ((0, 1_100), (1, 700)):
        words = Counter(word for _, pair in train for word in pair[side])
        assert sum(count >= 20 * len(train) / 30_000 for count in words.values()) >= 600
        assert len(words) <= most


def test_sentences_have_3_to_30_words_and_about_10_on_average(train):
    for side in (0, 1):
        lengths = [len(pair[side]) for _, pair in train]
        assert min(lengths) >= 3
        assert max(lengths) <= 30
        assert 9 <= sum(lengths) / len(lengths) <= 11


def test_gold_alignments_agree_with_the_lexicon(train, others):
    for _, pair in [*train[:4_000], *others["compositional"][:500]]:
        assert check_alignment(pair, name=NAME) == [], pair


def test_the_alignment_check_finds_a_wrong_link():
    source, target = ("o", "gato", "dorme", "."), ("the", "cat", "sleeps", ".")
    links = frozenset({(0, 0), (1, 2), (2, 1), (3, 3)})
    problems = check_alignment(SentencePair(source, target, links), name=NAME)
    assert "gato is linked with sleeps, of another sense" in problems
