"""LayerNorm, the feed-forward network, and the residual connection on both sides of the norm."""

import pytest
import torch
from torch.nn import functional as F

from course_lib.model import AddNorm, FeedForward, layer_norm


def test_layer_norm_gives_each_vector_mean_0_and_variance_1():
    x = layer_norm(torch.randn(3, 5, 16) * 7 + 2, eps=0.0)
    torch.testing.assert_close(x.mean(-1), torch.zeros(3, 5), atol=1e-6, rtol=0)
    torch.testing.assert_close(x.var(-1, correction=0), torch.ones(3, 5))


def test_layer_norm_keeps_a_constant_vector_finite():
    x = torch.full((2, 4), 3.0, requires_grad=True)
    layer_norm(x).sum().backward()
    assert x.grad.isfinite().all()


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


@pytest.mark.parametrize("affine", [True, False])
def test_post_norm_comes_after_the_sum_and_pre_norm_before_the_sublayer(affine):
    x = torch.randn(2, 3, 8)
    post = AddNorm(8, 0.0, norm="post", affine=affine)
    pre = AddNorm(8, 0.0, norm="pre", affine=affine)
    torch.testing.assert_close(post(x, torch.sin), layer_norm(x + x.sin()))
    torch.testing.assert_close(pre(x, torch.sin), x + layer_norm(x).sin())


def test_eps_reaches_the_norm():
    x = torch.randn(2, 3, 8)
    module = AddNorm(8, 0.0, eps=0.5)
    torch.testing.assert_close(module(x, torch.sin), layer_norm(x + x.sin(), eps=0.5))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_falls_on_the_sublayer_and_spares_the_residual(norm):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8)
    module = AddNorm(8, 1 - 1e-9, norm=norm)  # drops everything, while training
    expected = layer_norm(x) if norm == "post" else x
    torch.testing.assert_close(module(x, torch.exp), expected)
    assert not torch.allclose(module.eval()(x, torch.exp), expected)


@pytest.mark.usefixtures("own_messages")
def test_unknown_choices_are_refused():
    with pytest.raises(ValueError, match="activation must be one of 'relu', 'gelu', got 'tanh'"):
        FeedForward(4, 8, activation="tanh")
    with pytest.raises(ValueError, match="norm must be one of 'post', 'pre', got 'none'"):
        AddNorm(4, norm="none")
