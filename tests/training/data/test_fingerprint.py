"""Data that changed while a run was stopped are noticed when it goes on."""

from dataclasses import replace

import pytest
import torch

from course_lib.cli import main
from course_lib.data import Subwords, TextPair, Vocabulary, file_corpus
from course_lib.errors import CourseError
from course_lib.training import RunOptions, load_training_data, read_checkpoint, train
from course_lib.training.data.fingerprint import (
    changed_parts,
    fingerprint_pairs,
    fingerprint_tokenizer,
)
from course_lib.training.runs.metrics_log import read_metrics_log
from tests.training.test_loop import interrupt_at

pytestmark = pytest.mark.usefixtures("unchecked_shapes")
WORDS = ["a", "b", "c", "d"]


def write(folder, train_lines, valid_lines=("a b", "c d")):
    for split, lines in (("train", train_lines), ("valid", valid_lines)):
        (folder / f"{split}.de").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{split}.en").write_text("".join(f"{line.upper()}\n" for line in lines))
    return folder


LINES = [f"{x} {y} {z}" for x in WORDS for y in WORDS for z in WORDS]
TRAIN = [
    *("train", "still", "--max-steps", "6", "--out", "run", "--set", "batch_tokens=48"),
    *("--train", "train.de", "train.en", "--valid", "valid.de", "valid.en"),
]


@pytest.fixture
def stopped(at_home, monkeypatch):
    """A folder with own files and a run on them, stopped after step 2."""
    write(at_home, LINES)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        assert main(TRAIN) == 130
    return at_home


def test_a_pair_more_another_word_and_another_order_are_noticed():
    pairs = [TextPair("a", "A"), TextPair("b", "B")]
    before = fingerprint_pairs("train", pairs)
    assert before["number of pairs in train"] == 2
    assert changed_parts(before, fingerprint_pairs("train", list(pairs))) == []
    cases = {
        ("source side of train",): [TextPair("a", "A"), TextPair("c", "B")],
        ("target side of train",): [TextPair("a", "A"), TextPair("b", "\ud800")],
        ("source side of train", "target side of train"): pairs[::-1],
    }
    for expected, others in cases.items():
        assert changed_parts(before, fingerprint_pairs("train", others)) == list(expected)
    more = changed_parts(before, fingerprint_pairs("train", [*pairs, *pairs]))
    assert more[0] == "number of pairs in train (4, was 2)"
    assert len(changed_parts({}, before)) == 3, "what was never noted counts as changed"


def test_a_tokenizer_with_the_same_tokens_and_other_rules_is_another():
    words = Vocabulary(["<pad>", "<bos>", "<eos>", "a"])
    assert fingerprint_tokenizer("source", words) == fingerprint_tokenizer("source", words)
    swapped = Vocabulary(["<pad>", "<bos>", "a", "<eos>"])
    assert fingerprint_tokenizer("source", words) != fingerprint_tokenizer("source", swapped)
    vocab = '"vocab": {"<pad>": 0, "<bos>": 1, "<eos>": 2, "<unk>": 3, "a": 4, "b": 5, "ab": 6}'
    rules = [
        Subwords.from_json(f'{{"model": {{"type": "BPE", {vocab}, "merges": {merges}}}}}')
        for merges in ('["a b"]', "[]")
    ]
    assert rules[0].tokens == rules[1].tokens
    prints = [fingerprint_tokenizer("source", tokenizer) for tokenizer in rules]
    assert changed_parts(*prints) == ["tokenizer of the source"]


def test_where_the_files_lie_makes_no_difference_but_a_rule_of_cleaning_does(toy, tmp_path):
    def fingerprint(folder, lines):
        folder.mkdir()
        write(folder, lines)
        files = [[folder / f"{split}.{side}" for side in ("de", "en")] for split in ("train",)]
        corpus = file_corpus(files[0], name="own", tell=lambda text: None)
        return load_training_data(replace(toy, train_size=None), corpus).fingerprint

    first = fingerprint(tmp_path / "a", LINES)
    assert fingerprint(tmp_path / "b", LINES) == first
    assert fingerprint(tmp_path / "c", [*LINES, "a " * 300]) == first  # too long: never seen
    assert fingerprint(tmp_path / "d", LINES[1:]) != first


@pytest.mark.parametrize(
    ("lines", "valid", "changed"),
    [
        (LINES[::-1], ("a b", "c d"), "source side of train, target side of train. Was"),
        (LINES[:-1], ("a b", "c d"), "number of pairs in train (63, was 64), source side"),
        (LINES, ("a b", "d d"), "source side of valid, target side of valid. Was"),
        (["e e e", *LINES], ("a b", "c d"), "tokenizer of the source, tokenizer of the target"),
    ],
)
def test_resume_refuses_changed_data_and_says_what_changed(stopped, capsys, lines, valid, changed):
    write(stopped, lines, valid)
    before = (stopped / "run" / "last.safetensors").read_bytes()
    assert main([*TRAIN, "--resume"]) == 1
    error = capsys.readouterr().err
    assert "expected the data of the run in run, got others. Changed: " in error
    assert changed in error and "--accept-changed-data" in error and error.count("\n") == 1
    assert (stopped / "run" / "last.safetensors").read_bytes() == before


def test_one_side_reversed_is_named(stopped, capsys):
    (stopped / "train.de").write_text("".join(f"{line}\n" for line in LINES[::-1]))
    assert main([*TRAIN, "--resume"]) == 1
    assert "Changed: source side of train. Was" in capsys.readouterr().err


def test_changed_data_that_are_accepted_are_trained_on_and_noted(stopped, capsys):
    write(stopped, LINES[::-1])
    assert main([*TRAIN, "--resume", "--accept-changed-data"]) == 0
    _, info, _ = read_checkpoint(stopped / "run" / "last.safetensors")
    assert info["step"] == 6 and info["data_changes"] == [2]
    assert main(["translate", "--run", "run", "a b"]) == 0
    assert "with other data after step 2" in capsys.readouterr().err
    assert read_metrics_log(stopped / "run").summary.endswith("min, with other data after step 2")
    assert main([*TRAIN, "--resume"]) == 0, "now these are the run's data"
    write(stopped, LINES)
    assert main([*TRAIN, "--resume"]) == 1


def test_more_data_go_on_with_the_run_s_own_tokenizers_and_number_of_steps(
    toy, tmp_path, monkeypatch
):
    recipe = replace(toy, corpus="own", train_size=None, tokens="bpe", vocab_size=270)

    def data(lines):
        write(tmp_path, lines)
        files = [tmp_path / "train.de", tmp_path / "train.en"]
        return load_training_data(recipe, file_corpus(files, name="own", tell=lambda text: None))

    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        stopped = train(recipe, data=data(LINES), folder=tmp_path / "run")
    more = data([*LINES, *(f"neu {line}" for line in LINES)])
    assert more.source_vocabulary.tokens != stopped.translator.source_vocabulary.tokens
    with pytest.raises(CourseError, match="tokenizer of the source"):
        train(recipe, RunOptions(resume=True), data=more, folder=tmp_path / "run")
    accept = RunOptions(resume=True, accept_changed_data=True)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)
        assert not train(recipe, accept, data=more, folder=tmp_path / "run").finished
    run = train(recipe, accept, data=more, folder=tmp_path / "run")  # a second time
    assert run.finished and run.total_steps == stopped.total_steps
    kept = run.translator.source_vocabulary.tokens
    assert kept == stopped.translator.source_vocabulary.tokens
    assert torch.isfinite(torch.tensor(run.losses)).all()


def test_another_option_is_told_before_the_data_that_it_changes(stopped, capsys):
    assert main([*TRAIN, "--resume", "--limit", "9"]) == 1
    assert "train_size = 9, but the run in run has None" in capsys.readouterr().err


def test_accepting_is_for_runs_that_go_on(at_home, capsys):
    assert main(["train", "toy", "--accept-changed-data"]) == 1
    assert "expected resume with accept_changed_data" in capsys.readouterr().err
    assert main(["train", "toy", "--resume", "--accept-changed-data"]) == 1
    assert "expected a run to go on with in" in capsys.readouterr().err
