"""Training on a GPU gives the losses of the CPU, and twice the same weights.

Weights are compared only within one device: Adam divides each gradient by its own size, so for a
weight whose gradient is zero but for rounding, such as the bias of a key, the device decides.
"""

from dataclasses import replace

import pytest
import torch

from course_lib.training import RunOptions, load_recipe, load_training_data, load_translator, train
from course_lib.training.device import supports_bf16

STEPS = 20


@pytest.fixture(scope="module")
def recipe():
    """Without dropout, which each device draws from random numbers of its own."""
    small = load_recipe("small")
    return replace(
        small,
        model=small.model | {"d_model": 32, "d_ff": 64, "n_layers": 1, "residual_dropout": 0.0},
        dropout=(),
        train_size=300,
        valid_size=40,
        batch_tokens=400,
        warmup=5,
    )


@pytest.fixture(scope="module")
def data(recipe):
    return load_training_data(recipe)


def losses(recipe, data, device, precision="fp32"):
    options = RunOptions(device=device, precision=precision, max_steps=STEPS, scores=False)
    return torch.tensor(train(recipe, options, data=data).losses)


def test_the_losses_of_twenty_steps_are_the_same(device, close, recipe, data):
    here = losses(recipe, data, "cpu")
    assert here[-1] < here[0] - 0.3  # it learns
    close(here, losses(recipe, data, device), 1e-4)


@pytest.mark.slow
def test_micro_batches_change_nothing(device, close, recipe, data):
    divided = replace(recipe, micro_batches=3)
    close(losses(recipe, data, "cpu"), losses(divided, data, device), 1e-4)


def test_bf16_stays_near_float32(device, close, recipe, data):
    if not supports_bf16(device):
        pytest.skip(f"{device} does not compute in bf16")
    close(losses(recipe, data, "cpu"), losses(recipe, data, device, "bf16"), 0.02)


def test_two_runs_with_dropout_end_with_the_same_weights_to_the_last_bit(device, recipe, data):
    with_dropout = replace(recipe, model=recipe.model | {"residual_dropout": 0.1})
    options = RunOptions(device=device, max_steps=STEPS, scores=False)
    first, second = (train(with_dropout, options, data=data) for _ in range(2))
    assert first.losses == second.losses
    weights = (run.translator.model.state_dict() for run in (first, second))
    for one, other in zip(*(state.values() for state in weights), strict=True):
        assert torch.equal(one, other)


def test_a_run_saved_on_the_device_is_read_on_the_cpu(device, close, recipe, data, tmp_path):
    options = RunOptions(device=device, max_steps=STEPS, scores=False)
    run = train(recipe, options, data=data, folder=tmp_path)
    loaded = load_translator(tmp_path)
    assert loaded.model.device.type == "cpu" and run.translator.model.device.type == device
    source = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        close(loaded.model.encode(source), run.translator.model.encode(source.to(device)), 1e-4)
