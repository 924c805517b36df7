import pytest

from course_lib.training.early_stopping import out_of_patience


@pytest.mark.parametrize(
    ("losses", "patience", "stop"),
    [
        ([], 1, False),
        ([3.0, 2.0, 1.0], 1, False),
        ([1.0, 2.0], 1, True),
        ([1.0, 1.0], 1, True),  # as good as the best is no better
        ([1.0, 2.0], 2, False),
        ([1.0, 2.0, 3.0], 2, True),
        ([2.0, 3.0, 1.0], 2, False),
        ([1.0, 2.0, 3.0, 4.0], None, False),
    ],
)
def test_patience_is_over_after_so_many_validations_without_a_lower_loss(losses, patience, stop):
    assert out_of_patience(losses, patience) is stop
