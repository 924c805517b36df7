"""``course translate`` with a model that reads free text, and by the names of models."""

import pytest

from course_lib.cli import main
from course_lib.decoding import translate_free_text
from course_lib.training import save_checkpoint
from course_lib.training.runs.checkpoint import PRETRAINED
from tests.decoding.free_text_translator import free_text_translator

GERMAN = "der alte hund sieht die katze."
ENGLISH = "The dog sees the cat."


@pytest.fixture(scope="module")
def translator():
    return free_text_translator()


@pytest.fixture
def everyday(translator, tmp_path, monkeypatch):
    """The translator as if it were the course's own."""
    monkeypatch.setitem(PRETRAINED, "everyday", tmp_path / "everyday.safetensors")
    save_checkpoint(PRETRAINED["everyday"], translator)
    return ["translate", "--model", "everyday"]


@pytest.mark.slow
def test_a_text_is_translated_on_one_line_and_remarks_name_their_sentence(
    everyday, translator, capsys
):
    assert main([*everyday, f"{GERMAN}\n{ENGLISH}", "Привет"]) == 0
    [[sentence]] = translate_free_text(translator, [GERMAN])
    printed = capsys.readouterr()
    assert printed.out == f"{sentence} {ENGLISH}\nПривет\n"
    lines = [line for line in printed.err.splitlines() if "Cut off" not in line]
    assert lines == [
        f"course translate: {ENGLISH!r}: This looks like English; the model reads German.",
        "course translate: The model has never seen Привет: left out.",
    ]


def test_lines_of_a_file_stay_lines_and_remarks_have_their_numbers(
    everyday, translator, tmp_path, capsys
):
    (tmp_path / "in.txt").write_text(f"{GERMAN} {GERMAN}\n\n{ENGLISH}\n \n", encoding="utf-8")
    output = tmp_path / "out.txt"
    assert main([*everyday, "--input", str(tmp_path / "in.txt"), "--output", str(output)]) == 0
    [[sentence]] = translate_free_text(translator, [GERMAN])
    lines = [f"{sentence} {sentence}", "", ENGLISH, ""]
    assert output.read_text(encoding="utf-8").split("\n") == [*lines, ""]
    message = "course translate: line 3: This looks like English; the model reads German."
    assert message in capsys.readouterr().err.splitlines()


def test_a_model_and_a_run_together_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "--model", "small", "--run", str(tmp_path), "Hallo."])
    assert stopped.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["translate", "translator"])
def test_a_model_that_is_not_there_is_named_with_the_way_out(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(PRETRAINED, "everyday", tmp_path / "everyday.safetensors")
    assert main([verb, "--model", "everyday", *["Hallo."] * (verb == "translate")]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"course {verb}: expected the course's model 'everyday' at")
    assert "Use the model 'small'" in message


def test_help_names_the_models(capsys):
    verbs = {"translate": "everyday,small,prefix,modern", "translator": "everyday,small"}
    for verb, models in verbs.items():
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        assert f"--model {{{models}}}" in capsys.readouterr().out
