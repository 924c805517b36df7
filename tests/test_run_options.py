import math

import pytest

from course_lib.errors import CourseError
from course_lib.run_options import RunOptions


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_steps": 0}, "max_steps must be positive and finite, got 0"),
        ({"minutes": -1}, "minutes must be positive and finite, got -1"),
        ({"minutes": math.nan}, "minutes must be positive and finite, got nan"),
        ({"max_steps": 5, "minutes": 1}, "expected max_steps or minutes, got both .*choose one"),
        ({"resume": True, "overwrite": True}, "expected resume or overwrite, got both"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": 2**63}, "seed must be a whole number from 0"),
    ],
)
def test_options_that_make_no_sense_or_contradict_each_other_are_refused(given, message):
    with pytest.raises(CourseError, match=message):
        RunOptions(**given)
