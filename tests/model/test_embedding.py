"""Token ids become vectors of the promised size, and nothing but token ids is accepted."""

import math

import pytest
import torch

from course_lib.model import PositionalEncoding, TransformerEmbedding, embedding_std


def embedding(**options) -> TransformerEmbedding:
    torch.manual_seed(0)
    return TransformerEmbedding(11, 8, dropout=0.0, **options)


@pytest.mark.parametrize("scale", [True, False])
def test_embedding_is_scaled_token_plus_position(scale):
    module, tokens = embedding(scale=scale), torch.tensor([[3, 1, 4], [1, 5, 9]])
    factor = math.sqrt(8) if scale else 1.0
    expected = module.tokens.weight[tokens] * factor + module.positions.table[:3]
    torch.testing.assert_close(module(tokens), expected)


@pytest.mark.parametrize("scale", [True, False])
def test_token_part_has_unit_variance_at_the_start(scale):
    torch.manual_seed(0)
    module = TransformerEmbedding(1000, 64, scale=scale)
    assert (module.tokens.weight * module.scale).std().item() == pytest.approx(1, abs=0.02)


def test_given_standard_deviation_is_used():
    torch.manual_seed(0)
    module = TransformerEmbedding(1000, 64, std=embedding_std(64))
    assert module.tokens.weight.std().item() == pytest.approx(0.2 / 8, rel=0.02)


def test_same_sentence_padded_left_and_right_has_the_same_vectors():
    module = embedding()
    right, left = torch.tensor([[3, 1, 4, 0, 0]]), torch.tensor([[0, 0, 3, 1, 4]])
    assert torch.equal(module(right)[:, :3], module(left)[:, 2:])


def test_prefix_says_where_new_tokens_stand():
    module, whole = embedding(), torch.tensor([[0, 3, 1, 4], [5, 9, 2, 6]])
    for new in (1, 2, 4):
        assert torch.equal(module(whole[:, -new:], whole), module(whole)[:, -new:])


def test_positions_module_can_be_replaced():
    learned = PositionalEncoding(8, 0.0, 5, learned=True)
    assert embedding(positions=learned).positions is learned


def test_int32_ids_are_as_good_as_int64():
    module, tokens = embedding(), torch.tensor([[3, 0]])
    assert torch.equal(module(tokens.int()), module(tokens))


def test_ids_that_cannot_be_read_cheaply_are_not_checked():
    module = embedding().to("meta")
    assert module(torch.zeros(2, 3, dtype=torch.int64, device="meta")).shape == (2, 3, 8)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.uint8])
def test_tokens_must_be_whole_numbers(dtype):
    with pytest.raises(TypeError, match=r"whole numbers \(torch.int64\), got torch.*looked up"):
        embedding()(torch.ones(1, 2, dtype=dtype))


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("shape", [(3,), (), (1, 2, 3)])
def test_tokens_must_be_a_batch(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, length\), got .*batch dimension missing"):
        embedding()(torch.ones(shape, dtype=torch.int64))


@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
def test_empty_batches_and_sentences_are_refused(shape):
    with pytest.raises(ValueError, match=r"at least one sentence.*got shape \(.*end-of-sentence"):
        embedding()(torch.ones(shape, dtype=torch.int64))


@pytest.mark.parametrize("bad", [11, -1, 2**40])
def test_ids_outside_the_vocabulary_are_refused(bad):
    with pytest.raises(ValueError, match=r"lie in 0 … 10 \(vocab_size=11\), got .*do tokenizer"):
        embedding()(torch.tensor([[1, bad]]))
