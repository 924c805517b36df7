"""When a run validates, saves, stops, and what it keeps."""

import itertools
import os
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from course_lib.cli import main
from course_lib.data import Vocabulary
from course_lib.errors import CourseError
from course_lib.training import RECIPES, load_training_data, load_translator, train
from course_lib.training import loop as training_loop
from course_lib.training import trainer as training_trainer
from tests.training.test_loop import interrupt_at, weights


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that goes on by an eighth of a second whenever somebody looks at it."""
    ticks = itertools.count()
    monkeypatch.setattr(training_loop, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 8))


@pytest.fixture
def rates(monkeypatch):
    """The learning rate of each step."""
    found, original = [], training_trainer.train_step

    def spy(model, batch, optimizer, *args, **kwargs):
        found.append(optimizer.param_groups[0]["lr"])
        return original(model, batch, optimizer, *args, **kwargs)

    monkeypatch.setattr(training_trainer, "train_step", spy)
    return found


@pytest.mark.parametrize("schedule", ["cosine", "one_cycle"])
def test_a_run_of_minutes_ends_in_time_and_its_rate_ends_near_zero(
    toy, slow_clock, rates, schedule
):
    run = train(replace(toy, schedule=schedule, lr=1e-2), minutes=0.1)
    assert run.finished and run.total_steps is None and run.minutes == 0.1
    assert 6.0 <= run.seconds <= 6.25
    assert run.epochs[-1]["step"] == run.step
    assert max(rates) > 0.9e-2
    assert rates[-1] < 0.02e-2


def test_each_pass_over_the_pairs_has_its_own_dropout_also_after_a_break(
    toy, tmp_path, monkeypatch
):
    recipe = replace(toy, epochs=3, dropout=(0.0, 0.25))  # an epoch has 10 steps
    found, original = [], training_trainer.train_step

    def spy(model, *args, **kwargs):
        rates = {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)}
        found.append(rates)
        return original(model, *args, **kwargs)

    monkeypatch.setattr(training_trainer, "train_step", spy)
    whole = train(recipe)
    # Where the model has no dropout, as in its feed-forward layers, it gets none.
    assert found == 10 * [{0.0}] + 20 * [{0.0, 0.25}]
    del found[:]
    with monkeypatch.context() as patch:
        interrupt_at(patch, 14)
        train(recipe, folder=tmp_path)
    resumed = train(recipe, folder=tmp_path, resume=True)
    assert found == 10 * [{0.0}] + 20 * [{0.0, 0.25}]
    assert torch.equal(weights(resumed), weights(whole))


def test_a_real_minute_is_kept_too(toy):
    run = train(toy, minutes=0.5 / 60)
    assert run.finished and 0.5 <= run.seconds < 3


def test_a_run_of_minutes_is_resumed_with_the_time_that_is_left(
    toy, slow_clock, tmp_path, monkeypatch
):
    whole = train(toy, minutes=0.1)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 20)
        stopped = train(toy, minutes=0.1, folder=tmp_path)
    assert stopped.step == 20 and not stopped.finished
    resumed = train(toy, minutes=0.1, folder=tmp_path, resume=True)
    assert resumed.seconds == pytest.approx(whole.seconds)
    assert resumed.losses == whole.losses
    assert torch.equal(weights(resumed), weights(whole))


def test_minutes_must_be_positive(toy):
    with pytest.raises(CourseError, match="minutes must be positive and finite, got -1"):
        train(toy, minutes=-1)


@pytest.fixture
def valid_losses(monkeypatch):
    """Validation losses to be found instead of the true ones."""

    def prescribe(*losses):
        values = iter(losses)
        monkeypatch.setattr(training_trainer, "teacher_forced", lambda *args: (next(values), 0.5))

    return prescribe


@pytest.mark.parametrize(
    ("losses", "validations"),
    [
        ((3, 2, 2.5, 2.1, 1, 1, 1, 1), 4),  # 2 is best, and is not reached twice in a row
        ((3, 2, 2.5, 1, 2, 2, 1, 1), 6),
        ((3, 2, 2.5, 1, 2, 0.9, 1, 0.8), 8),
        ((2, 2, 2, 2, 2, 2, 2, 2), 3),  # as good as the best is no better
    ],
)
def test_patience_is_over_after_so_many_validations_without_a_better_loss(
    toy, valid_losses, losses, validations
):
    valid_losses(*losses)
    run = train(replace(toy, epochs=8, patience=2))
    assert run.finished
    assert len(run.epochs) == validations
    assert run.stopped_early == (validations < 8)


def test_the_command_says_that_it_stopped_early_and_resume_has_nothing_to_do(
    at_home, toy, valid_losses, monkeypatch, capsys
):
    monkeypatch.setitem(RECIPES, "toy", replace(toy, epochs=8, patience=1))
    valid_losses(1.0, 2.0)
    assert main(["train", "toy"]) == 0
    assert "s, stopped early." in capsys.readouterr().out
    monkeypatch.setattr(training_trainer, "train_step", lambda *a, **k: pytest.fail("trained"))
    assert main(["train", "toy", "--resume"]) == 0
    assert "s, stopped early." in capsys.readouterr().out


def test_validations_come_as_often_as_the_recipe_says_and_at_the_end(toy):
    run = train(replace(toy, valid_every=3), max_steps=10)
    assert [row["step"] for row in run.epochs] == [3, 6, 9, 10]
    assert [row["epoch"] for row in run.epochs] == [1, 2, 3, 4]
    assert run.epochs[1]["loss"] == pytest.approx(sum(run.losses[3:6]) / 3)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_a_run_keeps_its_best_weights_or_its_last(toy, valid_losses, tmp_path, keep):
    valid_losses(2.0, 1.0, 3.0)
    after = []
    models = []

    def remember(row):
        after.append(torch.cat([p.detach().flatten() for p in models[0].parameters()]))

    def spy(run):
        models[:] = [run.translator.model]

    run = train(
        replace(toy, epochs=3, keep_weights=keep), folder=tmp_path, on_step=spy, on_epoch=remember
    )
    kept = torch.cat([p.flatten() for p in load_translator(tmp_path).model.parameters()])
    assert torch.equal(weights(run), kept)
    assert torch.equal(kept, after[1 if keep == "best" else 2])
    assert not torch.equal(after[1], after[2])


def test_without_validation_the_last_weights_are_kept(toy, tmp_path):
    run = train(replace(toy, valid_size=0), folder=tmp_path, max_steps=4)
    assert "valid_loss" not in run.epochs[-1]
    kept = torch.cat([p.flatten() for p in load_translator(tmp_path).model.parameters()])
    assert torch.equal(kept, weights(run))


def test_a_run_in_another_precision_is_not_resumed_in_silence(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, folder=tmp_path, precision="bf16")
    message = "precision = fp32, but the run in .* has bf16: resume with the options"
    with pytest.raises(CourseError, match=message):
        train(toy, folder=tmp_path, precision="fp32", resume=True)
    assert train(toy, folder=tmp_path, precision="bf16", resume=True).finished


def test_the_option_that_differs_is_named_alone(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, folder=tmp_path)
    for change, message in (
        ({"epochs": 3}, "go on with epochs = 3, but the run in .* has 2: resume"),
        ({"lr": 1e-3}, "go on with lr = 0.001, but the run in .* has 0.005: resume"),
    ):
        with pytest.raises(CourseError, match=message):
            train(replace(toy, **change), folder=tmp_path, resume=True)


def test_a_run_with_other_words_is_not_resumed(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, folder=tmp_path, max_steps=4)
    task = load_training_data(toy)
    vocabulary = Vocabulary([*task.target_vocabulary.tokens[:-2], "X", "Y"])
    for other in (
        load_training_data(replace(toy, train_size=2)),  # fewer words
        replace(task, target_vocabulary=vocabulary),  # as many, but others
    ):
        message = "go on with the model and the words of this corpus, but .* has others: resume"
        with pytest.raises(CourseError, match=message):
            train(toy, folder=tmp_path, max_steps=4, resume=True, task=other)


def test_the_random_numbers_of_a_gpu_are_kept_too(toy, tmp_path, monkeypatch):
    restored = []
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "get_rng_state", lambda: torch.arange(3))
        patch.setattr(torch.cuda, "set_rng_state", restored.append)
        train(toy, folder=tmp_path)
        train(toy, folder=tmp_path, resume=True)
    assert [state.tolist() for state in restored] == [[0, 1, 2]]
    assert train(toy, folder=tmp_path, resume=True).finished  # where there is no GPU


def test_being_asked_to_end_saves_the_run_as_ctrl_c_does(toy, tmp_path, monkeypatch):
    original, calls = training_trainer.train_step, []

    def terminated_step(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(*args, **kwargs)

    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(training_trainer, "train_step", terminated_step)
        assert train(toy, folder=tmp_path).step == 3
    assert signal.getsignal(signal.SIGTERM) is before
    assert train(toy, folder=tmp_path, resume=True).losses == train(toy).losses


def test_of_several_processes_a_second_ctrl_c_tears_no_step(toy, monkeypatch):
    original = training_trainer.train_step

    def doubly_interrupted_step(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(training_loop, "world_size", lambda: 2)
    monkeypatch.setattr(training_trainer, "train_step", doubly_interrupted_step)
    assert train(toy).step == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_every_process_has_its_own_dropout(toy, monkeypatch):
    task, states = load_training_data(toy), []
    for rank in (0, 1, 2):
        monkeypatch.setattr(training_trainer, "rank", lambda rank=rank: rank)
        training_trainer.Trainer(toy, task, seed=0, device="cpu", precision="fp32")
        states.append(torch.rand(1).item())
    assert len(set(states)) == 3


def test_an_error_within_a_step_of_one_process_is_not_blamed_on_others(toy, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(training_trainer, "train_step", fail)
    with pytest.raises(RuntimeError, match="^out of memory$"):
        train(toy)
