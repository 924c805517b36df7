from dataclasses import replace

import pytest
import torch

from course_lib.data import CORPORA
from course_lib.errors import CourseError
from course_lib.training import load_translator, train
from course_lib.training import publish as publishing
from course_lib.training.publish import publish


def test_the_published_translator_is_half_as_large_and_says_the_same(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "TESTED", 20)
    split_twice = replace(
        CORPORA["toy"],
        splits=(*CORPORA["toy"].splits, "compositional"),
        sample=lambda split, size, seed: CORPORA["toy"].sample("test", size, seed),
    )
    run = train(replace(toy, epochs=4), folder=tmp_path / "run")
    monkeypatch.setattr(publishing, "load_corpus", lambda name: split_twice)
    place = tmp_path / "assets" / "toy.safetensors"
    card = publish(tmp_path / "run", place)
    whole = (tmp_path / "run" / "best.safetensors").stat().st_size
    assert place.stat().st_size < 0.75 * whole
    assert card == place.with_suffix(".md").read_text(encoding="utf-8")
    assert "course train toy --seed 0" in card and "| unseen, wrong source |" in card
    translator = load_translator(place)
    assert all(p.dtype == torch.float32 for p in translator.model.parameters())
    assert str(translator.translate("a b c")) == str(run.translator.translate("a b c"))


def test_only_a_run_can_be_published(tmp_path):
    with pytest.raises(CourseError, match="expected a checkpoint at"):
        publish(tmp_path / "nowhere", tmp_path / "x.safetensors")


def test_the_command_says_in_a_line_what_is_wrong(tmp_path, capsys):
    assert publishing.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("expected a checkpoint at")
