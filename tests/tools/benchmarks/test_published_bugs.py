"""The page of published bugs, in miniature."""

from dataclasses import replace

import pytest

from course_lib.data import load_corpus
from course_lib.training.injected_bugs import BUGS
from tools.benchmarks import published_bugs

KNOWN = published_bugs.Outcome(9.0, 5.0, 5.0, 1.0, 0.0)


@pytest.fixture
def miniature(monkeypatch):
    """Sizes that train in no time and learn nothing."""
    monkeypatch.setenv("COURSE_QUIET", "1")
    tiny = {"d_model": 16, "d_ff": 16, "n_heads": 2, "d_head": None, "n_layers": 1}
    monkeypatch.setattr(published_bugs, "SMALL", published_bugs.SMALL | tiny)
    monkeypatch.setattr(published_bugs, "BASE", replace(published_bugs.BASE, train_size=60))
    monkeypatch.setattr(published_bugs, "TESTED", 2)


def test_every_bug_gets_two_rows_and_a_line(monkeypatch, capsys):
    monkeypatch.setattr(published_bugs, "initial_loss", lambda *names: 170.0 if names else 9.0)
    monkeypatch.setattr(published_bugs, "outcome", lambda recipe, **_: KNOWN)
    text = published_bugs.chapter(steps=2)
    listed = published_bugs.bugs()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 2 * len(listed) + 5  # the last five: other seeds
    for number, bug in enumerate(listed, start=1):
        assert f"| {number}. {bug.name} | fixed |" in text
        assert f"| `{bug.system}` | as released |" in text
        assert f"{number}. **{bug.name}**: " in text
    assert "(2 steps; a warm-up of 10 steps: 6)" in text
    assert "starts at a loss of 9.00 with" in text and "of 170.0 as released" in text


@pytest.mark.slow
@pytest.mark.parametrize("is_misaligned", [False, True])
def test_an_outcome_is_that_of_a_run(miniature, is_misaligned):
    found = published_bugs.outcome(
        published_bugs.small("naive_mt"), steps=2, is_misaligned=is_misaligned
    )
    assert 0 < found.later != found.first and 0 < found.valid < 20
    assert 0 <= found.exact <= 1 and 0 <= found.bleu <= 100


def test_every_bug_of_a_recipe_is_measured(miniature):
    made = {name for bug in published_bugs.bugs() for name in bug.changes.get("bugs", ())}
    assert made == set(BUGS)


def test_each_fixed_recipe_is_trained_once_and_differs_only_in_the_bug(miniature, monkeypatch):
    trained = []

    def note(recipe, *, steps, is_misaligned):
        trained.append((recipe, steps, is_misaligned))
        return KNOWN

    monkeypatch.setattr(published_bugs, "outcome", note)
    listed = published_bugs.bugs()
    rows = published_bugs.compare(listed, 10)
    assert len(rows) == 2 * len(listed) and len(trained) == len(rows) - 2  # two are shared
    assert all(bool(bug.changes) != bug.misaligned for bug in listed)


@pytest.mark.slow
def test_from_the_blank_line_on_each_source_is_paired_with_another_target():
    corpus = load_corpus("grammar_de_en")
    right, wrong = (c.pairs("train", 100) for c in (corpus, published_bugs.misaligned(corpus)))
    assert len(wrong) == 99
    assert [pair[:2] for pair in wrong[:10]] == [pair[:2] for pair in right[:10]]
    assert [pair.source for pair in wrong[10:]] == [pair.source for pair in right[11:]]
    assert [pair.target for pair in wrong[10:]] == [pair.target for pair in right[10:-1]]
    assert published_bugs.misaligned(corpus).pairs("test", 5) == corpus.pairs("test", 5)


def test_the_released_model_starts_far_above_chance():
    assert published_bugs.initial_loss() == pytest.approx(9.0, abs=0.4)
    assert published_bugs.initial_loss("embeddings_from_normal") > 150
