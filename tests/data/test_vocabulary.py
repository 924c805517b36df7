import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import BOS, EOS, PAD, UNK, Vocabulary, join_words, split_words
from course_lib.errors import CourseError


def test_capitals_spacing_and_punctuation_do_not_matter_to_split_words():
    assert split_words("Der Hund  schläft,weil er müde ist.") == (
        "der hund schläft , weil er müde ist .".split()
    )


def test_composed_and_decomposed_umlauts_are_the_same_word():
    assert split_words("scha\u0308ft") == split_words("sch\u00e4ft")


@given(st.lists(st.sampled_from("der hund liest ein-buch kind's , . ?".split()), max_size=12))
def test_split_words_gives_back_what_join_words_joined(words):
    assert split_words(join_words(words)) == words


def test_join_words_leaves_no_space_before_punctuation():
    assert join_words("yes , he sleeps .".split()) == "yes, he sleeps."


def test_frequent_words_get_small_ids_and_ties_are_alphabetical():
    vocabulary = Vocabulary.from_sentences(["b a".split(), "c b".split()])
    assert vocabulary.tokens == [PAD, BOS, EOS, UNK, "b", "a", "c"]


def test_decode_stops_at_the_end_of_the_sentence_and_drops_pads():
    vocabulary = Vocabulary.from_sentences([["a", "b"]])
    ids = [vocabulary.ids[w] for w in (BOS, "a", PAD, "b", EOS, "a")]
    assert vocabulary.decode(ids) == ["a", "b"]


def test_an_unknown_word_is_read_as_unk_and_reported():
    vocabulary = Vocabulary.from_sentences([["hund"]])
    assert vocabulary.encode(["hund", "kamel"]) == [vocabulary.ids["hund"], vocabulary.ids[UNK]]
    assert vocabulary.unknown(["kamel", "hund", "kamel"]) == ["kamel"]
    assert "hund" in vocabulary and "kamel" not in vocabulary


def test_without_unk_an_unknown_word_is_an_error_that_suggests_a_known_one():
    vocabulary = Vocabulary.from_sentences([["bier", "cola"]], specials=(PAD,))
    with pytest.raises(CourseError, match=r"one of the 3 words.*got 'bierr': did you mean 'bier'"):
        vocabulary.encode(["bierr"])


def test_a_vocabulary_refuses_repeated_words_and_a_missing_pad():
    with pytest.raises(CourseError, match="'a' appears twice"):
        Vocabulary([PAD, "a", "a"])
    with pytest.raises(CourseError, match=r"begins with '<pad>' \(id 0\), got \['a'\]"):
        Vocabulary(["a"])
