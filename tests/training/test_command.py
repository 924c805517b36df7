"""`course train` and `course translate`, called as a person would."""

import gzip
import os
import re
import shlex
import signal
from dataclasses import replace

import pytest
import torch

from course_lib.cli import main
from course_lib.decoding import Translator
from course_lib.training import (
    AS_RELEASED,
    RECIPES,
    RunOptions,
    load_training_data,
    load_translator,
    read_checkpoint,
    save_checkpoint,
)
from course_lib.training import trainer as training_trainer
from tests.training.test_loop import interrupt_at

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.mark.smoke
@pytest.mark.slow
def test_train_prints_each_epoch_and_an_honest_test_and_where_the_run_is(at_home, capsys):
    assert main(["train", "toy"]) == 0
    out = capsys.readouterr().out
    assert "toy: 120 sentence pairs of toy" in out and "seed 0" in out
    assert len(re.findall(r"^step \d+  loss", out, re.MULTILINE)) == 2
    assert "unseen " in out and "unseen, shuffled source" in out
    assert "BLEU by sacrebleu, nrefs:1|case:mixed" in out
    assert "course translate --run runs/toy-seed0" in out
    assert (at_home / "runs" / "toy-seed0" / "best.safetensors").exists()


def test_the_suggested_command_can_be_pasted_wherever_the_run_is(at_home, capsys):
    folder = "a run's folder"
    assert main(["train", "toy", "--max-steps", "1", "--no-scores", "--out", folder]) == 0
    _, found, command = capsys.readouterr().out.partition("Try: ")
    assert found and shlex.split(command)[:-1] == ["course", "translate", "--run", folder]


def test_without_scores_nothing_is_translated_and_the_run_is_complete(at_home, capsys, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a sentence was translated")

    with monkeypatch.context() as patch:
        patch.setattr(Translator, "translate_all", refuse)
        assert main(["train", "toy", "--max-steps", "1", "--no-scores"]) == 0
    out = capsys.readouterr().out
    assert "valid loss" in out and "BLEU" not in out and "unseen" not in out
    assert load_translator("runs/toy-seed0").translate("a")
    assert main(["plot", "runs/toy-seed0"]) == 0


def test_scoring_shows_how_far_it_is_and_goes_away(at_home, capsys, monkeypatch):
    monkeypatch.delenv("COURSE_QUIET")
    assert main(["train", "toy", "--max-steps", "1"]) == 0
    out, err = capsys.readouterr()
    for name in ("validation", "unseen", "unseen, shuffled source"):
        assert f"{name}:   0%|" in err, name
    assert "--no-scores leaves it out." in out


@pytest.mark.slow
def test_two_sentences_are_reported_against_the_target_only_entropy(
    at_home, toy, capsys, monkeypatch
):
    monkeypatch.setitem(RECIPES, "naive_mt", replace(RECIPES["naive_mt"], model=toy.model))
    assert main(["train", "naive_mt", "--epochs", "2", "--out", "run"]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^step \d+  loss", out, re.MULTILINE)) == 2
    assert "The loss never fell below 0.1155" in out
    assert "ich mochte ein bier → " in out and "(WRONG, expected: i want a beer.)" in out


def test_a_run_that_crossed_the_floor_says_at_which_epoch(toy, capsys, monkeypatch):
    from course_lib.training import load_recipe, load_training_data, report, train

    recipe = replace(load_recipe("naive_mt"), model=toy.model)
    data = load_training_data(recipe)
    run = train(recipe, RunOptions(max_steps=1), data=data)
    for epoch, loss in enumerate((0.2, 0.11, 0.09), 2):
        run.epochs.append({"epoch": epoch, "loss": loss})
    assert next(report(run, data)).startswith("The loss fell below 0.1155 at epoch 3:")


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_resume_goes_on_to_the_same_weights(at_home, capsys, monkeypatch):
    assert main(["train", "toy", "--out", "whole"]) == 0
    with monkeypatch.context() as patch:
        interrupt_at(patch, 6)
        assert main(["train", "toy", "--out", "cut"]) == 130
    assert "Stopped after step 6 of" in capsys.readouterr().out
    assert main(["train", "toy", "--out", "cut", "--resume"]) == 0
    whole, cut = (load_translator(name).model.state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


@pytest.mark.slow
def test_a_stopped_run_is_never_overwritten_but_a_finished_one_may_be(at_home, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        main(["train", "toy"])
    kept = (at_home / "runs" / "toy-seed0" / "last.safetensors").read_bytes()
    assert main(["train", "toy"]) == 1
    assert "was stopped at step 2 of" in capsys.readouterr().err
    assert (at_home / "runs" / "toy-seed0" / "last.safetensors").read_bytes() == kept
    assert main(["train", "toy", "--resume"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["train", "tiny"], "recipe must be one of naive_mt, fastai_qa"),
        (["train", "toy", "--corpus", "wmt"], "corpus must be one of two_sentences"),
        (["train", "toy", "--epochs", "0"], "epochs must be at least 1, got 0"),
        (["train", "toy", "--max-steps", "0"], "max_steps must be positive and finite, got 0"),
        (["train", "toy", "--device", "abacus"], "expected a device that PyTorch can use here"),
        (["train", "toy", "--resume"], "expected a run to go on with in runs"),
        (["train", "toy", "--out", "file/run"], "could not write"),
        (["translate", "--run", "nowhere", "hallo"], "expected a checkpoint at nowhere"),
        (["translate", "--run", "broken.safetensors", "hallo"], "was it cut off"),
        (["translate", "--run", "run", ""], "at least one word, got none: the text is empty"),
        (["translate", "--run", "run", "a " * 10_000], "at most 256 tokens for this model"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line_without_a_traceback(
    at_home, toy, capsys, arguments, message
):
    (at_home / "file").write_text("in the way")
    (at_home / "broken.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{")
    if "run" in arguments:
        main(["train", "toy", "--max-steps", "1", "--out", "run"])
        capsys.readouterr()
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert message in err.splitlines()[-1] and "Traceback" not in err
    assert err.count("\n") == (2 if "run" in arguments else 1)  # which run it is comes first


@pytest.mark.slow
def test_translate_prints_a_line_a_sentence_and_warns_of_unknown_words(at_home, capsys):
    main(["train", "toy", "--epochs", "6", "--out", "run"])
    capsys.readouterr()
    assert main(["translate", "--run", "run", "a b", "a zebra"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err.splitlines()[1:] == ["course translate: the model does not know 'zebra'"]


@pytest.mark.slow
def test_translate_says_when_a_translation_was_cut_off(at_home, toy, capsys):
    main(["train", "toy", "--max-steps", "1", "--out", "run"])
    translator = load_translator("run")
    with torch.no_grad():
        translator.model.output.bias[translator.target_vocabulary.ids["<eos>"]] = -1e9
    save_checkpoint(at_home / "endless.safetensors", translator)
    capsys.readouterr()
    assert main(["translate", "--run", "endless.safetensors", "a"]) == 0
    assert "cut off: the model generated no end of sentence" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--beam", "2"]], ids=["greedy", "beam"])
def test_a_model_that_diverged_translates_nothing_and_says_why(at_home, toy, capsys, options):
    translator = load_training_data(toy).new_translator(toy)
    with torch.no_grad():
        for weights in translator.model.parameters():
            weights.add_(1).mul_(1e30)  # finite, but no product of two of them is
    save_checkpoint(at_home / "diverged.safetensors", translator)
    assert main(["translate", "--run", "diverged.safetensors", "a b", *options]) == 1
    out, err = capsys.readouterr()
    assert not out and "finite numbers, got nan: did the model's training diverge?" in err
    assert "Traceback" not in err


def test_a_second_ctrl_c_ends_the_command_with_130(at_home, monkeypatch):
    def impatient_step(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training_trainer, "train_step", impatient_step)
    assert main(["train", "toy"]) == 130


@pytest.fixture
def own_files(at_home):
    """Files of one's own: 30 pairs, plain, gzipped and as a table, and 4 that are held out."""
    sides = {"train": range(30), "valid": range(30, 34)}
    for split, numbers in sides.items():
        letters = ["abcdef"[i % 6] + " " + "ghijk"[i // 6 % 5] + " z" * (i // 30) for i in numbers]
        for name, text in (("de", letters), ("en", [line.upper() for line in letters])):
            content = "".join(f"{line}\n" for line in text).encode()
            (at_home / f"{split}.{name}").write_bytes(content)
            (at_home / f"{split}.{name}.gz").write_bytes(gzip.compress(content))
        rows = "".join(f"{line}\t{line.upper()}\n" for line in letters)
        (at_home / f"{split}.tsv").write_text(rows)
    return at_home


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [["{}.de", "{}.en"], ["{}.de.gz", "{}.en.gz"], ["{}.tsv"], ["{}.de", "{}.en.gz"]]
)
def test_own_files_are_trained_on_in_every_form(own_files, capsys, kind):
    arguments = [
        *("--train", *(name.format("train") for name in kind)),
        *("--valid", *(name.format("valid") for name in kind)),
    ]
    assert main(["train", "toy", *arguments, "--out", "run", "--max-steps", "3"]) == 0
    out = capsys.readouterr().out
    assert "toy: 30 sentence pairs of train (" in out
    assert "valid loss" in out and "unseen, shuffled source" in out
    _, info, _ = read_checkpoint(own_files / "run" / "best.safetensors")
    assert info["recipe"]["corpus"] == "train"
    assert main(["translate", "--run", "run", "a g"]) == 0


def test_what_is_known_of_own_files_is_printed_before_training(own_files, capsys):
    rows = "".join(f"{n}\t我们明天不去北京\tno Beijing {n}\n" for n in range(30))
    (own_files / "a.tsv").write_text(rows)
    small = ["--max-steps", "1", "--no-scores", "--columns", "3,2"]
    assert main(["train", "toy", "--train", "a.tsv", *small]) == 0
    before, trained, _ = capsys.readouterr().out.partition("Trained 1 steps")
    assert trained
    assert "a.tsv: of 3 columns, 3 is the source and 2 the target" in before
    assert "The first pair, source to target: 'no Beijing 0' → '我们明天不去北京'" in before
    assert "a has no held-out split, so there is no honest test" in before
    assert "Most target lines are one word between spaces" in before and "tokens=bpe" in before
    assert main(["train", "toy", "--max-steps", "1", "--no-scores", "--out", "b"]) == 0
    out = capsys.readouterr().out
    assert "The first pair" not in out and "held-out split" not in out and "one word" not in out


def test_pairs_that_were_left_out_are_counted(own_files, toy, monkeypatch, capsys):
    (own_files / "train.tsv").write_text("a\tA\nb\t\n" + "c\tC\n" * 5 + "d " * 240 + "\tD\n")
    small = ["--max-steps", "1", "--out", "run"]
    short = replace(toy, model={**toy.model, "max_len": 200})
    monkeypatch.setitem(RECIPES, "toy", short)
    assert main(["train", "toy", "--train", "train.tsv", *small]) == 0
    out = capsys.readouterr().out
    assert "kept 7 of 8 pairs" in out
    assert "1 pair of more than 200 tokens is left out" in out


@pytest.mark.slow
def test_limit_takes_the_first_pairs(own_files, capsys):
    files = ["--train", "train.de", "train.en"]
    assert main(["train", "toy", *files, "--limit", "25", "--max-steps", "1"]) == 0
    assert "toy: 25 sentence pairs of train" in capsys.readouterr().out
    assert main(["train", "toy", "--limit", "7", "--max-steps", "1", "--out", "b"]) == 0
    assert "toy: 7 sentence pairs of toy" in capsys.readouterr().out


@pytest.mark.slow
def test_minutes_and_variants_reach_the_run(at_home, monkeypatch, capsys):
    monkeypatch.setitem(AS_RELEASED, "toy", {"bugs": ("scores_by_width",)})
    assert main(["train", "toy", "--minutes", "0.01", "--variant", "as_released"]) == 0
    folder = at_home / "runs" / "toy-as_released-seed0"
    _, info, _ = read_checkpoint(folder / "last.safetensors")
    assert info["minutes"] == 0.01 and info["total_steps"] is None and info["seconds"] >= 0.6
    assert info["recipe"]["bugs"] == ["scores_by_width"]
    assert "Trained " in capsys.readouterr().out


@pytest.mark.slow
def test_another_corpus_may_be_named(at_home, toy, capsys, monkeypatch):
    small = replace(RECIPES["small"], model=toy.model, test_size=20)
    monkeypatch.setitem(RECIPES, "small", small)
    assert main(["train", "small", "--corpus", "toy", "--limit", "5", "--max-steps", "1"]) == 0
    assert "small: 5 sentence pairs of toy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--valid", "valid.de", "valid.en"], "but --train was not given: add --train"),
        (["--train", "train.de"], "expected two line-aligned files or one table with both sides"),
        (["--columns", "2,1"], "but --train was not given: add --train"),
        (["--train", "train.tsv", "--columns", "2"], "expected two columns, source and target"),
        (["--train", "none.de", "none.en"], "none.de"),
        (["--train", "train.de", "valid.en"], "got 30 and 4"),
        (["--limit", "0"], "train_size must be at least 1, got 0"),
        (["--minutes", "0"], "minutes must be positive and finite, got 0"),
        (["--minutes", "nan"], "minutes must be positive and finite, got nan"),
        (["--minutes", "inf"], "minutes must be positive and finite, got inf"),
        (["--seed", "-1"], "seed must be a whole number from 0 to 2^63 - 1, got -1"),
        (["--variant", "as_released"], "have a variant as_released, got 'toy'"),
        (["--precision", "fp8"], "precision must be auto, fp32 or bf16, got 'fp8'"),
    ],
)
def test_what_train_cannot_do_is_told_in_one_line(own_files, capsys, arguments, message):
    assert main(["train", "toy", *arguments]) == 1
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--epochs", "1", "--max-steps", "2"],
        ["--max-steps", "2", "--minutes", "1"],
        ["--corpus", "toy", "--train", "x.tsv"],
        ["--variant", "broken"],
    ],
)
def test_options_that_exclude_each_other_end_with_2(at_home, capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(["train", "toy", *arguments])
    assert stop.value.code == 2
    assert "usage: course train" in capsys.readouterr().err
