"""A configuration refuses what cannot be built, and says why."""

import copy
import dataclasses
import pickle
import re

import pytest

from course_lib.model import (
    TransformerConfig,
    preset,
)


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
