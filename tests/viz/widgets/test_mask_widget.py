import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.widgets.mask_widget import mask_widget, read_batch, scores_of


def test_both_masks_together_allow_only_words_that_are_not_in_the_future():
    assert mask_widget("a b / c d e f").alt == (
        "The mask allows 17 of 32 pairs of query and key; 0 queries have no key left. "
        "In 2 sentences, words put 0.00 of their attention weight on pads."
    )


def test_without_the_padding_mask_words_attend_to_pads():
    shown = mask_widget("a / b c d")
    shown.controls["causal"].value = False
    assert "words put 0.00" in shown.alt
    shown.controls["padding"].value = False
    assert "allows 18 of 18 pairs" in shown.alt and "words put 0.00" not in shown.alt


def test_left_padding_leaves_queries_without_a_key():
    shown = mask_widget("a / b c")
    shown.controls["pad_side"].value = "left"
    assert "1 query has no key left" in shown.alt


def test_masked_cells_are_hatched_and_the_tokens_label_both_axes():
    shown = mask_widget("a / b c d")
    figure, _ = shown.draw("a / b c d", padding=True, causal=False)
    first = figure.axes[0]
    assert first.images[0].get_array().mask.all(axis=0).tolist() == [False, True, True]
    assert [t.get_text() for t in first.get_xticklabels()] == ["a", "<pad>", "<pad>"]
    assert len(figure.axes) == 2  # no colour bars beside numbers


def test_with_one_sentence_the_second_panel_is_empty():
    figure, words = mask_widget().draw("we like tea")
    assert not figure.axes[1].axison and "In 1 sentence, words put" in words


def test_a_word_always_has_the_same_scores():
    once, again = (scores_of([[*words, "tea"]]) for words in (["we", "like"], ["we", "drink"]))
    assert torch.equal(once[0, 0, 0], again[0, 0, 0]) and torch.equal(once[0, 2, 2], again[0, 2, 2])
    assert not torch.equal(once[0, 1], again[0, 1])


def test_long_words_are_rotated():
    figure, _ = mask_widget().draw("donaudampfschiff faehrt heute / ja")
    assert figure.axes[0].xaxis.get_major_ticks()[0].label1.get_rotation() == 90


@pytest.mark.parametrize("text", ["", " / ", "a/b/c/d", "a b c d e f g h"])
def test_a_batch_that_cannot_be_drawn_is_explained(text):
    shown = mask_widget()
    with pytest.raises(CourseError, match=r"one to 3 sentences of at most 7 words, .* got \d with"):
        shown.controls["sentences"].value = text
    assert "Not drawn" in shown.status.value


def test_markup_in_the_text_is_escaped():
    shown = mask_widget()
    shown.controls["sentences"].value = "<b>bold</b> $x_1$ / b"
    assert "<b>bold" not in shown.status.value
    assert read_batch("<b> a/c", pad_left=True) == [["<b>", "a"], ["<pad>", "c"]]
