import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba

from course_lib.viz.alt_text import describe
from course_lib.viz.plots.plot_attention_lines import LANES, plot_attention_lines
from course_lib.viz.style import LINES

QUERIES, KEYS = ["the", "dog"], ["der", "Hund", "."]
# Head 0: "the" attends to "der"; "dog" to "Hund" and a little to ".". Head 1: all to ".".
WEIGHTS = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.75, 0.25]], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])


def lines(collection):
    """(query, key, opacity) of each line."""
    ends = []
    for (start, end), colour in zip(
        collection.get_segments(), collection.get_colors(), strict=True
    ):
        assert (start[1], end[1]) == (1, 0)
        query = int(start[0] / 1.5)  # two words share the width of three
        ends.append((query, int(end[0]), round(float(colour[3]), 2)))
    return ends


def test_lines_go_from_the_query_above_to_the_key_below():
    ax = plot_attention_lines(WEIGHTS, QUERIES, KEYS, heads=[0])
    assert lines(ax.collections[0]) == [(0, 0, 1.0), (1, 1, 0.75), (1, 2, 0.25)]
    assert ax.get_xlabel() == "key"
    assert ax.child_axes[0].get_xlabel() == "query"
    assert [label.get_text() for label in ax.get_xticklabels()] == KEYS
    assert [label.get_text() for label in ax.child_axes[0].get_xticklabels()] == QUERIES


def test_one_word_and_all_heads_as_in_figure_3():
    ax = plot_attention_lines(WEIGHTS, QUERIES, KEYS, queries=[1])
    assert [lines(c) for c in ax.collections] == [[(1, 1, 0.75), (1, 2, 0.25)], [(1, 2, 1.0)]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["head 0", "head 1"]
    pale, dark = (label.get_color() for label in ax.child_axes[0].get_xticklabels())
    assert pale != dark


def test_a_single_head_keeps_its_colour():
    both = plot_attention_lines(WEIGHTS, QUERIES, KEYS)
    alone = plot_attention_lines(WEIGHTS, QUERIES, KEYS, heads=[1])
    for collection in (both.collections[1], alone.collections[0]):
        assert collection.get_colors()[0][:3] == pytest.approx(to_rgba(LINES[1])[:3])
    assert alone.get_legend() is None


def test_lines_of_several_heads_at_a_word_are_side_by_side():
    same = WEIGHTS[1:].repeat(4, 1, 1)
    ax = plot_attention_lines(same, QUERIES, KEYS, queries=[0])
    ends = [collection.get_segments()[0][1][0] for collection in ax.collections]
    assert np.diff(ends) == pytest.approx([LANES / 4] * 3)
    assert np.mean(ends) == pytest.approx(2.5)


def test_the_largest_weight_is_in_the_alt_text():
    words = describe(plot_attention_lines(WEIGHTS, QUERIES, KEYS, queries=[1], title="Figure 3"))
    assert words == (
        "Figure 3. Lines of 2 heads from 'dog' to 3 keys, the strongest (1.00) to '.' in head 1."
    )
    words = describe(plot_attention_lines(WEIGHTS, QUERIES, KEYS, heads=[0], title="Figure 5"))
    assert words.startswith("Figure 5. Lines of head 0 from 2 queries to 3 keys, the strongest (")
    assert words.endswith("'.")


@pytest.mark.parametrize("n_heads", [8, 12])
def test_heads_have_different_colours(n_heads):
    ax = plot_attention_lines(WEIGHTS[:1].repeat(n_heads, 1, 1), QUERIES, KEYS)
    assert len({tuple(c.get_colors()[0]) for c in ax.collections}) == n_heads


def test_weights_without_heads_are_refused():
    with pytest.raises(ValueError, match=r"\(heads, query, key\), got \(2, 3\): pick one layer"):
        plot_attention_lines(WEIGHTS[0], QUERIES, KEYS)


def test_transposed_weights_are_refused():
    with pytest.raises(ValueError, match="are they transposed"):
        plot_attention_lines(WEIGHTS.transpose(1, 2), QUERIES, KEYS)


@pytest.mark.parametrize("name", ["queries", "heads"])
@pytest.mark.parametrize("chosen", [[], [2], [-1]])
def test_an_index_out_of_range_is_refused(name, chosen):
    with pytest.raises(ValueError, match=f"{name} must be indices from 0 to 1, at least one, got"):
        plot_attention_lines(WEIGHTS, QUERIES, KEYS, **{name: chosen})
