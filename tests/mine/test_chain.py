"""What exercises show of a Transformer of one's own: compared, overfitted, translating, read."""

import re

import pytest

from course_lib.mine import chain
from course_lib.mine.library import Library
from course_lib.mine.parts import using
from course_lib.run_options import RunOptions
from course_lib.training import load_recipe, train
from tests.mine.test_join import KEPT, changed, recipe_of


@pytest.fixture(params=["own", "course"])
def parts(request, solved):
    library = solved if request.param == "own" else Library({}, ())
    with using(library):
        yield library


@pytest.mark.slow
def test_all_parts_together_equal_the_course(parts, capsys):
    chain.compare_with_course()
    shown = capsys.readouterr().out
    assert "it gives the course's logits and gradients" in shown
    assert ("Of 17 parts 17 are yours" in shown) == bool(parts.own)


def test_a_difference_is_shown(solved_but, capsys):
    with using(solved_but(lesson_04=changed("04", "context, _ =", KEPT))):
        chain.compare_with_course()
    assert re.search(
        r"All of them together: .* differ|All of them .* raises", capsys.readouterr().out
    )


@pytest.mark.slow
def test_two_sentences_are_memorised(parts, capsys):
    chain.overfit_two_sentences()
    shown = capsys.readouterr().out
    assert "ich mochte ein bier → i want a beer ." in shown
    assert "ich mochte ein cola → i want a coke ." in shown


def test_without_a_run_it_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    chain.translate("Der Hund schläft.")
    chain.read_heads()
    assert capsys.readouterr().out.count("`course train mine` in a terminal trains one") == 2
    assert chain.default_run() is None
    (tmp_path / ".course").mkdir()
    assert chain.default_run(1) == tmp_path / "mine" / "run-seed1"


def test_a_run_translates_and_its_heads_are_read(parts, tmp_path, capsys):
    train(recipe_of(load_recipe("mine")), RunOptions(max_steps=2, scores=False), folder=tmp_path)
    chain.translate("Der alte Hund sieht die Katze.", tmp_path)
    chain.read_heads(tmp_path, sentences=3)
    shown = capsys.readouterr().out
    assert "greedy: " in shown
    assert "beam of 4: " in shown
    assert re.search(r"layer 0, head 1: [01]\.\d\d", shown)
