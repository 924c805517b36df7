"""Every section puts its numbers into a table; the measuring itself is replaced."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from tools.benchmarks import __main__ as command
from tools.benchmarks import (
    attention,
    decoding,
    explorer,
    growth,
    page,
    runs,
    sentences,
    training,
)

MODULES = (attention, decoding, growth, runs, training)


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Turns that take no time: the slower, the earlier; and a page that nobody reads."""

    def no_rounds(turns, *, minutes, name=""):
        return {who: [float(len(turns) - i)] * 5 for i, who in enumerate(turns)}

    def two_rounds(turns, *, minutes, name=""):
        for turn in (*turns.values(), *turns.values()):
            turn()
        return no_rounds(turns, minutes=minutes)

    for module in MODULES:
        monkeypatch.setattr(module, "take_rounds", no_rounds)
    for module in (growth, training, decoding):
        monkeypatch.setattr(
            module, "sentence_pairs", lambda n, seed=0: sentences.sentence_pairs(80)
        )
    monkeypatch.setattr(page, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(training, "ROOT", tmp_path)
    monkeypatch.setattr(growth, "in_new_process", lambda blocked, vocab, tokens: vocab / 1000)
    monkeypatch.setattr(runs, "steps_to_learn", lambda recipe: 22)
    monkeypatch.setattr(runs, "tokens_per_second", lambda processes: 100.0 * processes)
    monkeypatch.setattr(explorer, "start_chromium", browser)
    monkeypatch.setattr(explorer, "SIZES", [(2, 3, 4, 4)])
    monkeypatch.setattr(explorer, "BUILT", {(2, 3, 4, 4): 2})

    def measure(section):
        if section == "processes":
            monkeypatch.setattr(runs, "take_rounds", two_rounds)
        text = command.SECTIONS[section](0.0)
        assert text in (tmp_path / "benchmarks.md").read_text("utf-8")
        return text

    return measure


@contextmanager
def browser():
    """A page on which every move takes 7 ms."""
    nothing = lambda *args, **options: None  # noqa: E731
    opened = SimpleNamespace(
        goto=nothing, wait_for_selector=nothing, close=nothing, evaluate=lambda *_: 7.0
    )
    yield SimpleNamespace(new_page=lambda **_: opened)


EXPECTED = {
    "train": "| `nn.Transformer`, tutorial style | 0 (0–0) | 1.00 (1.00–1.00) | 0.83",
    "limit": "| fp32 |",
    "attention": "| float32 | 0.0 | 8 | 3000.00",
    "growth": "| 32,000 | 4,096 | 32 | 32 |",
    "sentences": "| 22 | 2.00 (2.00–2.00) | 1.0 (1.0–1.0) |",
    "processes": "| two processes | 200 (200–200) | 2.00 (2.00–2.00) |",
    "explorer": "| 2 × 3 × 4 × 4, heatmap | 7.0 (7.0–7.0) | 16 |",
}


@pytest.mark.slow
@pytest.mark.parametrize("section", sorted(EXPECTED))
def test_a_section_has_a_row_for_each_implementation(stored, section):
    text = stored(section)
    assert EXPECTED[section] in text.replace("3,000.00", "3000.00"), text


def test_decoding_has_two_sections(stored, monkeypatch, tmp_path):
    kept = []
    monkeypatch.setattr(decoding, "store", lambda title, text, rounds: kept.append((title, text)))
    monkeypatch.setattr(page, "PAGE", tmp_path / "none.md")
    decoding.measure_decoding(0.0)
    assert [title for title, _ in kept] == ["Greedy decoding", "Beam search"]
    assert "| cache, 64 sentences | 0.5 (0.5–0.5) | 2.5 (2.5–2.5) | 2.0" in kept[0][1]


def test_every_section_is_tried():
    assert {*EXPECTED, "decode"} == set(command.SECTIONS)


def test_the_bars_of_training_speed_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "ROOT", tmp_path)
    training.plot({"ours": [1.0, 2.0], "`others`": [2.0, 4.0]})
    assert "<svg" in (tmp_path / "docs" / "benchmarks_training.svg").read_text("utf-8")


@pytest.mark.slow
def test_forms_of_attention_and_matrix_products_say_how_much_work_they_did():
    form = attention.ATTENTION["matmul"]
    assert attention.turn(form, length=1024, dtype=torch.float32, dropout=0.0)() == 3.0
    assert training.products(torch.float32, size=8)() == 5 * 2 * 8**3
    assert decoding.batches([[5], [5, 6, 7], [8, 9]], 2)[0].tolist() == [[5, 0], [8, 9]]


def test_peak_memory_is_measured_around_the_loss():
    for blocked in (False, True):
        # In MB. The peak never falls, but the system counts it in batches of pages.
        assert growth.loss_memory(blocked, vocab=50, tokens=64) > -1
