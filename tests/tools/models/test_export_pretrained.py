from dataclasses import replace

import pytest
import torch

from course_lib.data import CORPORA
from course_lib.errors import CourseError
from course_lib.training import load_translator, train
from tests.training.conftest import TOY, TOY_RECIPE
from tools.models import export_pretrained
from tools.models.export_pretrained import export


@pytest.mark.slow
def test_the_exported_translator_is_half_as_large_and_translates_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_QUIET", "1")
    monkeypatch.setitem(CORPORA, "toy", TOY)
    monkeypatch.setattr(export_pretrained, "TESTED", 20)
    split_twice = replace(
        TOY,
        splits=(*TOY.splits, "compositional"),
        sample=lambda split, size, seed: TOY.sample("test", size, seed),
    )
    run = train(replace(TOY_RECIPE, epochs=4), folder=tmp_path / "run")
    monkeypatch.setattr(export_pretrained, "load_corpus", lambda name: split_twice)
    path = tmp_path / "assets" / "toy.safetensors"
    card = export(tmp_path / "run", path)
    whole = (tmp_path / "run" / "best.safetensors").stat().st_size
    assert path.stat().st_size < 0.75 * whole
    assert card == path.with_suffix(".md").read_text(encoding="utf-8")
    assert "course train toy --seed 0" in card and "| unseen, shuffled sources |" in card
    translator = load_translator(path)
    assert all(p.dtype == torch.float32 for p in translator.model.parameters())
    assert str(translator.translate("a b c")) == str(run.translator.translate("a b c"))


def test_only_a_run_can_be_exported(tmp_path):
    with pytest.raises(CourseError, match="expected a checkpoint at"):
        export(tmp_path / "nowhere", tmp_path / "x.safetensors")


def test_the_command_says_in_a_line_what_is_wrong(tmp_path, capsys):
    assert export_pretrained.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("expected a checkpoint at")
