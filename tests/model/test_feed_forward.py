"""The feed-forward network."""

import pytest
import torch
from torch.nn import functional as F

from course_lib.model import FeedForward


def test_feed_forward_is_equation_2():
    module, x = FeedForward(4, 9, 0.0), torch.randn(2, 3, 4)
    hidden = (x @ module.expand.weight.T + module.expand.bias).clamp(min=0)
    expected = hidden @ module.contract.weight.T + module.contract.bias
    torch.testing.assert_close(module(x), expected)


def test_feed_forward_uses_the_activation_and_bias_it_is_given():
    module, x = FeedForward(4, 9, 0.0, activation="gelu", bias=False), torch.randn(2, 3, 4)
    assert len(list(module.parameters())) == 2
    expected = F.gelu(x @ module.expand.weight.T) @ module.contract.weight.T
    torch.testing.assert_close(module(x), expected)


def test_no_position_sees_another_in_the_feed_forward():
    module, x = FeedForward(4, 9, 0.0), torch.randn(1, 3, 4)
    changed = x.clone()
    changed[:, 1] += 1
    difference = (module(changed) - module(x)).abs().amax(dim=(0, 2))
    assert difference[[0, 2]].max() < 1e-6
    assert difference[1] > 1e-3


@pytest.mark.usefixtures("own_messages")
def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="activation must be one of 'relu', 'gelu', got 'tanh'"):
        FeedForward(4, 8, activation="tanh")
