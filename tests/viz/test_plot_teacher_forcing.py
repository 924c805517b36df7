import pytest

from course_lib.viz.plot_teacher_forcing import plot_teacher_forcing
from course_lib.viz.alt_text import describe

READS, SAYS = "<bos> the dog .".split(), "the dog . <eos>".split()


def boxes(ax):
    """Text → places; arrows are annotations without one."""
    return {(t.get_position(), t.get_text()) for t in ax.texts if t.get_text()}


def arrows(ax):
    some = [text for text in ax.texts if not text.get_text()]
    return [(a.xyann, a.xy, a.arrow_patch.get_linestyle()) for a in some]


def test_labels_stand_under_the_token_that_is_read():
    written = boxes(plot_teacher_forcing(READS, SAYS))
    for step, (read, said) in enumerate(zip(READS, SAYS, strict=True)):
        assert {((step, 1.0), read), ((step, 0.0), said)} <= written


def test_arrows_lead_down_to_the_label_and_up_to_the_next_token():
    drawn = arrows(plot_teacher_forcing(READS[:2], SAYS[:2]))
    assert drawn == [
        ((0, 1), (0, 0), "solid"),
        ((0, 0), (1, 1), "--"),
        ((1, 1), (1, 0), "solid"),
    ]


def test_nothing_is_asked_under_a_pad():
    ax = plot_teacher_forcing([*READS, "<eos>"], [*SAYS, "<pad>"])
    assert len([arrow for arrow in arrows(ax) if arrow[2] == "solid"]) == 4
    hatched = [
        t.get_text() for t in ax.texts if t.get_bbox_patch() and t.get_bbox_patch().get_hatch()
    ]
    assert hatched == ["<pad>"]
    assert ax.get_legend().get_texts()[0].get_text() == "pad: nothing is asked here"
    assert describe(ax).endswith("4 predictions are asked for.")


def test_left_pads_are_drawn_as_well():
    ax = plot_teacher_forcing(["<pad>", *READS], ["<pad>", *SAYS])
    assert len([arrow for arrow in arrows(ax) if arrow[2] == "solid"]) == 4


def test_labels_that_are_not_moved_by_one_are_refused():
    with pytest.raises(
        ValueError, match="label of step 0 must be the token that is read next, 'th"
    ):
        plot_teacher_forcing(READS, READS)


@pytest.mark.parametrize(("reads", "says"), [([], []), (READS, SAYS[:-1])])
def test_rows_of_different_lengths_are_refused(reads, says):
    with pytest.raises(ValueError, match=r"one label for each .* use target\[:, :-1\] and target"):
        plot_teacher_forcing(reads, says)
