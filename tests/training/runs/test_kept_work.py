"""Whatever ends training, the steps that were taken are kept."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
import torch

from course_lib import atomic
from course_lib.cli import main
from course_lib.data import file_corpus
from course_lib.errors import CourseError
from course_lib.training import (
    RunOptions,
    load_training_data,
    load_translator,
    loop,
    read_checkpoint,
    train,
)
from course_lib.training import trainer as training_trainer
from course_lib.training.runs import resume, run_folder
from course_lib.training.runs.interrupts import deferred_interrupts, held_interrupts
from tests.training.test_loop import weights

pytestmark = pytest.mark.usefixtures("unchecked_shapes")
RESUME = RunOptions(resume=True)


@pytest.fixture
def short(toy):
    """Six steps, with a validation after each second one."""
    return replace(toy, train_size=60, valid_every=2, valid_size=4, epochs=1)


@pytest.fixture
def whole(short):
    """The run that nothing ends."""
    return train(short)


def saved_step(folder):
    return read_checkpoint(folder / "last.safetensors")[1]["step"]


def goes_on_to(whole, recipe, folder):
    """The run in the folder goes on to the same bits: results, last weights, best weights."""
    run = train(recipe, RESUME, folder=folder)
    assert run.losses == whole.losses
    without_time = [{k: v for k, v in row.items() if k != "seconds"} for row in run.epochs]
    assert without_time == [
        {k: v for k, v in row.items() if k != "seconds"} for row in whole.epochs
    ]
    assert torch.equal(weights(run), weights(whole))
    best = load_translator(folder / "best.safetensors").model
    assert torch.equal(torch.cat([p.flatten() for p in best.parameters()]), weights(whole))


@pytest.mark.slow
@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, BrokenPipeError])
@pytest.mark.parametrize("where", ["on_step", "on_epoch", "validate"])
def test_what_a_callback_or_a_validation_raises_costs_no_step(
    short, whole, tmp_path, monkeypatch, error, where
):
    def fail(*_):
        raise error("on purpose")

    def fail_later(run):
        if run.step == 2:
            fail()

    callbacks = {"on_step": {"on_step": fail_later}, "on_epoch": {"on_epoch": fail}}
    with monkeypatch.context() as patch, pytest.raises(error, match="on purpose"):
        if where == "validate":
            patch.setattr(loop, "validate", fail)
        train(short, folder=tmp_path, **callbacks.get(where, {}))
    assert saved_step(tmp_path) == 2
    goes_on_to(whole, short, tmp_path)


def test_an_update_that_breaks_off_is_not_saved(short, whole, tmp_path, monkeypatch):
    original, updates = training_trainer.make_optimizer, []

    def stop(*_):
        updates.append(1)
        if len(updates) == 3:
            raise KeyboardInterrupt

    def interrupted_optimizer(recipe, model):
        optimizer = original(recipe, model)
        optimizer.register_step_post_hook(stop)  # the weights are new, but nothing else is
        return optimizer

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training_trainer, "make_optimizer", interrupted_optimizer)
        train(short, folder=tmp_path)
    assert saved_step(tmp_path) == 0, "as it was saved before"
    goes_on_to(whole, short, tmp_path)


def test_where_the_weights_cannot_be_saved_as_the_best_the_validation_is_due_again(
    short, whole, tmp_path, monkeypatch
):
    def full(*args, **kwargs):
        raise CourseError("the disk is full")

    with monkeypatch.context() as patch, pytest.raises(CourseError, match="the disk is full"):
        patch.setattr("course_lib.training.runs.run_folder.save_checkpoint", full)
        train(short, folder=tmp_path)
    assert saved_step(tmp_path) == 2
    assert not read_checkpoint(tmp_path / "last.safetensors")[1]["epochs"]
    goes_on_to(whole, short, tmp_path)


def test_what_ended_training_is_told_even_if_the_run_cannot_be_saved(short, tmp_path, monkeypatch):
    def fail(run):
        monkeypatch.setattr(atomic.os, "replace", full)
        raise ValueError("on purpose")

    def full(*args):
        raise OSError(28, "No space left on device")

    message = r"ended \(ValueError: on purpose\).* could not write .*last.safetensors .*No space"
    with pytest.raises(CourseError, match=message):
        train(short, folder=tmp_path, on_step=fail)


def test_a_save_that_fails_is_told_once(short, tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.training.runs.run_folder.SAVE_EVERY", 0.0)

    def full(*args):
        raise OSError(28, "No space left on device")

    with pytest.raises(CourseError, match="No space left") as told:
        train(
            short,
            folder=tmp_path,
            on_step=lambda run: monkeypatch.setattr(atomic.os, "replace", full),
        )
    assert "because training ended" not in str(told.value)


@pytest.mark.skipif(os.name != "posix", reason="Windows sends no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_two_signals_during_a_save_wait_until_it_is_done(short, whole, tmp_path, monkeypatch, name):
    original, saves = resume.save_checkpoint, []

    def interrupted_save(*args, **kwargs):
        saves.append(1)
        if len(saves) == 2:  # the first is before the first step
            os.kill(os.getpid(), signal.Signals[name])
            os.kill(os.getpid(), signal.Signals[name])
        original(*args, **kwargs)

    monkeypatch.setattr("course_lib.training.runs.run_folder.SAVE_EVERY", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(resume, "save_checkpoint", interrupted_save)
        assert not train(short, folder=tmp_path).finished
    assert saved_step(tmp_path) == 2, "one step later it ends"
    goes_on_to(whole, short, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="Windows sends no such signals")
def test_two_fast_ctrl_c_lose_only_the_step_under_way(short, whole, tmp_path, monkeypatch):
    original, calls = training_trainer.train_step, []

    def impatient_step(*args, **kwargs):
        calls.append(1)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return original(*args, **kwargs)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training_trainer, "train_step", impatient_step)
        train(short, folder=tmp_path)
    assert saved_step(tmp_path) == 3
    goes_on_to(whole, short, tmp_path)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with deferred_interrupts() as interrupts, held_interrupts():
            os.kill(os.getpid(), signal.SIGHUP)
        assert not interrupts
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_held_interrupt_acts_even_if_the_save_fails():
    with pytest.raises(KeyboardInterrupt), held_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise CourseError("not saved")


HANDLER_INTERRUPTED = """
import signal, sys
from course_lib.training.runs.interrupts import deferred_interrupts

def terminate(frame, event, arg):
    if event == "line":
        signal.raise_signal(signal.SIGTERM)
    return terminate

with deferred_interrupts() as interrupts:
    sys.settrace(terminate)
    signal.raise_signal(signal.SIGINT)
    sys.settrace(None)
assert set(interrupts) == {signal.SIGINT, signal.SIGTERM}, interrupts
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows sends no such signals")
def test_a_signal_at_any_line_of_the_handler_of_another_does_not_wait_for_it():
    subprocess.run([sys.executable, "-c", HANDLER_INTERRUPTED], check=True, timeout=120)


def test_in_a_thread_nothing_is_held():
    def hold():
        with held_interrupts():
            done.append(signal.getsignal(signal.SIGINT))

    done = []
    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


def test_a_file_that_is_emptied_while_it_is_trained_on_changes_nothing(short, tmp_path):
    lines = [f"{x} {y}" for x in "abcdef" for y in "abcdef"] * 60
    for name in ("train.de", "train.en", "valid.de", "valid.en"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    train_files, valid_files = (
        [tmp_path / f"{split}.{side}" for side in ("de", "en")] for split in ("train", "valid")
    )
    recipe = replace(short, corpus="own", train_size=None)

    def data():
        loaded = load_training_data(recipe, file_corpus(train_files, name="own"))
        held_out = file_corpus(valid_files, name="own")
        return replace(loaded, valid=held_out.pairs("train", 4))

    def empty(run):
        for path in (*train_files, *valid_files):
            path.write_bytes(b"")

    options = RunOptions(max_steps=4)
    expected = train(recipe, options, data=data())
    run = train(recipe, options, data=data(), on_step=empty)
    assert run.losses == expected.losses
    assert run.epochs[-1]["valid_loss"] == expected.epochs[-1]["valid_loss"]


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """At each save of a run in ``tmp_path``: whether it is finished, and has its last weights."""
    seen = []
    original = resume.save_checkpoint

    def look(path, translator, *, info, **kwargs):
        seen.append((info["finished"], (tmp_path / "final.safetensors").exists()))
        original(path, translator, info=info, **kwargs)

    monkeypatch.setattr(resume, "save_checkpoint", look)
    return seen


def test_the_last_weights_are_there_before_the_run_is_finished(short, tmp_path, seen):
    train(replace(short, keep_weights="last"), folder=tmp_path)
    assert seen == [(False, False), (True, True)]


def test_no_save_in_between_calls_a_run_finished_before_its_last_weights_are_there(
    short, tmp_path, monkeypatch, seen
):
    monkeypatch.setattr(run_folder, "SAVE_EVERY", -1.0)  # after each step
    train(replace(short, keep_weights="last"), folder=tmp_path)
    assert len(seen) > 2 and {there for finished, there in seen if finished} == {True}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_if_nobody_reads_the_output_training_goes_on(at_home, capsys, monkeypatch, stream):
    monkeypatch.delenv("COURSE_QUIET")
    reader, writer = os.pipe()
    os.close(reader)
    with monkeypatch.context() as patch, os.fdopen(writer, "w", buffering=1) as gone:
        patch.setattr(f"sys.{stream}", gone)
        assert main(["train", "toy", "--max-steps", "12", "--out", "run"]) == 0
    assert saved_step(at_home / "run") == 12
    assert read_checkpoint(at_home / "run" / "last.safetensors")[1]["finished"]
    out, error = capsys.readouterr()
    if stream == "stdout":
        assert "could not print any more (Broken pipe): going on" in error
        assert error.count("going on") == 1
    else:
        assert "Saved in run" in out
