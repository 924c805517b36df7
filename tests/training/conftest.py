import signal
from dataclasses import replace

import pytest
from jaxtyping import config

from course_lib.data import CORPORA, Corpus, SentencePair
from course_lib.training import RECIPES, Recipe


def _toy_pair(i: int, n_words: int = 6) -> SentencePair:
    """A toy language: the target says the source's letters backwards, in capitals."""
    letters = [chr(ord("a") + (i // n_words**k) % n_words) for k in range(1 + i % 4)]
    return SentencePair(tuple(letters), tuple(c.upper() for c in reversed(letters)))


TOY = Corpus(
    name="toy",
    source_language="letters",
    target_language="capitals",
    splits=("train", "valid", "test"),
    sample=lambda split, size, seed: [
        _toy_pair(5 * i + ("train", "valid", "test").index(split)) for i in range(size)
    ],
)
TOY_RECIPE = Recipe(
    name="toy",
    summary="for tests",
    corpus="toy",
    preset="small",
    model={"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1, "residual_dropout": 0.1},
    train_size=120,
    batch_tokens=64,
    schedule="cosine",
    lr=5e-3,
    warmup=5,
    max_grad_norm=1.0,
    epochs=2,
    valid_size=20,
    test_size=20,
)


@pytest.fixture(autouse=True)
def signals_as_in_a_terminal():
    """What asks a run to end does so, also where nohup or a shell that runs the tests in the
    background has told them to ignore it.
    """
    handlers = {signal.SIGINT: signal.default_int_handler}
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):  # Windows has only the first
        if hasattr(signal, name):
            handlers[getattr(signal, name)] = signal.SIG_DFL
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def unchecked_shapes(monkeypatch):
    """For whole runs that are compared: checking shapes takes half of their time."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)


@pytest.fixture
def toy(monkeypatch):
    """A recipe that trains in a second."""
    monkeypatch.setenv("COURSE_QUIET", "1")
    monkeypatch.setitem(CORPORA, "toy", TOY)
    return TOY_RECIPE


@pytest.fixture
def still(toy):
    """The toy without dropout, so that nothing depends on chance after the first weights."""
    return replace(toy, name="still", model={**toy.model, "residual_dropout": 0.0})


@pytest.fixture
def at_home(toy, still, tmp_path, monkeypatch):
    """An empty working folder, and the toys among the recipes."""
    for recipe in (toy, still):
        monkeypatch.setitem(RECIPES, recipe.name, recipe)
    monkeypatch.chdir(tmp_path)
    return tmp_path
