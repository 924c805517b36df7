import itertools
import warnings
from io import BytesIO

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.plots.colour_bars import WORDS
from course_lib.viz.plots.heatmaps import plot_attention, plot_heads, plot_heatmap
from course_lib.viz.style import PAGE, SOFT, new_axes, palette

QUERIES = ["the", "dog"]
KEYS = ["der", "Hund", "."]
KEYS4 = ["k0", "k1", "k2", "k3"]
NAMES = {"rows": "row", "columns": "column", "title": "Values"}
# "the" attends to "der" only; "dog" to "Hund" and a little to ".".
KNOWN = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.75, 0.25]])


def pixel_of_cell(ax, row, column):
    """Colour near the corner of a cell, where no number is written, as it stands in the PNG."""
    image = Image.open(BytesIO(to_png(ax))).convert("RGB")
    x, y = ax.transData.transform((column - 0.4, row - 0.4))
    return np.array(image.getpixel((round(x), round(image.height - y)))) / 255


def weight_colour(weight):
    return palette("attention", signed=False)(weight)[:3]


def colour_bar(ax):
    return ax.images[0].colorbar.ax


def numbers(ax):
    """The texts in the cells, without the words above them."""
    return [text for text in ax.texts if text.get_gid() != WORDS]


def words_above(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() == WORDS]


def random_weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)


def test_a_query_is_a_row_and_a_key_is_a_column():
    ax = plot_attention(KNOWN, QUERIES, KEYS)
    for row, column in itertools.product(range(2), range(3)):
        expected = weight_colour(float(KNOWN[row, column]))
        assert np.allclose(pixel_of_cell(ax, row, column), expected, atol=0.04), (row, column)
    assert ax.images[0].get_array()[1, 2] == pytest.approx(0.25)


def test_the_first_query_is_on_top():
    ax = plot_attention(KNOWN, QUERIES, KEYS)
    to_png(ax)
    assert ax.transData.transform((0, 0))[1] > ax.transData.transform((0, 1))[1]


def test_axes_are_labelled_and_tokens_are_at_their_rows_and_columns():
    ax = plot_attention(KNOWN, QUERIES, KEYS, title="Head 3")
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert [label.get_text() for label in ax.get_yticklabels()] == QUERIES
    assert [label.get_text() for label in ax.get_xticklabels()] == KEYS
    assert ax.get_title(loc="left") == "Head 3"


def test_the_cells_of_small_matrices_contain_their_numbers():
    ax = plot_attention(KNOWN, QUERIES, KEYS)
    written = {text.get_position(): text.get_text() for text in numbers(ax)}
    assert written == {(0, 0): "1.00", (1, 1): "0.75", (2, 1): "0.25"}


@pytest.mark.parametrize("zero", [0.0, 0.004, -0.0])
def test_a_number_that_rounds_to_zero_is_not_written(zero):
    ax = plot_heatmap(torch.tensor([[zero, 1.0]]), row_labels=["x"], **NAMES)
    assert [text.get_text() for text in numbers(ax)] == ["1.00"]


def test_a_negative_number_has_a_minus():
    ax = plot_heatmap(torch.tensor([[-0.5, 1.0]]), row_labels=["x"], **NAMES)
    assert [text.get_text() for text in numbers(ax)] == ["−0.50", "1.00"]


def test_numbered_cells_need_no_colour_bar():
    numbered = plot_heatmap(torch.ones(2, 2), row_labels="ab", value="share", **NAMES)
    assert numbered.images[0].colorbar is None and words_above(numbered) == ["share"]
    bare = plot_heatmap(torch.ones(2, 2), value="share", **NAMES)
    assert colour_bar(bare).get_ylabel() == "share" and words_above(bare) == []


@pytest.mark.parametrize(("second", "bars"), [((0, 1), 1), ((0, 2), 2)])
def test_maps_share_a_colour_bar_if_their_scales_are_equal(second, bars):
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, limits in zip(axes, [(0, 1), second], strict=True):
        plot_heatmap(torch.rand(20, 20), limits=limits, ax=ax, **NAMES)
    assert sum(ax.images[0].colorbar is not None for ax in axes) == bars
    assert axes[1].images[0].colorbar is not None


def test_maps_of_one_figure_say_once_what_their_numbers_mean():
    axes = Figure().subplots(1, 2)
    for ax in axes:
        plot_heatmap(torch.ones(2, 2), row_labels="ab", value="share", ax=ax, **NAMES)
    assert [words_above(ax) for ax in axes] == [["share"], []]


def test_a_colour_bar_is_as_tall_as_its_map():
    ax = plot_heatmap(torch.rand(13, 20), row_labels="abcdefghijklm", **NAMES)
    to_png(ax)
    beside, cells = colour_bar(ax).get_window_extent(), ax.get_window_extent()
    assert (beside.y0, beside.y1) == pytest.approx((cells.y0, cells.y1))
    assert cells.x1 < beside.x0 and colour_bar(ax).get_tightbbox().x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize(("columns", "expected"), [(10, "0.25"), (11, "0.2")])
def test_above_ten_columns_there_is_one_decimal(columns, expected):
    ax = plot_heatmap(torch.full((1, columns), 0.25), row_labels=["x"], **NAMES)
    assert {text.get_text() for text in numbers(ax)} == {expected}


def test_a_weight_no_larger_than_that_of_uniform_attention_is_muted():
    weights = torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.25, 0.25]])
    colours = {t.get_position(): t.get_color() for t in plot_attention(weights, "ab", KEYS4).texts}
    assert {colours[column, 0] for column in range(4)} == {SOFT}
    assert colours[0, 1] == SOFT != colours[1, 1]
    mask = torch.tensor([[True, True, False, False]] * 2)
    halves = plot_attention(torch.tensor([[0.5, 0.5, 0, 0]] * 2), "ab", KEYS4, mask=mask)
    assert SOFT not in {
        text.get_color() for text in numbers(halves)
    }  # on so dark a cell it can't be read
    other = plot_heatmap(weights, row_labels="ab", **NAMES)
    assert SOFT not in {
        text.get_color() for text in numbers(other)
    }  # of values, no share is expected


def test_words_stand_horizontally_where_cells_can_be_wide_enough():
    few, many = (["translator"] * n for n in (5, 12))
    flat = plot_attention(random_weights(5, 5), few, few)
    upright = plot_attention(random_weights(12, 12), many, many)
    assert {label.get_rotation() for label in flat.get_xticklabels()} == {0}
    assert {label.get_rotation() for label in upright.get_xticklabels()} == {90}


def test_large_matrices_have_no_numbers():
    tokens = [str(i) for i in range(20)]
    assert not plot_attention(random_weights(20, 20), tokens, tokens).texts


def test_whole_numbers_are_written_without_decimals():
    ax = plot_heatmap(torch.tensor([[3, 4]]), rows="a", columns="b", title="c", row_labels=["x"])
    assert [text.get_text() for text in numbers(ax)] == ["3", "4"]


def test_a_masked_cell_is_hatched_and_a_zero_is_not():
    mask = torch.tensor([[True, True, False], [True, True, True]])
    ax = plot_attention(KNOWN, QUERIES, KEYS, mask=mask)
    assert ax.images[0].get_array().mask.tolist() == (~mask).tolist()
    assert (2, 0) not in {text.get_position() for text in ax.texts}
    assert ax.patch.get_hatch()
    assert np.allclose(pixel_of_cell(ax, 0, 1), weight_colour(0.0), atol=0.04)
    grey = pixel_of_cell(ax, 0, 2)
    assert np.ptp(grey) < 0.05 and not np.allclose(grey, weight_colour(0.0), atol=0.04)
    assert words_above(ax) == ["weight (hatched: masked)"]


@pytest.mark.parametrize("odd", [-np.inf, np.inf, np.nan])
def test_a_cell_that_is_not_finite_is_hatched_and_leaves_the_colours_of_the_others(odd):
    values = torch.tensor([[1.0, odd], [2.0, 3.0]])
    ax = plot_heatmap(values, rows="a", columns="b", title="c", row_labels=["x", "y"])
    assert ax.images[0].get_clim() == (0, 3)
    assert ax.images[0].get_array().mask.tolist() == [[False, True], [False, False]]
    assert np.ptp(pixel_of_cell(ax, 0, 1)) < 0.05
    assert [text.get_text() for text in numbers(ax)] == ["1.00", "2.00", "3.00"]
    assert words_above(ax) == ["value (hatched: not finite)"]
    assert describe(ax).endswith("(2 columns): from 1 to 3. 1 cell is not finite.")


def test_what_the_mask_hides_is_not_counted_among_the_cells_that_are_not_finite():
    values, mask = torch.tensor([[1.0, -np.inf], [np.nan, 3.0]]), torch.tensor([True, False])
    ax = plot_heatmap(values, rows="a", columns="b", title="c", mask=mask)
    assert colour_bar(ax).get_ylabel() == "value\n(hatched: masked or not finite)"
    assert describe(ax).endswith("at 1. 1 cell is not finite.")


def test_without_a_finite_cell_a_heatmap_says_so_and_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plot_heatmap(np.full((2, 2), np.nan), rows="a", columns="b", title="c")
    assert describe(ax).endswith("without a value. 4 cells are not finite.")


def test_heads_with_cells_that_are_not_finite_say_so():
    heads = random_weights(3, 2, 3)
    heads[0, 0], heads[1] = np.nan, np.nan
    figure = plot_heads(heads, QUERIES, KEYS)
    assert figure.axes[0].images[0].get_array().mask.tolist() == [[True] * 3, [False] * 3]
    assert figure.axes[-1].get_ylabel() == "weight (hatched: not finite)"
    words = describe(figure)
    assert "nan" not in words and "(head 1)" not in words
    assert words.endswith(" 9 cells are not finite.")
    assert "of 3: without a value." in describe(
        plot_heads(heads[1:2].expand(3, -1, -1), "ab", KEYS)
    )


def test_without_a_mask_hatching_is_not_mentioned():
    assert words_above(plot_attention(KNOWN, QUERIES, KEYS)) == ["weight"]


@pytest.mark.parametrize("shape", [(3,), (1, 3), (1, 1, 1, 3)])
def test_the_masks_of_the_model_fit_as_they_are(shape):
    mask = torch.tensor([True, True, False]).reshape(shape)
    ax = plot_attention(KNOWN, QUERIES, KEYS, mask=mask)
    assert ax.images[0].get_array().mask.tolist() == [[False, False, True]] * 2


def test_a_mask_that_is_not_boolean_is_refused():
    with pytest.raises(TypeError, match="boolean with True = may attend, got float32: is it an"):
        plot_attention(KNOWN, QUERIES, KEYS, mask=torch.zeros(2, 3))


@pytest.mark.parametrize("shape", [(3, 2), (4, 1, 1, 3)])
def test_a_mask_that_does_not_fit_is_refused(shape):
    with pytest.raises(ValueError, match=r"must broadcast to shape \(2, 3\), got .* pick one"):
        plot_attention(KNOWN, QUERIES, KEYS, mask=torch.ones(shape, dtype=torch.bool))


def test_transposed_weights_are_refused_by_their_shape():
    with pytest.raises(ValueError, match=r"\(query, key\) = \(2, 3\), got \(3, 2\): are they tr"):
        plot_attention(KNOWN.T, QUERIES, KEYS)


def test_transposed_square_weights_are_refused_by_their_sums():
    square = random_weights(4, 4)
    plot_attention(square, list("abcd"), list("abcd"))
    with pytest.raises(ValueError, match=r"each row .* must sum to one, but here each column does"):
        plot_attention(square.T, list("abcd"), list("abcd"))


def test_weights_of_other_tokens_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\), got \(4, 4\): do the tokens belong to these"):
        plot_attention(random_weights(4, 4), QUERIES, KEYS)


def test_a_fully_masked_row_of_zeros_is_hatched_and_not_taken_for_transposed_weights():
    # Here each column sums to one, but the first row does not.
    weights = torch.tensor([[0.0, 0.0], [0.5, 0.5], [0.5, 0.5]])
    mask = torch.tensor([[False, False], [True, True], [True, True]])
    masked = plot_attention(weights, list("abc"), list("xy"), mask=mask)
    assert masked.images[0].get_array().mask.tolist() == (~mask).tolist()
    unmasked = plot_attention(weights, list("abc"), list("xy"))
    assert not np.ma.is_masked(unmasked.images[0].get_array())
    for column in range(2):
        assert np.allclose(pixel_of_cell(unmasked, 0, column), weight_colour(0.0), atol=0.04)
        grey = pixel_of_cell(masked, 0, column)
        assert np.ptp(grey) < 0.05 and not np.allclose(grey, weight_colour(0.0), atol=0.04)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (0, 3)])
def test_values_that_are_not_a_matrix_are_refused(shape):
    with pytest.raises(ValueError, match=r"needs values with shape \(rows, columns\), got .* pick"):
        plot_heatmap(torch.zeros(shape), rows="a", columns="b", title="c")


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"expected 3 labels for the axis 'key' .* got 2: is the"):
        plot_heatmap(KNOWN, rows="query", columns="key", title="c", column_labels=["x", "y"])


@pytest.mark.parametrize("limits", [None, (-1, 3)])
def test_zero_has_the_colour_of_the_page(limits):
    signed = plot_heatmap(torch.tensor([[-1.0, 3.0]]), limits=limits, **NAMES).images[0]
    assert signed.cmap == palette("value", signed=True) and signed.get_clim() == (-3, 3)
    positive = plot_heatmap(torch.tensor([[1.0, 3.0]]), **NAMES).images[0]
    assert positive.cmap == palette("value", signed=False) and positive.get_clim() == (0, 3)
    negative = plot_heatmap(torch.tensor([[-1.0, -3.0]]), **NAMES).images[0]
    assert negative.cmap == palette("value", signed=True) and negative.get_clim() == (-3, 3)
    assert (
        to_hex(signed.cmap(signed.norm(0.0))) == to_hex(positive.cmap(positive.norm(0.0))) == PAGE
    )


def test_a_matrix_of_zeros_is_the_page():
    image = plot_heatmap(torch.zeros(2, 2), **NAMES).images[0]
    assert to_hex(image.cmap(image.norm(0.0))) == PAGE


@pytest.mark.parametrize("quantity", ["similarity", "leakage"])
def test_a_quantity_has_its_palette(quantity):
    image = plot_heatmap(torch.tensor([[0.0, 0.5]]), quantity=quantity, **NAMES).images[0]
    assert image.cmap == palette(quantity, signed=False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_any_precision_with_a_gradient_can_be_drawn(dtype):
    weights = KNOWN.to(dtype).requires_grad_()
    assert plot_attention(weights, QUERIES, KEYS).images[0].get_array().shape == (2, 3)


def test_given_axes_are_drawn_on():
    ax = new_axes()
    assert plot_attention(KNOWN, QUERIES, KEYS, ax=ax) is ax


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 6, 12, 40, 90])
def test_token_labels_never_overlap(length):
    tokens = [f"Wörterbuch{i}" for i in range(length)]
    ax = plot_attention(random_weights(length, length), tokens, tokens)
    to_png(ax)
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        boxes = [label.get_window_extent(renderer) for label in labels]
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize(("n_heads", "n_axes"), [(1, 1), (4, 4), (5, 6), (6, 6), (8, 8)])
def test_every_head_is_drawn_once_in_order(n_heads, n_axes):
    heads = random_weights(n_heads, 2, 3)
    figure = plot_heads(heads, QUERIES, KEYS)
    *axes, _colour_bar = figure.axes
    assert len(axes) == n_axes
    drawn = [ax for ax in axes if ax.images]
    assert [ax.get_title(loc="left") for ax in drawn] == [f"head {i}" for i in range(n_heads)]
    for ax, expected in zip(drawn, heads, strict=True):
        assert np.allclose(ax.images[0].get_array(), expected)
        assert ax.images[0].get_clim() == (0, 1)


def test_a_head_is_headed_by_its_name_and_its_uniform_rows_are_faded():
    heads = torch.tensor([[[0.5, 0.5, 0.0], [1 / 3] * 3], [[0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]])
    first, second, _ = plot_heads(heads, QUERIES, KEYS, names=["who", "what"]).axes
    assert [ax.get_title(loc="left") for ax in (first, second)] == ["who", "what"]
    assert [patch.get_y() for patch in first.patches] == [0.5]
    assert not second.patches
    causal = torch.tensor([True, False, False])  # one key alone is no mixture
    alone = plot_heads(torch.tensor([[[1.0, 0, 0]] * 2]), QUERIES, KEYS, mask=causal)
    assert not alone.axes[0].patches
    with pytest.raises(ValueError, match="a name for each of the 2 heads, got 1"):
        plot_heads(heads, QUERIES, KEYS, names=["who"])


@pytest.mark.slow
def test_up_to_sixteen_words_of_a_head_are_all_written():
    words = [f"w{i}" for i in range(11)]
    figure = plot_heads(random_weights(8, 11, 11), words, words)
    to_png(figure)
    assert [label.get_text() for label in figure.axes[4].get_yticklabels()] == words
    assert [label.get_text() for label in figure.axes[4].get_xticklabels()] == words


def test_heads_hatch_what_is_masked():
    mask = torch.tensor([True, True, False])
    figure = plot_heads(random_weights(2, 2, 3), QUERIES, KEYS, mask=mask)
    assert figure.axes[0].images[0].get_array().mask[:, 2].all()
    assert figure.axes[-1].get_ylabel() == "weight (hatched: masked)"


def test_a_long_token_is_cut_in_the_labels_of_heads_and_leaves_room_for_the_cells():
    figure = plot_heads(random_weights(4, 2, 3), ["the", "x" * 300], ["y" * 100, "Hund", "."])
    assert to_png(figure)
    assert figure.axes[0].get_yticklabels()[1].get_text() == "x" * 39 + "…"
    assert figure.axes[0].get_window_extent().height > 20


def test_heads_with_a_batch_are_refused():
    with pytest.raises(ValueError, match=r"\(heads, query, key\), got \(1, 2, 2, 3\): pick one"):
        plot_heads(random_weights(1, 2, 2, 3), QUERIES, KEYS)


def test_transposed_heads_are_refused():
    with pytest.raises(ValueError, match="are they transposed"):
        plot_heads(random_weights(2, 3, 2), QUERIES, KEYS)


def test_numbers_that_would_touch_are_upright():
    labels = [str(100 + i) for i in range(20)]
    columns = {"rows": "row", "columns": "unit", "title": "x", "column_labels": labels}
    ax = plot_heatmap(np.ones((3, 20)), row_labels=list("abc"), **columns)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}
