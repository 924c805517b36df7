import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import (
    EncodedPair,
    bucket,
    collate,
    epoch_batches,
    pad_sequences,
    teacher_forcing,
)
from course_lib.errors import CourseError

PAD, BOS, EOS = 0, 1, 2


def test_padding_fills_the_right_or_the_left():
    assert pad_sequences([[5], [6, 7]], 9).tolist() == [[5, 9], [6, 7]]
    assert pad_sequences([[5], [6, 7]], 9, pad_left=True).tolist() == [[9, 5], [6, 7]]


def test_collate_pads_each_side_to_its_own_longest():
    source, target = collate([EncodedPair([5], [1, 6, 2]), EncodedPair([5, 7], [1, 2])], 9)
    assert source.tolist() == [[5, 9], [5, 7]]
    assert target.tolist() == [[1, 6, 2], [1, 2, 9]]
    assert source.dtype == torch.int64


@pytest.mark.parametrize("pairs", [[], [EncodedPair([], [1])], [EncodedPair([1], [])]])
def test_collate_refuses_an_empty_batch_or_side(pairs):
    with pytest.raises(CourseError, match="at least one pair.*empty lines"):
        collate(pairs, 0)


def test_teacher_forcing_shifts_labels_one_to_the_left():
    decoder_input, labels = teacher_forcing(torch.tensor([[BOS, 5, 6, EOS, PAD]]))
    assert decoder_input.tolist() == [[BOS, 5, 6, EOS]]
    assert labels.tolist() == [[5, 6, EOS, PAD]]


def test_under_left_padding_the_label_of_a_padded_input_is_padding():
    decoder_input, labels = teacher_forcing(torch.tensor([[PAD, PAD, BOS, 5, EOS]]))
    assert decoder_input.tolist() == [[PAD, PAD, BOS, 5]]
    assert labels.tolist() == [[PAD, PAD, 5, EOS]]


lengths_lists = st.lists(st.integers(1, 30), min_size=1, max_size=60)


@given(lengths_lists, st.integers(30, 90), st.integers(0, 5))
def test_every_sentence_is_in_exactly_one_batch_within_the_budget(lengths, budget, seed):
    batches = bucket(lengths, budget, rng=random.Random(seed))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= budget for batch in batches)


def test_bucketing_wastes_less_than_batches_in_the_given_order():
    rng = random.Random(0)
    lengths = [rng.randint(3, 30) for _ in range(400)]
    padded = sum(len(b) * max(lengths[i] for i in b) for b in bucket(lengths, 300))
    in_order = [lengths[i : i + 10] for i in range(0, 400, 10)]
    assert padded < 1.1 * sum(lengths) < sum(len(b) * max(b) for b in in_order)


def test_a_sentence_above_the_budget_gets_a_batch_of_its_own():
    assert bucket([50, 2, 2], 10) == [[1, 2], [0]]


def test_bucket_refuses_a_budget_of_nothing():
    with pytest.raises(CourseError, match="max_tokens must be positive, got 0"):
        bucket([1], 0)


def test_batches_depend_on_seed_and_epoch_alone():
    pairs = [EncodedPair([i] * (1 + i % 5), [1, i, 2]) for i in range(3, 60)]

    def order(seed, epoch):
        batches = epoch_batches(pairs, max_tokens=20, pad_id=0, seed=seed, epoch=epoch)
        return [batch.source.tolist() for batch in batches]

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)
