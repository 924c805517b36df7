import re

import pytest
import torch

from course_lib.model import MultiHeadAttention, merge_heads
from course_lib.viz.drawings.attention.head_sum import draw_head_sum
from course_lib.viz.drawings.marks import signed, text_width


def attention_and_contexts(*, bias=True):
    """A module, its output for one word, and the contexts of its heads for it."""
    torch.manual_seed(0)
    attention, caught = MultiHeadAttention(12, 3, bias=bias), {}
    hook = attention.out_proj.register_forward_hook(
        lambda module, given, out: caught.update(context=given[0][0, 1])
    )
    x = 3 * torch.randn(1, 4, 12)
    with torch.no_grad():
        output = attention(x, x, x)[0, 1]
    hook.remove()
    return attention, output, caught["context"].unflatten(0, (3, 4))


def drawn(*, bias=True, **options):
    attention, output, contexts = attention_and_contexts(bias=bias)
    projection = attention.out_proj
    given = {"word": "cat", "lit": 1} | options
    return draw_head_sum(contexts, projection.weight, projection.bias, **given), output


def strips(panel):
    """What each row's numbers are told to be."""
    rows = panel.description.split(": ", 1)[1].rstrip(".").split("; ")
    return {
        re.match(r"head \d|bias|output", row)[0]: re.findall(r"−?\d+\.\d\d", row) for row in rows
    }


def test_contexts_here_are_what_the_module_merges():
    attention, output, contexts = attention_and_contexts()
    merged = merge_heads(contexts[None, :, None])
    assert torch.allclose(attention.out_proj(merged)[0, 0], output, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_the_sum_is_the_output_of_the_module(bias):
    drawing, output = drawn(bias=bias)
    rows = strips(drawing.panels[1])
    assert rows["output"] == [signed(value, 2) for value in output[:5].tolist()]
    assert ("bias" in rows) == bias


def test_each_head_adds_what_is_lost_without_it():
    attention, output, contexts = attention_and_contexts()
    rows = strips(drawn()[0].panels[1])
    for head in range(3):
        without = contexts.clone()
        without[head] = 0
        with torch.no_grad():
            lost = output - attention.out_proj(without.flatten())
        assert rows[f"head {head}"] == [signed(value, 2) for value in lost[:5].tolist()]


def test_the_numbers_in_the_picture_are_those_of_the_description():
    panel = drawn(numbers=(7, 2, 11))[0].panels[1]
    written = re.findall(r">(−?\d+\.\d\d)<", panel.body)
    assert written == [value for row in strips(panel).values() for value in row]
    assert "Numbers 7, 2, 11 of the output" in panel.description


def test_one_head_has_the_accent_and_a_bold_name():
    for panel in drawn(lit=2)[0].panels:
        assert re.findall(r'class="bold"[^>]*>(head \d)<', panel.body) == ["head 2"]
        assert "--accent" in panel.body


def test_the_first_panel_has_a_slice_for_each_head():
    panel = drawn()[0].panels[0]
    assert panel.body.count("4 × 12") == 3
    assert "3 heads with 4 numbers each" in panel.description


def test_numbers_fit_into_their_cells():
    contexts = torch.full((3, 4), -9.99)
    drawing = draw_head_sum(contexts, torch.full((12, 12), 9.99), word="cat", lit=0)
    assert "−1198" in drawing.panels[1].body
    assert "." not in "".join(re.findall(r">(−[\d.]+)<", drawing.panels[1].body))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lit": 3}, "a head from 0 to 2 and numbers from 0 to 11, got 3"),
        ({"numbers": (0, 12)}, "numbers from 0 to 11"),
        ({"numbers": range(6)}, "at most 6 heads and 5 numbers, got 3 and 6"),
        ({"numbers": ()}, "at most 6 heads and 5 numbers"),
    ],
)
def test_what_is_not_in_the_output_is_refused(options, told):
    with pytest.raises(ValueError, match=told):
        drawn(**options)


def test_a_matrix_of_other_heads_is_refused():
    with pytest.raises(ValueError, match="weight with 3 · 4 columns"):
        draw_head_sum(torch.zeros(3, 4), torch.zeros(12, 8), word="cat", lit=0)
    with pytest.raises(ValueError, match="at most 6 heads"):
        draw_head_sum(torch.zeros(8, 2), torch.zeros(16, 16), word="cat", lit=0)


def test_there_is_room_around_every_number():
    panel = drawn()[0].panels[1]
    cells = re.findall(
        r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*class="cell"', panel.body
    )
    assert all(text_width("−1.11", 12, bold=True) + 6 <= float(width) for _, width in cells)
    assert max(float(x) + float(width) for x, width in cells) < panel.width
