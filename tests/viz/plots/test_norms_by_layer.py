import pytest
import torch
from torch import nn

from course_lib.model import Transformer, TransformerConfig
from course_lib.viz.plots.norms_by_layer import (
    gradient_norms,
    plot_gradient_norms,
    plot_residual_norms,
    residual_norms,
)

SOURCE = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]])
TARGET = torch.tensor([[1, 2, 0], [3, 4, 5]])


def small(norm="post", n_layers=3):
    torch.manual_seed(0)
    sizes = {"source_vocab": 11, "target_vocab": 11, "d_model": 16, "d_ff": 32, "n_heads": 2}
    return Transformer(TransformerConfig(**sizes, n_layers=n_layers, norm=norm)).eval()


def test_norms_begin_at_the_embedding_and_end_after_the_last_block():
    model = small("pre")
    norms = residual_norms(model, SOURCE, TARGET)
    real = SOURCE != 0
    embedded = model.source_embedding(SOURCE)
    memory = model.encode(SOURCE)  # without a final norm: the stream itself
    assert norms["encoder"].shape == norms["decoder"].shape == (4,)
    assert norms["encoder"][0] == pytest.approx(embedded[real].norm(dim=-1).mean().item(), rel=1e-5)
    assert norms["encoder"][-1] == pytest.approx(memory[real].norm(dim=-1).mean().item(), rel=1e-5)


def test_post_norm_keeps_the_stream_at_root_d_and_pre_norm_lets_it_grow():
    post = residual_norms(small("post"), SOURCE, TARGET)["decoder"]
    assert post[1:].tolist() == pytest.approx([4.0, 4.0, 4.0], rel=1e-3)
    pre = residual_norms(small("pre"), SOURCE, TARGET)["decoder"]
    assert pre[-1] > pre[0]


def test_pads_are_not_counted():
    model = small()
    unpadded = residual_norms(model, SOURCE[:1, :3], TARGET[:1, :2])
    padded = residual_norms(model, SOURCE[:1], TARGET[:1])
    assert torch.allclose(unpadded["encoder"], padded["encoder"], atol=1e-5)
    assert torch.allclose(unpadded["decoder"], padded["decoder"], atol=1e-5)


@pytest.mark.usefixtures("own_messages")
def test_recording_leaves_the_model_as_it_was():
    model = small()
    before = model(SOURCE, TARGET)
    residual_norms(model, SOURCE, TARGET)
    with pytest.raises(ValueError, match="must agree"):
        residual_norms(model, SOURCE, TARGET[:1])
    assert not any(module._forward_hooks for module in model.modules())
    assert torch.equal(model(SOURCE, TARGET), before)


def test_a_layers_gradients_are_taken_together():
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(2))
    for layer, size in zip(layers, (3.0, 6.0), strict=True):
        layer.weight.grad = torch.full((1, 1), size)
        layer.bias.grad = torch.full((1,), 4.0 / 3 * size)
    assert gradient_norms(layers).tolist() == pytest.approx([5.0, 10.0])


def test_a_layer_without_a_gradient_is_refused_by_its_number():
    layers = [nn.Linear(1, 1), nn.Linear(1, 1)]
    layers[0](torch.ones(1, 1)).sum().backward()
    with pytest.raises(ValueError, match=r"layer 2 has none: did you call loss.backward\(\)"):
        gradient_norms(layers)


def test_no_layers_are_refused():
    with pytest.raises(ValueError, match="at least one layer, got none: pass model.encoder.layers"):
        gradient_norms([])


def test_residual_norms_are_drawn_from_block_zero_on():
    ax = plot_residual_norms({"post": [1.0, 4.0, 4.0], "pre": torch.tensor([1.0, 2.0, 3.0])})
    assert [line.get_xdata().tolist() for line in ax.lines] == [[0, 1, 2]] * 2
    assert ax.lines[1].get_ydata().tolist() == [1, 2, 3]
    assert ax.get_ylim()[0] == 0


def test_gradient_norms_are_drawn_from_block_one_on_a_logarithmic_axis():
    ax = plot_gradient_norms({"with residual": [1.0, 2.0], "without": [1e-6, 1.0]})
    assert ax.lines[0].get_xdata().tolist() == [1, 2]
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["with residual", "without"]


@pytest.mark.parametrize("draw", [plot_residual_norms, plot_gradient_norms])
def test_nothing_to_draw_and_lines_of_different_depth_are_refused(draw):
    with pytest.raises(ValueError, match="at least one named curve, got none"):
        draw({})
    with pytest.raises(ValueError, match="curve 'b' must have one value for each of the 2 values"):
        draw({"a": [1.0, 2.0], "b": [1.0]})
