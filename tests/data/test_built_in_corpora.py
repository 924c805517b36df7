import pytest

from course_lib.data import join_words, load_corpus, split_words
from course_lib.errors import CourseError


def test_the_two_sentences_are_the_published_ones_and_every_word_is_aligned():
    pairs = load_corpus("two_sentences").pairs("train", 2)
    assert [" ".join(p.source) for p in pairs] == ["ich mochte ein bier", "ich mochte ein cola"]
    assert [" ".join(p.target) for p in pairs] == ["i want a beer .", "i want a coke ."]
    assert all({i for i, _ in p.alignment} == set(range(4)) for p in pairs)


@pytest.mark.parametrize("name", ["grammar_de_en", "grammar_pt_en"])
def test_words_of_a_corpus_survive_being_written_as_text(name):
    for pair in load_corpus(name).pairs("train", 500):
        assert split_words(join_words(pair.source)) == list(pair.source)
        assert split_words(join_words(pair.target)) == list(pair.target)


def test_a_split_or_size_that_does_not_exist_is_an_error():
    with pytest.raises(CourseError, match=r"two_sentences has the splits train, got 'test'"):
        load_corpus("two_sentences").pairs("test", 1)
    with pytest.raises(CourseError, match="size must be a positive number of pairs, got 0"):
        load_corpus("two_sentences").pairs("train", 0)


def test_a_grammar_needs_a_size_but_two_sentences_do_not():
    with pytest.raises(
        CourseError, match="grammar_de_en never runs out of pairs: say how many pairs of valid"
    ):
        load_corpus("grammar_de_en").pairs("valid")
    assert len(load_corpus("two_sentences").pairs("train")) == 2
