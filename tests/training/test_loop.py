import json
import os
import signal
import threading
from dataclasses import replace

import pytest
import torch

from course_lib.data import epoch_batches
from course_lib.errors import CourseError
from course_lib.training import (
    RunOptions,
    evaluation,
    load_recipe,
    load_training_data,
    train,
    train_step,
)
from course_lib.training import trainer as training_trainer
from course_lib.training.runs import run_folder

pytestmark = pytest.mark.slow


def weights(run):
    return torch.cat([p.detach().flatten() for p in run.translator.model.parameters()])


@pytest.mark.smoke
def test_the_loss_of_the_toy_falls_by_half(toy):
    run = train(replace(toy, epochs=8, lr=2e-2))
    assert run.finished and run.epochs[-1]["loss"] < 0.5 * run.epochs[0]["loss"]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(toy):
    first = train(toy)
    assert torch.equal(weights(first), weights(train(toy)))
    assert not torch.equal(weights(first), weights(train(toy, RunOptions(seed=1))))


def test_every_epoch_sees_every_pair_once(toy, monkeypatch):
    seen = []
    monkeypatch.setattr(
        training_trainer, "train_step", lambda model, batch, *a, **k: seen.append(batch) or 1.0
    )
    train(replace(toy, epochs=3, valid_size=0))
    assert sum(len(batch.source) for batch in seen) == 3 * toy.train_size


def test_max_steps_replaces_the_epochs(toy):
    assert train(toy, RunOptions(max_steps=7)).step == 7
    long = train(toy, RunOptions(max_steps=50))
    assert long.step == 50 and len(long.epochs) > toy.epochs


def test_a_run_folder_holds_the_run(toy, tmp_path):
    run = train(toy, folder=tmp_path / "run")
    names = sorted(os.listdir(tmp_path / "run"))
    assert names == ["best.safetensors", "last.safetensors", "metrics.jsonl", "run.json"]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"run": run.id} | row for row in run.epochs]
    assert {"loss", "valid_loss", "valid_exact"} <= set(run.epochs[0])


def test_a_finished_run_translates_with_its_best_weights_not_its_last(toy, monkeypatch):
    losses = iter([(2.0, 0.5), (1.0, 0.5), (3.0, 0.5)])
    monkeypatch.setattr(evaluation, "teacher_forced", lambda *args: next(losses))
    kept = []

    def remember(row):
        kept.append(torch.cat([p.detach().flatten() for p in trainer_model()]).clone())

    models = []
    original = training_trainer.make_optimizer

    def spy(recipe, model):
        models.append(model)
        return original(recipe, model)

    def trainer_model():
        return models[-1].parameters()

    monkeypatch.setattr(training_trainer, "make_optimizer", spy)
    run = train(replace(toy, epochs=3), on_epoch=remember)
    assert torch.equal(weights(run), kept[1])
    assert not torch.equal(weights(run), kept[2])


def interrupt_at(monkeypatch, step):
    """Send a real Ctrl-C in the middle of the given step."""
    original, calls = training_trainer.train_step, []

    def interrupted_step(*args, **kwargs):
        calls.append(1)
        if len(calls) == step:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(training_trainer, "train_step", interrupted_step)


@pytest.mark.smoke
@pytest.mark.parametrize("step", [1, 4, 9, 15])  # an epoch has 10
def test_ctrl_c_saves_and_resuming_gives_the_uninterrupted_weights(
    toy, tmp_path, monkeypatch, step
):
    whole = train(toy)
    with monkeypatch.context() as patch:
        interrupt_at(patch, step)
        stopped = train(toy, folder=tmp_path)
    assert stopped.step == step and not stopped.finished
    resumed = train(toy, RunOptions(resume=True), folder=tmp_path)
    assert resumed.losses == whole.losses
    assert torch.equal(weights(resumed), weights(whole))


def test_a_second_ctrl_c_stops_at_once(toy, monkeypatch):
    def impatient_step(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training_trainer, "train_step", impatient_step)
    with pytest.raises(KeyboardInterrupt):
        train(toy)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_training_in_a_thread_leaves_signals_alone(toy):
    runs = []
    thread = threading.Thread(target=lambda: runs.append(train(toy, RunOptions(max_steps=3))))
    thread.start()
    thread.join()
    assert runs[0].finished


def test_long_runs_are_saved_in_between(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "SAVE_EVERY", 0.0)
    saves = []
    monkeypatch.setattr(
        "course_lib.training.runs.resume.save_checkpoint",
        lambda path, *a, **k: saves.append(path.name),
    )
    train(toy, RunOptions(max_steps=5), folder=tmp_path)
    assert saves.count("last.safetensors") >= 5


def test_resuming_with_other_options_is_refused(toy, tmp_path):
    train(toy, RunOptions(max_steps=5), folder=tmp_path)
    for other in ({"seed": 1}, {"max_steps": 6}):
        with pytest.raises(CourseError, match="resume with the options that it was"):
            train(toy, RunOptions(resume=True, **{"max_steps": 5} | other), folder=tmp_path)


def test_there_must_be_something_to_resume(toy, tmp_path):
    with pytest.raises(CourseError, match="expected a run to go on with in"):
        train(toy, RunOptions(resume=True), folder=tmp_path / "nowhere")
    with pytest.raises(CourseError, match="folder of the run to go on with, got none"):
        train(toy, RunOptions(resume=True))


def test_a_folder_that_cannot_be_written_is_found_before_training(toy, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(training_trainer, "train_step", lambda *a, **k: pytest.fail("trained"))
    with pytest.raises(CourseError, match="could not write"):
        train(toy, folder=tmp_path / "file")


def test_a_loss_that_is_not_finite_stops_the_run(toy):
    data = load_training_data(toy)
    translator = data.new_translator(toy)
    with torch.no_grad():
        translator.model.output.bias[0] = float("nan")
    optimizer = torch.optim.SGD(translator.model.parameters(), lr=0.1)
    batch = next(epoch_batches(data.encode(data.train), max_tokens=64, pad_id=0, seed=0))
    with pytest.raises(CourseError, match="finite loss, got nan: is the learning rate too high"):
        train_step(translator.model, batch, optimizer, 0)


def test_a_recipe_that_does_not_exist_is_named(toy):
    with pytest.raises(
        CourseError, match="recipe must be one of naive_mt, .*, multi30k, everyday, got 'tiny'"
    ):
        load_recipe("tiny")
    with pytest.raises(CourseError, match="epochs must be at least 1, got 0"):
        replace(toy, epochs=0)


def test_naive_mt_follows_the_published_curve_and_learns_both_sentences(monkeypatch):
    monkeypatch.setenv("COURSE_QUIET", "1")
    run = train(load_recipe("naive_mt"))
    published = {0: 2.580, 4: 1.538, 9: 0.610, 14: 0.175, 19: 0.087, 24: 0.042}
    for epoch, loss in published.items():
        assert loss / 2 < run.losses[epoch] < loss * 2
    assert len(run.losses) == 30 and 0.005 < run.losses[-1] < 0.06
    assert str(run.translator.translate("ich mochte ein bier")) == "i want a beer."
    assert str(run.translator.translate("ich mochte ein cola")) == "i want a coke."
