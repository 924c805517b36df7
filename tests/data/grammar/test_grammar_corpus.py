"""Splits that never overlap, held-out combinations, sizes, and the gold alignment of every pair."""

import sys
from collections import Counter
from itertools import islice

import pytest
from tqdm.auto import tqdm

from course_lib.data.grammar import HELD_OUT, SPLITS, sample_pairs
from course_lib.data.grammar.grammar_corpus import sample_meanings
from course_lib.data.grammar.meaning import constructions, uses
from course_lib.data.pairs import SentencePair
from course_lib.errors import CourseError
from tests.data.grammar.alignment_check import check_alignment

pytestmark = pytest.mark.xdist_group("corpus")  # what it samples is shared

NAME = "grammar_de_en"


@pytest.fixture(scope="module")
def train_by_seed():
    return [list(islice(sample_meanings(NAME, "train", seed=s), 5_000)) for s in (11, 12, 13)]


@pytest.fixture(scope="module")
def train(train_by_seed):
    """15,000 meanings; a sentence may come again, from another seed."""
    return [each for part in train_by_seed for each in part]


@pytest.fixture(scope="module")
def others():
    sizes = {"valid": 250, "test": 250, "compositional": 600}
    return {
        split: list(islice(sample_meanings(NAME, split, seed=5), sizes[split]))
        for split in SPLITS[1:]
    }


@pytest.mark.slow
def test_one_german_sentence_has_one_translation(train):
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


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_held_out_combinations_never_occur_outside_compositional(train, others, split):
    for meaning, _ in [*train] if split == "train" else others[split]:
        assert not HELD_OUT & uses(meaning)


def test_every_compositional_sentence_holds_a_held_out_combination(others):
    assert all(HELD_OUT & uses(meaning) for meaning, _ in others["compositional"])


def test_every_held_out_combination_occurs_in_compositional(others):
    found = [uses(meaning) for meaning, _ in others["compositional"]]
    assert frozenset().union(*found) >= HELD_OUT


def test_held_out_words_and_constructions_are_each_frequent_in_train(train):
    found = [use for meaning, _ in train for use in uses(meaning)]
    words, labels = (Counter(part) for part in zip(*found, strict=True))
    for word, construction in HELD_OUT:
        assert words[word] >= 60, word
        assert labels[construction] >= 300, construction


def test_compositional_has_no_word_form_that_train_lacks(train, others):
    for side in (0, 1):
        known = Counter(word for _, pair in train for word in pair[side])
        words = Counter(word for _, pair in others["compositional"] for word in pair[side])
        unknown = {word for word in words if not known[word]}
        assert not unknown


def test_six_hundred_words_a_side_are_learnable_and_there_are_not_many_more(train):
    for side in (0, 1):
        words = Counter(word for _, pair in train for word in pair[side])
        assert sum(count >= 20 * len(train) / 30_000 for count in words.values()) >= 600
        assert len(words) <= 950


def test_sentences_have_3_to_30_words_and_about_10_on_average(train):
    for side in (0, 1):
        lengths = [len(pair[side]) for _, pair in train]
        assert min(lengths) >= 3
        assert max(lengths) <= 30
        assert 9 <= sum(lengths) / len(lengths) <= 11


def test_every_construction_is_seen_hundreds_of_times(train):
    labels = Counter(label for meaning, _ in train for label in constructions(meaning))
    wanted = "subordinate relative question modal negated fronted pronoun comparative equal"
    links = "weil denn obwohl wenn als während bevor aber und deshalb dass ob"
    asks = "asks_truth asks_noun asks_where asks_when asks_why"
    for label in f"{wanted} {links} {asks}".split():
        assert labels[label] >= 150, label


def test_a_bar_for_the_pairs_appears_on_a_terminal_only(monkeypatch, capsys):
    monkeypatch.delenv("COURSE_QUIET", raising=False)
    monkeypatch.setattr("tqdm.auto.tqdm", lambda *args, delay, **kwargs: tqdm(*args, **kwargs))
    sample_pairs(NAME, "test", size=5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    sample_pairs(NAME, "test", size=5)
    assert "0/5" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_pairs_and_another_seed_others():
    first = sample_pairs(NAME, "test", size=50, seed=3)
    assert first == sample_pairs(NAME, "test", size=80, seed=3)[:50]
    assert first != sample_pairs(NAME, "test", size=50, seed=4)


def test_gold_alignments_agree_with_the_lexicon(train, others):
    for _, pair in [*train[:5_000], *others["compositional"]]:
        assert check_alignment(pair) == [], pair


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ({(0, 0), (1, 1), (2, 2), (3, 3), (9, 0)}, "link (9, 0) is out of range"),
        ({(0, 0), (1, 1), (2, 2)}, ". has no link"),
        ({(0, 0), (1, 2), (2, 1), (3, 3)}, "hund is linked with sleeps, of another sense"),
        (
            {(0, 0), (1, 1), (2, 2), (3, 3), (3, 2)},
            "punctuation is linked with a word: . - sleeps",
        ),
    ],
)
def test_the_alignment_check_finds_a_wrong_link(links, problem):
    source, target = ("der", "hund", "schläft", "."), ("the", "dog", "sleeps", ".")
    assert problem in check_alignment(SentencePair(source, target, frozenset(links)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("grammar_xx_en", "train", 1), "the grammar must be one of .*, got 'grammar_xx_en'"),
        ((NAME, "dev", 1), "the split must be one of .*, got 'dev'"),
        ((NAME, "train", 0), "the size must be a positive number of pairs, got 0"),
    ],
)
def test_wrong_arguments_say_what_was_expected(arguments, message):
    with pytest.raises(CourseError, match=message):
        sample_pairs(*arguments[:2], size=arguments[2])
