"""A configuration refuses what cannot be built, and knows its size without building it."""

import copy
import dataclasses
import pickle
import re
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.model import (
    PRESETS,
    Transformer,
    TransformerConfig,
    count_parameters,
    parameter_parts,
    preset,
)

# Asserted to the digit: the sizes of the five published systems.
PUBLISHED = {
    "naive_mt": 44_052_480,
    "fastai_qa": 16_056_280,
    "fastestimator_ted": 13_509_178,
    "einsum_scratch": 44_256_266,
    "wmt14_de_en": 76_241_220,
}


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_count_parameters_agrees_with_the_built_model(data, small_configs):
    config = data.draw(small_configs())
    with torch.device("meta"):
        model = Transformer(config)
    assert count_parameters(config) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_the_size_that_the_formula_says(name):
    with torch.device("meta"):
        model = Transformer(preset(name))
    assert count_parameters(preset(name)) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("name", "count"), PUBLISHED.items())
def test_presets_have_the_published_number_of_parameters(name, count):
    assert count_parameters(preset(name)) == count


# For each kind of parameter, what its names in a built model contain.
KINDS = {
    "embedding": "embedding",
    "attention": "attention",
    "feed-forward": "feed_forward",
    "norm": "norm",
    "output": "output",
}


@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_the_parts_of_each_kind_add_up_to_those_of_the_built_model(data, small_configs):
    config = data.draw(small_configs())
    with torch.device("meta"):
        model = Transformer(config)
    built = Counter()
    for name, parameter in model.named_parameters():
        built[next(kind for kind, mark in KINDS.items() if mark in name)] += parameter.numel()
    assert {kind: sum(p.values()) for kind, p in parameter_parts(config).items()} == built


def test_the_parts_of_attention_and_feed_forward_are_those_of_the_built_stacks():
    config = preset("small", d_head=5)
    model = Transformer(config)
    parts = parameter_parts(config)

    def size(stack, part):
        return sum(p.numel() for block in stack.layers for p in getattr(block, part).parameters())

    assert parts["attention"] == {
        "encoder self": size(model.encoder, "self_attention"),
        "decoder self": size(model.decoder, "self_attention"),
        "cross": size(model.decoder, "cross_attention"),
    }
    assert parts["feed-forward"] == {
        "encoder": size(model.encoder, "feed_forward"),
        "decoder": size(model.decoder, "feed_forward"),
    }


@pytest.mark.parametrize(
    ("tying", "parts"),
    [
        ("none", {"source": 66, "target": 66}),
        ("output", {"source": 66, "target and output": 66}),
        ("all", {"source, target and output": 66}),
    ],
)
def test_a_shared_table_is_counted_once_and_named_as_shared(tying, parts):
    config = TransformerConfig(
        source_vocab=11, target_vocab=11, d_model=6, n_heads=2, tying=tying, output_bias=False
    )
    assert parameter_parts(config)["embedding"] == parts
    assert parameter_parts(config).get("output", {}) == ({"logits": 66} if tying == "none" else {})


def test_paper_presets_are_the_table_3_sizes():
    # Table 3 rounds to 65 and 213 million; the vocabulary is only "about 37000" there.
    assert count_parameters(preset("paper_base")) == pytest.approx(65e6, rel=0.03)
    assert count_parameters(preset("paper_big")) == pytest.approx(213e6, rel=0.01)


def test_preset_changes_only_the_named_fields():
    changed = preset("small", n_layers=3)
    assert changed.n_layers == 3
    assert dataclasses.replace(changed, n_layers=preset("small").n_layers) == preset("small")


def test_preset_with_a_misspelt_name_suggests_the_right_one():
    with pytest.raises(ValueError, match="preset must be one of .*got 'papr_base': did you mean"):
        preset("papr_base")
    with pytest.raises(ValueError, match="got 'zzz'$"):
        preset("zzz")


def test_config_is_frozen_hashable_and_survives_copies():
    config = preset("small")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 7
    assert hash(config) == hash(copy.deepcopy(config))
    assert pickle.loads(pickle.dumps(config)) == config


def test_d_head_is_a_share_of_d_model_unless_given():
    assert preset("small", d_model=128, n_heads=4).resolved_d_head == 32
    assert preset("small", d_head=5).resolved_d_head == 5


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_vocab": 0}, "source_vocab must be a positive whole number, got 0"),
        ({"target_vocab": -1}, "target_vocab must be a positive whole number, got -1"),
        ({"d_model": True}, "d_model must be a positive whole number, got True"),
        ({"d_model": 64.0}, "d_model must be a positive whole number, got 64.0"),
        ({"d_ff": "512"}, "d_ff must be a positive whole number, got '512'"),
        ({"n_heads": 0}, "n_heads must be a positive whole number, got 0"),
        ({"n_layers": 0}, "n_layers must be a positive whole number, got 0"),
        ({"max_len": None}, "max_len must be a positive whole number, got None"),
        ({"d_head": 0}, "d_head must be a positive whole number, got 0"),
        ({"n_heads": 3}, "d_model must be a multiple of n_heads, got d_model=128 and n_heads=3"),
        ({"d_model": 9, "n_heads": 1}, "need an even d_model, got 9: each frequency"),
        ({"norm": "middle"}, "norm must be one of 'post', 'pre', got 'middle'"),
        ({"activation": "tanh"}, "activation must be one of 'relu', 'gelu', got 'tanh'"),
        ({"positions": "none"}, "positions must be one of 'sinusoidal', 'learned', got 'none'"),
        ({"layout": ["x"]}, "layout must be one of 'interleaved', 'concatenated', got ['x']"),
        ({"tying": True}, "tying must be one of 'none', 'output', 'all', got True"),
        ({"attention": "flash"}, "attention must be one of 'auto', 'matmul', 'einsum', 'fused'"),
        ({"norm_affine": "no"}, "norm_affine must be True or False, got 'no'"),
        ({"output_bias": None}, "output_bias must be True or False, got None"),
        ({"residual_dropout": 1.0}, "residual_dropout is a probability and must lie in [0, 1)"),
        ({"attention_dropout": -0.1}, "attention_dropout is a probability and must lie in [0, 1)"),
        ({"feed_forward_dropout": float("nan")}, "must lie in [0, 1), got nan"),
        ({"norm_eps": 0.0}, "norm_eps must be positive, got 0.0: it keeps"),
        ({"norm_eps": float("nan")}, "norm_eps must be positive, got nan"),
        ({"pad_id": 1000}, "pad_id must be a token of both vocabularies (sizes 1000 and 1000)"),
        ({"pad_id": -1}, "got -1"),
        ({"pad_id": 0.5}, "got 0.5"),
        ({"pad_id": True}, "got True"),
        ({"target_vocab": 9, "pad_id": 9}, "(sizes 1000 and 9), got 9"),
        (
            {"tying": "all", "target_vocab": 999},
            "needs source_vocab == target_vocab, got 1000 and 999: use one joint vocabulary",
        ),
    ],
)
def test_config_explains_what_it_refuses(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        preset("small", **changes)


def test_odd_d_model_is_fine_with_learned_positions():
    config = TransformerConfig(
        source_vocab=5, target_vocab=5, d_model=9, n_heads=3, positions="learned"
    )
    assert config.resolved_d_head == 3
