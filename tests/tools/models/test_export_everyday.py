"""The export measures what it writes into the card, on a toy."""

import re
from dataclasses import replace

import pytest
import torch

from course_lib.data import CORPORA
from course_lib.errors import CourseError
from course_lib.training import RunOptions, load_translator, train
from tests.training.conftest import TOY, TOY_RECIPE
from tools.models import export_everyday, exporting
from tools.models.export_everyday import export


@pytest.fixture
def toy_run(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_QUIET", "1")
    monkeypatch.setattr(exporting, "RESAMPLES", 20)

    def sample(split, size, seed):
        return TOY.sample("test" if split == "others" else split, size or 30, seed)

    toy = replace(TOY, splits=(*TOY.splits, "others"), sample=sample)
    monkeypatch.setitem(CORPORA, "toy", toy)
    recipe = replace(TOY_RECIPE, tokens="bpe", vocab_size=280, shared_vocabulary=True)
    return lambda **changes: train(
        replace(recipe, **changes), RunOptions(max_steps=30), folder=tmp_path / "run"
    )


@pytest.mark.slow
def test_the_exported_translator_has_eight_bits_evidence_and_a_card(tmp_path, toy_run):
    run = toy_run(model={**TOY_RECIPE.model, "tying": "all"})
    path = tmp_path / "assets" / "everyday.safetensors"
    card = export(tmp_path / "run", path)
    assert card == path.with_suffix(".md").read_text(encoding="utf-8")
    whole = (tmp_path / "run" / "best.safetensors").stat().st_size
    assert path.stat().st_size < 0.75 * whole
    stored, trained = load_translator(path), load_translator(tmp_path / "run")
    for one, other in zip(stored.model.parameters(), trained.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=0.02, rtol=0)
    assert stored.language_evidence is not None and run.translator.language_evidence is None
    # The source is in small letters, the target in capitals.
    [small], [capital] = stored.source_vocabulary.encode_texts(["a", "A"])
    assert stored.language_evidence[small] > 0 > stored.language_evidence[capital]
    assert {*stored.known_characters} == {*"abcdef"}
    assert "course train toy --seed 0" in card and "CC BY 2.0 FR" in card
    number = r"\d+\.\d%? ± \d+\.\d"
    for name in (
        "`test`, 32 bits",
        "`test`, 8 bits",
        "`test`, the model `small`",
        "`others`, 8 bits",
        "1 to 2",
        "3 to 4",
    ):
        assert re.search(rf"\| {re.escape(name)} \| \d+ \| {number} \| {number} \|", card), name


@pytest.mark.slow
def test_a_run_with_two_vocabularies_is_refused(tmp_path, toy_run):
    toy_run(shared_vocabulary=False)
    with pytest.raises(CourseError, match="one vocabulary for both languages"):
        export(tmp_path / "run", tmp_path / "x.safetensors")


def test_two_standard_errors_of_a_share_are_those_of_the_binomial_distribution(monkeypatch):
    monkeypatch.setattr(exporting, "RESAMPLES", 50)
    references = [f"the cat number {i} sees a dog" for i in range(100)]
    hypotheses = [text if i < 80 else "no" for i, text in enumerate(references)]
    found = exporting.score(hypotheses, references)
    assert found.scores.exact == 0.8
    assert found.exact == pytest.approx(2 * (0.8 * 0.2 / 100) ** 0.5)
    assert 1 < found.chrf < 15 and 1 < found.bleu < 25
    assert found.row().startswith("80.0% ± 8.0 | ")


def test_the_command_says_in_a_line_what_is_wrong(tmp_path, capsys):
    assert export_everyday.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("expected a checkpoint at")
