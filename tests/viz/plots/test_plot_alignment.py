import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from course_lib.alignment_error_rate import alignment_error_rate
from course_lib.viz.alt_text import describe
from course_lib.viz.plots.plot_alignment import alignment_error, plot_alignment, strongest_links
from course_lib.viz.style import ACCENT, INK

# Row t predicts target word t: "the dog <eos>" of "der hund".
WEIGHTS = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
PREDICTED, SOURCE = ["the", "dog", "<eos>"], ["der", "hund"]
GOLD = frozenset({(0, 0), (1, 1)})


def frames(ax, colour):
    """The cells (column, row) with a frame of this colour."""
    edges = [(p, to_hex(p.get_edgecolor())) for p in ax.patches if isinstance(p, Rectangle)]
    some = [frame for frame, edge in edges if edge == colour]
    return {(round(p.get_x() + 0.46), round(p.get_y() + 0.46)) for p in some}


def test_a_target_word_is_linked_to_the_source_word_with_the_largest_weight():
    assert strongest_links(WEIGHTS, {0, 1}) == {(0, 0), (1, 1)}
    assert strongest_links(WEIGHTS, {0, 1}, offset=1) == {(1, 0), (1, 1)}


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("gold", [GOLD, {(1, 0)}, {(0, 0), (1, 0), (1, 1)}])
def test_the_error_rate_is_that_of_the_metrics(gold, offset):
    found = strongest_links(WEIGHTS, {target for _, target in gold}, offset=offset)
    expected = alignment_error_rate(found, gold)
    assert alignment_error(WEIGHTS, gold, offset=offset) == pytest.approx(expected)


def test_without_a_gold_link_there_is_no_error_rate():
    with pytest.raises(ValueError, match="expected at least one link for an alignment error rate"):
        alignment_error(WEIGHTS, set())


def test_gold_links_are_framed_and_the_error_rate_is_the_title():
    ax = plot_alignment(WEIGHTS, PREDICTED, SOURCE, {(0, 0), (1, 0)}, title="Head 3")
    assert frames(ax, ACCENT) == {(0, 0), (1, 0)}
    assert ax.get_title(loc="left") == "Head 3\nalignment error rate 0.33"
    assert "2 gold links framed, and the head's alignment error rate 0.33." in describe(ax)
    assert torch.equal(torch.tensor(ax.images[0].get_array()), WEIGHTS)


def test_a_source_word_is_a_column_and_a_target_word_a_row():
    ax = plot_alignment(WEIGHTS, PREDICTED, SOURCE, {(1, 0)})
    assert frames(ax, ACCENT) == {(1, 0)}
    assert [label.get_text() for label in ax.get_xticklabels()] == SOURCE


def test_the_shift_is_drawn_beside_the_correct_links():
    ax = plot_alignment(WEIGHTS, PREDICTED, SOURCE, GOLD, offset=1)
    assert frames(ax, INK) == {(0, 1), (1, 2)}
    assert frames(ax, ACCENT) == {(0, 0), (1, 1)}
    assert ax.get_title(loc="left").endswith("error rate 0.50, 0.00 without the shift")
    legend = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert legend == ["row that is compared (+1)", "gold link"]


@pytest.mark.parametrize("offset", [1, -1])
def test_an_arrow_leads_from_the_row_that_is_compared_to_the_right_one(offset):
    weights = torch.cat([torch.tensor([[0.5, 0.5]]), WEIGHTS])
    ax = plot_alignment(weights, ["so", *PREDICTED], SOURCE, {(0, 1), (1, 2)}, offset=offset)
    arrows = [text for text in ax.texts if isinstance(text, Annotation) and text.arrow_patch]
    starts = [tuple(map(round, arrow.xyann)) for arrow in arrows]
    tips = [tuple(map(round, arrow.xy)) for arrow in arrows]
    assert starts == [(0, 1 + offset), (1, 2 + offset)] and tips == [(0, 1), (1, 2)]


def test_no_gold_link_is_refused():
    with pytest.raises(ValueError, match="needs at least one gold link, got none: does this sent"):
        plot_alignment(WEIGHTS, PREDICTED, SOURCE, set())


@pytest.mark.parametrize(("link", "offset"), [((2, 0), 0), ((0, 3), 0), ((0, 2), 1), ((0, -1), 0)])
def test_a_link_outside_the_picture_is_refused(link, offset):
    with pytest.raises(
        ValueError, match=r"within 2 keys and 3 queries, got .* are the two indices sw"
    ):
        plot_alignment(WEIGHTS, PREDICTED, SOURCE, {link}, offset=offset)


def test_transposed_weights_are_refused():
    with pytest.raises(ValueError, match="are they transposed"):
        plot_alignment(WEIGHTS.T, PREDICTED, SOURCE, {(0, 0)})
