"""The run that the training lesson's film shows."""

import json
from dataclasses import replace

import pytest

from course_lib.training import RunOptions, load_translator
from course_lib.viz.drawings.learning.learning_film import LEARNING, draw_learning, load_learning
from tools.models import export_learning


def test_a_look_holds_what_the_model_writes_and_shares_of_attention():
    seen = export_learning.look(load_translator(), 7)
    assert seen["step"] == 7
    assert seen["translations"][-1] == export_learning.PAIRS[-1][1]
    assert {round(sum(row), 2) for row in seen["weights"]} == {1.0}


def test_the_stored_film_is_of_these_sentences_and_of_the_steps_that_the_command_names():
    sources, references, snapshots = load_learning()
    pairs = [(" ".join(a), " ".join(b)) for a, b in zip(sources, references, strict=True)]
    assert tuple(pairs) == export_learning.PAIRS
    assert tuple(each.step for each in snapshots[:-1]) == export_learning.STEPS
    assert snapshots[-1].step > 4 * snapshots[-2].step
    film = draw_learning(sources, references, snapshots, words=("drank", "yesterday"))
    assert len(film.says) == len(snapshots)
    assert LEARNING.stat().st_size < 20_000


@pytest.mark.slow
def test_a_run_is_looked_at_after_the_steps_and_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_QUIET", "1")
    recipe = replace(export_learning.lesson_recipe(), train_size=300)
    found = export_learning.watch(recipe, RunOptions(max_steps=3), steps=(1, 2))
    assert [each["step"] for each in found["snapshots"]] == [1, 2, 3]
    export_learning.export(found, tmp_path / "film.json")
    assert json.loads((tmp_path / "film.json").read_text("utf-8"))["snapshots"][2]["step"] == 3
