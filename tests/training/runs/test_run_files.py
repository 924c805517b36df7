"""One run in a folder: its files say which, and a mixture is refused."""

import json
import os
import shutil
from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.errors import CourseError
from course_lib.training import (
    RunOptions,
    load_training_data,
    load_translator,
    read_checkpoint,
    save_checkpoint,
    train,
)
from course_lib.training.runs.run_files import refuse_mixed_runs, weights_of_run

pytestmark = pytest.mark.usefixtures("unchecked_shapes")
FILES = ("best.safetensors", "last.safetensors", "run.json", "metrics.jsonl")


@pytest.fixture
def two_runs(toy, at_home):
    """Folders ``a`` and ``b`` of two runs, of three steps each."""
    for name in ("a", "b"):
        train(toy, RunOptions(max_steps=3), folder=at_home / name)
    return at_home


def test_every_file_of_a_run_says_which_run_it_is_of(toy, tmp_path):
    run = train(toy, RunOptions(max_steps=2), folder=tmp_path)
    assert len(run.id) == 12
    for name in ("best", "last"):
        assert read_checkpoint(tmp_path / f"{name}.safetensors")[1]["id"] == run.id
    assert json.loads((tmp_path / "run.json").read_text())["id"] == run.id
    rows = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["run"] for row in rows] == [run.id]
    assert train(toy, RunOptions(max_steps=2)).id != run.id, "the seed does not decide it"


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("verb", ["translate", "plot", "train"])
def test_a_file_of_another_run_is_refused_by_every_verb(two_runs, capsys, name, verb):
    shutil.copy(two_runs / "b" / name, two_runs / "a" / name)
    arguments = {
        "translate": ["--run", "a", "a b"],
        "plot": ["a"],
        "train": ["toy", "--max-steps", "3", "--out", "a", "--resume"],
    }
    assert main([verb, *arguments[verb]]) == 1
    out, error = capsys.readouterr()
    assert "expected the files in a to be of one run, but " in error and name in error
    assert "Move the files that you do not want out of the folder" in error
    assert out == "" or verb == "train"


def test_a_file_without_an_id_is_of_another_run(two_runs):
    folder = two_runs / "a"
    save_checkpoint(folder / "best.safetensors", load_translator(folder))
    with pytest.raises(CourseError, match="best.* is of a run that it does not name"):
        load_translator(folder)


def test_a_damaged_file_keeps_no_other_from_being_used(two_runs):
    folder = two_runs / "a"
    (folder / "last.safetensors").write_bytes(b"half")
    for content in ("{", "[]", "\ud800"):
        (folder / "run.json").write_bytes(content.encode("utf-8", "surrogatepass"))
        refuse_mixed_runs(folder)
    assert load_translator(folder).translate("a").source == ["a"]
    refuse_mixed_runs(folder / "nowhere")


def test_weights_without_their_run_are_replaced_only_when_asked(two_runs, toy):
    folder = two_runs / "a"
    (folder / "last.safetensors").unlink()
    with pytest.raises(CourseError, match="a holds best.safetensors, weights of an earlier run"):
        train(toy, RunOptions(max_steps=2), folder=folder)
    run = train(toy, RunOptions(max_steps=2, overwrite=True), folder=folder)
    assert read_checkpoint(folder / "best.safetensors")[1]["id"] == run.id


def test_a_new_run_that_dies_before_its_first_validation_serves_no_old_weights(
    two_runs, toy, capsys
):
    class Killed(BaseException):
        pass

    def die(run):
        raise Killed

    folder = two_runs / "a"
    with pytest.raises(Killed):
        train(toy, RunOptions(max_steps=3, overwrite=True), folder=folder, on_step=die)
    assert weights_of_run(folder).name == "last.safetensors"
    assert main(["translate", "--run", "a", "a b"]) == 0
    assert "last.safetensors: step 1 of 3 of run " in capsys.readouterr().err


def test_translate_says_which_run_it_serves_once_and_only_of_a_folder(two_runs, capsys):
    run_id = json.loads((two_runs / "a" / "run.json").read_text())["id"]
    assert main(["translate", "--run", "a", "a b", "b"]) == 0
    out, error = capsys.readouterr()
    path = Path("a") / "best.safetensors"
    assert error.splitlines()[0] == (
        f"course translate: {path}: step 3 of 3 of run {run_id}, recipe toy on toy"
    )
    assert error.count(run_id) == 1 and len(out.splitlines()) == 2
    assert main(["translate", "--run", str(path), "a b"]) == 0
    assert run_id not in capsys.readouterr().err


def test_a_checkpoint_that_says_nothing_of_itself_translates_all_the_same(toy, tmp_path):
    translator = load_training_data(toy).new_translator(toy)
    save_checkpoint(tmp_path / "best.safetensors", translator)
    told = []
    load_translator(tmp_path, tell=told.append)
    assert told[0].endswith("step ? of run ?, recipe ? on ?")


@pytest.mark.skipif(os.name != "posix", reason="Windows has other pipes")
@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl"])
def test_what_is_no_file_or_nested_without_end_keeps_no_run_from_being_used(two_runs, name):
    path = two_runs / "a" / name
    path.write_text("[" * 100_000)
    refuse_mixed_runs(two_runs / "a")
    path.unlink()
    os.mkfifo(path)
    refuse_mixed_runs(two_runs / "a")  # and waits for nobody to write into the pipe
