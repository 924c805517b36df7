import pytest
import torch

import course_lib.model as course
from course_lib.errors import CourseError
from course_lib.viz.widgets.block_widget import PARTS, ablated, block_widget

SOURCE, TARGET = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7, 8]])


@pytest.fixture(params=["pre", "post"])
def block(request):
    torch.manual_seed(0)
    config = course.preset("small", norm=request.param, d_model=16, d_ff=32)
    return course.DecoderBlock(config).eval()


def run(block, x, *off):
    memory = torch.randn(1, 4, 16, generator=torch.Generator().manual_seed(2))
    with ablated([block], off), torch.no_grad():
        return block(x, memory)


@pytest.fixture
def x():
    return torch.randn(1, 3, 16, generator=torch.Generator().manual_seed(1))


def test_without_sublayers_and_norms_a_block_returns_its_input(block, x):
    out = run(block, x, "self_attention", "cross_attention", "feed_forward", "norms")
    assert torch.equal(out, x)


def test_without_sublayers_and_residuals_the_output_is_zero(block, x):
    out = run(block, x, "self_attention", "cross_attention", "feed_forward", "residuals")
    assert torch.equal(out, torch.zeros_like(out))


def test_without_residuals_and_norms_the_sublayers_follow_each_other(block, x):
    memory = torch.randn(1, 4, 16, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        y = block.self_attention(x, x, x)
        expected = block.feed_forward(block.cross_attention(y, memory, memory))
    assert torch.allclose(run(block, x, "norms", "residuals"), expected, atol=1e-6)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_makes_a_difference_and_is_restored(block, x, part):
    intact = run(block, x)
    assert not torch.allclose(run(block, x, part), intact, atol=1e-3)
    assert torch.equal(run(block, x), intact)


def test_parts_are_restored_after_an_error_too(block, x):
    intact = run(block, x)
    with pytest.raises(ZeroDivisionError), ablated([block], PARTS):
        1 / 0  # noqa: B018
    assert torch.equal(run(block, x), intact)


def test_with_all_parts_nothing_changes(model):
    shown = block_widget(model, SOURCE, TARGET)
    assert "without cross-attention" in shown.alt  # where it begins
    assert "0.00 of the probability" not in shown.alt
    shown.controls["cross_attention"].value = True
    assert "nothing ablated: 0.00 of the probability moves" in shown.alt


def test_the_alt_text_says_what_is_predicted_instead(model):
    vocabulary = [f"w{i}" for i in range(1000)]
    shown = block_widget(model, SOURCE, TARGET, vocabulary=vocabulary)
    shown.controls["feed_forward"].value = False
    assert "without cross-attention, feed-forward" in shown.alt
    assert "Instead of 'w" in shown.alt


def test_only_the_chosen_layer_of_the_chosen_stack_is_changed(model):
    shown = block_widget(model, SOURCE, TARGET, target_tokens=["<bos>", "a", "b"])
    shown.controls["stack"].value = "encoder"
    shown.controls["layer"].label = "1"
    shown.controls["self_attention"].value = False
    shown.controls["cross_attention"].value = True
    assert shown.alt.startswith("Encoder, layer 1, without self-attention: 0.")


def test_the_encoder_has_no_cross_attention_to_ablate(model):
    shown = block_widget(model, SOURCE, TARGET)
    shown.controls["stack"].value = "encoder"
    shown.controls["cross_attention"].value = False
    assert "0.00 of the probability moves" in shown.alt
    assert "An encoder has no cross-attention" in shown.alt


def test_a_model_in_training_mode_predicts_without_dropout_and_stays_in_that_mode(model):
    model.train()
    try:
        shown = block_widget(model, SOURCE, TARGET)
        shown.controls["cross_attention"].value = True
        assert ": 0.00 of" in shown.alt
        assert model.training
    finally:
        model.eval()


@pytest.mark.parametrize("tokens", [None, ["a"]])
def test_more_than_one_sentence_or_tokens_that_do_not_fit_are_refused(model, tokens):
    target = TARGET.expand(2, -1) if tokens is None else TARGET
    with pytest.raises(CourseError, match=r"one source \(1, S\), one target .* and . tokens: pick"):
        block_widget(model, SOURCE, target, target_tokens=tokens)
