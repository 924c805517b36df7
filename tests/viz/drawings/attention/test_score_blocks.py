"""As many blocks are drawn as are computed, and the future is hatched."""

import re

import pytest

from course_lib.viz.drawings.attention.score_blocks import SIDE, TOP, draw_score_blocks
from course_lib.viz.drawings.colours import ink


def test_blocks_in_the_future_are_hatched_and_the_others_computed():
    whole, blocks = draw_score_blocks(2048, 256, lit=(5, 2)).panels
    assert "36 of 64 blocks are computed" in blocks.description
    hatched = re.findall(rf'<rect [^>]*fill="{re.escape(ink("hidden"))}"', blocks.body)
    assert len(hatched) == 28
    done = re.findall(rf'<rect [^>]*fill="{re.escape(ink("fill"))}"', blocks.body)
    assert len(done) == 1 + 2 + 3 + 4 + 5 + 2  # rows 0 to 4, and two of row 5
    assert "4,194,304" in whole.body and "65,536" in blocks.body


def test_the_block_that_exists_is_the_one_that_is_meant():
    blocks = draw_score_blocks(2048, 256, lit=(5, 2)).panels[1]
    ((x, y),) = re.findall(
        rf'<rect x="([\d.]+)" y="([\d.]+)"[^>]*fill="{re.escape(ink("accent"))}"', blocks.body
    )
    size = SIDE / 8
    assert (float(x), float(y)) == (pytest.approx(2 * size), pytest.approx(TOP + 5 * size))


@pytest.mark.parametrize(("block", "lit"), [(300, (1, 0)), (256, (2, 3)), (256, (8, 0))])
def test_blocks_that_do_not_fit_or_lie_in_the_future_are_refused(block, lit):
    with pytest.raises(ValueError, match="at or below the diagonal"):
        draw_score_blocks(2048, block, lit=lit)
