"""Writes small GGUF files, whole or damaged, for the tests."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

Tensor = tuple[tuple[int, ...], int, bytes]  # shape with rows first, type, bytes

TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "h", "e", "l", "o", "Ġ", "he", "ll", "Ġhe"]
SIZES = {"block_count": 2, "embedding_length": 16, "feed_forward_length": 24, "context_length": 32}
HEADS = {"attention.head_count": 4, "attention.head_count_kv": 2}


def text(value: str) -> bytes:
    """A string as the format has it."""
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def packed(value: Any) -> bytes:
    """A field's type and value."""
    if isinstance(value, list):
        kind = 8 if isinstance(value[0], str) else 5
        items = b"".join(text(v) if kind == 8 else struct.pack("<i", v) for v in value)
        return struct.pack("<IIQ", 9, kind, len(value)) + items
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    return struct.pack("<II", 4, value)


def small_fields(**changes: Any) -> dict[str, Any]:
    """The fields of a small model of Llama's architecture; None leaves one out."""
    fields = {
        "general.architecture": "llama",
        **{f"llama.{name}": size for name, size in (SIZES | HEADS).items()},
        "llama.rope.freq_base": 10_000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": 4,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1],
        "tokenizer.ggml.merges": ["h e", "l l", "Ġ he"],
    }
    fields |= {name.replace("__", "."): value for name, value in changes.items()}
    return {name: value for name, value in fields.items() if value is not None}


def small_tensors(seed: int = 0) -> dict[str, Tensor]:
    """Random weights in float32 for ``small_fields``."""
    rng = np.random.default_rng(seed)
    d, ff, keys = 16, 24, 8
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(TOKENS), d), "output_norm": (d,)}
    for i in range(2):
        layer = {
            "attn_norm": (d,),
            "attn_q": (d, d),
            "attn_k": (keys, d),
            "attn_v": (keys, d),
            "attn_output": (d, d),
            "ffn_norm": (d,),
            "ffn_gate": (ff, d),
            "ffn_up": (ff, d),
            "ffn_down": (d, ff),
        }
        shapes |= {f"blk.{i}.{name}": shape for name, shape in layer.items()}
    return {
        f"{name}.weight": (shape, 0, rng.standard_normal(shape).astype("<f4").tobytes())
        for name, shape in shapes.items()
    }


def write(
    path: Path,
    fields: dict[str, Any] | None = None,
    tensors: dict[str, Tensor] | None = None,
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
    offsets: dict[str, int] | None = None,
) -> Path:
    """Write a file; ``counts`` and ``offsets`` lie about its tensors and fields."""
    fields = small_fields() if fields is None else fields
    tensors = small_tensors() if tensors is None else tensors
    header = b"GGUF" + struct.pack("<I", version)
    header += struct.pack("<QQ", *(counts or (len(tensors), len(fields))))
    for name, value in fields.items():
        header += text(name) + packed(value)
    body = b""
    for name, (shape, kind, data) in tensors.items():
        at = (offsets or {}).get(name, len(body))
        header += text(name) + struct.pack("<I", len(shape))
        header += struct.pack(f"<{len(shape)}Q", *reversed(shape)) + struct.pack("<IQ", kind, at)
        body += data + b"\0" * (-len(data) % 32)
    path.write_bytes(header + b"\0" * (-len(header) % 32) + body)
    return path
