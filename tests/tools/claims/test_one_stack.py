"""Runs that compare an encoder-decoder with decoder-only models, made small."""

import json
from dataclasses import replace

import pytest

from tools.claims import one_stack


@pytest.fixture
def small(monkeypatch, tmp_path):
    """``small(*arguments)``: the results in the file after a call of the command."""
    monkeypatch.setattr(one_stack, "RECIPE", replace(one_stack.RECIPE, train_size=300))
    monkeypatch.setattr(one_stack, "TEST_PAIRS", 6)
    file = tmp_path / "results.jsonl"

    def run(*arguments):
        one_stack.main(["--out", str(file), "--steps", "2", *arguments])
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    return run


@pytest.mark.slow
def test_every_model_has_as_many_parameters_and_no_run_is_made_twice(small):
    names = ["encoder-decoder", "prefix, embeddings at 1", "today, no positions"]
    results = small("--seeds", "0", "--models", *names)
    assert [result["model"] for result in results] == names
    sizes = [result["parameters"] for result in results]
    assert max(sizes) / min(sizes) < 1.01
    for result in results:
        assert result["steps"] == 2 and result["test_loss"] > 1 and 0 <= result["exact"] <= 1
    again = small("--seeds", "0", "1", "--models", names[0], names[2])
    assert len(again) == len(results) + 2
    assert [(r["model"], r["seed"]) for r in again[-2:]] == [(names[0], 1), (names[2], 1)]


@pytest.mark.slow
def test_a_prefix_and_a_causal_mask_are_different_models(small):
    prefix, causal = small("--seeds", "0", "--models", "prefix", "causal, no prefix")
    assert prefix["parameters"] == causal["parameters"]
    assert prefix["test_loss"] != causal["test_loss"]
