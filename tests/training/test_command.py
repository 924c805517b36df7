"""`course train` and `course translate`, called as a person would."""

import os
import signal

import pytest
import torch

from course_lib.cli import main
from course_lib.training import RECIPES, load_translator, save_checkpoint
from course_lib.training import loop as training_loop
from tests.training.test_loop import interrupt_at


@pytest.fixture
def at_home(toy, tmp_path, monkeypatch):
    """An empty working folder, and the toy among the recipes."""
    monkeypatch.setitem(RECIPES, "toy", toy)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_train_prints_each_epoch_and_an_honest_test_and_where_the_run_is(at_home, capsys):
    assert main(["train", "toy"]) == 0
    out = capsys.readouterr().out
    assert "toy: 120 sentence pairs of toy" in out and "seed 0" in out
    assert "epoch  1  loss" in out and "epoch  2  loss" in out
    assert "unseen " in out and "unseen, wrong source" in out
    assert "BLEU by sacrebleu, nrefs:1|case:mixed" in out
    assert "course translate --run runs/toy-seed0" in out
    assert (at_home / "runs" / "toy-seed0" / "best.safetensors").exists()


def test_two_sentences_are_reported_against_the_floor_and_by_heart(at_home, capsys):
    assert main(["train", "naive_mt", "--epochs", "2", "--out", "run"]) == 0
    out = capsys.readouterr().out
    assert "epoch  2  loss" in out and "epoch  3" not in out
    assert "The loss never crossed 0.1155" in out
    assert "ich mochte ein bier → " in out and "(WRONG, expected: i want a beer.)" in out


def test_a_run_that_crossed_the_floor_says_at_which_epoch(toy, capsys, monkeypatch):
    from course_lib.training import load_recipe, load_task, report, train

    recipe = load_recipe("naive_mt")
    task = load_task(recipe)
    run = train(recipe, task=task, max_steps=1)
    for epoch, loss in enumerate((0.2, 0.11, 0.09), 2):
        run.epochs.append({"epoch": epoch, "loss": loss})
    assert next(report(run, task)).startswith("The loss crossed 0.1155 at epoch 3:")


def test_ctrl_c_ends_with_130_and_resume_goes_on_to_the_same_weights(at_home, capsys, monkeypatch):
    assert main(["train", "toy", "--out", "whole"]) == 0
    with monkeypatch.context() as patch:
        interrupt_at(patch, 6)
        assert main(["train", "toy", "--out", "cut"]) == 130
    assert "Stopped after step 6 of" in capsys.readouterr().out
    assert main(["train", "toy", "--out", "cut", "--resume"]) == 0
    whole, cut = (load_translator(name).model.state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_a_stopped_run_is_never_overwritten_but_a_finished_one_may_be(at_home, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        main(["train", "toy"])
    kept = (at_home / "runs" / "toy-seed0" / "last.safetensors").read_bytes()
    assert main(["train", "toy"]) == 1
    assert "was stopped at step 2 of" in capsys.readouterr().err
    assert (at_home / "runs" / "toy-seed0" / "last.safetensors").read_bytes() == kept
    assert main(["train", "toy", "--resume"]) == 0
    assert main(["train", "toy"]) == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["train", "tiny"], "recipe must be one of naive_mt, small"),
        (["train", "toy", "--corpus", "wmt"], "corpus must be one of two_sentences"),
        (["train", "toy", "--epochs", "0"], "epochs must be at least 1, got 0"),
        (["train", "toy", "--max-steps", "0"], "max_steps must be at least 1, got 0"),
        (["train", "toy", "--device", "abacus"], "expected a device that PyTorch can use here"),
        (["train", "toy", "--resume"], "expected a checkpoint at runs"),
        (["train", "toy", "--out", "file/run"], "could not write"),
        (["translate", "--run", "nowhere", "hallo"], "expected a checkpoint at nowhere"),
        (["translate", "--run", "broken.safetensors", "hallo"], "was it cut off"),
        (["translate", "--run", "run", ""], "at least one word, got an empty one"),
        (["translate", "--run", "run", "a " * 10_000], "at most 256 words for this model"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_without_a_traceback(
    at_home, toy, capsys, arguments, message
):
    (at_home / "file").write_text("in the way")
    (at_home / "broken.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{")
    if "run" in arguments:
        main(["train", "toy", "--max-steps", "1", "--out", "run"])
        capsys.readouterr()
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and "Traceback" not in err


def test_translate_prints_a_line_a_sentence_and_warns_of_unknown_words(at_home, capsys):
    main(["train", "toy", "--epochs", "6", "--out", "run"])
    capsys.readouterr()
    assert main(["translate", "--run", "run", "a b", "a zebra"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err == "course translate: the model does not know 'zebra'\n"


def test_translate_says_when_a_translation_was_cut_off(at_home, toy, capsys):
    main(["train", "toy", "--max-steps", "1", "--out", "run"])
    translator = load_translator("run")
    with torch.no_grad():
        translator.model.output.bias[translator.target_vocabulary.ids["<eos>"]] = -1e9
    save_checkpoint(at_home / "endless.safetensors", translator)
    capsys.readouterr()
    assert main(["translate", "--run", "endless.safetensors", "a"]) == 0
    assert "cut off: the model found no end" in capsys.readouterr().err


def test_a_second_ctrl_c_ends_the_command_with_130(at_home, monkeypatch):
    def impatient_step(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training_loop, "train_step", impatient_step)
    assert main(["train", "toy"]) == 130
