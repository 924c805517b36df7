"""With the same weights the model computes what PyTorch computes.

Run with ``-s`` to see the measured errors, all on outputs of unit scale.
"""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model import (
    EncoderBlock,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    attention_einsum,
    attention_fused,
    attention_matmul,
    causal_mask,
    layer_norm,
    padding_mask,
    to_pytorch_mask,
)

BOUND = {torch.float32: 1e-5, torch.float64: 1e-12}
DTYPES = list(BOUND)
FORMS = {"matmul": attention_matmul, "einsum": attention_einsum, "fused": attention_fused}


@pytest.fixture(scope="module")
def measured() -> Iterator[dict[tuple[str, torch.dtype], float]]:
    """Largest error of each comparison; printed at the end."""
    errors: dict[tuple[str, torch.dtype], float] = {}
    yield errors
    print("\n\nlargest absolute difference from PyTorch")
    for (what, dtype), error in sorted(errors.items(), key=str):
        print(f"  {what:<46} {str(dtype).removeprefix('torch.'):<8} {error:.1e}")


@pytest.fixture
def compare(measured):
    """``compare(what, mine, theirs)`` asserts unit scale and a difference within the bound."""

    def check(what: str, mine: Tensor, theirs: Tensor) -> None:
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        error = (mine - theirs).abs().max().item()
        key = what, mine.dtype
        measured[key] = max(error, measured.get(key, 0.0))
        assert 0.05 < theirs.std() < 3
        assert error <= BOUND[mine.dtype]

    return check


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def copy_attention(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Give PyTorch's module, which keeps three projections in one matrix, my weights."""
    projections = mine.q_proj, mine.k_proj, mine.v_proj
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
    theirs.out_proj.weight.copy_(mine.out_proj.weight)
    if theirs.in_proj_bias is not None:
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.bias.copy_(mine.out_proj.bias)


def copy_block(mine: nn.Module, theirs: nn.Module) -> None:
    is_encoder = isinstance(mine, EncoderBlock)
    copy_attention(mine.self_attention, theirs.self_attn)
    if not is_encoder:
        copy_attention(mine.cross_attention, theirs.multihead_attn)
    theirs.linear1.load_state_dict(mine.feed_forward.expand.state_dict())
    theirs.linear2.load_state_dict(mine.feed_forward.contract.state_dict())
    for i in (1, 2) if is_encoder else (1, 2, 3):
        norm = getattr(mine, f"add_norm_{i}").norm
        getattr(theirs, f"norm{i}").load_state_dict(norm.state_dict())


@torch.no_grad()
def pytorch_twin(model: Transformer) -> nn.Transformer:
    """An ``nn.Transformer`` with the weights of ``model``'s two stacks."""
    c = model.config
    twin = nn.Transformer(
        *(c.d_model, c.n_heads, c.n_layers, c.n_layers, c.d_ff),
        dropout=0.0,
        activation=c.activation,
        layer_norm_eps=c.norm_eps,
        batch_first=True,
        norm_first=c.norm == "pre",
        dtype=model.output.weight.dtype,
    )
    for mine, theirs in ((model.encoder, twin.encoder), (model.decoder, twin.decoder)):
        for my_block, their_block in zip(mine.layers, theirs.layers, strict=True):
            copy_block(my_block, their_block)
        theirs.norm.load_state_dict(mine.final_norm.state_dict())
    return twin  # left in training mode, in which PyTorch takes no shortcut around padding


def trained(config: TransformerConfig) -> Transformer:
    """A model whose every parameter has moved, norms and biases too."""
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")  # about speed, for pre-norm
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("masks", ["none", "padding", "causal", "both"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_model_is_nn_transformer(norm, activation, masks, dtype, make_batch, compare):
    config = TransformerConfig(
        source_vocab=20,
        target_vocab=20,
        d_model=64,
        d_ff=128,
        n_heads=4,
        n_layers=2,
        norm=norm,
        final_norm=True,
        activation=activation,
    )
    model = trained(config).to(dtype)
    twin = pytorch_twin(model)
    source, target = make_batch(config, [7, 4, 5], [3, 9, 6])
    x, y = torch.randn(3, 7, 64, dtype=dtype), torch.randn(3, 9, 64, dtype=dtype)
    source_mask = target_mask = memory_mask = None
    theirs = {}
    if masks in ("padding", "both"):
        source_mask = memory_mask = padding_mask(source, 0)
        target_mask = padding_mask(target, 0)
        hidden = to_pytorch_mask(source_mask)[:, 0, 0]
        theirs["src_key_padding_mask"] = theirs["memory_key_padding_mask"] = hidden
        theirs["tgt_key_padding_mask"] = to_pytorch_mask(target_mask)[:, 0, 0]
    if masks in ("causal", "both"):
        causal = causal_mask(9)
        target_mask = causal if target_mask is None else target_mask & causal
        theirs["tgt_mask"] = to_pytorch_mask(causal)[0, 0]
    expected = twin(x, y, **theirs)
    for form, attention in FORMS.items():
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                module.attention = attention
        mine = model.decoder(y, model.encoder(x, source_mask), target_mask, memory_mask)
        compare(f"nn.Transformer, {norm}, masks: {masks}, {form}", mine, expected)


def test_parity_sees_a_wrong_mask_a_wrong_norm_and_a_wrong_scale(make_batch):
    config = TransformerConfig(
        source_vocab=20, target_vocab=20, d_model=64, d_ff=128, n_heads=4, final_norm=True
    )
    model = trained(config)
    twin = pytorch_twin(model)
    x, y = torch.randn(2, 7, 64), torch.randn(2, 9, 64)
    theirs = twin(x, y)

    def error() -> float:
        return (model.decoder(y, model.encoder(x)) - theirs).abs().max().item()

    assert error() <= 1e-5
    assert (model.decoder(y, model.encoder(x), causal_mask(9)) - theirs).abs().max() > 1e-2
    model.encoder.layers[0].add_norm_1.is_pre = True
    assert error() > 1e-2
    model.encoder.layers[0].add_norm_1.is_pre = False
    for layer in model.encoder.layers:
        layer.self_attention.q_proj.weight.data /= 2  # √d_head would have become √d_model
    assert error() > 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention_is_pytorchs(bias, form, dtype, compare):
    mine = MultiHeadAttention(32, 4, bias=bias, attention=FORMS[form]).to(dtype)
    theirs = nn.MultiheadAttention(32, 4, bias=bias, batch_first=True, dtype=dtype)
    with torch.no_grad():
        copy_attention(mine, theirs)
    # Wide inputs give sharp attention and outputs of unit scale.
    query = 3 * torch.randn(2, 5, 32, dtype=dtype)
    key, value = 3 * torch.randn(2, 2, 8, 32, dtype=dtype)
    mask = torch.rand(2, 4, 5, 8) < 0.5
    mask[..., 0] = True  # PyTorch gives NaN for a row in which nothing is visible
    context, _ = theirs(query, key, value, attn_mask=to_pytorch_mask(mask).flatten(0, 1))
    compare(f"nn.MultiheadAttention, {form}", mine(query, key, value, mask), context)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("masked", [True, False])
def test_attention_is_scaled_dot_product_attention(masked, form, dtype, compare):
    arguments = [torch.randn(2, 3, n, 8, dtype=dtype, requires_grad=True) for n in (5, 7, 7)]
    mask = torch.rand(2, 3, 5, 7) < 0.5 if masked else None
    if mask is not None:
        mask[0, 0, 0] = False  # here PyTorch, like this course, gives zeros
    mine, _ = FORMS[form](*arguments, mask)
    theirs = F.scaled_dot_product_attention(*arguments, mask)
    compare(f"scaled_dot_product_attention, {form}", mine, theirs)
    seed = torch.randn_like(mine)
    gradients = (torch.autograd.grad(x, arguments, seed) for x in (mine, theirs))
    for my_gradient, their_gradient in zip(*gradients, strict=True):
        compare(f"its gradients, {form}", my_gradient, their_gradient)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm_is_pytorchs(affine, dtype, compare):
    theirs = nn.LayerNorm(48, eps=1e-6, elementwise_affine=affine, dtype=dtype)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    x = 4 * torch.randn(2, 5, 48, dtype=dtype) + 3
    compare("nn.LayerNorm", layer_norm(x, theirs.weight, theirs.bias, eps=1e-6), theirs(x))


def test_double_precision_agrees_with_single(make_batch):
    config = TransformerConfig(
        source_vocab=20, target_vocab=20, d_model=64, d_ff=128, n_heads=4, n_layers=3
    )
    model = trained(config)
    source, target = make_batch(config, [7, 4], [3, 9])
    single = model(source, target)
    double = model.double()(source, target)
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, atol=1e-5, rtol=0)
