from dataclasses import replace

import pytest
import torch

from course_lib.data import SentencePair, TextPair
from course_lib.decoding import Translation
from course_lib.training import (
    evaluate,
    evaluation,
    head_alignment_errors,
    load_training_data,
    shuffled_source_scores,
    teacher_forced,
    train,
    translation_scores,
)


@pytest.fixture
def parrot(toy, monkeypatch):
    """A translator that says the source again."""
    translator = load_training_data(toy).new_translator(toy)
    monkeypatch.setattr(
        translator,
        "translate_all",
        lambda sentences, decoding, on_batch: [
            Translation(source=s, target=s) for s in map(list, sentences)
        ],
    )
    return translator


def pairs(*lines):
    return [SentencePair(tuple(s.split()), tuple(t.split())) for s, t in lines]


def test_evaluate_compares_decoded_translations_with_the_targets(parrot):
    assert evaluate(parrot, pairs(("a b", "a b"), ("c d", "c e"))).exact == 0.5


@pytest.mark.parametrize(
    ("translation", "reference", "exact"),
    [
        ("the tired cook sleeps .", "The tired cook sleeps.", 1.0),
        ("the tired cook sleeps.", "the tired cook sleeps.", 1.0),
        ("the tired cook sleeps", "The tired cook sleeps.", 0.0),
        ("the cook tired sleeps.", "The tired cook sleeps.", 0.0),
    ],
)
def test_an_exact_match_is_one_whether_texts_or_a_translator_are_scored(
    parrot, translation, reference, exact
):
    assert translation_scores([translation], [reference]).exact == exact
    assert evaluate(parrot, [TextPair(translation, reference)]).exact == exact


def test_a_vocabulary_of_words_need_not_write_capitals_and_spacing_as_the_file_does(parrot):
    lines = [("wer bist du?", "Wer  bist du ?"), ("wer ist sie?", "Wer ist er?")]
    assert evaluate(parrot, [TextPair(*line) for line in lines]).exact == 0.5


def test_the_shuffled_source_control_gives_each_target_another_source(parrot):
    same = pairs(("a b", "a b"), ("c d", "c d"), ("e f", "e f"))
    assert evaluate(parrot, same).exact == 1
    assert shuffled_source_scores(parrot, same).exact == 0


@pytest.mark.slow
def test_teacher_forced_numbers_do_not_depend_on_the_batches(toy):
    data = load_training_data(toy)
    translator = train(toy, data=data).translator
    encoded = data.encode(data.valid)
    small = teacher_forced(translator, encoded, max_tokens=8)
    assert small == pytest.approx(teacher_forced(translator, encoded), abs=1e-4)
    assert 0 < small[1] <= 1


def test_a_head_that_reads_the_right_word_has_no_alignment_error_and_one_that_does_not_has_only(
    toy, monkeypatch
):
    two_layers = replace(toy, model={**toy.model, "n_layers": 2})  # of two heads
    translator = load_training_data(toy).new_translator(two_layers)
    pair = SentencePair(("a", "b", "c"), ("C", "B", "A"), frozenset({(2, 0), (1, 1), (0, 2)}))
    right = torch.eye(3).flip(0)
    wrong = right.roll(1, dims=1)
    half = torch.stack((right[0], right[1], wrong[2]))
    unseen_end = torch.tensor([[1.0, 0.0, 0.0]])  # the step that says <eos> is linked to nothing
    layers = [
        torch.stack([torch.cat((head, unseen_end)) for head in heads])
        for heads in ((right, wrong), (half, right))
    ]
    monkeypatch.setattr(evaluation, "cross_weights", lambda translator, pair: layers)
    errors = head_alignment_errors(translator, [pair, pair])
    assert torch.allclose(errors, torch.tensor([[0.0, 1.0], [1 / 3, 0.0]]))


def test_alignment_reads_the_step_that_says_each_target_word(toy):
    two_layers = replace(toy, model={**toy.model, "n_layers": 2})
    translator = load_training_data(toy).new_translator(two_layers)
    pair = SentencePair(("a", "b", "c"), ("C", "B"), frozenset({(2, 0)}))
    weights = evaluation.cross_weights(translator, pair)
    assert [tuple(w.shape) for w in weights] == [(2, 3, 3)] * 2  # heads, steps (with <eos>), source
    assert torch.allclose(weights[0].sum(dim=-1), torch.ones(2, 3))
    errors = head_alignment_errors(translator, [pair])
    assert set(errors.flatten().tolist()) <= {0.0, 1.0}  # one link is right or wrong


def test_of_a_source_that_is_too_long_the_prefix_is_translated(toy):
    longest = 9
    short = replace(toy, model={**toy.model, "max_len": longest})
    translator = load_training_data(toy).new_translator(short)
    [long, short] = evaluation.translate_sources(
        translator, pairs(("a " * (longest + 7), "A"), ("a " * longest, "A"))
    )
    assert str(long) == str(short)
