from dataclasses import replace

import pytest

from course_lib.cli import main
from course_lib.data import Corpus
from course_lib.training import RunOptions, load_training_data, report, train
from tests.training.conftest import TOY

pytestmark = pytest.mark.slow


def lines(toy, size, *, splits=("train",)):
    """What is reported of a run on so many pairs of the toy, with these splits."""
    corpus = Corpus("mine", "letters", "capitals", splits, TOY.sample)
    data = load_training_data(replace(toy, train_size=size), corpus)
    run = train(toy, RunOptions(max_steps=1), data=data)
    return list(report(run, data))


def test_a_few_pairs_are_checked_one_by_one(toy):
    report_lines = lines(toy, 20)
    assert "never fell below" in report_lines[0]
    assert len(report_lines) == 21 and all("→" in line for line in report_lines[1:])


def test_a_corpus_that_holds_nothing_out_is_not_tested_on_what_it_was_trained_on(toy):
    assert lines(toy, 21) == [
        "mine has no held-out split, so there is no honest test: give sentences that are not "
        "trained on with --valid."
    ]


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
    assert "of cross-attention, best head (layer" in report_lines[-1]


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
