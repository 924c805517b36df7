"""A model's modes inside and after `evaluating`, on which every decoder relies."""

import threading

import pytest
import torch

from course_lib.decoding import evaluating
from course_lib.model import Transformer, preset

SMALL = preset("small", d_model=16, d_ff=32, n_heads=2)


def test_inside_there_are_no_gradients_and_afterwards_there_are():
    with evaluating(Transformer(SMALL)):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_a_part_that_was_in_another_mode_is_left_in_it():
    model = Transformer(SMALL).train()
    model.encoder.eval()  # frozen, say
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert model.training and model.decoder.training
    assert not any(module.training for module in model.encoder.modules())


def test_the_model_returns_to_its_mode_after_an_error():
    model = Transformer(SMALL).train()
    with pytest.raises(RuntimeError), evaluating(model):
        raise RuntimeError
    assert model.training


def test_a_block_inside_another_gives_back_the_mode_that_was_set_between():
    model = Transformer(SMALL).eval()
    with evaluating(model):
        model.train()  # dropout at inference, on purpose
        with evaluating(model):
            assert not model.training
        assert model.training
    assert not model.training


def test_threads_that_share_a_model_in_evaluation_mode_find_it_so_whoever_ends_first():
    model = Transformer(SMALL).eval()
    inside, outside, seen = threading.Event(), threading.Event(), []

    def second():
        with evaluating(model):
            inside.set()
            outside.wait(10)
            seen.append(any(module.training for module in model.modules()))

    for first_ends_first in (True, False):
        inside.clear()
        outside.clear()
        thread = threading.Thread(target=second)
        with evaluating(model):
            thread.start()
            inside.wait(10)
            if not first_ends_first:
                outside.set()
                thread.join()
                seen.append(any(module.training for module in model.modules()))
        outside.set()
        thread.join()
    assert seen == [False] * 3
    assert not any(module.training for module in model.modules())
