import math

import pytest
import torch
from torch.nn import functional as F

from course_lib.data import two_sentences
from course_lib.training import label_smoothed_loss, masked_cross_entropy, target_only_entropy


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 4, 7, generator=generator)
    return logits, torch.tensor([[3, 5, 2, 0], [4, 2, 0, 0]])


def test_what_is_predicted_at_pads_does_not_count(batch):
    logits, labels = batch
    changed = logits.masked_fill((labels == 0)[..., None], 50.0)
    assert torch.equal(
        masked_cross_entropy(logits, labels, 0), masked_cross_entropy(changed, labels, 0)
    )


def test_the_mean_is_over_real_tokens(batch):
    logits, labels = batch
    log_p = logits.log_softmax(dim=-1)
    real = [(b, t) for b in range(2) for t in range(4) if labels[b, t] != 0]
    by_hand = -sum(log_p[b, t, labels[b, t]] for b, t in real) / len(real)
    torch.testing.assert_close(masked_cross_entropy(logits, labels, 0), by_hand)


def test_the_pad_id_need_not_be_zero(batch):
    logits, labels = batch
    moved = labels.clone().masked_fill(labels == 0, 6)
    torch.testing.assert_close(
        masked_cross_entropy(logits, labels, 0), masked_cross_entropy(logits, moved, 6)
    )


def test_smoothing_asks_for_a_little_of_every_word(batch):
    logits, labels = batch
    log_p = logits.log_softmax(dim=-1)
    picked = -log_p.gather(2, labels[..., None])[..., 0]
    smoothed = 0.9 * picked - 0.1 * log_p.mean(dim=-1)
    expected = smoothed[labels != 0].mean()
    torch.testing.assert_close(label_smoothed_loss(logits, labels, 0, 0.1), expected)


def test_a_batch_of_pads_has_loss_zero_and_finite_gradients():
    logits = torch.randn(1, 3, 5, requires_grad=True)
    loss = masked_cross_entropy(logits, torch.zeros(1, 3, dtype=torch.int64), 0)
    loss.backward()
    assert loss == 0 and torch.equal(logits.grad, torch.zeros_like(logits))


def test_the_loss_equals_pytorchs(batch):
    logits, labels = batch
    expected = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0)
    torch.testing.assert_close(masked_cross_entropy(logits, labels, 0), expected)


def test_the_two_sentences_cannot_be_learnt_below_two_ln_two_twelfths_without_the_source():
    floor = target_only_entropy([pair.target for pair in two_sentences()])
    assert floor == pytest.approx(2 * math.log(2) / 12)
    assert round(floor, 4) == 0.1155


def test_a_single_sentence_needs_no_source():
    assert target_only_entropy([["a", "b"]]) == 0
