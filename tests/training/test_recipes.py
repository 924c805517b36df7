from dataclasses import fields, replace

import pytest

from course_lib.cli import build_parser
from course_lib.data import corpus_summaries, train_bpe
from course_lib.errors import CourseError
from course_lib.training import (
    AS_RELEASED,
    RECIPES,
    Recipe,
    RunOptions,
    load_recipe,
    load_training_data,
    load_translator,
    train,
    with_corpus,
)
from course_lib.training.data import training_data
from course_lib.training.recipes import GRAMMAR_PAIRS
from tests.training.conftest import TOY


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_found_and_its_corpus_exists(name):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.corpus in corpus_summaries()


def test_fastai_qa_translates_french_questions_as_it_was_published():
    assert load_recipe("fastai_qa").corpus == "questions_fr_en"


@pytest.mark.parametrize("variant", ["fixed", "as_released"])
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_trains_when_made_small(toy, name, variant):
    if name not in AS_RELEASED and variant == "as_released":
        pytest.skip("the course's own")
    recipe = load_recipe(name, variant=variant)
    tiny = {**recipe.model, "d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1}
    recipe = replace(
        recipe, model=tiny, corpus="toy", train_size=60, valid_size=5 * bool(recipe.valid_size)
    )
    run = train(recipe, RunOptions(max_steps=3))
    assert run.finished and run.step == 3
    assert ("valid_loss" in run.epochs[-1]) == bool(recipe.valid_size)


def test_what_was_published_differs_from_what_is_fixed_as_documented():
    differences = {
        name: {
            field.name
            for field in fields(Recipe)
            if getattr(load_recipe(name), field.name)
            != getattr(load_recipe(name, variant="as_released"), field.name)
        }
        for name in AS_RELEASED
    }
    assert differences == {
        "naive_mt": set(),
        "fastai_qa": {"bugs"},
        "fastestimator_ted": {"keep_weights"},
        "einsum_scratch": {"bugs"},
        "wmt14_de_en": {"bugs", "warmup"},
    }
    assert load_recipe("wmt14_de_en", variant="as_released").warmup == 10
    assert load_recipe("fastestimator_ted", variant="as_released").keep_weights == "last"


def test_the_courses_own_recipes_were_never_published():
    with pytest.raises(CourseError, match="only naive_mt, .*wmt14_de_en have .*got 'small'"):
        load_recipe("small", variant="as_released")


def test_the_help_names_every_recipe(capsys):
    with pytest.raises(SystemExit):
        build_parser("train").parse_args(["train", "--help"])
    words = capsys.readouterr().out.replace(",", " ").split()
    assert set(RECIPES) <= set(words)


def test_a_grammar_without_end_is_cut_and_files_are_taken_whole():
    multi30k = load_recipe("multi30k")
    assert with_corpus(multi30k, "grammar_de_en").train_size == GRAMMAR_PAIRS
    assert with_corpus(load_recipe("small"), "grammar_pt_en").train_size == GRAMMAR_PAIRS
    assert with_corpus(load_recipe("wmt14_de_en"), "grammar_de_en").train_size == 10_000
    small = load_recipe("small")
    assert with_corpus(small, small.corpus) == small, "its own is not cut"
    assert with_corpus(multi30k, "ted_pt_en").train_size is None
    assert with_corpus(multi30k, "ted_pt_en").corpus == "ted_pt_en"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_size": 0}, "train_size must be at least 1, got 0"),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0"),
        ({"micro_batches": 0}, "micro_batches must be at least 1, got 0"),
        ({"warmup": 0}, "warmup must be at least 1, got 0"),
        ({"valid_every": 0}, "valid_every must be at least 1, got 0"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"dropout": (0.1, 1.0)}, r"rates from 0 to below 1, got \(0.1, 1.0\)"),
        ({"dropout": (float("nan"),)}, "rates from 0 to below 1, got"),
        ({"lr": None}, "a cosine schedule needs lr, its highest rate, got None"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(toy, changes, message):
    with pytest.raises(CourseError, match=message):
        replace(toy, **changes)


def test_the_paper_schedule_needs_no_rate(toy):
    assert replace(toy, schedule="inverse_sqrt", lr=None).lr is None


def test_one_vocabulary_of_words_serves_both_sides(toy):
    run = train(
        replace(toy, shared_vocabulary=True, model={**toy.model, "tying": "all"}),
        RunOptions(max_steps=1),
    )
    source, target = run.translator.source_vocabulary, run.translator.target_vocabulary
    assert source is target
    assert {"a", "A"} <= set(source.tokens)


def test_a_tokenizer_of_a_large_corpus_is_made_from_a_part_of_it(toy, monkeypatch):
    assert len(load_training_data(toy).source_vocabulary) > 5
    monkeypatch.setattr(training_data, "VOCABULARY_PAIRS", 1)
    pair = TOY.pairs("train", toy.train_size)
    few = load_training_data(toy).source_vocabulary
    assert any(set(few.tokens[2:]) == set(p.source) for p in pair)
    assert few.tokens == load_training_data(toy).source_vocabulary.tokens


def test_a_stored_tokenizer_may_replace_one_made_from_the_data(toy, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(train_bpe(["a b c d e f", "A B C D E F"] * 9, 300).to_json(), "utf-8")
    recipe = replace(toy, tokenizer=str(path), model={**toy.model, "tying": "all"})
    run = train(recipe, RunOptions(max_steps=1), folder=tmp_path / "run")
    assert run.translator.source_vocabulary is run.translator.target_vocabulary
    path.unlink()  # the run keeps a copy
    assert load_translator(tmp_path / "run").translate("a b").source
    with pytest.raises(CourseError, match="tokenizer.json"):
        load_training_data(recipe)
