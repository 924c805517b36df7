import math

import pytest

from course_lib.errors import CourseError
from course_lib.training import RunOptions


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


def test_auto_becomes_what_the_machine_has_and_stays_that():
    resolved = RunOptions(device="auto", precision="auto").resolved()
    assert resolved.device in ("cpu", "cuda") and resolved.precision in ("fp32", "bf16")
    assert resolved.resolved() == resolved


def test_a_device_or_precision_that_is_not_here_is_named():
    with pytest.raises(CourseError, match="such as cpu, got 'abacus'"):
        RunOptions(device="abacus").resolved()
    with pytest.raises(CourseError, match="precision must be auto, fp32 or bf16, got 'fp8'"):
        RunOptions(precision="fp8").resolved()
