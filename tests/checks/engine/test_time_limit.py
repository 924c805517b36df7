"""The time limit of a learner's code ends it, whatever it does, and leaves locks free."""

import gc
import signal
import sys
import threading
import time
from contextlib import suppress

import pytest
import torch

from course_lib.checks.engine import time_limit
from course_lib.checks.engine.call import Call, ask
from course_lib.checks.engine.time_limit import TookTooLong, within


def swallows_everything(x):
    while True:
        try:
            x = torch.relu(x + 1)
        except BaseException:
            x = x * 1


def swallows_with_calls(x):
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            x = x + 1


def turns_the_alarm_off(x):
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.alarm(0)
    while True:
        x = x + 1


def nested_swallowing(x):
    while True:
        try:
            try:
                x = torch.matmul(x, x)
            finally:
                x = x * 0
        except BaseException:
            continue


def loops_where_no_call_is_possible(x):
    try:
        return loops_where_no_call_is_possible(x)
    except RecursionError:
        while True:  # as deep as can be: the alarm's handler, which is a call, breaks off
            pass


def fails_on_its_way_out(x):
    try:
        while True:
            x = x + 1
    finally:
        [].pop()  # as a `with torch.device("meta")` that was entered only in part


@pytest.mark.parametrize(
    "forever",
    [
        fails_on_its_way_out,
        swallows_everything,
        swallows_with_calls,
        turns_the_alarm_off,
        nested_swallowing,
        loops_where_no_call_is_possible,
    ],
)
def test_an_endless_loop_is_stopped_whatever_it_swallows(forever):
    start = time.monotonic()
    failure = ask(forever, Call((torch.ones(2, 2),)), seconds=0.2).failure
    assert failure.kind == "TookTooLong" and time.monotonic() - start < 10


def test_the_alarm_raises_nothing_in_what_python_calls_by_itself():
    raised = []

    def wait(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    def told(phase, info):
        try:
            wait(0.01)
        except BaseException as error:
            raised.append(error)

    def forever(x):
        while True:
            gc.collect(0)
            wait(0.01)

    gc.callbacks.append(told)
    try:
        for _ in range(10):
            assert ask(forever, Call((1,)), seconds=0.05).failure.kind == "TookTooLong"
    finally:
        gc.callbacks.remove(told)
    assert raised == []


def test_the_alarm_is_off_and_the_handler_is_back_after_a_call():
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(50):
        ask(swallows_everything, Call((torch.ones(2),)), seconds=0.001)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert within(1.0, lambda: 3) == 3


@pytest.fixture(params=["trace", "profile"])
def traced(request):
    """``traced(function)`` makes a function Python's tracer, or its profiler, for one test."""
    get = getattr(sys, f"get{request.param}")
    set_ = getattr(sys, f"set{request.param}")
    before = get()
    yield lambda tracer: (set_(tracer), get)[1]
    set_(before)


def test_an_alarm_that_rings_in_a_tracer_leaves_it_set_and_its_lock_free(traced):
    lock, rung = threading.Lock(), []

    def called():
        pass

    def forever():
        while True:
            with suppress(BaseException):
                called()

    def tracer(frame, event, arg):
        lock.acquire()  # as coverage does it: without `with`
        if frame.f_code is called.__code__ and len(rung) < 5:
            rung.append(time.sleep(0.05))
        lock.release()
        return tracer

    get = traced(tracer)
    with pytest.raises(TookTooLong):
        within(0.02, forever)
    assert get() is tracer and rung
    assert not lock.locked()


def test_a_tracer_that_never_ends_is_stopped_too(traced, monkeypatch):
    monkeypatch.setattr(time_limit, "PATIENCE", 0.2)

    def endless(*event):
        while True:
            pass

    def called():
        pass

    with pytest.raises(TookTooLong):
        within(0.02, lambda: traced(endless) and called())
