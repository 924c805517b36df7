import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.lesson_widgets.mask_widget import mask_widget, read_batch, scores_of


def test_both_masks_leave_the_words_that_are_not_in_the_future():
    assert mask_widget("a b / c d e f").alt == (
        "17 of 32 cells are open, and 0 rows have nothing left. "
        "The words of 2 sentences spend 0.00 of their attention on pads."
    )


def test_without_the_padding_mask_words_read_pads():
    shown = mask_widget("a / b c d")
    shown.controls["causal"].value = False
    assert "spend 0.00" in shown.alt
    shown.controls["padding"].value = False
    assert "18 of 18 cells are open" in shown.alt and "spend 0.00" not in shown.alt


def test_pads_on_the_left_leave_rows_with_nothing():
    shown = mask_widget("a / b c")
    shown.controls["pad_side"].value = "left"
    assert "1 row has nothing left" in shown.alt


def test_hidden_cells_are_hatched_and_the_tokens_stand_at_both_axes():
    shown = mask_widget("a / b c d")
    figure, _ = shown.draw("a / b c d", padding=True, causal=False)
    first = figure.axes[0]
    assert first.images[0].get_array().mask.all(axis=0).tolist() == [False, True, True]
    assert [t.get_text() for t in first.get_xticklabels()] == ["a", "<pad>", "<pad>"]
    assert len(figure.axes) == 2  # no colour bars beside numbers


def test_one_sentence_leaves_the_second_place_empty():
    figure, words = mask_widget().draw("we like tea")
    assert not figure.axes[1].axison and "The words of 1 sentence spend" in words


def test_a_word_always_has_the_same_scores():
    once, again = (scores_of([[*words, "tea"]]) for words in (["we", "like"], ["we", "drink"]))
    assert torch.equal(once[0, 0, 0], again[0, 0, 0]) and torch.equal(once[0, 2, 2], again[0, 2, 2])
    assert not torch.equal(once[0, 1], again[0, 1])


def test_long_words_stand_upright():
    figure, _ = mask_widget().draw("donaudampfschiff faehrt heute / ja")
    assert figure.axes[0].xaxis.get_major_ticks()[0].label1.get_rotation() == 90


@pytest.mark.parametrize("text", ["", " / ", "a/b/c/d", "a b c d e f g h"])
def test_a_batch_that_cannot_be_drawn_is_explained(text):
    shown = mask_widget()
    with pytest.raises(CourseError, match=r"one to 3 sentences of at most 7 words, .* got \d with"):
        shown.controls["sentences"].value = text
    assert "Not drawn" in shown.words.value


def test_what_is_typed_is_no_markup():
    shown = mask_widget()
    shown.controls["sentences"].value = "<b>bold</b> $x_1$ / b"
    assert "<b>bold" not in shown.words.value
    assert read_batch("<b> a/c", pad_left=True) == [["<b>", "a"], ["<pad>", "c"]]
