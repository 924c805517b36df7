"""What is one tensor stays one, and what is not does not become one, wherever weights come from."""

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from course_lib.model import Transformer, TransformerConfig

TINY = TransformerConfig(
    source_vocab=11, target_vocab=11, d_model=16, d_ff=20, n_heads=2, n_layers=2, max_len=16
)


@pytest.mark.slow
def test_a_model_made_without_memory_computes_as_before_once_it_has_the_weights(
    make_model, make_batch
):
    for tying in ("none", "all"):
        model = make_model(replace(TINY, tying=tying, source_vocab=TINY.target_vocab))
        source, target = make_batch(model.config, [5], [4])
        expected, weights = model(source, target), model.state_dict()
        for device, is_emptied, assign in (
            ("meta", True, False),
            ("meta", False, True),
            ("meta", True, True),
            ("cpu", True, False),
        ):
            with torch.device(device):
                other = Transformer(model.config).eval()
            if is_emptied:
                other.to_empty(device="cpu")
            other.load_state_dict(weights, assign=assign)
            assert torch.equal(other(source, target), expected)
            tied = other.output.weight is other.target_embedding.tokens.weight
            assert tied == (tying == "all")


def test_other_positions_than_the_formulas_survive_a_conversion(make_model, make_batch):
    model = make_model(TINY)
    model.source_embedding.positions.table = torch.zeros_like(
        model.source_embedding.positions.table
    )
    assert not model.double().source_embedding.positions.table.any()
    assert model.source_embedding.positions.table.dtype == torch.float64


def test_weights_that_differ_are_not_loaded_into_one_tied_table(make_model):
    tied = make_model(replace(TINY, tying="output"))
    untied = make_model(replace(TINY, tying="none"), seed=1)
    for inside in (tied, torch.nn.Sequential(tied)):
        weights = type(inside)(untied).state_dict() if inside is not tied else untied.state_dict()
        for strict in (True, False):
            with pytest.raises(ValueError, match="are one tensor in this model, got two"):
                inside.load_state_dict(weights, strict=strict)
    copied = copy.deepcopy(tied)
    copied.load_state_dict(tied.state_dict())
    assert copied.output.weight is copied.target_embedding.tokens.weight


@pytest.mark.parametrize("assign", [False, True])
def test_a_model_untied_on_purpose_loads_its_own_weights_and_stays_untied(
    make_model, make_batch, assign
):
    model = make_model(replace(TINY, tying="all"))
    model.output.weight = nn.Parameter(2 * model.output.weight.detach())
    source, target = make_batch(TINY, [5], [4])
    expected, weights = model(source, target), copy.deepcopy(model.state_dict())
    nn.init.zeros_(model.output.weight)
    model.load_state_dict(weights, assign=assign)
    assert torch.equal(model(source, target), expected)
    assert model.output.weight is not model.target_embedding.tokens.weight
    assert model.source_embedding.tokens.weight is model.target_embedding.tokens.weight
    model.to_empty(device="cpu")
    assert model.output.weight is not model.target_embedding.tokens.weight
    assert model.source_embedding.tokens.weight is model.target_embedding.tokens.weight


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize(
    "name", ["output.weight", "source_embedding.tokens.weight", "target_embedding.tokens.weight"]
)
def test_a_tied_table_that_is_stored_once_is_loaded_under_each_name(make_model, name, assign):
    model, other = (make_model(replace(TINY, tying="all"), seed=seed) for seed in (0, 1))
    expected = other.output.weight.clone()
    model.load_state_dict({name: other.state_dict()[name]}, strict=False, assign=assign)
    for table in (model.output, model.source_embedding.tokens, model.target_embedding.tokens):
        assert torch.equal(table.weight, expected)
        assert table.weight is model.output.weight
    assert model.output.weight.requires_grad
    model.load_state_dict(dict(other.named_parameters()))  # with one of the three names


def test_tied_tables_of_other_types_or_with_nan_are_still_the_same(make_model):
    model = make_model(replace(TINY, tying="output"))
    with torch.no_grad():
        model.output.weight[0, 0] = math.nan
        model.output.weight[1:] = 0.5
    weights = model.state_dict()
    weights["output.weight"] = weights["output.weight"].clone().half()
    model.load_state_dict(weights)
    assert model.output.weight[0, 0].isnan()
    weights["output.weight"] = torch.zeros(2, 3)
    with pytest.raises(ValueError, match="got two that differ"):
        model.load_state_dict(weights)


def test_learned_positions_that_no_file_gave_are_not_made_up(make_model):
    config = replace(TINY, positions="learned")
    weights = make_model(config).state_dict()
    del weights["source_embedding.positions.table"]
    with torch.device("meta"):
        model = Transformer(config)
    model.load_state_dict(weights, strict=False, assign=True)
    assert model.source_embedding.positions.table.is_meta
    assert not model.target_embedding.positions.table.is_meta


def test_moving_a_model_to_where_it_is_copies_no_positions(make_model):
    model = make_model(TINY)
    table = model.source_embedding.positions.table
    assert model.to("cpu").source_embedding.positions.table is table
