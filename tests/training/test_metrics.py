import pytest
import torch

from course_lib.training import masked_accuracy, translation_scores


def test_accuracy_counts_real_tokens_only():
    labels = torch.tensor([[3, 2, 0, 0]])
    logits = torch.nn.functional.one_hot(torch.tensor([[3, 1, 0, 0]]), 5).float()
    assert masked_accuracy(logits, labels, 0) == 0.5


def test_scores_of_perfect_translations_are_full():
    lines = ["the man sees the dog.", "she sleeps because she is tired."]
    scores = translation_scores(lines, lines)
    assert scores.exact == 1
    assert scores.bleu == pytest.approx(100)
    assert scores.chrf == pytest.approx(100)
    assert "version:" in scores.signature


def test_one_wrong_word_makes_a_sentence_inexact_and_lowers_the_scores():
    references = ["the man sees the dog.", "the cat sleeps."]
    scores = translation_scores(["the man sees the cat.", "the cat sleeps."], references)
    assert scores.exact == 0.5
    assert 0 < scores.bleu < 100 and 0 < scores.chrf < 100


@pytest.mark.parametrize("hypotheses, references", [([], []), (["a"], ["a", "b"])])
def test_scores_need_one_reference_for_each_translation(hypotheses, references):
    message = f"at least one, got {len(hypotheses)} and {len(references)}"
    with pytest.raises(ValueError, match=message):
        translation_scores(hypotheses, references)
