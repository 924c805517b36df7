import json
import math
import struct
import zlib

import numpy as np
import pytest
import torch

from course_lib.viz.explorer.explorer import explore_attention
from course_lib.viz.explorer.explorer_constants import QUANTISATION_LEVELS
from course_lib.viz.explorer.explorer_pack import pack, word_numbers


def attention(mask=None, heads=3):
    """Two layers: queries and keys of size 16, their products, and the weights they lead to."""
    generator = torch.Generator().manual_seed(0)
    queries, keys = torch.randn(2, 2, heads, 5, 16, generator=generator)
    scores = queries @ keys.mT
    scaled = scores / 4 if mask is None else (scores / 4).masked_fill(~mask, -torch.inf)
    return queries, keys, scores, scaled.softmax(-1)


def unpack(packed):
    """What the script does, in Python: for each kind of attention its header and its arrays."""
    raw = zlib.decompress(packed)
    (length,) = struct.unpack("<I", raw[:4])
    header = json.loads(raw[4 : 4 + length])
    start, found = 4 + length, []

    def take(shape):
        nonlocal start
        count = math.prod(shape)
        high, low = np.frombuffer(raw, np.uint8, 2 * count, start).reshape(2, count).astype(int)
        start += 2 * count
        return (high * 256 + low).reshape(shape) / QUANTISATION_LEVELS

    for each in header["attentions"]:
        shape, arrays = each["shape"], {}
        sizes = {
            "scores": shape[2:],
            "queries": [shape[2], each["dHead"]],
            "keys": [shape[3], each["dHead"]],
        }
        arrays["weights"] = take(shape)
        for name, (low, high) in each["limits"].items():
            arrays[name] = low + take([*shape[:2], *sizes[name]]) * (high - low)
        found.append((each, arrays))
    assert start == len(raw)
    return header, found


def test_packing_keeps_every_weight_to_half_a_step():
    *_, weights = attention()
    header, [(each, arrays)] = unpack(pack(explore_attention(weights, list("abcde")).data))
    assert header["title"] == "Attention"
    assert each["shape"] == [2, 3, 5, 5]
    assert each["kind"] == "self"
    off = np.abs(arrays["weights"] - weights.numpy()).max()
    assert off <= 0.5 / QUANTISATION_LEVELS + 1e-7


def test_packing_keeps_scores_tokens_mask_and_gold():
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    _, _, scores, weights = attention(mask=mask)
    tokens = ["▁ab", "c", "<eos>", "<pad>", "<pad>"]
    shown = explore_attention(
        weights, tokens, kind="causal", scores=scores, d_head=16, gold={(0, 1)}, mask=mask
    )
    header, [(each, arrays)] = unpack(pack(shown.data))
    low, high = each["limits"]["scores"]
    assert np.abs(arrays["scores"] - scores.numpy()).max() < (high - low) / QUANTISATION_LEVELS
    assert each["queryTokens"] == each["keyTokens"] == tokens
    assert each["keyWords"] == [0, 0, 1, 2, 3]
    assert each["masked"] == "0111100111000110000100000"
    assert each["gold"] == [[0, 1]]
    assert each["dHead"] == 16
    assert header["pad"] == "<pad>"


def test_queries_and_keys_are_packed_but_not_their_products():
    queries, keys, _, weights = attention()
    shown = explore_attention(weights, list("abcde"), queries=queries, keys=keys)
    _, [(each, arrays)] = unpack(pack(shown.data))
    assert set(arrays) == {"weights", "queries", "keys"}
    for name, vectors in (("queries", queries), ("keys", keys)):
        low, high = each["limits"][name]
        assert np.abs(arrays[name] - vectors.numpy()).max() < (high - low) / QUANTISATION_LEVELS


def test_several_kinds_of_attention_are_packed_one_after_the_other():
    *_, weights = attention()
    own = explore_attention(weights, list("abcde")).data
    cross = explore_attention(weights[:1], list("abcde"), list("vwxyz")).data
    _, [(first, arrays), (second, others)] = unpack(pack(own, cross))
    assert (first["kind"], second["kind"]) == ("self", "cross")
    assert second["keyTokens"] == list("vwxyz")
    assert arrays["weights"].shape == (2, 3, 5, 5)
    assert np.abs(others["weights"] - weights[:1].numpy()).max() < 1e-5


@pytest.mark.parametrize(
    ("tokens", "numbers"),
    [
        ("▁ein ▁Don au ▁. <eos>", [0, 1, 1, 2, 3]),
        ("<bos> Ġein Don Ġau", [0, 1, 1, 2]),
        ("<bos> Don au", [0, 1, 2]),
        ("un ##want ##ed [SEP] x", [0, 0, 0, 1, 2]),
        ("un@@ want@@ ed x", [0, 0, 0, 1]),
        ("<bos> der Hund", [0, 1, 2]),
        ("▁a b <eos> c", [0, 0, 1, 2]),
    ],
)
def test_every_subword_belongs_to_a_word(tokens, numbers):
    assert word_numbers(tokens.split()) == numbers


def test_the_second_sentence_is_packed_where_there_is_one_and_begins_with_a_word_of_its_own():
    tokens = ["a", "##b", "##c"]
    packed = pack(explore_attention(torch.eye(3), tokens, second_sentence=2).data)
    _, [(header, _)] = unpack(packed)
    assert header["secondSentence"] == 2
    assert header["queryWords"] == header["keyWords"] == [0, 0, 1]
    _, [(header, _)] = unpack(pack(explore_attention(torch.eye(3), tokens).data))
    assert "secondSentence" not in header


def test_languages_and_names_are_packed_where_they_are_known():
    known = {"languages": ("german", "english"), "head_names": ["one"]}
    _, [(header, _)] = unpack(pack(explore_attention(torch.eye(2), list("ab"), **known).data))
    assert header["languages"] == ["german", "english"]
    assert header["headNames"] == ["one"]
    assert "layerNames" not in header
