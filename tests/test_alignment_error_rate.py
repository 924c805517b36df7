import pytest

from course_lib.alignment_error_rate import alignment_error_rate


@pytest.mark.parametrize(
    ("links", "gold", "expected"),
    [
        ({(0, 0), (1, 1)}, {(0, 0), (1, 1)}, 0.0),
        ({(0, 1), (1, 0)}, {(0, 0), (1, 1)}, 1.0),
        ({(0, 0), (1, 0)}, {(0, 0), (1, 1)}, 0.5),  # 1 - 2·1/(2 + 2)
        ({(0, 0)}, {(0, 0), (1, 1), (2, 2)}, 0.5),  # 1 - 2·1/(1 + 3)
        (set(), {(0, 0)}, 1.0),
        ({(0, 0)}, set(), 1.0),
        ([(0, 0), (0, 0)], {(0, 0)}, 0.0),  # a link that is listed twice is one link
        ({(0, 0, 0), (1, 0, 0)}, {(0, 0, 0), (1, 1, 1)}, 0.5),  # two sentences
    ],
)
def test_the_rate_is_the_one_computed_by_hand(links, gold, expected):
    assert alignment_error_rate(links, gold) == expected


def test_two_empty_alignments_have_no_error_rate():
    message = "expected at least one link .*, got none, .*does this corpus have gold alignments"
    with pytest.raises(ValueError, match=message):
        alignment_error_rate([], [])
