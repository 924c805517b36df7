"""``course mine``, ``course train mine`` and ``course translator --mine``."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from course_lib import cli
from course_lib.checks import check
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.mine.collect import Collection, Lesson
from course_lib.mine.library import Library, run_source
from course_lib.mine.page import compare_with_own, own_page
from course_lib.mine.parts import PARTS
from course_lib.mine.picture import diagram_page
from course_lib.mine.verbs import _is_finished, newest_run, overview, own_training, read_parts
from course_lib.run_options import RunOptions
from course_lib.training import load_recipe, save_checkpoint, train
from tests.mine.conftest import sources_of_solutions
from tests.mine.test_join import KEPT, changed, recipe_of

MASK = "def padding_mask(tokens, pad_id):\n    return (tokens != pad_id)[:, None, None, :]\n"


@pytest.fixture
def in_work(work, monkeypatch):
    monkeypatch.setenv("COURSE_WORK", str(work.folder))
    monkeypatch.chdir(work.folder)
    return work


@pytest.mark.slow
def test_it_shows_whose_each_part_is_what_is_next_and_what_was_tried(in_work, capsys):
    in_work.answer("06.padding_mask", MASK)
    assert cli.main(["mine"]) == 0
    shown = capsys.readouterr().out
    assert "Of the 17 parts of a Transformer, 1 is yours" in shown
    assert "■ 06 padding_mask           yours" in shown
    assert "□ 06 decoder_mask           the course's: it isn't written yet" in shown
    assert "Next: 01.sinusoidal_positions" in shown
    assert "✓ padding_mask" in shown


@pytest.mark.slow
def test_as_a_page_the_learners_parts_are_filled_and_the_others_dashed(in_work, capsys):
    in_work.answer("06.padding_mask", MASK)
    assert cli.main(["mine", "--no-trial", "--page", "mine.html"]) == 0
    page = (in_work.folder / "mine.html").read_text()
    assert "Filled parts are yours (1 of 17)" in page
    assert '[data-part="encoder_attention"]' in page
    library = Library({}, PARTS)
    assert "dashed !important" not in diagram_page(library)


def test_without_a_copy_of_the_course_it_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path / "nothing"))
    assert cli.main(["mine"]) == 1
    assert "`course lab` makes it" in capsys.readouterr().err


def test_a_part_that_is_wrong_in_a_model_is_named_and_gives_status_1(
    in_work, capsys, monkeypatch, solved_but
):
    in_work.answer("06.padding_mask", MASK)
    cli.main(["mine", "--no-trial"])
    wrong = solved_but(lesson_04=changed("04", "context, _ =", KEPT))
    monkeypatch.setattr(
        "course_lib.mine.collect.Collection.library",
        lambda self: wrong.with_own(["MultiHeadAttention"]),
    )
    assert cli.main(["mine"]) == 1
    assert "✗ MultiHeadAttention: " in capsys.readouterr().out


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run of the recipe, small and short."""
    folder = tmp_path_factory.mktemp("run")
    recipe = recipe_of(load_recipe("mine"))
    train(recipe, RunOptions(max_steps=3, scores=False), folder=folder)
    return folder


@pytest.mark.slow
def test_the_page_has_the_weights_of_the_run(run_folder, solved):
    page = own_page(run_folder, solved)
    assert "has written a Transformer" in page


def test_a_page_that_would_say_something_else_is_not_written(run_folder, solved_but):
    wrong = solved_but(
        lesson_08=changed("08", "self.output(self.decoder(", "-self.output(self.decoder(")
    )
    with pytest.raises(CourseError, match=r"of 20 sentences \d+ differ"):
        own_page(run_folder, wrong)


def test_a_run_that_is_not_there_or_of_another_form_is_refused(tmp_path, solved, run_folder):
    with pytest.raises(CourseError, match="train one with `course train mine`"):
        own_page(tmp_path / "none", solved)
    recipe = replace(recipe_of(load_recipe("small")), model={"d_model": 16, "n_heads": 2})
    run = train(recipe, RunOptions(max_steps=1, scores=False))
    file = tmp_path / "small.safetensors"
    save_checkpoint(file, run.translator)
    with pytest.raises(CourseError, match="the form that your parts compute"):
        own_page(file, solved)


def test_weights_of_another_size_are_no_model_of_ones_own(run_folder, solved, tmp_path):
    file = tmp_path / "cut.safetensors"
    (found,) = run_folder.glob("best.safetensors") or run_folder.glob("last.safetensors")
    file.write_bytes(found.read_bytes()[:-100])
    with pytest.raises(CourseError):
        own_page(file, solved)


@pytest.mark.slow
def test_course_train_mine_trains_the_learners_parts(in_work, capsys, monkeypatch, solved):
    in_work.answer("06.padding_mask", MASK)
    used = []

    def library(self):
        used.append(self)
        return solved

    monkeypatch.setattr("course_lib.mine.collect.Collection.library", library)
    options = "--max-steps 2 --no-scores --limit 100 --out run".split()
    sizes = "model.d_model=16 model.d_ff=32 model.n_heads=2 model.n_layers=1".split()
    settings = [word for size in sizes for word in ("--set", size)]
    assert cli.main(["train", "mine", *options, *settings]) == 0
    assert used
    assert "yours" in capsys.readouterr().out
    assert cli.main(["translator", "--mine", "--run", "run", "--no-browser"]) == 0
    assert "17 of its 17 parts are yours" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more", [["--set", "label_smoothing=0.1"], ["--set", "lr=0.1"], ["--precision", "bf16"]]
)
def test_what_an_own_step_has_no_argument_for_is_refused(in_work, capsys, more):
    assert cli.main(["train", "mine", *more]) == 1
    assert "your own train_step and learning rate" in capsys.readouterr().err


@pytest.mark.slow
def test_an_answer_that_is_right_is_not_sunk_by_an_earlier_part_of_the_learners(solved_but):
    wrong = solved_but(lesson_04=changed("04", " / math.sqrt(query.size(-1))", ""))
    block = wrong.module("07").EncoderBlock
    report = check("07.encoder_block", block)
    assert report.passed
    assert "right with the course's MultiHeadAttention" in str(report)
    source = sources_of_solutions()["07"].replace("self.norm_2(x + ", "self.norm_2(")
    worse = run_source(source, wrong.folder, "07", wrong).EncoderBlock
    assert not check("07.encoder_block", worse).passed


def test_two_translations_are_compared_word_by_word(run_folder, solved):
    from course_lib.data import load_corpus
    from course_lib.training import load_translator

    translator = load_translator(run_folder)
    assert isinstance(translator, Translator)
    pairs = load_corpus("grammar_de_en").pairs("test", 3)
    with torch.no_grad():
        compare_with_own(translator, pairs, solved)


def finished_run(folder, *, step, seed=0):
    """The two small files by which a run is known."""
    run = folder / f"run-seed{seed}"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text(json.dumps({"step": step}) + "\n")
    (run / "run.json").write_text(json.dumps({"total_steps": 10}))
    return run


def test_what_is_next_after_the_last_part_depends_on_the_run(tmp_path):
    lessons = {
        number: Lesson(own={p.item: p.name for p in PARTS.values() if p.lesson == number})
        for number in {part.lesson for part in PARTS.values()}
    }
    everything = Collection(tmp_path, lessons)
    assert overview(everything)[-2] == "Next: course train mine"
    run = finished_run(tmp_path / "mine", step=4)
    assert "--resume, since the run" in overview(everything)[-2]
    shutil.rmtree(run)
    finished_run(tmp_path / "mine", step=10, seed=3)
    assert "is finished. 11.own_run" in overview(everything)[-2]
    assert "course translator --mine --run" in overview(everything)[-2]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"step": "x"}'])
def test_a_run_whose_files_are_damaged_is_not_finished(tmp_path, text):
    run = finished_run(tmp_path, step=10)
    (run / "metrics.jsonl").write_text(text)
    assert newest_run(tmp_path) == run
    assert not _is_finished(run)
    (run / "parts.json").write_text(text)
    assert read_parts(run / "parts.json") == {}


def test_parts_that_have_changed_since_a_run_began_are_named(in_work, capsys, monkeypatch):
    in_work.answer("06.padding_mask", MASK)
    monkeypatch.setattr("course_lib.mine.join.make_own_training", lambda model, library: None)
    own_training(in_work.folder / "run")(None)
    capsys.readouterr()
    own_training(in_work.folder / "run")(None)
    assert "have changed" not in capsys.readouterr().out
    in_work.answer("06.padding_mask", MASK.replace("tokens", "ids"))
    own_training(in_work.folder / "run")
    assert "these parts have changed: padding_mask. With --resume" in capsys.readouterr().out
