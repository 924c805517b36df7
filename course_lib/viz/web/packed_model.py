"""A trained model as bytes that the scripts of a page read: ``unpackModel`` in weights.js."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.model import Transformer, TransformerConfig
from course_lib.model.eight_bits import dequantize, quantize
from course_lib.viz.web.translator_texts import Text

HALF_LIMIT = float(np.finfo(np.float16).max)
EXACT = 1e-6  # relative: the rounding of a scale times a whole number to 32 bits


@runtime_checkable
class TokenizerToPack(Protocol):
    """What is needed of a ``Vocabulary`` or of ``Subwords``, which has ``merges`` besides."""

    tokens: list[str]
    ids: dict[str, int]


@runtime_checkable
class TranslatorToPack(Protocol):
    """What is needed of a ``Translator``."""

    model: Transformer
    language_evidence: Tensor | None
    known_characters: str

    @property
    def source_vocabulary(self) -> TokenizerToPack: ...  # noqa: D102

    @property
    def target_vocabulary(self) -> TokenizerToPack: ...  # noqa: D102


def pack_model(
    translator: TranslatorToPack,
    *,
    bits: int = 16,
    examples: Sequence[Text] = (),
    sentences: Sequence[Text] = (),
) -> bytes:
    """A JSON header, then the numbers of each tensor, deflated.

    Numbers are 16-bit floating-point numbers, little-endian, all high bytes before all low bytes,
    which deflate compresses better. With 8 bits, a matrix is a 32-bit scale for each row and then
    whole numbers from -127 to 127.

    Args:
        translator: with tokenizers of words or made by ``train_bpe``, and a model with the choices
            of the preset ``small`` or, instead of its norm, tying and sizes, others.
        bits: of a number of a matrix, 8 or 16.
        examples: for buttons.
        sentences: with a right translation of each, of which a button picks one.

    Raises:
        CourseError: the scripts cannot compute this model, or its weights need more bits.
    """
    config = translator.model.config
    _check_config(config)
    ids, evidence = translator.target_vocabulary.ids, translator.language_evidence
    shared = translator.source_vocabulary is translator.target_vocabulary
    tensors = {
        name: value.detach().cpu().reshape(-1, value.shape[-1])  # a bias is one row
        for name, value in translator.model.named_parameters()  # names a tied table once
    }
    header = {
        "config": {
            name: getattr(config, name)
            for name in "d_model n_heads n_layers max_len norm final_norm norm_eps tying".split()
        }
        | {"bos_id": ids["<bos>"], "eos_id": ids["<eos>"]},
        "bits": bits,
        "tensors": [(name, *value.shape) for name, value in tensors.items()],
        "source": _describe(translator.source_vocabulary),
        "target": None if shared else _describe(translator.target_vocabulary),
        "evidence": None if evidence is None else [round(each, 4) for each in evidence.tolist()],
        "knownCharacters": translator.known_characters,
        "examples": list(examples),
        "sentences": list(sentences),
    }
    text = json.dumps(header, ensure_ascii=False).encode("utf-8")
    numbers = [
        _eight_bits(value) if bits == 8 and len(value) > 1 else _sixteen_bits(value)
        for value in tensors.values()
    ]
    return zlib.compress(struct.pack("<I", len(text)) + text + b"".join(numbers), 9)


def _eight_bits(matrix: Tensor) -> bytes:
    numbers, scale = quantize(matrix)
    if not torch.allclose(dequantize(numbers, scale), matrix, rtol=EXACT, atol=0):
        raise CourseError(
            "the page stores this model's matrices with 8 bits, got a model whose matrices need "
            "more: save it with save_checkpoint(path, translator, bits=8) and load that, which "
            "changes its logits a little"
        )
    return scale.numpy().astype("<f4").tobytes() + numbers.numpy().tobytes()


def _sixteen_bits(value: Tensor) -> bytes:
    numbers = value.numpy()
    largest = np.abs(numbers).max()
    if not largest <= HALF_LIMIT:  # NaN compares false
        raise CourseError(
            f"the page stores weights as 16-bit floating-point numbers, at most {HALF_LIMIT:,.0f}, "
            f"got a model whose largest is {largest}: did its training diverge?"
        )
    halves = numbers.astype("<f2")
    if not np.array_equal(halves, numbers):
        raise CourseError(
            "the page stores weights as 16-bit floating-point numbers, got a model whose weights "
            "need 32: round them with model.half().float(), which changes its logits a little"
        )
    whole = halves.view("<u2")
    return (whole >> 8).astype(np.uint8).tobytes() + (whole & 255).astype(np.uint8).tobytes()


def _describe(tokenizer: TokenizerToPack) -> dict[str, Any]:
    """What words.js and subwords.js need of a tokenizer."""
    if not hasattr(tokenizer, "merges"):
        return {"words": tokenizer.tokens}
    return {"tokens": tokenizer.tokens, "merges": [" ".join(pair) for pair in tokenizer.merges()]}


def _check_config(config: TransformerConfig) -> None:
    """Refuse a model with choices that transformer.js does not make."""
    if not isinstance(config, TransformerConfig):
        raise CourseError(
            "the page's script computes an encoder-decoder, got one stack for source and target: "
            "choose a model of the preset 'small'"
        )
    expected = {
        "norm_affine": True,
        "activation": "relu",
        "positions": "sinusoidal",
        "layout": "interleaved",
        "scale_embeddings": True,
        "attention_bias": True,
        "feed_forward_bias": True,
        "output_bias": True,
    }
    for name, value in expected.items():
        if getattr(config, name) != value:
            raise CourseError(
                f"the page's script computes models with {name}={value!r}, got "
                f"{getattr(config, name)!r}: choose a model of the preset 'small'"
            )
