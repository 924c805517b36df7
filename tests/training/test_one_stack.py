"""A recipe may train one stack; all that handles a run takes it as it takes an encoder-decoder."""

from dataclasses import replace

import pytest
import torch

from course_lib.cli import main
from course_lib.errors import CourseError
from course_lib.modern import PrefixTransformer
from course_lib.training import RECIPES, load_recipe, load_translator
from course_lib.training.data.training_data import load_training_data
from course_lib.training.recipe_settings import with_settings
from tests.training.test_loop import interrupt_at


@pytest.fixture(params=["prefix", "modern"])
def recipe(request, toy, at_home, monkeypatch):
    """The recipe, as small as the toy."""
    length = toy.model.get("max_len", 32)
    sizes = {"d_model": 16, "d_ff": 16, "n_heads": 4, "n_layers": 2, "max_len": length}
    small = replace(
        toy, name="stack", preset=request.param, model=sizes, shared_vocabulary=True, tokens="words"
    )
    monkeypatch.setitem(RECIPES, "stack", small)
    return small


def test_it_is_trained_tested_and_loaded(recipe, capsys):
    assert main(["train", "stack", "--max-steps", "2"]) == 0
    out = capsys.readouterr().out
    assert "valid loss" in out and "unseen, shuffled source" in out
    translator = load_translator("runs/stack-seed0")
    assert isinstance(translator.model, PrefixTransformer)
    assert main(["translate", "--run", "runs/stack-seed0", "ein hund"]) in (0, 1)


@pytest.mark.slow
def test_a_run_goes_on_as_if_it_had_not_been_stopped(recipe, monkeypatch):
    assert main(["train", "stack", "--no-scores", "--out", "whole"]) == 0
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        assert main(["train", "stack", "--no-scores", "--out", "cut"]) == 130
    assert main(["train", "stack", "--no-scores", "--out", "cut", "--resume"]) == 0
    whole, cut = (load_translator(name).model.state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_two_vocabularies_are_refused_as_the_row_has_one(recipe):
    data = load_training_data(replace(recipe, shared_vocabulary=False))
    with pytest.raises(CourseError, match="reads source and target in one row, got two: set sha"):
        data.config(recipe)


def test_fields_of_the_stack_are_settings_and_those_of_an_encoder_decoder_are_not():
    modern = load_recipe("modern")
    changed = with_settings(modern, ["model.n_kv_heads=1", "model.positions=learned"])
    assert changed.model == {"n_kv_heads": 1, "positions": "learned"}
    with pytest.raises(CourseError, match=r"expected a field of the recipe.*'model.tying'"):
        with_settings(modern, ["model.tying=all"])
    with pytest.raises(CourseError, match="comes from the vocabularies"):
        with_settings(modern, ["model.vocab=7"])
    with pytest.raises(CourseError, match="multiple of n_kv_heads"):
        with_settings(modern, ["model.n_kv_heads=3"])
    with pytest.raises(CourseError, match="unexpected keyword argument 'tying'"):
        with_settings(load_recipe("small"), ["preset=modern", "model.tying=all"])
    with pytest.raises(CourseError, match="bugs of the published systems are in an encoder-decod"):
        with_settings(modern, ["bugs=scores_by_width"])
