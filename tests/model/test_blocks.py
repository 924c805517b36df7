"""A block is its sublayers, each in its own residual, in the order of Figure 1."""

import pytest
import torch

from course_lib.model import (
    DecoderBlock,
    EncoderBlock,
    TransformerConfig,
    attention_einsum,
    causal_mask,
    layer_norm,
    padding_mask,
)


def config(**changes) -> TransformerConfig:
    plain = {"d_model": 8, "d_ff": 12, "n_heads": 2, "residual_dropout": 0.0}
    return TransformerConfig(source_vocab=9, target_vocab=9, **plain | changes)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_post_norm_encoder_block_is_the_papers():
    block, x = EncoderBlock(config()), torch.randn(2, 3, 8)
    read = layer_norm(x + block.self_attention(x, x, x))
    torch.testing.assert_close(block(x), layer_norm(read + block.feed_forward(read)))


def test_pre_norm_decoder_block_norms_queries_and_never_the_memory():
    block = DecoderBlock(config(norm="pre"))
    x, memory = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    y = layer_norm(x)
    read = x + block.self_attention(y, y, y)
    read = read + block.cross_attention(layer_norm(read), memory, memory)
    expected = read + block.feed_forward(layer_norm(read))
    torch.testing.assert_close(block(x, memory), expected)


def test_cross_attention_takes_queries_from_the_target_and_the_rest_from_the_memory():
    block, seen = DecoderBlock(config()), []
    block.cross_attention.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    x, memory = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    block(x, memory)
    query, key, value, _ = seen[0]
    assert query.shape == (2, 3, 8)
    assert key is memory
    assert value is memory


def test_every_sublayer_has_parameters_and_a_norm_of_its_own():
    block = DecoderBlock(config())
    assert len({p.data_ptr() for p in block.parameters()}) == len(list(block.parameters()))
    assert block.add_norm_1 is not block.add_norm_2


def test_target_mask_reaches_self_attention_and_memory_mask_reaches_cross_attention():
    block = DecoderBlock(config())
    x, memory = torch.randn(1, 3, 8), torch.randn(1, 4, 8)
    masks = causal_mask(3), padding_mask(torch.tensor([[1, 1, 0, 0]]), 0)
    before = block(x, memory, *masks)
    x[:, 2], memory[:, 2:] = 9.0, 9.0
    after = block(x, memory, *masks)
    torch.testing.assert_close(after[:, :2], before[:, :2], atol=1e-6, rtol=0)
    x[:, 0], memory[:, 0] = 9.0, 9.0
    assert not torch.allclose(block(x, memory, *masks)[:, 1], before[:, 1])


def test_options_reach_the_parts():
    block = EncoderBlock(
        config(
            d_head=3,
            norm_affine=False,
            norm_eps=0.25,
            activation="gelu",
            attention="einsum",
            attention_bias=False,
            feed_forward_bias=False,
            attention_dropout=0.2,
            residual_dropout=0.3,
            feed_forward_dropout=0.4,
        )
    )
    names = {name for name, _ in block.named_parameters()}
    assert names == {
        *(f"self_attention.{p}_proj.weight" for p in ("q", "k", "v", "out")),
        "feed_forward.expand.weight",
        "feed_forward.contract.weight",
    }
    assert block.self_attention.q_proj.weight.shape == (6, 8)
    assert block.self_attention.dropout_p == 0.2
    assert block.self_attention.attention is attention_einsum
    assert block.feed_forward.dropout.p == 0.4
    for add_norm in (block.add_norm_1, block.add_norm_2):
        assert (add_norm.dropout.p, add_norm.norm.eps) == (0.3, 0.25)
