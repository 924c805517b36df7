import pytest

from course_lib.data import Corpus, TextPair, text_corpus
from course_lib.errors import CourseError


def corpus_of(tell=print, **splits):
    pairs = {
        name: [TextPair(source, source.upper()) for source in sources]
        for name, sources in splits.items()
    }
    return text_corpus(
        "mine",
        ("de", "tlh"),
        splits={name: lambda size, pairs=pairs: pairs[:size] for name, pairs in pairs.items()},
        max_words=3,
        max_characters=20,
        tell=tell,
    )


def test_what_is_removed_from_a_split_is_reported_once():
    messages = []
    corpus = corpus_of(messages.append, train=["a", "", "b", "c c c c", "v"], valid=["v", " "])
    assert [pair.source_text for pair in corpus.pairs("train")] == ["a", "b"]
    assert [pair.source_text for pair in corpus.pairs("valid")] == ["v"]
    corpus.pairs("train")
    assert messages == [
        "mine, train: kept 2 of 5 pairs: 1 with an empty side (first: line 2), 1 with more than 3 "
        "words on a side (first: line 4), 1 also in valid (first: line 5)",
        "mine, valid: kept 1 of 2 pairs: 1 with an empty side (first: line 2)",
    ]


def test_the_report_is_printed_by_default(capsys):
    corpus_of(train=["a", ""]).pairs("train")
    assert "kept 1 of 2 pairs" in capsys.readouterr().out


def test_nothing_is_reported_if_nothing_was_removed(capsys):
    corpus = corpus_of(train=["a"], valid=["long " * 9], test=["a long " * 9])
    assert all(len(corpus.pairs(split)) == 1 for split in corpus.splits)
    assert capsys.readouterr().out == ""


def test_targets_of_other_splits_are_reported_though_they_stay():
    messages = []
    pairs = {"train": [TextPair("a", "x")], "valid": [TextPair("b", "X ")]}
    splits = {name: lambda size, some=some: some[:size] for name, some in pairs.items()}
    corpus = text_corpus("mine", ("de", "en"), splits=splits, tell=messages.append)
    assert len(corpus.pairs("train")) == 1
    assert messages == [
        "mine, train: kept 1 of 1 pairs; among them 1 with a target that is also in valid "
        "(first: line 1)"
    ]


def test_size_counts_the_first_pairs_of_the_file():
    messages = []
    corpus = corpus_of(messages.append, train=["a", "", "b", "c"])
    assert [pair.source_text for pair in corpus.pairs("train", 3, seed=7)] == ["a", "b"]
    assert "kept 2 of 3 pairs" in messages[0]
    assert len(corpus.pairs("train", 9)) == 3


def test_known_language_codes_become_names():
    corpus = corpus_of(train=["a"])
    assert (corpus.source_language, corpus.target_language) == ("German", "tlh")


@pytest.mark.parametrize("sources", [[], [" "]])
def test_a_split_without_a_pair_is_an_error(sources):
    with pytest.raises(CourseError, match="at least one pair in valid of mine, kept 0 of"):
        corpus_of(train=["a"], valid=sources).pairs("valid")


def test_a_function_is_enough_to_make_a_corpus_of_a_list():
    pairs = [TextPair("a", "b")]
    corpus = Corpus(
        "mine",
        source_language="Portuguese",
        target_language="English",
        splits=("train",),
        sample=lambda split, size, seed: pairs,
    )
    assert corpus.pairs("train", 5, seed=1) is corpus.pairs("train") is pairs
