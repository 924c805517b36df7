"""A busy machine changes no mark, and sleeping is no way to have none."""

import signal
import threading
import time
from dataclasses import replace

import pytest

from course_lib.grading.jail import session
from course_lib.grading.jail.session import GRACE_SECONDS, REAL_SECONDS, MachineBusy, Usage
from tests.grading.notebooks_to_hand_in import RIGHT, SHORT, answered, points
from tests.item_points import in_full

LIMITS = replace(SHORT, cell=0.4, item=0.4)
SLOW = "import time\n" + RIGHT["06-padding-mask-answer"].replace(
    "return", "time.sleep(SECONDS)\n    return"
)


def sleeping(notebook, seconds):
    """A right answer that sleeps in each of its calls."""
    return answered(notebook, {"06-padding-mask-answer": SLOW.replace("SECONDS", str(seconds))})


@pytest.fixture
def starved(monkeypatch):
    """The kernel says that others had the processor all the time."""
    begun = time.monotonic()
    usage = property(lambda self: lambda: Usage(0.1, time.monotonic() - begun))
    monkeypatch.setattr(session.Session, "usage", usage)


@pytest.mark.slow
def test_an_answer_that_sleeps_has_no_points_however_often_it_is_graded(graded, notebook, one_item):
    for _ in range(2):
        [item] = graded(sleeping(notebook, 60), one_item, limits=LIMITS).items
        assert (item.status, item.points) == ("not yet", 0.0)
        assert "still running" in item.tests[0].difference


@pytest.mark.slow
@pytest.mark.usefixtures("starved")
def test_an_answer_that_waits_for_a_processor_is_not_stopped(graded, notebook, one_item):
    slow = sleeping(notebook, REAL_SECONDS * LIMITS.item + GRACE_SECONDS + 0.5)
    assert points(graded(slow, one_item, limits=LIMITS)) == in_full("06.padding_mask")


@pytest.mark.usefixtures("starved")
def test_a_submission_that_waits_for_a_processor_has_not_used_up_its_time(
    graded, notebook, one_item
):
    right = answered(notebook, RIGHT)
    result = graded(right, one_item, limits=replace(LIMITS, run=0.001))
    assert points(result) == in_full("06.padding_mask")


@pytest.mark.slow
@pytest.mark.usefixtures("starved")
def test_what_gets_no_processor_at_all_is_not_run_and_tried_again(
    graded, notebook, one_item, monkeypatch
):
    monkeypatch.setattr(session, "MOST_REAL_SECONDS", 4)
    result = graded(sleeping(notebook, 60), one_item, limits=LIMITS)
    [item] = result.items
    assert (item.status, item.points) == ("not run", None)
    assert item.reason.startswith("the machine was too busy: in ")
    in_a_cell = answered(notebook, RIGHT | {"06-causal-mask-answer": "import time; time.sleep(60)"})
    assert graded(in_a_cell, one_item, limits=LIMITS).items[0].status == "not run"


def clock(monkeypatch, *, real, processor, waited, seconds=1.0):
    """A clock at this time, with what the kernel has counted."""
    now, used = [0.0], [Usage(5.0, 7.0)]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    made = session._Clock(lambda: used[0], seconds)
    now[0], used[0] = real, Usage(5.0 + processor, 7.0 + waited)
    return made


def test_the_clock_counts_no_time_in_which_others_had_the_processor(monkeypatch):
    assert clock(monkeypatch, real=1.0, processor=0.2, waited=0.0).left() == 3.0
    assert clock(monkeypatch, real=9.0, processor=0.2, waited=8.0).left() == 3.0
    with pytest.raises(TimeoutError):
        clock(monkeypatch, real=9.0, processor=0.2, waited=1.0).left()
    with pytest.raises(MachineBusy, match=r"in 99 seconds, it ran for 0\.2"):
        clock(monkeypatch, real=99.0, processor=0.2, waited=98.0).left()


@pytest.mark.slow
@pytest.mark.usefixtures("starved")
def test_a_message_waits_as_an_answer_does_for_a_process_that_has_no_processor(jail):
    long = "# a cell longer than the buffer\n" * 100_000
    with jail.session(jail.library("empty", {"__init__.py": ""})) as made:
        signal.pidfd_send_signal(made.handle, signal.SIGSTOP)
        after = REAL_SECONDS * LIMITS.item + GRACE_SECONDS + 0.5
        go_on = threading.Timer(after, signal.pidfd_send_signal, (made.handle, signal.SIGCONT))
        go_on.start()
        assert made.run("cell", long, LIMITS.item) is None
        go_on.join()


def test_code_that_takes_the_processor_from_itself_is_stopped_at_its_time(monkeypatch):
    with pytest.raises(TimeoutError):
        clock(monkeypatch, real=9.0, processor=2.1, waited=8.0).left()


def test_the_kernel_tells_how_long_the_process_ran(jail):
    with jail.session(jail.library("empty", {"__init__.py": ""})) as made:
        before = made.usage()
        made.run("cell", "x = 0\nwhile x < 3_000_000: x += 1", 10)
        after = made.usage()
    assert 0.02 < after.processor - before.processor < 5
    assert after.waited >= before.waited > 0
