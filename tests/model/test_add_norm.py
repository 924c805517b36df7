"""LayerNorm, and the residual connection on both sides of the norm."""

import pytest
import torch

from course_lib.model import AddNorm, layer_norm


def test_layer_norm_gives_each_vector_mean_0_and_variance_1():
    x = layer_norm(torch.randn(3, 5, 16) * 7 + 2, eps=0.0)
    torch.testing.assert_close(x.mean(-1), torch.zeros(3, 5), atol=1e-6, rtol=0)
    torch.testing.assert_close(x.var(-1, correction=0), torch.ones(3, 5))


def test_layer_norm_keeps_a_constant_vector_finite():
    x = torch.full((2, 4), 3.0, requires_grad=True)
    layer_norm(x).sum().backward()
    assert x.grad.isfinite().all()


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
def test_another_norm_than_post_and_pre_is_refused():
    with pytest.raises(ValueError, match="norm must be one of 'post', 'pre', got 'none'"):
        AddNorm(4, norm="none")
