from dataclasses import replace

import pytest

from course_lib.cli import main
from course_lib.data import Corpus
from course_lib.training import (
    RECIPES,
    RunOptions,
    load_training_data,
    report,
    target_only_entropy,
    train,
)
from course_lib.training.runs.first_report import describe
from tests.training.conftest import TOY

pytestmark = pytest.mark.slow


SPLITS = ("train", "valid")


def mine(toy, size, *, splits=("train",)):
    """So many pairs of the toy, as a corpus with these splits."""
    corpus = Corpus(
        "mine",
        source_language="letters",
        target_language="capitals",
        splits=splits,
        sample=TOY.sample,
    )
    return load_training_data(replace(toy, train_size=size), corpus)


def lines(toy, size, *, splits=("train",)):
    """What is reported of a run on them."""
    data = mine(toy, size, splits=splits)
    run = train(toy, RunOptions(max_steps=1), data=data)
    return list(report(run, data))


def test_a_few_pairs_are_checked_one_by_one(toy):
    report_lines = lines(toy, 20)
    assert "never fell below" in report_lines[0]
    assert len(report_lines) == 21 and all("→" in line for line in report_lines[1:])


def test_the_entropy_beside_the_loss_is_counted_in_tokens_of_the_same_tokenizer(toy):
    recipe = replace(toy, train_size=20, tokens="bpe", vocab_size=270)
    corpus = Corpus(
        "mine",
        source_language="letters",
        target_language="capitals",
        splits=("train",),
        sample=TOY.sample,
    )
    data = load_training_data(recipe, corpus)
    first = next(report(train(recipe, RunOptions(max_steps=1), data=data), data))
    ids = [pair.target[1:-1] for pair in data.encode(data.train)]
    assert f"below {target_only_entropy(ids):.4f}, the entropy" in first
    smoothed = replace(recipe, label_smoothing=0.1)  # its loss has another lowest value
    assert "→" in next(report(train(smoothed, RunOptions(max_steps=1), data=data), data))


def test_one_held_out_pair_has_no_other_source_to_be_shuffled_with(toy):
    recipe = replace(toy, test_size=1)
    data = load_training_data(recipe)
    report_lines = list(report(train(recipe, RunOptions(max_steps=1), data=data), data))
    assert any(line.startswith("unseen  ") for line in report_lines)
    assert not any("shuffled source" in line for line in report_lines)


def test_sentences_beyond_the_model_s_length_are_no_part_of_the_alignment_errors(toy):
    short = {**toy.model, "max_len": 8}
    recipe = replace(toy, corpus="grammar_de_en", train_size=50, test_size=30, model=short)
    data = load_training_data(replace(recipe, valid_size=0))
    assert max(len(pair.source) for pair in data.corpus.pairs("test", 30)) > 8
    report_lines = list(report(train(recipe, RunOptions(max_steps=1), data=data), data))
    assert "best head (layer" in report_lines[-1]


def test_a_recipe_made_to_memorise_validates_on_own_files(at_home, toy, monkeypatch, capsys):
    monkeypatch.setitem(RECIPES, "toy", replace(toy, unknown_word=False, valid_size=0))
    for name, word in (("train", "a"), ("valid", "new")):
        for side in ("de", "en"):
            (at_home / f"{name}.{side}").write_text(f"{word} b\n" * 30)
    files = ["--train", "train.de", "train.en", "--valid", "valid.de", "valid.en"]
    assert main(["train", "toy", *files, "--max-steps", "2"]) == 0
    out = capsys.readouterr().out
    assert "valid loss" in out and "unseen, shuffled source" in out


@pytest.mark.parametrize(
    ("size", "splits", "tested"),
    [(21, ("train",), False), (20, ("train",), True), (21, SPLITS, True)],
)
def test_what_is_not_tested_is_told_before_training(toy, size, splits, tested):
    """Nothing is tested on what it was trained on, but for a few pairs to be memorised."""
    assert (lines(toy, size, splits=splits) != []) == tested
    told = "".join(describe(toy, mine(toy, size, splits=splits), own=False))
    assert ("mine has no held-out split, so there is no honest test" in told) != tested


@pytest.mark.parametrize("split", ["test", "valid"])
def test_what_is_held_out_is_the_test(toy, split):
    report_lines = lines(toy, 21, splits=("train", split))
    assert report_lines[0].endswith("--no-scores leaves it out.")
    assert report_lines[2].startswith("unseen  ")
    assert report_lines[3].startswith("unseen, shuffled source")
    assert report_lines[-1].startswith("BLEU by sacrebleu")


def test_a_grammar_is_tested_on_unseen_combinations_and_on_its_alignments(toy, tmp_path, capsys):
    recipe = replace(toy, corpus="grammar_de_en", train_size=50, valid_size=0, test_size=3)
    data = load_training_data(recipe)
    report_lines = list(report(train(recipe, RunOptions(max_steps=1), data=data), data))
    assert [line[:38].strip() for line in report_lines[2:6]] == [
        "unseen",
        "unseen, shuffled source",
        "unseen combinations",
        "unseen combinations, shuffled source",
    ]
    assert "of attention from target to source, best head (layer" in report_lines[-1]


def test_the_command_tests_own_files_on_those_held_out(at_home, capsys):
    for name, size in (("train", 40), ("valid", 5)):
        pairs = TOY.pairs(name, size)
        for side in ("source", "target"):
            text = "".join(f"{' '.join(getattr(pair, side))}\n" for pair in pairs)
            (at_home / f"{name}.{side}").write_text(text)
    train_files = ["--train", "train.source", "train.target"]
    assert main(["train", "toy", *train_files, "--max-steps", "2", "--out", "a"]) == 0
    assert "train has no held-out split" in capsys.readouterr().out
    valid_files = ["--valid", "valid.source", "valid.target"]
    assert main(["train", "toy", *train_files, *valid_files, "--max-steps", "2"]) == 0
    assert "unseen, shuffled source" in capsys.readouterr().out
