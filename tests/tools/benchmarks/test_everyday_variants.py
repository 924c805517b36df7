"""The table of variants, on a toy."""

import json
from dataclasses import replace

import pytest
import torch

from course_lib.data import CORPORA
from course_lib.training import load_training_data
from tests.training.conftest import TOY, TOY_RECIPE
from tools.benchmarks import everyday_variants
from tools.benchmarks.everyday_variants import VARIANTS, main, recipe_of, table_of

pytestmark = pytest.mark.slow


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setenv("COURSE_QUIET", "1")
    pairs = replace(TOY, sample=lambda split, size, seed: TOY.sample(split, size or 20, seed))
    monkeypatch.setitem(CORPORA, "toy", pairs)
    recipe = replace(TOY_RECIPE, tokens="bpe", vocab_size=270, shared_vocabulary=True)
    monkeypatch.setattr(everyday_variants, "load_recipe", lambda name: recipe)
    monkeypatch.setattr(everyday_variants, "STEPS", 50)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_variant_of_half_the_cost_trains_for_twice_the_steps_and_is_measured_once(
    toy, tmp_path, monkeypatch, capsys
):
    costs = {"recipe": 1.0, "words": 0.5}
    monkeypatch.setattr(everyday_variants, "cost", lambda variant, *_: costs[variant])
    main(["--out", str(tmp_path), "--only", "recipe", "words", "--seeds", "0", "1"])
    found = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert {name: row["steps"] for name, row in found.items()} == {
        "recipe-0": 50,
        "recipe-1": 50,
        "recipe_averaged-0": 50,
        "recipe_averaged-1": 50,
        "words-0": 100,
        "words-1": 100,
    }
    monkeypatch.setattr(everyday_variants, "trained", None)  # nothing is trained again
    main(["--out", str(tmp_path), "--only", "words", "--seeds", "0"])
    table = capsys.readouterr().out.strip().splitlines()[-3:]
    assert table[0].startswith("| the recipe | 0.0 M | 50 | 2 | ")
    assert table[1].startswith("| words instead of subwords: all of them | 0.0 M | 100 | 2 | ")
    assert table[2].startswith("| the recipe, mean of 5 checkpoints | 0.0 M | 50 | 2 | ")


def test_the_cost_of_the_recipe_is_1(toy, monkeypatch):
    monkeypatch.setattr(everyday_variants, "TURN", 1)
    monkeypatch.setattr(
        everyday_variants, "take_rounds", lambda turns, **_: {"recipe": [turns["recipe"]()]}
    )
    data = load_training_data(recipe_of("recipe"))
    assert everyday_variants.cost("recipe", data, data) == 1


def test_averaged_weights_are_the_mean_of_five_and_not_the_last(toy):
    data = load_training_data(recipe_of("constant"))
    weights = {
        name: {key: weight.clone() for key, weight in translator.model.state_dict().items()}
        for name, translator in everyday_variants.trained("constant", data, steps=50, seed=0)
    }
    last, averaged = weights["constant"], weights["constant_averaged"]
    name = "output.weight" if "output.weight" in last else next(iter(last))
    assert not torch.equal(averaged[name], last[name])
    torch.testing.assert_close(averaged[name], last[name], atol=0.1, rtol=0.5)


def test_the_table_has_the_mean_over_seeds_and_their_range(tmp_path):
    for seed, bleu in enumerate((40.0, 41.0, 45.0)):
        row = {"variant": "tied", "seed": seed, "ratio": 1.0, "steps": 5250}
        row |= {"parameters": 3_900_000, "bleu": bleu, "exact": bleu / 200}
        (tmp_path / f"tied-{seed}.json").write_text(json.dumps(row))
    assert table_of(tmp_path).splitlines()[-1] == (
        "| one table for embeddings and output | 3.9 M | 5,250 | 3 | 21.0% (20.0–22.5) | "
        "42.0 (40.0–45.0) |"
    )


def test_each_variant_is_a_recipe_of_its_own():
    recipes = [repr(recipe_of(name)) for name in VARIANTS]
    assert len({*recipes}) == len(recipes)
