import pytest
from matplotlib.colors import to_hex

from course_lib.viz.alt_text import describe
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plots.plot_teacher_forcing import plot_teacher_forcing

INPUTS, LABELS = "<bos> the dog .".split(), "the dog . <eos>".split()


def boxes(ax):
    """(position, text) of each box; arrows are annotations without text."""
    return {(t.get_position(), t.get_text()) for t in ax.texts if t.get_text()}


def arrows(ax):
    annotations = [text for text in ax.texts if not text.get_text()]
    return [(a.xyann, a.xy, a.arrow_patch.get_linestyle()) for a in annotations]


def test_each_label_is_below_the_token_that_is_read():
    drawn = boxes(plot_teacher_forcing(INPUTS, LABELS))
    for step, (token, label) in enumerate(zip(INPUTS, LABELS, strict=True)):
        assert {((step, 1.0), token), ((step, 0.0), label)} <= drawn


def test_arrows_lead_down_to_the_label_and_up_to_the_next_token():
    drawn = arrows(plot_teacher_forcing(INPUTS[:2], LABELS[:2]))
    assert drawn == [
        ((0, 1), (0, 0), "solid"),
        ((0, 0), (1, 1), "--"),
        ((1, 1), (1, 0), "solid"),
    ]


def test_no_prediction_is_scored_at_a_pad():
    ax = plot_teacher_forcing([*INPUTS, "<eos>"], [*LABELS, "<pad>"])
    assert len([arrow for arrow in arrows(ax) if arrow[2] == "solid"]) == 4
    hatched = [
        t.get_text() for t in ax.texts if t.get_bbox_patch() and t.get_bbox_patch().get_hatch()
    ]
    assert hatched == ["<pad>"]
    assert ax.get_legend().get_texts()[0].get_text() == "pad: not scored"
    assert describe(ax).endswith("4 predictions are scored.")


def test_left_padding_is_drawn_as_well():
    ax = plot_teacher_forcing(["<pad>", *INPUTS], ["<pad>", *LABELS])
    assert len([arrow for arrow in arrows(ax) if arrow[2] == "solid"]) == 4


def test_labels_that_are_not_shifted_by_one_are_refused():
    with pytest.raises(
        ValueError, match="label of step 0 must be the token that is read next, 'th"
    ):
        plot_teacher_forcing(INPUTS, INPUTS)


@pytest.mark.parametrize(("inputs", "labels"), [([], []), (INPUTS, LABELS[:-1])])
def test_rows_of_different_lengths_are_refused(inputs, labels):
    with pytest.raises(ValueError, match=r"one label for each .* use target\[:, :-1\] and target"):
        plot_teacher_forcing(inputs, labels)


def test_the_english_of_both_rows_is_orange():
    ax = plot_teacher_forcing(INPUTS, LABELS)
    boxes = [text.get_bbox_patch() for text in ax.texts if text.get_text()]
    assert {to_hex(box.get_edgecolor()) for box in boxes} == {COLOURS["english"].light}
