"""A block is drawn as the model runs it: same sublayers, same order, the norm where it stands."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

from course_lib.model import DecoderBlock, EncoderBlock, MultiHeadAttention, Transformer, preset
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.block_parts import Sublayer, read_block
from course_lib.viz.drawings.model.block_stacks import block_stacks, draw_block_stacks

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"d_model": 16, "d_ff": 32, "n_heads": 2}


def config(**changes):
    return preset("small", **SIZES | changes)


def panel(**changes):
    return draw_block_stacks(Transformer(config(**changes))).panels[0]


def texts(picture):
    """The words of the picture with their spots: (y, x, words), from bottom to top."""
    root = ElementTree.fromstring(picture.svg())
    found = [(float(t.get("y")), float(t.get("x")), t.text) for t in root.iter(f"{SVG}text")]
    return sorted(found, reverse=True)


def order(picture, left, right):
    """What stands between two heights of x, from bottom to top."""
    names = {"self-attention", "cross-attention", "feed-forward", "norm", "+"}
    return [words for _, x, words in texts(picture) if left <= x < right and words in names]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_encoders_parts_stand_in_the_order_in_which_its_block_calls_them(norm):
    called = []
    block = EncoderBlock(config(norm=norm))
    for name, module in block.named_modules():
        if isinstance(module, nn.LayerNorm) or name in ("self_attention", "feed_forward"):
            kind = "norm" if isinstance(module, nn.LayerNorm) else name.replace("_", "-")
            module.register_forward_hook(lambda *_, kind=kind: called.append(kind))
    block(torch.randn(1, 3, 16))
    drawn = order(panel(norm=norm, final_norm=False), 0, 160)
    assert [part for part in drawn if part != "+"] == called
    assert drawn.count("+") == 2


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_decoders_parts_stand_in_the_order_in_which_its_block_calls_them(norm):
    called = []
    block = DecoderBlock(config(norm=norm))
    parts = ("self_attention", "cross_attention", "feed_forward")
    for name, module in block.named_modules():
        if isinstance(module, nn.LayerNorm) or name in parts:
            kind = "norm" if isinstance(module, nn.LayerNorm) else name.replace("_", "-")
            module.register_forward_hook(lambda *_, kind=kind: called.append(kind))
    block(torch.randn(1, 3, 16), torch.randn(1, 2, 16))
    drawn = order(panel(norm=norm, final_norm=False), 180, 340)
    assert [part for part in drawn if part != "+"] == called
    assert drawn.count("+") == 3


def test_only_a_post_norm_stands_on_the_stream():
    def on_stream(picture):
        return sum(words == "norm" and x in (22, 318) for _, x, words in texts(picture))

    assert on_stream(panel(norm="pre", final_norm=False)) == 0
    assert on_stream(panel(norm="post", final_norm=False)) == 5


def test_the_last_norm_is_drawn_where_the_model_has_one():
    def n_norms(picture):
        return [words for _, _, words in texts(picture)].count("norm")

    with_last = panel(norm="pre", final_norm=True)
    without = panel(norm="pre", final_norm=False)
    assert n_norms(with_last) == n_norms(without) + 2
    assert "one more norm" in with_last.description
    assert "one more norm" not in without.description


def test_the_description_names_the_parts_from_bottom_to_top():
    told = panel(norm="post", final_norm=False).description
    assert "self-attention, add, norm, feed-forward, add, norm" in told
    assert "cross-attention with keys and values from the memory, add, norm" in told


def test_memory_and_mask_are_told_of_the_attention_that_is_given_them():
    parts = read_block(DecoderBlock(config()), is_decoder=True)
    assert [part.name for part in parts if part.reads_memory] == ["cross_attention"]
    assert [part.name for part in parts if part.is_masked] == ["self_attention"]


def test_the_number_of_layers_is_that_of_the_model():
    three = panel(n_layers=3)
    assert "encoder block × 3" in [words for _, _, words in texts(three)]
    assert "3 blocks" in three.description


def test_a_block_written_by_hand_is_read_like_the_librarys():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.self_attention = MultiHeadAttention(16, 2)
            self.feed_forward = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))
            self.dropout = nn.Dropout(0.5)

        def forward(self, x, mask=None):
            x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
            return self.norm_2(x + self.dropout(self.feed_forward(x)))

    theirs = read_block(EncoderBlock(config(norm="post")), is_decoder=False)
    assert read_block(Block(), is_decoder=False) == theirs


def test_reading_a_block_leaves_it_as_it_was():
    block = EncoderBlock(config()).train()
    read_block(block, is_decoder=False)
    assert block.training
    assert not any(module._forward_hooks for module in block.modules())


class Wrong(EncoderBlock):
    """With one line that differs."""

    def __init__(self, kind):
        super().__init__(config(norm="pre"))
        self.kind = kind

    def forward(self, x):
        y = self.add_norm_1.norm(x)
        attended = self.self_attention(y, y, y)
        x = attended if self.kind == "first" else x + attended
        z = self.feed_forward(self.add_norm_2.norm(x))
        return z if self.kind == "last" else x + z


@pytest.mark.parametrize("kind", ["first", "last"])
def test_a_block_without_a_residual_is_refused(kind):
    assert read_block(Wrong("none"), is_decoder=False)
    with pytest.raises(ValueError, match="residual connection missing"):
        read_block(Wrong(kind), is_decoder=False)


def test_a_module_without_norms_is_refused():
    with pytest.raises(ValueError, match="expected a block with LayerNorms, got Linear"):
        read_block(nn.Linear(4, 4), is_decoder=False)


def test_a_norm_too_many_is_refused():
    class Twice(EncoderBlock):
        def forward(self, x):
            return self.add_norm_1.norm(super().forward(x))

    with pytest.raises(ValueError, match="one norm for each sublayer"):
        read_block(Twice(config()), is_decoder=False)


def test_stacks_that_leave_no_room_are_refused():
    attention, network = (
        Sublayer(name=name, norm="pre") for name in ("self_attention", "feed_forward")
    )
    with pytest.raises(ValueError, match="room for the memory, got 2 and 2"):
        block_stacks((attention, network), (attention, network), n_layers=1, final_norm=False)
    with pytest.raises(ValueError, match="at most 3 sublayers"):
        block_stacks((attention,), (attention, network) * 2, n_layers=1, final_norm=False)
    with pytest.raises(ValueError, match="always before or always after"):
        block_stacks(
            (replace(attention, norm="post"),),
            (attention, network),
            n_layers=1,
            final_norm=False,
        )
    with pytest.raises(ValueError, match="got convolution"):
        block_stacks(
            (replace(attention, name="convolution"),),
            (attention, network),
            n_layers=1,
            final_norm=False,
        )


def test_layers_that_differ_are_refused():
    model = Transformer(config(norm="pre"))
    model.encoder.layers[1] = EncoderBlock(config(norm="post"))
    with pytest.raises(ValueError, match="blocks of one kind"):
        draw_block_stacks(model)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_words_of_a_sublayer_fit_into_its_box(norm):
    picture = panel(norm=norm)
    boxes = [
        tuple(float(r.get(key)) for key in ("x", "y", "width", "height"))
        for r in ElementTree.fromstring(picture.svg()).iter(f"{SVG}rect")
        if r.get("rx") == "8"
    ]
    assert len(boxes) == 5
    for x, y, width, height in boxes:
        inside = [
            t
            for t in ElementTree.fromstring(picture.svg()).iter(f"{SVG}text")
            if y < float(t.get("y")) < y + height and x < float(t.get("x")) < x + width
        ]
        assert len(inside) == 2
        for text in inside:
            size = 12 if "aside" in (text.get("class") or "") else 14
            assert text_width(text.text, size) < width - 4


def test_no_word_leaves_the_panel():
    for norm in ("pre", "post"):
        for text in ElementTree.fromstring(panel(norm=norm).svg()).iter(f"{SVG}text"):
            size = 12 if "aside" in (text.get("class") or "") else 14
            width, x = text_width(text.text, size), float(text.get("x"))
            start = x - {"middle": width / 2, "end": width, None: 0}[text.get("text-anchor")]
            assert start >= 0 and start + width <= 340, text.text


def test_two_models_stand_beside_each_other_under_one_caption():
    models = [Transformer(config(norm=norm)) for norm in ("pre", "post")]
    drawing = draw_block_stacks(*models, caption="Where the norm stands.")
    assert [p.title.partition(":")[0] for p in drawing.panels] == ["Pre-norm", "Post-norm"]
    assert re.search("<figcaption>Where the norm stands.</figcaption>", drawing.to_html())
