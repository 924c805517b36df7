"""A published ``config.json`` is read whole, or the field that cannot be is named."""

import pytest

from course_lib.modern import published, read_config

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "mlp_bias": False,
    "model_type": "llama",
    "pretraining_tp": 1,
    "rope_scaling": None,
    "torch_dtype": "bfloat16",
    "use_cache": True,
}
SMOLLM2 = LLAMA | {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "is_llama_config": True,
    "num_attention_heads": 9,
    "num_hidden_layers": 30,
    "num_key_value_heads": 3,
    "rms_norm_eps": 1e-5,
    "rope_interleaved": False,
    "rope_theta": 100_000,
    "tie_word_embeddings": True,
    "vocab_size": 49_152,
}
QWEN3 = {
    "model_type": "qwen3",
    "attention_bias": False,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "max_position_embeddings": 40_960,
    "max_window_layers": 28,
    "num_attention_heads": 16,
    "num_hidden_layers": 28,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-6,
    "rope_scaling": None,
    "rope_theta": 1_000_000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "use_sliding_window": False,
    "vocab_size": 151_936,
}
QWEN3_MOE = QWEN3 | {
    "model_type": "qwen3_moe",
    "decoder_sparse_step": 1,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "mlp_only_layers": [],
    "moe_intermediate_size": 768,
    "norm_topk_prob": True,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "router_aux_loss_coef": 0.001,
    "tie_word_embeddings": False,
}
GEMMA3 = {
    "model_type": "gemma3_text",
    "_sliding_window_pattern": 6,
    "attention_bias": False,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "head_dim": 256,
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 640,
    "intermediate_size": 2048,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 3,
    "max_position_embeddings": 32_768,
    "num_attention_heads": 4,
    "num_hidden_layers": 18,
    "num_key_value_heads": 1,
    "query_pre_attn_scalar": 256,
    "rms_norm_eps": 1e-6,
    "rope_local_base_freq": 10_000.0,
    "rope_scaling": None,
    "rope_theta": 1_000_000.0,
    "sliding_window": 512,
    "tie_word_embeddings": True,
    "use_bidirectional_attention": False,
    "vocab_size": 262_144,
}


@pytest.mark.parametrize(
    ("json", "name"),
    [
        (SMOLLM2, "smollm2_135m"),
        (QWEN3, "qwen3_0_6b"),
        (QWEN3_MOE, "qwen3_30b_a3b"),
    ],
)
def test_a_published_file_is_the_preset(json, name):
    assert read_config(json) == published(name)


def test_windows_are_read_from_layer_types_and_from_a_pattern():
    config = read_config(GEMMA3)
    assert config.layer_windows == published("gemma_3_270m").layer_windows
    pattern = {key: value for key, value in GEMMA3.items() if key != "layer_types"}
    assert read_config(pattern) == published("gemma_3_270m")
    mistral = SMOLLM2 | {"model_type": "mistral", "sliding_window": 4096}
    assert read_config(mistral).windows == (4096,)
    assert read_config(QWEN3 | {"sliding_window": 4096}).windows == (None,)


def test_newer_files_have_the_base_in_rope_parameters():
    new = {key: value for key, value in SMOLLM2.items() if key != "rope_theta"}
    new["rope_parameters"] = {"rope_type": "default", "rope_theta": 100_000}
    assert read_config(new) == published("smollm2_135m")


def test_a_llama_with_scaled_positions_can_be_counted_if_they_are_ignored():
    scaled = SMOLLM2 | {"rope_scaling": {"rope_type": "llama3", "factor": 32.0}}
    with pytest.raises(ValueError, match=r"pass ignore=\['rope_scaling'\]"):
        read_config(scaled)
    assert read_config(scaled, ignore=["rope_scaling"]) == published("smollm2_135m")


PARTIAL = {"rope_type": "default", "rope_theta": 1e5, "partial_rotary_factor": 0.5}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt_oss"}, "model_type must be one of llama, .*, got 'gpt_oss'"),
        ({"logits_scaling": 8.0}, "the field 'logits_scaling' is not known here, got 8.0"),
        ({"hidden_act": "relu2"}, "hidden_act must be one of silu, gelu_pytorch_tanh, got 'relu2'"),
        ({"num_key_value_heads": 4}, "n_heads must be a multiple of n_kv_heads"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "must have rope_type 'default', got .*yarn"),
        ({"rope_parameters": PARTIAL}, "'partial_rotary_factor' is not known here"),
        ({"rope_parameters": {"rope_type": "default"}}, "rope_theta is missing"),
        ({"layer_types": ["linear_attention"]}, "got 'linear_attention'"),
        ({"query_pre_attn_scalar": 16}, "query_pre_attn_scalar must be d_head=64, got 16"),
        ({"hidden_size": "576"}, "d_model must be a positive whole number, got '576'"),
        ({"rope_theta": "1e5"}, "rope_base must be a positive number, got '1e5'"),
        ({"sliding_window": 0, "model_type": "mistral"}, "a window must be a positive number"),
        ({"sliding_window": 512, "sliding_window_pattern": "x"}, "sliding_window_pattern must be"),
        ({"layer_types": 3}, "layer_types must be a list"),
        ({"vocab_size": None}, "vocab must be a positive whole number, got None"),
    ],
)
def test_what_is_not_known_or_contradicts_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        read_config(SMOLLM2 | changes)


def test_a_part_of_a_file_says_what_is_missing():
    with pytest.raises(ValueError, match="fields are missing: hidden_size, .*vocab_size"):
        read_config({"model_type": "llama"})
