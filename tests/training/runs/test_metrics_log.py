"""What ``course plot`` reads, and what it makes of it."""

import json
import os
import shutil
import webbrowser
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib import cli, lab
from course_lib.errors import CourseError
from course_lib.training import RunOptions, make_optimizer, train, trainer
from course_lib.training.runs.metrics_log import read_metrics_log, read_metrics_logs


@pytest.fixture
def folder(toy, tmp_path):
    """A run of three steps, validated after the second and the third."""
    train(replace(toy, valid_every=2), RunOptions(max_steps=3), folder=tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def without_checkpoint(folder):
    (folder / "last.safetensors").unlink()
    return folder


def test_a_history_is_what_the_run_was(toy, tmp_path):
    run = train(toy, RunOptions(max_steps=4), folder=tmp_path / "mine")
    log = read_metrics_log(tmp_path / "mine")
    assert log.name == "mine"
    assert log.losses == run.losses
    assert log.epochs == run.epochs
    assert len(log.minutes) == 4
    assert log.minutes[-1] == pytest.approx(run.seconds / 60)
    assert log.minutes == sorted(log.minutes)
    assert log.summary.startswith("recipe toy on toy, seed 0: 4 of 4 steps in 0.")


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["cosine", "inverse_sqrt", "one_cycle", "constant"])
@pytest.mark.parametrize("length", [{"max_steps": 8}, {"minutes": 0.005}])
def test_the_learning_rates_are_those_that_the_optimiser_had(toy, tmp_path, schedule, length):
    rates = []

    def spy(recipe, model):
        optimizer = make_optimizer(recipe, model)
        optimizer.register_step_pre_hook(
            lambda optimizer, *_: rates.append(optimizer.param_groups[0]["lr"])
        )
        return optimizer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_lib.training.trainer.make_optimizer", spy)
        train(replace(toy, schedule=schedule), RunOptions(**length), folder=tmp_path)
    assert read_metrics_log(tmp_path).learning_rates == rates


@pytest.mark.slow
def test_a_run_of_some_minutes_says_of_how_many(toy, tmp_path):
    train(toy, RunOptions(minutes=0.01), folder=tmp_path)
    log = read_metrics_log(tmp_path)
    assert len(log.learning_rates) == len(log.losses)
    assert " of 0.01 min" in log.summary


def test_a_run_under_way_is_seen_as_it_was_saved(toy, tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.training.runs.run_folder.SAVE_EVERY", 0.0)
    seen = []

    def look(run):
        if run.step > 1:
            seen.append(read_metrics_log(tmp_path))

    train(toy, RunOptions(max_steps=3), folder=tmp_path, on_step=look)
    assert [len(log.losses) for log in seen] == [1, 2]
    assert [log.epochs for log in seen] == [[], []]
    assert "1 of 3 steps" in seen[0].summary


def test_a_run_that_stopped_early_says_so(toy, tmp_path):
    recipe = replace(toy, lr=1e-9, valid_every=1, patience=1)
    run = train(recipe, RunOptions(max_steps=50), folder=tmp_path)
    assert run.stopped_early
    assert read_metrics_log(tmp_path).summary.endswith("min, stopped early")


def test_without_the_checkpoint_the_validations_are_left(without_checkpoint):
    log = read_metrics_log(without_checkpoint)
    assert (log.losses, log.learning_rates) == ([], [])
    assert [row["step"] for row in log.epochs] == [2, 3]
    assert len(log.minutes) == 3
    assert "3 of 3 steps" in log.summary


def test_runs_are_called_like_their_folders_and_where_these_agree_by_what_differs(folder, tmp_path):
    other = tmp_path / "other" / "run"
    other.parent.mkdir()
    os.symlink(folder, tmp_path / "link")
    read = read_metrics_logs([folder, tmp_path / "link", folder])
    assert [log.name for log in read] == ["run"]
    other.mkdir()
    (other / "last.safetensors").write_bytes((folder / "last.safetensors").read_bytes())
    shutil.copytree(folder, tmp_path / "unlike")
    read = read_metrics_logs([folder, other, tmp_path / "unlike"])
    assert [log.name for log in read] == ["run", str(Path("other", "run")), "unlike"]


@pytest.mark.parametrize(
    ("path", "found"), [("nowhere", "nothing"), ("file", "a file"), (".", "another folder")]
)
def test_what_is_no_run_is_named(tmp_path, path, found):
    (tmp_path / "file").write_text("")
    with pytest.raises(CourseError, match=f"expected the folder of a run at .* found {found}:"):
        read_metrics_log(tmp_path / path)


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{}      ", b"half a checkpoint"])
def test_a_broken_checkpoint_is_named(folder, content):
    (folder / "last.safetensors").write_bytes(content)
    message = "whole checkpoint of the course at .*last.safetensors, got a file that"
    with pytest.raises(CourseError, match=message):
        read_metrics_log(folder)


@pytest.mark.parametrize("name", ["metrics.jsonl", "run.json"])
def test_a_broken_file_of_numbers_is_named(without_checkpoint, name):
    path = without_checkpoint / name
    path.write_text(path.read_text("utf-8")[:-5], "utf-8")
    with pytest.raises(CourseError, match=f"{name} as a run writes it, got a file that cannot be"):
        read_metrics_log(without_checkpoint)


def test_numbers_that_are_not_there_are_named(without_checkpoint):
    run_id = json.loads((without_checkpoint / "run.json").read_text())["id"]
    row = {"run": run_id, "step": 3}
    (without_checkpoint / "metrics.jsonl").write_text(json.dumps(row))
    with pytest.raises(CourseError, match="numbers of a run in .*KeyError: 'seconds'"):
        read_metrics_log(without_checkpoint)


@pytest.mark.parametrize("kept", [True, False])
def test_a_run_without_a_step_says_when_to_try_again(toy, tmp_path, monkeypatch, kept):
    monkeypatch.setattr(trainer, "train_step", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(toy, folder=tmp_path)
    if not kept:
        (tmp_path / "last.safetensors").unlink()
    with pytest.raises(CourseError, match="has saved no step yet: it saves about once a minute"):
        read_metrics_log(tmp_path)


@pytest.mark.slow
def test_plot_draws_into_the_folder_of_the_run(folder, capsys):
    assert cli.main(["plot", str(folder)]) == 0
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "curves.html").read_text("utf-8").startswith("<!doctype html>")
    printed = capsys.readouterr().out
    assert "run: recipe toy on toy, seed 0: 3 of 3 steps" in printed
    assert str(folder / "curves.html") in printed


@pytest.mark.slow
def test_plot_compares_runs_here_or_where_it_is_told(folder, toy, tmp_path, monkeypatch):
    train(toy, RunOptions(max_steps=2), folder=tmp_path / "second")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["plot", "run", "second"]) == 0
    assert "2 training runs compared" in Path("curves.html").read_text("utf-8")
    assert not (folder / "curves.html").exists()
    assert cli.main(["plot", "run", "second", "--out", "new/folder"]) == 0
    assert Path("new/folder/curves.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("browser", [True, False])
def test_plot_opens_the_page_where_there_is_a_browser(folder, monkeypatch, capsys, browser):
    opened = []
    monkeypatch.setattr(lab, "has_browser", lambda: browser)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    status = cli.main(["plot", str(folder), "--open"])
    assert status == (0 if browser else 1)
    assert opened == ([(folder / "curves.html").resolve().as_uri()] if browser else [])
    assert ("there is no browser here" in capsys.readouterr().err) != browser


def test_plot_says_what_is_wrong_in_one_line(tmp_path, capsys):
    assert cli.main(["plot", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err.startswith("course plot: expected the folder of a run at ")
