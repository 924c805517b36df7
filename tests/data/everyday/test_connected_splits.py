"""No split has a sentence of another."""

import itertools
import random

import pytest

from course_lib.data.everyday.connected_splits import (
    LARGEST_GROUP,
    connected_groups,
    connected_splits,
    without_sentences_of,
)
from course_lib.data.pairs import TextPair

PAIRS = [
    TextPair("Lauf!", "Run!"),
    TextPair("Renn.", "Run."),
    TextPair("renn", "Dash!"),
    TextPair("Halt!", "Stop!"),
    TextPair("Ich geh’ heim.", "I go home."),
    TextPair("Ich geh' heim", "I'm going home."),
]


def test_pairs_that_share_a_sentence_are_one_group():
    assert connected_groups(PAIRS) == [[0, 1, 2], [3], [4, 5]]


@pytest.mark.parametrize("seed", range(3))
def test_no_side_of_a_split_stands_in_another(seed):
    rng = random.Random(seed)
    pairs = [TextPair(f"s{rng.randrange(700)}", f"t{rng.randrange(700)}") for _ in range(500)]
    splits = connected_splits(pairs, {"test": 40, "valid": 20}, rest="train", seed=seed)
    assert sorted(pair for some in splits.values() for pair in some) == sorted(pairs)
    assert 40 <= len(splits["test"]) < 40 + LARGEST_GROUP
    assert 20 <= len(splits["valid"]) < 20 + LARGEST_GROUP
    for name, some in splits.items():
        others = [pair for other in splits if other != name for pair in splits[other]]
        for side in (0, 1):
            assert {pair[side] for pair in some}.isdisjoint(pair[side] for pair in others)


def test_the_same_seed_gives_the_same_splits_and_another_others():
    pairs = [TextPair(f"s{i}", f"t{i}") for i in range(100)]
    first, same, other = (
        connected_splits(pairs, {"test": 20}, rest="train", seed=seed)["test"] for seed in (1, 1, 2)
    )
    assert first == same != other


def test_a_group_too_large_is_not_held_out():
    pairs = [TextPair("Hallo!", f"t{i}") for i in range(LARGEST_GROUP + 1)]
    splits = connected_splits(pairs, {"test": 1}, rest="train")
    assert {name: len(some) for name, some in splits.items()} == {
        "train": LARGEST_GROUP + 1,
        "test": 0,
    }


def test_neighbours_of_a_held_out_split_are_rarely_connected():
    pairs = [TextPair(f"s{i}", f"t{i // 4}") for i in range(800)]
    splits = connected_splits(pairs, {"test": 400}, rest="train")
    same = [a.target_text == b.target_text for a, b in itertools.pairwise(splits["test"])]
    assert sum(same) < 20  # in the order of the file it would be 300
    assert splits["train"] == [pair for pair in pairs if pair in splits["train"]]


def test_pairs_with_a_sentence_that_is_held_out_are_left_out():
    pairs = [TextPair("Renn", "Go!"), TextPair("Geh!", "run."), TextPair("Geh!", "Go!")]
    assert without_sentences_of(pairs, PAIRS[:2]) == [TextPair("Geh!", "Go!")]
