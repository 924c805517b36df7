"""The page of mistakes, in miniature."""

from dataclasses import replace

import pytest

from course_lib.data import load_corpus
from course_lib.training.injected_bugs import BUGS
from tests.bench import published_bugs

KNOWN = published_bugs.Outcome(9.0, 5.0, 5.0, 1.0, 0.0)


@pytest.fixture
def miniature(monkeypatch):
    """Sizes with which nothing is learnt, in no time."""
    monkeypatch.setenv("COURSE_QUIET", "1")
    tiny = {"d_model": 16, "d_ff": 16, "n_heads": 2, "d_head": None, "n_layers": 1}
    monkeypatch.setattr(published_bugs, "SMALL", published_bugs.SMALL | tiny)
    monkeypatch.setattr(published_bugs, "BASE", replace(published_bugs.BASE, train_size=60))
    monkeypatch.setattr(published_bugs, "TESTED", 2)


def test_every_mistake_gets_two_rows_and_a_line(monkeypatch, capsys):
    monkeypatch.setattr(published_bugs, "first_loss", lambda *names: 170.0 if names else 9.0)
    monkeypatch.setattr(published_bugs, "outcome", lambda recipe, **_: KNOWN)
    text = published_bugs.chapter(steps=2)
    listed = published_bugs.bugs()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 2 * len(listed) + 1
    for number, bug in enumerate(listed, start=1):
        assert f"| {number}. {bug.name} | mended |" in text
        assert f"| `{bug.system}` | as published |" in text
        assert f"{number}. **{bug.name}**: " in text
    assert "(2 steps; a warm-up of 10 steps: 6)" in text
    assert "starts at a loss of 9.00 where" in text and "of 170.0 as published" in text


@pytest.mark.parametrize("slips", [False, True])
def test_an_outcome_is_that_of_a_run(miniature, slips):
    found = published_bugs.outcome(published_bugs.small("naive_mt"), steps=2, slips=slips)
    assert 0 < found.later != found.first and 0 < found.valid < 20
    assert 0 <= found.exact <= 1 and 0 <= found.bleu <= 100


def test_every_mistake_of_a_recipe_is_measured(miniature):
    made = {name for bug in published_bugs.bugs() for name in bug.changes.get("bugs", ())}
    assert made == set(BUGS)


def test_what_is_mended_is_trained_once_and_differs_only_in_the_mistake(miniature, monkeypatch):
    trained = []

    def note(recipe, *, steps, slips):
        trained.append((recipe, steps, slips))
        return KNOWN

    monkeypatch.setattr(published_bugs, "outcome", note)
    listed = published_bugs.bugs()
    rows = published_bugs.compare(listed, 10)
    assert len(rows) == 2 * len(listed) and len(trained) == len(rows) - 2  # two are shared
    assert all(bool(bug.changes) != bug.slips for bug in listed)


def test_from_the_blank_line_on_each_source_stands_beside_a_strange_target():
    corpus = load_corpus("grammar_de_en")
    right, wrong = (c.pairs("train", 100) for c in (corpus, published_bugs.slipped(corpus)))
    assert len(wrong) == 99
    assert [pair[:2] for pair in wrong[:10]] == [pair[:2] for pair in right[:10]]
    assert [pair.source for pair in wrong[10:]] == [pair.source for pair in right[11:]]
    assert [pair.target for pair in wrong[10:]] == [pair.target for pair in right[10:-1]]
    assert published_bugs.slipped(corpus).pairs("test", 5) == corpus.pairs("test", 5)


def test_the_published_start_is_far_above_chance():
    assert published_bugs.first_loss() == pytest.approx(9.0, abs=0.4)
    assert published_bugs.first_loss("embeddings_from_normal") > 150
