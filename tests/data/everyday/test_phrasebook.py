"""The phrasebook's gaps are filled alike on both sides, and never by what does not fit."""

import pytest

from course_lib.data.everyday.phrasebook import (
    COPIES,
    FILLINGS,
    all_phrases,
    phrasebook_pairs,
    read_phrasebook,
)

BOOK = """
# A note.
[drink]
Tee | tea
Kaffee | coffee
[sentences]
{name} trinkt {drink}. | {name} drinks {drink}.
ich mag {drink} und {drink2}. | I like {drink} and {drink2}.
Guten Tag! | Good day!
"""


@pytest.fixture
def write(tmp_path):
    def write_(text):
        path = tmp_path / "phrases.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write_


def test_the_same_filler_stands_on_both_sides(write):
    pairs = phrasebook_pairs(read_phrasebook(write(BOOK)))
    drinks = {"Tee": "tea", "Kaffee": "coffee"}
    drinking = [pair for pair in pairs if "trinkt" in pair.source_text]
    assert len({pair.source_text for pair in drinking}) == len(drinking) > FILLINGS / 2
    for german, english in drinking:
        name, _, drink = german.rstrip(".").split()
        assert english == f"{name} drinks {drinks[drink]}."


def test_two_gaps_of_one_list_have_different_fillers_and_no_sentence_comes_twice(write):
    pairs = phrasebook_pairs(read_phrasebook(write(BOOK)))
    both = [pair.source_text for pair in pairs if " und " in pair.source_text]
    assert sorted(both) == ["Ich mag Kaffee und Tee.", "Ich mag Tee und Kaffee."]


def test_a_phrase_without_gaps_is_repeated(write):
    pairs = phrasebook_pairs(read_phrasebook(write(BOOK)))
    assert pairs.count(("Guten Tag!", "Good day!")) == COPIES


def test_the_same_seed_gives_the_same_sentences(write):
    book = read_phrasebook(write(BOOK))
    assert phrasebook_pairs(book) == phrasebook_pairs(book) != phrasebook_pairs(book, seed=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Tee | tea", "line 1: expected German | English, got 'Tee | tea'"),
        ("[drink]\nTee tea", "line 2: expected German | English, got 'Tee tea'"),
        ("[sentences]\n{x} | {x}", "without a list: x"),
        ("[sentences]\n{name} | who", "the same gaps on both sides"),
        ("[a]\nx | y\n[sentences]\n{a} {a2} | {a} {a2}", "the list 'a' has only 1"),
    ],
)
def test_a_line_that_fits_nowhere_is_refused(write, text, message):
    with pytest.raises(ValueError, match="expected") as error:
        read_phrasebook(write(text))
    assert message in str(error.value)


def test_the_phrasebooks_of_the_course_can_be_read_and_have_no_gap_left():
    pairs = all_phrases()
    assert len(pairs) > 10_000
    for german, english in pairs:
        assert not {*"{}|"} & {*german, *english}
        assert german[0] == german[0].upper() and english[0] == english[0].upper()
