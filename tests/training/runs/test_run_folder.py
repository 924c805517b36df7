import re
import shutil
import sys
from dataclasses import replace

import pytest
import torch

from course_lib.cli import main
from course_lib.data import Vocabulary
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.training import RunOptions, load_translator, read_checkpoint, save_checkpoint, train
from course_lib.training.runs import run_folder
from course_lib.training.runs.checkpoint import PRETRAINED
from course_lib.training.runs.run_files import weights_of_run
from course_lib.training.runs.run_folder import open_run_folder
from tests.training.test_loop import interrupt_at

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unchecked_shapes")]


def test_a_folder_in_which_another_process_trains_is_refused_until_it_ends(at_home, capsys):
    assert main(["train", "toy", "--out", "run", "--max-steps", "1"]) == 0
    with open_run_folder(at_home / "run", RunOptions(resume=True)):
        for resume in (["--overwrite"], ["--resume", "--max-steps", "1"]):
            assert main(["train", "toy", "--out", "run", *resume]) == 1
            error = capsys.readouterr().err
            assert "expected run for this run alone, but another process trains there" in error
    assert main(["train", "toy", "--out", "run", "--max-steps", "1", "--overwrite"]) == 0


def test_a_stopped_run_of_minutes_is_told_without_a_number_of_steps(at_home, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        assert main(["train", "toy", "--minutes", "1"]) == 130
    assert "Stopped after step 2; nothing is lost" in capsys.readouterr().out
    assert main(["train", "toy", "--minutes", "1"]) == 1
    assert "was stopped at step 2: go on with --resume" in capsys.readouterr().err


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_damaged_or_foreign_run_is_neither_continued_nor_overwritten(at_home, capsys, resume):
    assert main(["train", "toy", "--out", "run", "--max-steps", "2"]) == 0
    last, best = (at_home / "run" / f"{name}.safetensors" for name in ("last", "best"))
    whole = last.read_bytes()
    for content, message in (
        (
            whole[: len(whole) // 2],
            "whole checkpoint .*: was it cut off .*copied[?] Start anew with",
        ),
        (best.read_bytes(), "got a checkpoint that can only translate: was best.* Start anew with"),
        (PRETRAINED["small"].read_bytes(), "that can only translate: .* another folder with --out"),
    ):
        last.write_bytes(content)
        capsys.readouterr()
        assert main(["train", "toy", "--out", "run", "--max-steps", "2", *resume]) == 1
        error = capsys.readouterr().err
        assert re.search(message, error) and error.count("\n") == 1
        assert last.read_bytes() == content


def test_half_a_file_of_a_killed_run_is_cleared_away(tmp_path):
    draft = tmp_path / ".saving-x" / "last.safetensors"
    draft.parent.mkdir()
    draft.write_bytes(b"half")
    with open_run_folder(tmp_path, RunOptions()):
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "run" / ".lock").mkdir(parents=True)
    for folder in (tmp_path / "file" / "run", tmp_path / "run"):
        with (
            pytest.raises(CourseError, match=f"could not write to {folder} .*a file in the way"),
            open_run_folder(folder, RunOptions()),
        ):
            pytest.fail("opened")


def test_of_several_processes_only_the_first_claims_the_folder(tmp_path, monkeypatch):
    with open_run_folder(tmp_path, RunOptions()):
        monkeypatch.setattr(run_folder, "rank", lambda: 1)
        with open_run_folder(tmp_path, RunOptions()):
            pass


def test_a_folder_whose_name_is_no_utf_8_is_refused_before_training(tmp_path):
    with (
        pytest.raises(CourseError, match="expected a folder with a name in UTF-8, got .*udcff"),
        open_run_folder(tmp_path / "\udcff", RunOptions()),
    ):
        pytest.fail("opened")
    assert not list(tmp_path.iterdir())


def test_a_finished_run_is_replaced_only_when_asked(at_home, capsys):
    assert main(["train", "toy", "--out", "run", "--max-steps", "3"]) == 0
    (at_home / "run" / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in (at_home / "run").glob("*.*")}
    capsys.readouterr()
    assert main(["train", "toy", "--out", "run", "--max-steps", "2"]) == 1
    out, error = capsys.readouterr()
    assert "run holds a finished run of 3 steps: replace it with --overwrite, or choose" in error
    assert "sentence pairs" not in out  # they may take half a minute
    assert {path.name: path.read_bytes() for path in (at_home / "run").glob("*.*")} == before
    assert main(["train", "toy", "--out", "run", "--max-steps", "2", "--overwrite"]) == 0
    assert read_checkpoint(at_home / "run" / "last.safetensors")[1]["step"] == 2
    assert (at_home / "run" / "notes.txt").read_text() == "mine"


def test_overwriting_leaves_no_weights_of_the_earlier_run(toy, tmp_path):
    train(replace(toy, keep_weights="last"), folder=tmp_path)
    assert (tmp_path / "final.safetensors").exists()
    run = train(toy, RunOptions(seed=1, overwrite=True), folder=tmp_path)
    assert not (tmp_path / "final.safetensors").exists()
    kept = load_translator(tmp_path).model
    for name, weight in kept.named_parameters():
        assert torch.equal(weight, run.translator.model.get_parameter(name))


def test_train_itself_refuses_a_used_folder(toy, tmp_path):
    train(toy, RunOptions(max_steps=2), folder=tmp_path)
    with pytest.raises(CourseError, match="holds a finished run of 2 steps"):
        train(toy, RunOptions(max_steps=2), folder=tmp_path)


def test_a_run_without_a_validation_yet_translates_with_its_last_weights(
    toy, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, folder=tmp_path)
    assert weights_of_run(tmp_path).name == "last.safetensors"
    assert load_translator(tmp_path).translate("a").source == ["a"]


def test_overwriting_deletes_its_own_events_and_names_what_it_cannot_delete(at_home, capsys):
    events = at_home / "run" / "events"
    events.mkdir(parents=True)
    for name in ("events.out.tfevents.1.here", "talks.csv"):
        (events / name).touch()
    assert main(["train", "toy", "--max-steps", "1", "--out", "run", "--overwrite"]) == 0
    assert not (events / "events.out.tfevents.1.here").exists() and (events / "talks.csv").exists()
    (at_home / "run" / "final.safetensors").mkdir()
    assert main(["train", "toy", "--max-steps", "1", "--out", "run", "--overwrite"]) == 1
    assert "could not delete run/final.safetensors" in capsys.readouterr().err


LINKED = ["last.safetensors", "best.safetensors", "metrics.jsonl", "run.json", "events", ".lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other links")
@pytest.mark.parametrize("name", LINKED)
def test_nothing_behind_a_link_in_a_run_folder_is_deleted_or_overwritten(at_home, capsys, name):
    theirs = at_home / "theirs"
    theirs.mkdir()
    for victim in ("file", "events.out.tfevents.1.here"):
        (theirs / victim).write_text("theirs")
    (at_home / "run").mkdir()
    link = at_home / "run" / name
    for target in (theirs / ("" if name == "events" else "file"), theirs / "new"):
        link.symlink_to(target)
        for more in ([], ["--overwrite"]):
            command = ["train", "toy", "--max-steps", "1", "--out", "run", "--no-scores", *more]
            done = main(command)
            error = capsys.readouterr().err
            assert done == (0 if more and name != ".lock" else 1), error
            assert done == 0 or error.count("\n") == 1
        assert sorted(path.name for path in theirs.iterdir()) == [
            "events.out.tfevents.1.here",
            "file",
        ]
        assert {path.read_text() for path in theirs.iterdir()} == {"theirs"}
        shutil.rmtree(at_home / "run")
        (at_home / "run").mkdir()


HOSTILE = "\x1b]0;title\x07\x1b[2J\rx\ny\x9b31m\u2028"


def test_a_hostile_model_commands_no_terminal_and_stays_on_its_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    translator = load_translator()
    words = translator.target_vocabulary.tokens
    hostile = Vocabulary([*words[:4], *(word + HOSTILE for word in words[4:])])
    named = {"recipe": {"name": HOSTILE, "corpus": HOSTILE}, "id": HOSTILE, "step": HOSTILE}
    translator = Translator(translator.model, translator.source_vocabulary, hostile)
    save_checkpoint(tmp_path / "best.safetensors", translator, info=named)
    sentence = "die müde köchin schläft ."
    (tmp_path / "in.txt").write_text(f"{sentence}\n" * 2, "utf-8")
    for source in ([sentence, sentence], ["--input", str(tmp_path / "in.txt")]):
        assert main(["translate", *source, "--run", str(tmp_path)]) == 0
        printed = capsys.readouterr()
        assert (printed.out.count("\n"), printed.err.count("\n")) == (2, 1)
        assert all(line.isprintable() for line in (printed.out + printed.err).split("\n"))
        output = ["--output", str(tmp_path / "out.txt")]
        assert main(["translate", *source, "--run", str(tmp_path), *output]) == 0
        assert len((tmp_path / "out.txt").read_text("utf-8").splitlines()) == 2
        capsys.readouterr()


def test_a_run_whose_best_weights_are_gone_says_so_and_looks_for_new_ones(
    toy, tmp_path, monkeypatch, capsys
):
    recipe = replace(toy, valid_every=2)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        train(recipe, RunOptions(max_steps=4), folder=tmp_path)
    (tmp_path / "best.safetensors").unlink()
    run = train(recipe, RunOptions(max_steps=4, resume=True), folder=tmp_path)
    assert "best.safetensors is missing" in capsys.readouterr().out
    assert read_checkpoint(weights_of_run(tmp_path))[1]["step"] == run.step == 4
