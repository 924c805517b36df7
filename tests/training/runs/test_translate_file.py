"""A line in, a line out."""

import gzip
import io
import sys
from dataclasses import replace
from itertools import islice

import pytest
import torch

from course_lib import translation_verbs
from course_lib.cli import main
from course_lib.data import Subwords
from course_lib.decoding import Decoding, Translation, translate_file
from course_lib.decoding.translate_file import translate_lines
from course_lib.errors import CourseError
from course_lib.training import (
    RunOptions,
    load_training_data,
    load_translator,
    save_checkpoint,
    train,
)


@pytest.fixture
def translator(toy):
    return train(toy, RunOptions(max_steps=3)).translator


def lines_of(translator, lines, decoding=None):
    warnings = []
    blocks = translate_lines(
        translator, lines, decoding=decoding or Decoding(), warn=warnings.append
    )
    return [text for block in blocks for text in block], warnings


def test_line_i_belongs_to_line_i_and_an_empty_one_stays_empty(translator, monkeypatch):
    monkeypatch.setattr(translate_file, "SORT_WINDOW", 3)  # several chunks
    lines = ["a b c", "", "a", "b a", "   ", "c", "a b c d", "\t"]
    output, _ = lines_of(translator, lines)
    assert len(output) == len(lines)
    for line, text in zip(lines, output, strict=True):
        assert text == (str(translator.translate(line)) if line.strip() else "")
    assert lines_of(translator, []) == ([], [])
    assert lines_of(translator, ["", " "]) == (["", ""], [])


@pytest.mark.parametrize("tokens", ["words", "bpe"])
def test_a_line_of_which_nothing_can_be_seen_stays_empty(toy, tokens):
    recipe = replace(toy, tokens=tokens, vocab_size=270)
    translator = train(recipe, RunOptions(max_steps=1)).translator
    lines = ["a b", "\u200b", "\ufeff", " \u00a0\u2060", "\u00ad\u200e", "b"]
    output, warnings = lines_of(translator, lines)
    assert output[1:-1] == [""] * 4
    assert not any(f"line {i}:" in warning for warning in warnings for i in (2, 3, 4, 5))
    with pytest.raises(CourseError, match="at least one word, got an empty one"):
        translator.translate("\u200b")


def test_a_beam_may_be_asked_for(translator):
    beam = Decoding("beam", width=3)
    assert lines_of(translator, ["a b"], beam)[0] == [str(translator.translate("a b", beam))]


def test_warnings_name_their_line_even_in_a_later_chunk(translator, monkeypatch):
    monkeypatch.setattr(translate_file, "SORT_WINDOW", 2)
    with torch.no_grad():
        translator.model.output.bias[translator.target_vocabulary.ids["<eos>"]] = 1e9
    _, warnings = lines_of(translator, ["a", "", "b", "a zebra"])
    assert warnings == ["line 4: the model does not know 'zebra'"]
    with torch.no_grad():
        translator.model.output.bias[translator.target_vocabulary.ids["<eos>"]] = -1e9
    _, warnings = lines_of(translator, ["", "b"])
    assert warnings == ["line 2: cut off: the model generated no end of sentence"]


@pytest.mark.slow
def test_a_line_that_is_too_long_is_truncated_with_a_warning(translator):
    longest = translator.model.config.max_len
    output, warnings = lines_of(translator, ["a", "b " * (longest + 5)])
    assert output[1] == str(translator.translate("b " * longest))
    expected = f"line 2: {longest + 5} tokens, only the first {longest} are read"
    assert warnings[0] == expected


@pytest.mark.slow
def test_no_more_lines_are_read_than_the_block_under_way_needs(translator, monkeypatch):
    monkeypatch.setattr(translate_file, "SORT_WINDOW", 400)
    read = 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield "a"

    blocks = translate_lines(translator, endless(), decoding=Decoding(), warn=print)
    sizes = [len(block) for block in islice(blocks, 4)]
    assert sizes == [128, 256, 400, 400] and read == sum(sizes)


@pytest.mark.slow
def test_a_bar_appears_on_a_terminal_only(translator, monkeypatch, capsys):
    def bar_of(lines):
        list(translate_lines(translator, lines, decoding=Decoding(), warn=print, total=200))
        return capsys.readouterr().err

    assert bar_of(["a"] * 200) == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(translate_file, "DELAY", 600)
    assert bar_of(["a"] * 200) == ""  # it took less
    monkeypatch.setattr(translate_file, "DELAY", 0)
    assert "100%" in bar_of(["a"] * 200)


def test_a_sentence_of_another_language_is_called_that_and_not_listed_word_by_word(
    translator, capsys
):
    texts = ["The cook sleeps.", "Hallo, die Köchin schläft."]
    assert main(["translate", "--model", "small", *texts]) == 0
    err = capsys.readouterr().err
    none = "course translate: This translator reads German, and knows none of these words.\n"
    assert err.startswith(none) and "does not know 'the'" not in err and err.count("none of") == 1
    _, warnings = lines_of(translator, ["yak zebra"])
    assert warnings[0].startswith("line 1: This translator knows none of these words")


def test_a_long_unknown_word_is_shortened(translator):
    _, [warning, *_] = lines_of(translator, ["a " + "z" * 1_000_000])
    assert warning == f"line 1: the model does not know '{'z' * 60}'… (1,000,000 characters)"


def test_a_translation_stays_on_its_line_whatever_it_says(translator, monkeypatch):
    monkeypatch.setattr(
        translator,
        "translate_all",
        lambda sentences, **_: [
            Translation(source=s, target=s, text="x\ny\u2028z\r") for s in sentences
        ],
    )
    assert lines_of(translator, ["a", "b"])[0] == ["x y z", "x y z"]


@pytest.fixture
def run(at_home, toy):
    train(toy, RunOptions(max_steps=5), folder="run")
    return at_home / "run"


@pytest.mark.slow
def test_translate_reads_a_file_and_writes_as_many_lines(run, at_home, capsys):
    (at_home / "in.txt").write_text("a b\n\nc a zebra\n", encoding="utf-8")
    assert main(["translate", "--run", "run", "--input", "in.txt", "--output", "out.txt"]) == 0
    out, err = capsys.readouterr()
    assert out == "" and "course translate: line 3: the model does not know 'zebra'\n" in err
    output = (at_home / "out.txt").read_text(encoding="utf-8")
    assert output.count("\n") == 3 and output.split("\n")[1] == ""
    assert main(["translate", "--run", "run", "--input", "in.txt"]) == 0
    assert capsys.readouterr().out == output
    assert main(["translate", "--run", "run", "--beam", "2", "--input", "in.txt"]) == 0
    beam = Decoding("beam", width=2)
    first = str(load_translator(run).translate("a b", beam))
    assert capsys.readouterr().out.split("\n")[0] == first


@pytest.mark.slow
def test_translate_reads_standard_input_and_gz(run, at_home, capsys, monkeypatch):
    text = b"a b\n\nc a\n"
    (at_home / "in.txt.gz").write_bytes(gzip.compress(text))
    assert main(["translate", "--run", "run", "--input", "in.txt.gz"]) == 0
    expected = capsys.readouterr().out
    assert expected.count("\n") == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["translate", "--run", "run", "--input", "-"]) == 0
    assert capsys.readouterr().out == expected
    monkeypatch.setattr("sys.stdin", None)
    assert main(["translate", "--run", "run", "--input", "-"]) == 1
    assert "standard input, but it is closed" in capsys.readouterr().err


@pytest.fixture
def stopped(run, at_home, monkeypatch):
    """Run translate on 1,000 lines, and raise an error in its third block."""
    (at_home / "in.txt").write_text("a\n" * 1000)
    (at_home / "out.txt").write_text("an earlier one\n")
    starts = iter([0, 128])

    def stopped(error, *arguments):
        def block(translator, lines, **options):
            start = next(starts, None)
            if start is None:
                raise error
            return [f"{i}" for i in range(start, start + len(lines))]

        monkeypatch.setattr(translate_file, "_translate_block", block)
        return main(["translate", "--run", "run", "--input", "in.txt", *arguments])

    return stopped


DONE = "".join(f"{i}\n" for i in range(384))


def test_an_interrupt_keeps_the_lines_done_and_says_how_far_it_got(stopped, at_home, capsys):
    assert stopped(KeyboardInterrupt(), "--output", "out.txt") == 130
    part = at_home / "out.txt.part"
    assert part.read_text() == DONE
    assert (at_home / "out.txt").read_text() == "an earlier one\n"
    out, err = capsys.readouterr()
    assert out == ""
    assert f"course translate: the first 384 lines are translated and are in {part}\n" in err
    assert err.endswith("course translate: stopped by Ctrl-C\n")


def test_an_error_keeps_what_was_printed(stopped, capsys):
    assert stopped(CourseError("the disk is gone")) == 1
    out, err = capsys.readouterr()
    assert out == DONE
    assert err.splitlines()[-2:] == [
        "course translate: the first 384 lines are translated",
        "course translate: the disk is gone",
    ]


def test_a_reader_who_left_is_told_nothing(stopped, capsys):
    assert stopped(BrokenPipeError()) == 141
    assert "lines" not in capsys.readouterr().err


def test_an_output_that_is_whole_leaves_no_part(run, at_home):
    (at_home / "in.txt").write_text("a\n")
    assert main(["translate", "--run", "run", "--input", "in.txt", "--output", "new/out.txt"]) == 0
    assert [path.name for path in (at_home / "new").iterdir()] == ["out.txt"]


def test_an_empty_file_gives_an_empty_file(run, at_home, capsys):
    (at_home / "in.txt").write_text("")
    assert main(["translate", "--run", "run", "--input", "in.txt"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "none.txt"], "none.txt"),
        (["--input", "in.txt", "a b"], "give sentences to translate, or a file with --input"),
        ([], "give sentences to translate, or a file with --input: one of the two"),
        (["--beam", "0", "a"], "width must be a positive whole number"),
        (["--input", "in.txt", "--output", "in.txt/out.txt"], "could not write in.txt/out.txt"),
    ],
)
def test_what_translate_cannot_do_is_told_in_one_line(run, at_home, capsys, arguments, message):
    (at_home / "in.txt").write_text("a\n")
    assert main(["translate", "--run", "run", *arguments]) == 1
    err = capsys.readouterr().err
    assert message in err.splitlines()[-1] and "Traceback" not in err


@pytest.mark.slow
def test_a_run_with_one_vocabulary_of_subwords_comes_back_from_its_checkpoint(toy, tmp_path):
    model = {**toy.model, "tying": "all"}
    recipe = replace(toy, tokens="bpe", shared_vocabulary=True, vocab_size=300, model=model)
    run = train(recipe, RunOptions(max_steps=5), folder=tmp_path)
    loaded = load_translator(tmp_path)
    assert isinstance(loaded.source_vocabulary, Subwords)
    assert loaded.source_vocabulary is loaded.target_vocabulary
    assert loaded.source_vocabulary.tokens == run.translator.source_vocabulary.tokens
    tied = {loaded.model.output.weight, loaded.model.source_embedding.tokens.weight}
    assert len(tied) == 1
    for text in ("a b", "Größe, 3 €", "never seen"):
        assert str(loaded.translate(text)) == str(run.translator.translate(text))


def test_two_vocabularies_of_subwords_come_back_too(toy, tmp_path):
    recipe = replace(toy, tokens="bpe", vocab_size=280)
    translator = load_training_data(recipe).new_translator(recipe)
    save_checkpoint(tmp_path / "m.safetensors", translator)
    loaded = load_translator(tmp_path / "m.safetensors")
    assert loaded.source_vocabulary.tokens == translator.source_vocabulary.tokens
    assert loaded.target_vocabulary.tokens == translator.target_vocabulary.tokens
    assert loaded.source_vocabulary.tokens != loaded.target_vocabulary.tokens


@pytest.mark.parametrize("output", ["in.txt", "in", "sub/../in.txt"])
def test_the_sentences_are_not_overwritten_by_their_translations(run, at_home, capsys, output):
    (at_home / "sub").mkdir()
    for name in ("in.txt", "in.part"):
        (at_home / name).write_text("a b\n")
    source = "in.part" if output == "in" else "in.txt"
    arguments = ["translate", "--run", "run", "--input", source, "--output", output]
    assert main(arguments) == 1
    assert f"expected another file for --output, got {output}" in capsys.readouterr().err
    assert (at_home / source).read_text() == "a b\n"


def test_a_translation_is_what_it_is_unless_a_terminal_would_obey_it(monkeypatch, capsys):
    translation = "a\u2066b\x1b"  # of a vocabulary that somebody else made
    for terminal, printed in ((False, translation), (True, r"a\u2066b\x1b")):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal, raising=False)
        translation_verbs._write_blocks([[translation]], None)
        assert capsys.readouterr().out == f"{printed}\n"
