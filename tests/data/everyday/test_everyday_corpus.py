"""Everyday German: other names on both sides, capitals as one writes them, nothing held out."""

import gzip
import re

import pytest

from course_lib.data import load_corpus
from course_lib.data.everyday import mixture, tatoeba
from course_lib.data.everyday.capitals import with_capitals
from course_lib.data.everyday.phrasebook import Phrasebook, phrasebook_pairs
from course_lib.data.everyday.variation import (
    CITIES,
    KEPT,
    MEN,
    MEN_IN_S,
    TRANSLATED_CITIES,
    WOMEN,
    with_variation,
)
from course_lib.data.grammar import sample_pairs
from course_lib.data.pairs import SentencePair, TextPair


def seeds(pair, count=300):
    return [with_variation(pair, seed=seed) for seed in range(count)]


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Tom ist da, Tom!", "Tom is here, Tom!"),
        ("Das ist Toms Auto.", "That's Tom's car."),
        ("Ich mag Maria.", "I like Mary."),
        ("Maria lügt.", "Maria lies."),
        ("Boston ist schön.", "Boston is nice."),
    ],
)
def test_a_name_is_replaced_by_one_that_is_the_same_on_both_sides(german, english):
    found = seeds(TextPair(german, english))
    changed = [pair for pair in found if pair != (german, english)]
    assert 1 - KEPT - 0.1 < len(changed) / len(found) < 1 - KEPT + 0.1
    frame = re.escape(german)
    for name in ("Tom", "Maria", "Boston"):
        frame = frame.replace(name, "(?P<name>\\w+?)", 1).replace(name, "(?P=name)")
    for source, target in changed:
        name = re.fullmatch(frame, source)["name"]
        assert name in target
        assert not {"Tom", "Maria", "Mary", "Boston"} - {name} & {*re.findall(r"\w+", target)}
    assert len({*changed}) > 60


def test_some_names_are_in_no_list():
    known = {*MEN, *MEN_IN_S, *WOMEN, *CITIES}
    names = {source.split()[0] for source, _ in seeds(TextPair("Tom lacht.", "Tom laughs."))}
    assert len(names - known) > 20
    assert len(names & known) > 60


def test_a_name_that_ends_in_s_stands_for_none_in_the_genitive():
    plain, genitive = (
        {
            with_variation(TextPair(german, english), seed).source_text.split()[0]
            for seed in range(2000)
        }
        for german, english in (("Tom schläft.", "Tom sleeps."), ("Toms Hund.", "Tom's dog."))
    )
    assert plain >= {*MEN_IN_S}
    assert not genitive & {f"{name}s" for name in MEN_IN_S}


def test_a_city_with_an_english_name_has_it_in_english():
    assert ("München", "Munich") in TRANSLATED_CITIES
    assert not {german for german, _ in TRANSLATED_CITIES} & {*CITIES}
    book = Phrasebook((TextPair("Nach {city}.", "To {city}."),), {})
    for seed in range(20):
        for german, english in phrasebook_pairs(book, seed):
            cities = german[5:-1], english[3:-1]
            assert cities in TRANSLATED_CITIES or cities[0] == cities[1] in CITIES


def test_numbers_change_on_both_sides_and_keep_their_length():
    for source, target in seeds(TextPair("1990 war ich 9.", "In 1990 I was 9.")):
        assert re.findall(r"\d+", source) == re.findall(r"\d+", target)
        assert [len(number) for number in re.findall(r"\d+", source)] == [4, 1]


@pytest.mark.parametrize(
    "pair",
    [
        TextPair("Tom lügt.", "He lies."),
        TextPair("Er lügt.", "Tom lies."),
        TextPair("Die Tomate ist rot.", "The tomato is red."),
        TextPair("Ich habe drei.", "I have 3."),
    ],
)
def test_what_stands_on_one_side_only_stays(pair):
    assert {*seeds(pair)} == {pair}


def test_the_pair_and_the_seed_decide():
    pair = TextPair("Tom ist 30.", "Tom is 30.")
    assert with_variation(pair) == with_variation(pair)
    assert len({*seeds(pair)}) > 100


@pytest.mark.parametrize(
    ("german", "english", "expected"),
    [
        (
            "die lehrer lachen .",
            "the teachers laugh .",
            ("Die Lehrer lachen.", "The teachers laugh."),
        ),
        (
            "am montag sehe ich den jungen hund .",
            "on monday i see the young dog .",
            ("Am Montag sehe ich den jungen Hund.", "On Monday I see the young dog."),
        ),
        ("der junge lacht .", "the boy laughs .", ("Der Junge lacht.", "The boy laughs.")),
        (
            "den löwen vertraut anna .",
            "anna trusts the lions .",
            ("Den Löwen vertraut Anna.", "Anna trusts the lions."),
        ),
    ],
)
def test_words_have_the_capitals_that_one_writes(german, english, expected):
    assert with_capitals(SentencePair(tuple(german.split()), tuple(english.split()))) == expected


def test_capitals_change_nothing_else():
    for pair in sample_pairs("grammar_de_en", "train", size=200):
        made = with_capitals(pair)
        assert made.source_text.lower() == pair.source_text
        assert made.target_text.lower() == pair.target_text


def test_everyday_has_what_tatoeba_lacks_in_training_only(cache, monkeypatch):
    monkeypatch.setattr(tatoeba, "HELD_OUT", {"test": 10, "valid": 5})
    monkeypatch.setattr(mixture, "GRAMMAR_PAIRS", 50)
    monkeypatch.setattr(mixture, "JOINED", 30)
    phrases = [TextPair(f"Ich mag {name}!", f"I love {name}!") for name in WOMEN]
    monkeypatch.setattr(mixture, "all_phrases", lambda: phrases)
    rows = [f"I like {name}.\tIch mag {name}.\n" for name in WOMEN]
    (cache / "tatoeba").mkdir(parents=True)
    (cache / "tatoeba" / "deu.txt").write_text("".join(rows))
    (cache / "multi30k").mkdir()
    for stem in ("train", "val"):
        for side, text in (("de", "Ein Hund rennt"), ("en", "A dog runs")):
            lines = "".join(f"{text} {stem} {n}.\n" for n in range(20))
            (cache / "multi30k" / f"{stem}.{side}.gz").write_bytes(gzip.compress(lines.encode()))
    corpus = load_corpus("everyday_de_en")
    train = [pair.source_text for pair in corpus.pairs("train")]
    assert sum("rennt train" in text for text in train) == 20
    # What is held out is missing in the phrasebook as well: another mark makes no other sentence.
    left = len(WOMEN) - 15
    assert sum(text.startswith("Ich mag") and text.endswith("!") for text in train) == left
    assert sum(text.count("ich mag") for text in train) == 30  # joined
    assert len(train) == left + left + 30 + 20 + 50
    held_out = [pair.source_text for name in ("valid", "test") for pair in corpus.pairs(name)]
    assert all(text.startswith("Ich mag") for text in held_out)
    assert all("rennt val" in pair.source_text for pair in corpus.pairs("captions"))
