"""What the benchmarks rely on: all do the same work, and the tables are right."""

import re
import time

import pytest
import torch

from tools.benchmarks import __main__ as command
from tools.benchmarks import page, peers, rounds, runs
from tools.benchmarks.decoding import (
    Ending,
    beam_by_prefix,
    cached,
    cached_beam,
    whole_model_each_token,
)
from tools.benchmarks.growth import in_new_process
from tools.benchmarks.rounds import LEAST_ROUNDS, median_and_range, ratios, table, take_rounds
from tools.benchmarks.sentences import even_batches, random_batches, real_tokens, sentence_pairs
from tools.benchmarks.training import trainers, useful_operations


@pytest.fixture
def batch():
    return even_batches(sentence_pairs(12), 64)[0]


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_all_peers_have_as_many_parameters():
    torch.manual_seed(0)
    ours = count(peers.Transformer(peers.our_config()))
    assert count(peers.Tutorial()) == ours == count(peers.Annotated())


@pytest.mark.slow
def test_all_peers_start_at_the_loss_of_random_guessing(batch):
    torch.manual_seed(0)
    decoder_input, labels = batch.target[:, :-1], batch.target[:, 1:]
    hidden = peers.Tutorial().eval().hidden(batch.source, decoder_input)
    assert hidden.shape == (*labels.shape, peers.D)
    log_p = peers.Annotated().eval()(batch.source, decoder_input)
    real = labels != peers.PAD
    picked = log_p[real].gather(1, labels[real][:, None])
    assert -picked.mean().item() == pytest.approx(9.2, abs=0.6)  # ln 8000 is 8.99


def test_the_written_out_smoothing_ignores_padding():
    log_p = torch.full((3, peers.VOCAB), -9.0, requires_grad=True)
    labels = torch.tensor([5, peers.PAD, 7])
    peers.smoothed_kl(log_p, labels).backward()
    assert (log_p.grad[1] == 0).all() and log_p.grad[0, 5] == pytest.approx(-0.9)


@pytest.mark.slow
def test_every_implementation_can_train():
    for take in trainers(2, steps=1).values():
        assert take() > 0


def test_sentences_are_as_long_as_multi30k_s():
    pairs = sentence_pairs(4000)
    sources, targets = ([len(pair[side]) for pair in pairs] for side in (0, 1))
    assert sum(sources) / 4000 == pytest.approx(12.6, abs=0.3)
    assert sum(targets) / 4000 == pytest.approx(13.1 + 2, abs=0.3)


def test_both_kinds_of_batches_have_the_same_tokens():
    pairs = sentence_pairs(300)
    rows, even = (sum(map(real_tokens, make(pairs))) for make in (random_batches, even_batches))
    assert rows == even == sum(len(pair.source) + len(pair.target) - 1 for pair in pairs)


def test_operations_are_six_for_each_weight_and_token():
    one = peers.Batch(torch.tensor([[5]]), torch.tensor([[1, 2]]))
    model = peers.Transformer(peers.our_config())
    parts = (model.encoder, model.decoder, model.output)
    weights = sum(p.numel() for part in parts for p in part.parameters() if p.ndim == 2)
    assert useful_operations(one) == 6 * weights


def test_the_untrained_translator_ends_where_it_must_with_and_without_a_cache():
    torch.manual_seed(0)
    model = Ending(peers.our_config()).eval()
    source = torch.tensor([[5, 6, 7, 8], [9, 4, 0, 0]])
    tokens = cached(model, source)
    again = whole_model_each_token(model, source)
    assert (tokens == peers.EOS).nonzero().tolist() == [[0, 3], [1, 1]]
    assert torch.equal(tokens[0], again[0]) and torch.equal(tokens[1, :2], again[1, :2])


def test_both_beams_find_the_same_sentence():
    torch.manual_seed(0)
    model = Ending(peers.our_config()).eval()
    source = torch.tensor([[5, 6, 7, 8, 9]])
    assert torch.equal(beam_by_prefix(model, source), cached_beam(model, source))


@pytest.mark.slow
def test_the_small_preset_learns_two_sentences():
    assert runs.steps_to_learn(runs.small_recipe()) < 60


@pytest.mark.slow
def test_one_process_and_two_are_measured_alike():
    short = {"recipe": "small", "train_size": 40, "steps": 2, "warm_up": 1}
    for processes in (1, 2):
        assert runs.tokens_per_second(processes, **short) > 0


@pytest.mark.slow
def test_the_loss_in_blocks_needs_less_memory_whatever_this_process_has_used():
    held = torch.ones(2**28)  # 1 GB, which must not count for the child process
    plain, blocks = (in_new_process(blocked, 16_000, 1024) for blocked in (False, True))
    assert 1.5 * blocks < plain and held.sum() > 0


def test_every_function_runs_once_a_round_and_the_first_round_is_not_counted():
    turns = []
    seconds = take_rounds({"a": lambda: turns.append("a") or 2.0, "b": lambda: 1.0}, minutes=0)
    assert [len(s) for s in seconds.values()] == [LEAST_ROUNDS] * 2
    assert len(turns) == LEAST_ROUNDS + 1


def test_ratios_are_taken_round_by_round():
    assert ratios({"slow": [4.0, 9.0], "fast": [2.0, 3.0]}, "slow", "fast") == [2.0, 3.0]
    assert median_and_range([3.0, 1.0, 2.0], 1) == "2.0 (1.0–3.0)"
    assert table(["", "n"], [["x", "1"]]) == "|  | n |\n| --- | ---: |\n| x | 1 |"


def test_a_section_replaces_itself_and_leaves_the_others(tmp_path):
    path = tmp_path / "docs" / "page.md"
    for title, text in (("One", "first"), ("Two", "second"), ("One", "third")):
        page.store(title, text, rounds=5, page=path)
    content = path.read_text("utf-8")
    assert re.findall("^## .*", content, flags=re.M) == ["## One", "## Two"]
    assert "third" in content and "second" in content and "first" not in content
    assert content.count("# Benchmarks") == 1
    assert content.count("\n\n## ") == 2  # a heading needs an empty line before it


def test_the_machine_is_described_without_its_name():
    import platform

    text = page.machine()
    assert "threads" in text and torch.__version__ in text
    assert not platform.node() or platform.node() not in text


def test_the_command_measures_the_sections_asked_for(monkeypatch, capsys):
    asked = []
    monkeypatch.setitem(command.SECTIONS, "train", lambda minutes: asked.append(minutes) or "done")
    monkeypatch.setattr(rounds, "timer", rounds.timer)
    threads = torch.get_num_threads()
    command.main(["train", "--minutes", "0.5", "--busy"])
    torch.set_num_threads(threads)
    assert (
        rounds.timer is time.process_time and asked == [0.5] and "done" in capsys.readouterr().out
    )
    with pytest.raises(SystemExit):
        command.main(["nothing"])
    assert "sections are train, limit" in capsys.readouterr().err
