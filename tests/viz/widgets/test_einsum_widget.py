from string import ascii_letters

import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.widgets.einsum_widget import (
    EXAMPLES,
    OTHER_SIZE,
    SIZES,
    einsum_widget,
    parse_subscripts,
)


def shape_by_torch(subscripts):
    operands = subscripts.split("->")[0].split(",")
    tensors = [torch.zeros([SIZES.get(c, OTHER_SIZE) for c in operand]) for operand in operands]
    return tuple(torch.einsum(subscripts, *tensors).shape)


@pytest.mark.slow
@pytest.mark.parametrize("subscripts", [*EXAMPLES, "ab,bc,cd->ad", "zz->z", "Ab->bA", "i->"])
def test_the_result_has_the_shape_that_pytorch_gives(subscripts):
    shown = einsum_widget()
    shown.controls["subscripts"].value = subscripts
    assert f"The result has shape {shape_by_torch(subscripts)};" in shown.alt


def test_the_alt_text_says_what_happens_to_each_axis():
    assert einsum_widget().alt == (
        "Scores: b and h are matched; q and k are kept; e is summed over. "
        "The result has shape (2, 3, 5, 7); 840 products."
    )


def test_summing_over_an_axis_of_only_one_operand_is_questioned():
    shown = einsum_widget()
    shown.controls["subscripts"].value = "bhqe,bhkd->bhqk"
    assert "Only one operand has e and d: was it meant to be summed over?" in shown.alt


def test_a_formula_with_indices_is_the_title():
    ax, _ = einsum_widget().draw(subscripts="ij, jk -> ik")
    assert ax.get_title("left") == "result[i,k] = Σ over j of A[i,j] · B[j,k]"
    assert parse_subscripts("i,j->ij").formula() == "result[i,j] = A[i] · B[j]"


def test_an_axis_is_drawn_in_one_column_with_its_index_in_each_tensor():
    ax, _ = einsum_widget().draw(subscripts="ij,jk->ik")
    positions = {(t.get_text(), t.get_position()[1] < 0.5): t.get_position()[0] for t in ax.texts}
    below, above = positions["j", False], positions["j", True]
    assert below == above
    assert {t.get_text() for t in ax.texts} >= {"axis 0\nsize 3", "axis 1\nsize 4", "Σ"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bhqe,bhke", "is a comma or the arrow missing"),
        ("", "one to three operands, an arrow"),
        (",->", "one to three operands"),
        ("a,b,c,d->a", "one to three operands"),
        ("...i->i", "one to three operands"),
        ("1i->i", "one to three operands"),
        ("ij->ik", "the letter 'k', which no operand has"),
        ("ij->ii", "each letter once, got 'i' twice"),
        (f"{ascii_letters[:9]}->a", "at most 8 different letters can be drawn, got 9"),
    ],
)
def test_text_that_is_not_an_einsum_is_explained_and_the_last_picture_stays(text, message):
    shown = einsum_widget()
    before = shown.image.value
    with pytest.raises(CourseError, match=message):
        shown.controls["subscripts"].value = text
    assert 'role="alert"' in shown.status.value and shown.image.value == before


def test_markup_in_the_text_is_escaped():
    shown = einsum_widget()
    with pytest.raises(CourseError):
        shown.controls["subscripts"].value = "<img src=x>"
    assert "<img" not in shown.status.value and "&lt;img" in shown.status.value
