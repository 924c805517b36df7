"""The translators that stopped early, as the decoding lesson loads them."""

import zlib

import pytest
import torch

from course_lib.data import load_corpus
from course_lib.training import load_early_translators, load_translator
from course_lib.training.runs.checkpoint import EARLY
from tools.models import export_early


@pytest.mark.slow
def test_the_early_translators_are_three_models_that_are_unsure():
    early, sure = load_early_translators(), load_translator()
    texts = [pair.source_text for pair in load_corpus("grammar_de_en").pairs("test", 5)]
    wanted = [str(one) for one in sure.translate_texts(texts)]
    for translator in early:
        assert translator.target_vocabulary.tokens == sure.target_vocabulary.tokens
        assert [str(one) for one in translator.translate_texts(texts)] != wanted
    first, second = (translator.model.output.weight for translator in early[:2])
    assert not torch.equal(first, second)


@pytest.mark.slow
def test_the_early_translators_are_stored_so_that_a_wheel_compresses_them():
    for translator in load_early_translators():
        weights = torch.cat([each.flatten() for each in translator.model.parameters()])
        assert torch.equal(weights, (weights / export_early.GRID).round() * export_early.GRID)
    assert sum(len(zlib.compress(path.read_bytes())) for path in EARLY) < 4.5e6


@pytest.mark.slow
def test_the_command_trains_and_stores_one_for_each_path(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_QUIET", "1")
    monkeypatch.setattr(export_early, "STEPS", 2)
    monkeypatch.setitem(export_early.SETTINGS, "train_size", 200)
    path = tmp_path / "early-0.safetensors"
    monkeypatch.setattr(export_early, "export", lambda export=export_early.export: export([path]))
    assert export_early.main([]) == 0
    assert "early-0.safetensors: 2." in capsys.readouterr().out
    assert load_translator(path).source_vocabulary.tokens
