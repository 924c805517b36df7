"""Configurations of published models."""

import difflib

from course_lib.modern.config import DecoderConfig

PRESETS: dict[str, DecoderConfig] = {
    "smollm2_135m": DecoderConfig(
        vocab=49_152,
        d_model=576,
        d_ff=1536,
        n_heads=9,
        n_kv_heads=3,
        n_layers=30,
        norm_eps=1e-5,
        rope_base=100_000.0,
        max_len=8192,
    ),
    "llama_3_2_1b": DecoderConfig(  # its scaling of rotary positions is left out
        vocab=128_256,
        d_model=2048,
        d_ff=8192,
        n_heads=32,
        n_kv_heads=8,
        n_layers=16,
        norm_eps=1e-5,
        rope_base=500_000.0,
        max_len=131_072,
    ),
    "qwen3_0_6b": DecoderConfig(
        vocab=151_936,
        d_model=1024,
        d_ff=3072,
        n_heads=16,
        n_kv_heads=8,
        d_head=128,  # not 1024 / 16
        n_layers=28,
        qk_norm=True,
        rope_base=1_000_000.0,
        max_len=40_960,
    ),
    "gemma_3_270m": DecoderConfig(
        vocab=262_144,
        d_model=640,
        d_ff=2048,
        n_heads=4,
        n_kv_heads=1,
        d_head=256,
        n_layers=18,
        qk_norm=True,
        windows=(512, 512, 512, 512, 512, None),
        placement="both",
        activation="geglu",
        rope_base=1_000_000.0,
        local_rope_base=10_000.0,
        max_len=32_768,
        scale_embeddings=True,
    ),
    "qwen3_30b_a3b": DecoderConfig(
        vocab=151_936,
        d_model=2048,
        d_ff=6144,
        n_heads=32,
        n_kv_heads=4,
        d_head=128,
        n_layers=48,
        qk_norm=True,
        n_experts=128,
        top_k=8,
        d_expert=768,
        rope_base=1_000_000.0,
        max_len=40_960,
        tied=False,
    ),
}


def published(name: str) -> DecoderConfig:
    """The configuration of a published model.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in PRESETS:
        close = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f": did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"name must be one of {', '.join(PRESETS)}, got {name!r}{hint}")
    return PRESETS[name]
