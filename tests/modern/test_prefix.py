"""Pairs joined to one row, and the loss on their targets."""

import math

import pytest
import torch

from course_lib.modern import IGNORED, join_pairs, next_token_loss

PAIRS = [([7, 8], [5]), ([9], [4, 6, 4])]


def joined(pairs=PAIRS):
    return join_pairs(pairs, pad_id=0, bos_id=1, eos_id=2)


def test_a_row_is_source_bos_target_eos_and_labels_are_the_next_tokens_of_the_target():
    tokens, prefix, labels = joined()
    assert tokens.tolist() == [[7, 8, 1, 5, 2, 0], [9, 1, 4, 6, 4, 2]]
    assert prefix.tolist() == [2, 1]
    i = IGNORED
    assert labels.tolist() == [[i, i, 5, 2, i, i], [i, 4, 6, 4, 2, i]]


@pytest.mark.parametrize("pairs", [[], [([], [5])]])
def test_nothing_to_translate_is_refused(pairs):
    with pytest.raises(ValueError, match="each source at least one token"):
        joined(pairs)


def test_an_empty_target_is_its_end():
    assert joined([([7], [])]).labels.tolist() == [[IGNORED, 2, IGNORED]]


def test_the_loss_is_the_mean_over_the_labels_that_count():
    labels = joined().labels
    assert next_token_loss(torch.zeros(2, 6, 11), labels).item() == pytest.approx(math.log(11))
    logits = torch.randn(2, 6, 11)
    changed = logits.clone()
    changed[labels == IGNORED] = 100.0  # says nothing about the loss
    changed[labels == IGNORED, 3] = -100.0
    assert next_token_loss(changed, labels) == next_token_loss(logits, labels)


@pytest.mark.usefixtures("own_messages")
def test_a_loss_over_nothing_or_of_another_batch_is_refused():
    with pytest.raises(ValueError, match="no label counts: all 6 are IGNORED"):
        next_token_loss(torch.zeros(1, 6, 11), torch.full((1, 6), IGNORED))
    with pytest.raises(ValueError, match="are they of another batch"):
        next_token_loss(torch.zeros(1, 6, 11), torch.zeros(1, 5, dtype=torch.int64))
