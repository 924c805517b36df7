"""Whatever is typed gets an answer that makes sense, the same in Python and in JavaScript."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import load_corpus
from course_lib.decoding import Decoding, translate_free_text
from course_lib.decoding.free_text import LONG, make_readable
from course_lib.training import load_translator
from tests.decoding.free_text_translator import free_text_translator

CASES = json.loads((Path(__file__).parent / "free_text_cases.json").read_text("utf-8"))
GERMAN = "der alte hund sieht die katze"


@pytest.fixture(scope="module")
def translator():
    return free_text_translator()


def translate(translator, text):
    [sentences] = translate_free_text(translator, [text])
    return sentences


@pytest.mark.parametrize(("text", "kinds"), CASES["remarks"])
def test_a_remark_says_what_cannot_be_read(translator, text, kinds):
    remarks = [kind for each in translate(translator, text) for kind in each.remarks]
    assert [kind for kind in remarks if kind != "cut_off"] == kinds  # its weights are noise


@pytest.mark.slow
def test_the_everyday_model_makes_the_same_remarks():
    everyday = load_translator(model="everyday")
    for text, kinds in CASES["remarks"]:
        remarks = [kind for each in translate(everyday, text) for kind in each.remarks]
        assert remarks == kinds, text


def test_what_the_model_has_never_seen_is_left_out_and_named(translator):
    [sentence] = translate(translator, "Der Hund 😀 sieht Привет die <b>Katze</b>.")
    expected = "The model has never seen <b>, </b>, 😀 and Привет: left out."
    assert sentence.remarks["left_out"] == expected
    assert sentence.translation.source == translator.split("Der Hund sieht die Katze.")


def test_a_point_stays_at_its_word_when_what_stood_before_it_is_left_out(translator):
    [sentence] = translate(translator, "Der Hund schläft 😀.")
    assert sentence.translation.source == translator.split("Der Hund schläft.")


def test_of_many_unknown_signs_the_first_are_named(translator):
    [sentence] = translate(translator, "α 1 β 2 γ 3 δ 4 ε 5 ζ 6 η " + "ж" * 30)
    assert sentence.remarks["left_out"] == (
        "The model has never seen α, β, γ, δ, ε and others: left out."
    )
    [sentence] = translate(translator, "ж" * 30)
    assert "ж" * 20 + "…:" in sentence.remarks["left_out"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (GERMAN, f"{GERMAN}."),
        ("Wo ist der Hund", "Wo ist der Hund?"),
        ("Womit spielt er", "Womit spielt er?"),
        ("Worte sind gut", "Worte sind gut."),
        ("Der Hund schläft!", "Der Hund schläft!"),
        ("Der Hund,", "Der Hund,"),
        ("„Der Hund.“", "Der Hund."),
        ("DER HUND SCHLÄFT", "Der hund schläft."),
        ("HUND", "HUND."),
    ],
)
def test_a_sentence_gets_the_mark_and_the_letters_that_the_model_is_used_to(translator, text, read):
    assert make_readable(translator, text).tokens == translator.split(read)


def test_a_mark_that_was_added_is_not_shown_in_the_translation(translator):
    [without], [with_mark] = translate_free_text(translator, [GERMAN, f"{GERMAN}."])
    assert without.translation.target == with_mark.translation.target
    assert str(without.translation) == str(with_mark.translation).rstrip(".!?")


def test_spacing_and_line_breaks_between_sentences_stay_as_they_were_typed(translator):
    text = f"  {GERMAN}.  The dog sees the cat.\n\n42!\n{GERMAN} "
    sentences = translate(translator, text)
    assert "".join(each.source for each in sentences) == text
    first, last = str(sentences[0].translation), str(sentences[-1].translation)
    whole = "".join(map(str, sentences))
    assert whole == f"  {first}  The dog sees the cat.\n\n42!\n{last} "


@pytest.mark.slow
def test_a_long_sentence_is_translated_with_a_remark_and_one_that_is_too_long_is_refused():
    translator = free_text_translator(max_len=LONG + 10)
    words = translator.split(GERMAN)
    for tokens, kind in ((LONG, None), (LONG + 1, "long"), (LONG + 10, "long")):
        text = " ".join(["der"] * (tokens - 1)) + "."
        [sentence] = translate(translator, text)
        assert len(sentence.translation.source) == tokens > len(words)
        assert ("long" in sentence.remarks) == (kind == "long")
    [sentence] = translate(translator, " ".join(["der"] * (LONG + 10)))  # a mark is added
    assert sentence.translation is None
    assert sentence.remarks == {
        "too_long": "This sentence has 51 tokens, and the model reads at most 50: make several "
        "sentences of it."
    }


@pytest.mark.slow
def test_many_texts_are_translated_as_each_alone_with_the_decoding_that_was_asked_for(translator):
    texts = [f"{GERMAN}. die katze schläft.", "", "Hello, who is the old dog?", GERMAN]
    beam, counted = Decoding("beam", width=2), []
    together = translate_free_text(translator, texts, decoding=beam, on_batch=counted.append)
    assert together == [translate_free_text(translator, [t], decoding=beam)[0] for t in texts]
    assert sum(counted) == 3
    assert all(each.translation.log_prob for each in together[0])


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(translator, text):
    make_readable(translator, text)


def test_german_sentences_are_never_called_english_and_english_ones_nearly_always(translator):
    pairs = [pair for pair in load_corpus("grammar_de_en").pairs("test", 300) if pair.source[2:]]
    german, english = (
        [make_readable(translator, getattr(pair, side)).remarks for pair in pairs]
        for side in ("source_text", "target_text")
    )
    assert not any(german)
    assert sum("english" in remarks for remarks in english) >= 0.95 * len(english)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Frau gibt dem Kind ein Buch", "the woman gives a book to the child"),
        ("DER HUND SCHLÄFT", "the dog sleeps"),
        ("wo ist der hund", "where is the dog"),
        ("Der Hund schläft. Die Katze schläft.", "the dog sleeps. the cat sleeps."),
        ("Hello world", None),
    ],
)
def test_the_model_of_the_grammar_gets_sentences_and_marks_and_no_remarks(text, expected):
    small = load_translator(model="small")
    sentences = translate(small, text)
    if expected is not None:
        assert "".join(map(str, sentences)) == expected
    assert {kind for each in sentences for kind in each.remarks} <= {"cut_off"}
