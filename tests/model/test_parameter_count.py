"""The size of a model by formula is that of the model when it is built."""

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
