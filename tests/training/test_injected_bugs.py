"""Each published bug, made again, does to the model what its description says."""

import math
from dataclasses import replace

import pytest
import torch

from course_lib.model import Transformer, preset, record_attention
from course_lib.training import RunOptions, load_recipe, load_translator, train
from course_lib.training.gradient_accumulation import ModelWithLoss
from course_lib.training.injected_bugs import BUGS, ONLY_AT_INITIALISATION, inject_bugs

SOURCE = torch.tensor([[5, 9, 3, 7, 2]])
TARGET = torch.tensor([[2, 8, 4, 6]])


def model_of(name, *, bugs=(), **changes):
    torch.manual_seed(0)
    model = Transformer(preset(name, **changes))
    inject_bugs(bugs, model)
    return model.eval()


def varying_columns(model):
    return int((model.source_embedding.positions.table[:100].std(dim=0) > 1e-3).sum())


def test_positions_without_width_vary_in_two_columns_of_512():
    sizes = {"d_model": 512, "d_ff": 8, "n_layers": 1}
    assert varying_columns(model_of("fastai_qa", **sizes)) > 250
    spoilt = model_of("fastai_qa", bugs=["positions_without_width"], **sizes)
    assert varying_columns(spoilt) == 2
    assert spoilt.target_embedding.positions.table.shape == (5000, 512)


def test_embeddings_from_normal_start_far_above_chance_and_ours_at_chance():
    losses = []
    for bugs in ((), ("embeddings_from_normal",)):
        model = model_of("fastai_qa", bugs=bugs, n_layers=2)
        ids = torch.randint(2, 8000, (4, 16), generator=torch.Generator().manual_seed(0))
        losses.append(ModelWithLoss(model, 0.0)(ids, ids[:, :-1], ids[:, 1:]).item())
    assert losses[0] == pytest.approx(math.log(8152), rel=0.1)
    assert losses[1] > 100


def test_scores_by_width_are_smaller_by_the_root_of_d_head_over_d_model():
    weights = {}
    for bugs in ((), ("scores_by_width",)):
        model = model_of("einsum_scratch", bugs=bugs, n_layers=1, d_model=32, n_heads=8)
        with record_attention(model) as record:
            model(SOURCE.clamp(max=9), TARGET)
        weights[bugs] = record.encoder[0]
    # ln(w_i / w_j) is the difference of the scores.
    (true, spoilt) = (w.log()[..., 1:] - w.log()[..., :1] for w in weights.values())
    assert torch.allclose(spoilt, true * math.sqrt(4 / 32), atol=1e-5)


def test_an_encoder_without_dropout_says_the_same_twice_while_training_and_a_decoder_does_not():
    for bugs, same in ((), False), (("encoder_without_dropout",), True):
        model = model_of("wmt14_de_en", bugs=bugs, n_layers=1, d_model=32, d_ff=64).train()
        memory = model.encode(SOURCE)
        assert torch.equal(memory, model.encode(SOURCE)) == same
        assert not torch.equal(*(model.decode(TARGET, memory, SOURCE) for _ in range(2)))


def test_an_encoder_without_dropout_has_none_in_its_attention_either():
    model = model_of("small", attention_dropout=0.5, bugs=["encoder_without_dropout"])
    assert model.encoder.layers[0].self_attention.dropout_p == 0
    assert model.decoder.layers[0].self_attention.dropout_p == 0.5


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_after_norm_drops_the_normed_stream_while_training_and_nothing_later(norm):
    sizes = {"norm": norm, "residual_dropout": 0.5, "n_layers": 1}
    spoilt = model_of("small", bugs=["dropout_after_norm"], **sizes)
    right = model_of("small", **sizes)
    dropped = []
    spoilt.encoder.layers[0].add_norm_1.norm.register_forward_hook(
        lambda _, __, output: dropped.append((output == 0).float().mean().item())
    )
    assert torch.equal(spoilt(SOURCE, TARGET), right(SOURCE, TARGET))
    assert dropped == [0.0]
    spoilt.train()(SOURCE, TARGET)
    assert dropped[1] == pytest.approx(0.5, abs=0.1)
    spoilt.eval()
    assert torch.equal(spoilt(SOURCE, TARGET), right(SOURCE, TARGET))
    assert spoilt.state_dict().keys() == right.state_dict().keys()


@pytest.mark.parametrize("bug", BUGS)
def test_a_run_with_a_bug_translates_from_its_checkpoint_as_it_did(toy, tmp_path, bug):
    recipe = replace(toy, bugs=(bug,), valid_size=0)
    run = train(recipe, RunOptions(max_steps=8), folder=tmp_path)
    loaded = load_translator(tmp_path).model
    source, target = SOURCE.clamp(max=6), TARGET.clamp(max=8)
    with torch.no_grad():
        assert torch.equal(loaded(source, target), run.translator.model(source, target))
        fixed = Transformer(loaded.config).eval()
        fixed.load_state_dict(loaded.state_dict())
        changes_the_trained_model = bug in {"positions_without_width", "scores_by_width"}
        same = torch.allclose(loaded(source, target), fixed(source, target), atol=1e-4)
        assert same != changes_the_trained_model


def test_a_bug_of_the_first_weights_does_not_spoil_trained_ones():
    for name in ONLY_AT_INITIALISATION:
        model = model_of("small")
        before = [p.clone() for p in model.parameters()]
        inject_bugs([name], model, trained=True)
        assert all(map(torch.equal, before, model.parameters()))
        inject_bugs([name], model)
        assert not all(map(torch.equal, before, model.parameters()))


def test_what_was_published_lists_its_bugs():
    bugs = {
        name: load_recipe(name, variant="as_released").bugs
        for name in ("naive_mt", "fastai_qa", "fastestimator_ted", "einsum_scratch", "wmt14_de_en")
    }
    assert bugs == {
        "naive_mt": (),
        "fastai_qa": ("positions_without_width", "embeddings_from_normal"),
        "fastestimator_ted": (),
        "einsum_scratch": ("scores_by_width", "dropout_after_norm"),
        "wmt14_de_en": ("encoder_without_dropout",),
    }
    assert {bug for names in bugs.values() for bug in names} == set(BUGS)
