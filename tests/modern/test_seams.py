"""Where a part of today equals the part of 2017 that it replaces."""

import math

import pytest
import torch

from course_lib.model import (
    EncoderBlock,
    MultiHeadAttention,
    TransformerConfig,
    attention_matmul,
    causal_mask,
    layer_norm,
    shift_matrix,
    sinusoidal_positions,
    split_heads,
)
from course_lib.modern import (
    Block,
    DecoderConfig,
    GroupedQueryAttention,
    LatentAttention,
    absorbed_scores,
    gated_width,
    online_attention,
    prefix_mask,
    rms_norm,
    rotate,
    rotate_interleaved,
    window_mask,
)

POSITIONS = torch.arange(7)
CAUSAL = causal_mask(7)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_rms_norm_is_layer_norm_on_vectors_of_mean_zero():
    x = torch.randn(50, 16, dtype=torch.float64) * 3
    x = x - x.mean(dim=-1, keepdim=True)
    assert torch.allclose(rms_norm(x, eps=1e-5), layer_norm(x, eps=1e-5), atol=1e-12)
    assert not torch.allclose(rms_norm(x + 1), layer_norm(x + 1), atol=0.1)


def test_rms_norm_does_not_overflow_in_half_precision():
    x = torch.full((1, 4), 300.0, dtype=torch.float16)  # 300² is more than float16 can hold
    assert torch.allclose(rms_norm(x).float(), torch.ones(1, 4), atol=1e-3)


def small(**changes):
    sizes = {"vocab": 11, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 1}
    return DecoderConfig(**sizes | {"positions": "none"} | changes)


def of_2017(attention, *, n_kv_heads=4):
    """Multi-head attention with the same weights, each head of keys repeated for its queries."""
    plain = MultiHeadAttention(16, 4, bias=False).double()
    with torch.no_grad():
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            weight = getattr(attention, name).weight
            if name in ("k_proj", "v_proj"):
                by_head = weight.unflatten(0, (n_kv_heads, 4))
                weight = by_head.repeat_interleave(4 // n_kv_heads, dim=0).flatten(0, 1)
            getattr(plain, name).weight.copy_(weight)
    return plain


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
def test_grouped_queries_are_multi_head_attention_with_repeated_keys(n_kv_heads):
    x = torch.randn(2, 7, 16, dtype=torch.float64)
    grouped = GroupedQueryAttention(small(n_kv_heads=n_kv_heads)).double()
    plain = of_2017(grouped, n_kv_heads=n_kv_heads)
    assert torch.allclose(grouped(x, CAUSAL, POSITIONS), plain(x, x, x, CAUSAL), atol=1e-12)


def test_a_latent_that_is_the_vector_itself_is_multi_head_attention():
    x = torch.randn(2, 7, 16, dtype=torch.float64)
    latent = LatentAttention(small(d_latent=16)).double()
    with torch.no_grad():
        latent.down.weight.copy_(torch.eye(16))
    latent.k_proj, latent.v_proj = latent.k_up, latent.v_up
    plain = of_2017(latent)
    assert torch.allclose(latent(x, CAUSAL, POSITIONS), plain(x, x, x, CAUSAL), atol=1e-12)


def test_scores_do_not_need_the_keys_of_a_latent_unless_they_are_rotated():
    attention = LatentAttention(small(d_latent=5)).double()
    x = torch.randn(2, 7, 16, dtype=torch.float64)
    queries, latent = split_heads(attention.q_proj(x), 4), attention.down(x)
    keys = split_heads(attention.k_up(latent), 4)
    absorbed = absorbed_scores(queries, latent, attention.k_up.weight)
    scores = queries @ keys.transpose(-2, -1) / 2
    assert torch.allclose(absorbed, scores, atol=1e-12)
    turned = rotate(queries, POSITIONS) @ rotate(keys, POSITIONS).transpose(-2, -1) / 2
    moved = absorbed_scores(rotate(queries, POSITIONS), latent, attention.k_up.weight)
    assert not torch.allclose(moved, turned, atol=0.1)


@pytest.mark.usefixtures("own_messages")
def test_a_transposed_weight_is_not_absorbed():
    with pytest.raises(ValueError, match="did you pass k_up.weight"):
        absorbed_scores(torch.zeros(1, 4, 2, 4), torch.zeros(1, 2, 5), torch.zeros(5, 16))


def test_a_block_of_2017_is_the_encoder_s_block_under_a_causal_mask():
    block = Block(
        small(norm="layer", placement="post", activation="relu", bias=True, norm_eps=1e-5)
    )
    of_2017 = EncoderBlock(
        TransformerConfig(
            source_vocab=11,
            target_vocab=11,
            d_model=16,
            d_ff=24,
            n_heads=4,
            n_layers=1,
            residual_dropout=0.0,
        )
    )
    names = {
        "self_attention": "attention",
        "feed_forward": "feed_forward",
        "add_norm_1.norm": "norm_1",
        "add_norm_2.norm": "norm_2",
    }
    for name, part in names.items():
        of_2017.get_submodule(name).load_state_dict(block.get_submodule(part).state_dict())
    x = torch.randn(2, 7, 16)
    assert torch.allclose(block(x, CAUSAL, POSITIONS), of_2017(x, CAUSAL), atol=1e-6)


def test_a_prefix_of_nothing_is_causal_and_a_prefix_of_all_sees_all():
    masks = prefix_mask(torch.tensor([0, 7]), 7)
    assert torch.equal(masks[:1], CAUSAL)
    assert bool(masks[1].all())


def test_a_prefix_mask_as_the_docstring_draws_it():
    drawn = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert prefix_mask(torch.tensor([2]), 4)[0, 0].int().tolist() == drawn
    assert prefix_mask(torch.tensor([2]), 1, 4)[0, 0].int().tolist() == drawn[3:]


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        (torch.tensor([8]), ValueError, "must lie in 0 … 7"),
        (torch.tensor([-1]), ValueError, "must lie in 0 … 7"),
        (torch.tensor([[1]]), ValueError, r"must have shape \(batch,\)"),
        (torch.tensor([1.0]), TypeError, "must be whole numbers"),
        (torch.tensor([True]), TypeError, "is it a mask"),
    ],
)
def test_prefix_lengths_that_do_not_fit_are_refused(lengths, error, message):
    with pytest.raises(error, match=message):
        prefix_mask(lengths, 7)


def test_a_window_of_everything_hides_nothing_and_a_window_of_one_all_but_itself():
    assert bool(window_mask(7, window=7).all())
    assert bool(window_mask(7, window=None).all())
    assert torch.equal(window_mask(7, window=1)[0, 0], torch.eye(7, dtype=torch.bool))
    near = CAUSAL & window_mask(7, window=3)
    assert near[0, 0].sum(dim=-1).tolist() == [1, 2, 3, 3, 3, 3, 3]
    assert torch.equal(window_mask(2, 7, window=3), window_mask(7, window=3)[:, :, -2:])
    with pytest.raises(ValueError, match="window must be at least 1"):
        window_mask(7, window=0)
    with pytest.raises(ValueError, match="did you swap the two"):
        window_mask(7, 2, window=3)


def to_halves(x):
    """Features in pairs (2i, 2i + 1) in the order of ``rotate``."""
    return torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)


def test_rotary_positions_are_the_rotation_of_lesson_01():
    x = torch.randn(1, 1, 7, 8)
    turned = rotate_interleaved(x, POSITIONS)
    for p in range(7):  # the matrix turns the other way round
        assert torch.allclose(turned[0, 0, p], shift_matrix(8, -p) @ x[0, 0, p], atol=1e-6)
    assert torch.allclose(rotate(to_halves(x), POSITIONS), to_halves(turned), atol=1e-6)


def test_rotated_scores_depend_on_the_distance_alone():
    query, key = torch.randn(2, 1, 1, 7, 32, dtype=torch.float64)

    def scores(shift):
        return rotate(query, POSITIONS + shift) @ rotate(key, POSITIONS + shift).transpose(-2, -1)

    assert torch.allclose(scores(0), scores(4000), atol=1e-9)
    table = sinusoidal_positions(107, 32).double()

    def added(shift):
        return (query + table[POSITIONS + shift]) @ (key + table[POSITIONS + shift]).mT

    assert (added(0) - added(100)).abs().max() > 1


@pytest.mark.usefixtures("own_messages")
def test_rotation_refuses_what_has_no_pairs_or_other_positions():
    with pytest.raises(ValueError, match="each frequency turns a pair"):
        rotate(torch.zeros(1, 1, 2, 3), torch.arange(2))
    with pytest.raises(ValueError, match="one for each token"):
        rotate(torch.zeros(1, 1, 2, 4), torch.arange(3))


@pytest.mark.parametrize("block", [1, 3, 16, 100])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_in_blocks_is_attention(block, causal):
    query, key, value = torch.randn(3, 2, 2, 16, 8, dtype=torch.float64) * 3
    query = query[:, :, 5:]
    mask = causal_mask(11, 16) if causal else None
    expected = attention_matmul(query, key, value, mask)[0]
    context = online_attention(query, key, value, block=block, causal=causal)
    assert torch.allclose(context, expected, atol=1e-12)


def test_attention_in_blocks_adds_in_float32_when_the_numbers_have_16_bits():
    query, key = torch.zeros(2, 1, 1, 8, 4, dtype=torch.bfloat16)
    value = torch.full((1, 1, 8, 4), 1.0, dtype=torch.bfloat16)
    # 4,096 equal weights: in bfloat16, a sum of ones stops growing at 256
    key, value = key.repeat(1, 1, 512, 1), value.repeat(1, 1, 512, 1)
    context = online_attention(query, key, value, block=1, causal=False)
    assert context.dtype == torch.bfloat16 and torch.equal(context, value[:, :, :8])


@pytest.mark.usefixtures("own_messages")
def test_attention_in_blocks_refuses_a_block_of_nothing_and_queries_without_keys():
    x = torch.zeros(1, 1, 2, 4)
    with pytest.raises(ValueError, match="did you swap the two"):
        online_attention(x, x[:, :, :1], x[:, :, :1])
    with pytest.raises(ValueError, match="block must be at least 1"):
        online_attention(x, x, x, block=0)


def test_a_gated_network_of_two_thirds_has_as_many_weights():
    assert 3 * gated_width(1536) == 2 * 1536
    assert gated_width(4 * 4096, multiple_of=256) == 11_008  # Llama 2 7B
    assert gated_width(100) == math.ceil(200 / 3)
