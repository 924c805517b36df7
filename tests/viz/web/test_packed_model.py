"""A packed model holds all numbers and words, and refuses what the scripts cannot compute."""

import json
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from course_lib.data import Vocabulary, train_bpe
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset
from course_lib.modern import PREFIX_PRESETS, PrefixTransformer
from course_lib.viz.web.packed_model import pack_model
from tests.viz.web.tiny_translator import rounded, tiny


def unpack(packed):
    """The header, and each tensor as its numbers were before."""
    data = zlib.decompress(packed)
    (length,) = struct.unpack_from("<I", data)
    header, start, tensors = json.loads(data[4 : 4 + length]), 4 + length, {}
    for name, rows, columns in header["tensors"]:
        count = rows * columns
        if header["bits"] == 8 and rows > 1:
            scale = np.frombuffer(data, "<f4", rows, start)
            numbers = np.frombuffer(data, np.int8, count, start + 4 * rows)
            start += 4 * rows + count
            matrix = numbers.reshape(rows, columns) * scale[:, None]
        else:
            high, low = np.frombuffer(data, np.uint8, 2 * count, start).reshape(2, -1).astype("<u2")
            start += 2 * count
            matrix = (high << 8 | low).view("<f2").astype("f4").reshape(rows, columns)
        tensors[name] = torch.from_numpy(matrix)
    assert start == len(data)
    return header, tensors


@pytest.mark.parametrize("bits", [8, 16])
def test_the_header_and_all_weights_come_back_from_the_packed_model(bits):
    translator = rounded(tiny(), bits=bits)
    header, tensors = unpack(pack_model(translator, bits=bits, sentences=[("hund", "dog")]))
    assert header["config"]["bos_id"] == 1 and header["config"]["eos_id"] == 2
    assert header["source"] == {"words": translator.source_vocabulary.tokens}
    assert header["target"] == {"words": translator.target_vocabulary.tokens}
    assert header["sentences"] == [["hund", "dog"]]
    assert header["evidence"] is None
    for name, parameter in translator.model.named_parameters():
        assert torch.allclose(tensors[name].reshape(parameter.shape), parameter, rtol=1e-6, atol=0)


def test_one_vocabulary_and_one_table_are_packed_once():
    subwords = train_bpe(["ab ab"] * 2, 263)
    sizes = {"source_vocab": len(subwords), "target_vocab": len(subwords)}
    model = Transformer(preset("small", d_model=8, d_ff=8, tying="all", **sizes)).half().float()
    evidence = torch.linspace(-1, 1, len(subwords))
    translator = Translator(
        model, subwords, subwords, language_evidence=evidence, known_characters="ab"
    )
    header, tensors = unpack(pack_model(translator))
    assert header["source"]["merges"] == ["a b", "Ġ ab"]
    assert header["source"]["tokens"] == subwords.tokens and header["target"] is None
    assert [name for name in tensors if "tokens.weight" in name or name == "output.weight"] == [
        "source_embedding.tokens.weight"
    ]
    assert header["evidence"] == pytest.approx(evidence.tolist(), abs=1e-4)
    assert header["knownCharacters"] == "ab"


def test_a_tokenizer_that_splits_in_another_way_is_refused():
    subwords = train_bpe(["ab ab"], 262)
    state = json.loads(subwords.to_json())
    state["pre_tokenizer"] = {"type": "Whitespace"}
    other = type(subwords).from_json(json.dumps(state))
    model = Transformer(preset("small", source_vocab=len(other), target_vocab=5, d_model=8))
    translator = Translator(model, other, tiny().target_vocabulary)
    with pytest.raises(CourseError, match="train_bpe made, got one with another pre_tokenizer"):
        pack_model(translator)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "gelu"}, "models with activation='relu', got 'gelu'"),
        ({"positions": "learned"}, "models with positions='sinusoidal', got 'learned'"),
        ({"attention_bias": False}, "models with attention_bias=True, got False"),
    ],
)
def test_a_model_that_the_script_cannot_compute_is_refused(changes, message):
    with pytest.raises(CourseError, match=message):
        pack_model(tiny(**changes))


def test_one_stack_is_refused_as_the_script_has_two():
    words = Vocabulary(["<pad>", "<bos>", "<eos>", "a"])
    model = PrefixTransformer(replace(PREFIX_PRESETS["modern"], vocab=4))
    with pytest.raises(CourseError, match="computes an encoder-decoder, got one stack"):
        pack_model(Translator(model, words, words))


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 70_000.0])
def test_weights_beyond_all_16_bit_numbers_are_refused(weight):
    translator = tiny()
    with torch.no_grad():
        translator.model.output.bias[0] = weight
    with pytest.raises(CourseError, match=f"at most 65,504, .* largest is {weight}: did its train"):
        pack_model(translator)


def test_weights_that_need_32_bits_are_refused():
    translator = tiny()
    with torch.no_grad():
        translator.model.output.bias += 1e-6
    with pytest.raises(CourseError, match=r"16-bit .* need 32: round them with model\.half\(\)"):
        pack_model(translator)


@pytest.mark.parametrize("weight", [None, float("nan")])
def test_matrices_that_need_more_than_8_bits_are_refused(weight):
    translator = tiny()
    if weight is not None:
        rounded(translator, bits=8)
        with torch.no_grad():
            translator.model.output.weight[0, 0] = weight
    with pytest.raises(
        CourseError, match=r"8 bits, .* save it with save_checkpoint\(path, .*bits=8"
    ):
        pack_model(translator, bits=8)
