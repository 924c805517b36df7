"""What a learner's module is told when the weights of a test can't be loaded into it."""

import pytest
import torch
from torch import nn

from course_lib.checks.engine.adapters import WrongParameters, load_weights

WANTED = {"first.weight": torch.ones(2, 2), "second.weight": torch.ones(2, 2)}


def two_layers():
    module = nn.Module()
    module.first, module.second = (nn.Linear(2, 2, bias=False) for _ in range(2))
    return module


def test_the_weights_are_loaded():
    module = two_layers()
    load_weights(module, WANTED)
    assert all(torch.equal(p, torch.ones(2, 2)) for p in module.parameters())


def test_parts_that_are_not_registered_are_told():
    module = nn.Module()
    module.parts = {"first": nn.Linear(2, 2), "second": nn.Linear(2, 2)}
    with pytest.raises(WrongParameters, match="none at all: modules in a plain list or dict"):
        load_weights(module, WANTED)


def test_a_shared_parameter_is_told():
    module = two_layers()
    module.second.weight = module.first.weight
    with pytest.raises(
        WrongParameters, match=r"own for second\.weight; .* several names share one"
    ):
        load_weights(module, WANTED)


def test_other_names_and_shapes_are_told():
    module = two_layers()
    module.second, module.third = nn.Linear(2, 3, bias=False), module.second
    with pytest.raises(WrongParameters) as error:
        load_weights(module, WANTED)
    assert str(error.value) == (
        "expected parameters second.weight (2, 2); got second.weight (3, 2), "
        "third.weight (2, 2): names and shapes are part of the task"
    )
