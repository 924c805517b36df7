"""A run that the course stopped at step 3 of 6, as it was before its terms were renamed."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.data import BOS, Vocabulary
from course_lib.errors import CourseError
from course_lib.training import RunOptions, load_training_data, load_translator, train
from course_lib.training.runs.metrics_log import read_metrics_log

pytestmark = pytest.mark.slow

STORED = Path(__file__).parent / "run_of_an_earlier_version"
# What that version came to without being stopped.
LOSSES = [2.2584023, 2.2326684, 2.1436987, 2.2183604, 2.2709644, 2.0677512]


@pytest.fixture
def earlier_run(tmp_path):
    return Path(shutil.copytree(STORED, tmp_path / "run"))


@pytest.fixture
def its_recipe(toy):
    sizes = {"d_model": 4, "d_ff": 4, "n_heads": 2, "n_layers": 1, "max_len": 16}
    model = sizes | {"residual_dropout": 0.1}
    return replace(toy, model=model, train_size=24, valid_every=2, valid_size=4, test_size=0)


def test_it_is_resumed_to_the_same_losses(its_recipe, earlier_run):
    run = train(its_recipe, RunOptions(max_steps=6, resume=True), folder=earlier_run)
    assert run.finished
    assert run.losses == pytest.approx(LOSSES, abs=1e-5)
    assert run.learning_rates[:3] == [None] * 3 and None not in run.learning_rates[3:]


def test_what_cannot_be_checked_is_told(its_recipe, earlier_run, capsys):
    train(its_recipe, RunOptions(max_steps=6, resume=True), folder=earlier_run)
    assert "earlier version of the course, which noted nothing about its data" in (
        capsys.readouterr().out
    )
    assert main(["translate", "--run", str(earlier_run), "a b"]) == 0
    assert "of a run of an earlier version, without an id" in capsys.readouterr().err


def test_it_is_not_resumed_with_other_words(its_recipe, earlier_run):
    data = load_training_data(its_recipe)
    words = Vocabulary([*data.target_vocabulary.tokens[:-2], "X", "Y"])
    message = "go on with the model and the vocabularies of this corpus, but .* has others: resume"
    with pytest.raises(CourseError, match=message):
        train(
            its_recipe,
            RunOptions(max_steps=6, resume=True),
            folder=earlier_run,
            data=replace(data, target_vocabulary=words),
        )


@pytest.mark.parametrize("name", ["", "best.safetensors", "last.safetensors"])
def test_it_translates(earlier_run, name):
    translator = load_translator(earlier_run / name)
    assert BOS in translator.target_vocabulary
    assert translator.translate("a b").source == ["a", "b"]


@pytest.mark.parametrize("kept", [True, False])
def test_its_metrics_are_read(earlier_run, kept, capsys):
    if not kept:
        (earlier_run / "last.safetensors").unlink()
    log = read_metrics_log(earlier_run)
    assert len(log.epochs) == 1
    assert log.losses == (pytest.approx(LOSSES[:3]) if kept else [])
    assert main(["plot", str(earlier_run)]) == 0


def test_a_new_run_does_not_overwrite_it(its_recipe, earlier_run, at_home, capsys):
    before = {path.name: path.read_bytes() for path in earlier_run.iterdir()}
    assert main(["train", "toy", "--out", str(earlier_run)]) == 1
    assert "was stopped at step 3 of 6: go on with --resume" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in earlier_run.iterdir()} == before
