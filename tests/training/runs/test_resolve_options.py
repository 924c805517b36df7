import pytest

from course_lib.errors import CourseError
from course_lib.training import RunOptions
from course_lib.training.runs.resolve_options import resolve_options


def test_auto_becomes_what_the_machine_has_and_stays_that():
    resolved = resolve_options(RunOptions(device="auto", precision="auto"))
    assert resolved.device in ("cpu", "cuda") and resolved.precision in ("fp32", "bf16")
    assert resolve_options(resolved) == resolved


def test_a_device_or_precision_that_is_not_here_is_named():
    with pytest.raises(CourseError, match="such as cpu, got 'abacus'"):
        resolve_options(RunOptions(device="abacus"))
    with pytest.raises(CourseError, match="precision must be auto, fp32 or bf16, got 'fp8'"):
        resolve_options(RunOptions(precision="fp8"))
