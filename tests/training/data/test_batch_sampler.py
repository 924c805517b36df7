from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
import torch

from course_lib.data import Corpus, SentencePair
from course_lib.errors import CourseError
from course_lib.training import RunOptions, load_training_data, train
from course_lib.training.data import batch_sampler
from course_lib.training.data.batch_sampler import BatchSampler, DataPosition


def numbered(n, *, too_long=()):
    """A corpus whose i-th source is its own word, three times or (too long) thirty times."""
    return Corpus(
        name="numbered",
        source_language="numbers",
        target_language="numbers",
        splits=("train",),
        sample=lambda split, size, seed: [
            SentencePair((f"s{i:03}",) * (30 if i in too_long else 1 + i % 3), (f"t{i:03}",))
            for i in range(n)
        ],
    )


def sampler_of(recipe, corpus, *, max_len=10, seed=0):
    data = load_training_data(replace(recipe, train_size=None, valid_size=0), corpus)
    recipe = replace(recipe, batch_tokens=20, model={**recipe.model, "max_len": max_len})
    return BatchSampler(data, recipe, data.config(recipe), seed=seed)


def seen(sampler, batches):
    """How often each pair was in the batches, by its first source word."""
    words = sampler.data.source_vocabulary.tokens
    return Counter(words[row[0]] for batch, _ in batches for row in batch.source)


def until(sampler, shards):
    """The batches before the given shard_size."""
    batches = sampler.batches(DataPosition())
    while (item := next(batches))[1].shards < shards:
        yield item


@pytest.mark.parametrize("shard_size", [100, 60, 16])
def test_every_epoch_has_every_pair_once_however_many_shards_there_are(
    toy, monkeypatch, shard_size
):
    monkeypatch.setattr(batch_sampler, "SHARD_SIZE", shard_size)
    sampler = sampler_of(toy, numbered(60))
    assert sampler.shards_per_epoch == -(-60 // shard_size)
    for epochs in (1, 2):
        counts = seen(sampler, until(sampler, epochs * sampler.shards_per_epoch))
        assert len(counts) == 60 and set(counts.values()) == {epochs}


@pytest.mark.parametrize("shard_size", [100, 16])
def test_epochs_differ_in_order_and_the_seed_decides_it(toy, monkeypatch, shard_size):
    monkeypatch.setattr(batch_sampler, "SHARD_SIZE", shard_size)

    def sources(seed):
        sampler = sampler_of(toy, numbered(60), seed=seed)
        half = sum(1 for _ in until(sampler, sampler.shards_per_epoch))
        rows = [
            batch.source.tolist() for batch, _ in islice(sampler.batches(DataPosition()), 2 * half)
        ]
        return rows[:half], rows[half:]

    first, second = sources(0)
    assert first != second
    assert (first, second) == sources(0)
    assert first != sources(1)[0]


@pytest.mark.parametrize("shard_size", [100, 16])
def test_from_any_position_on_the_rest_is_the_same(toy, monkeypatch, shard_size):
    monkeypatch.setattr(batch_sampler, "SHARD_SIZE", shard_size)
    whole = list(islice(sampler_of(toy, numbered(40)).batches(DataPosition()), 30))
    for done in (1, 7, 13, 22):
        rest = islice(sampler_of(toy, numbered(40)).batches(whole[done - 1][1]), 30 - done)
        for (batch, position), (expected, its_position) in zip(rest, whole[done:], strict=True):
            assert position == its_position
            assert torch.equal(batch.source, expected.source)
            assert torch.equal(batch.target, expected.target)


def test_the_batches_of_an_epoch_are_counted_beforehand(toy):
    sampler = sampler_of(toy, numbered(60))
    assert sampler.batches_per_epoch == sum(1 for _ in until(sampler, 1))


def test_the_batches_of_several_shards_are_estimated_from_the_first(toy, monkeypatch):
    whole = sampler_of(toy, numbered(60)).batches_per_epoch
    monkeypatch.setattr(batch_sampler, "SHARD_SIZE", 20)
    assert sampler_of(toy, numbered(60)).batches_per_epoch == pytest.approx(whole, abs=3)


@pytest.mark.parametrize(
    ("too_long", "shard_size", "expected"),
    [
        ((), 100, ""),
        ({4}, 100, "1 pair of more than 10 tokens is left out"),
        ({4, 5, 50}, 100, "3 pairs of more than 10 tokens are left out"),
        (range(0, 60, 2), 59, "29 pairs of the first 59 of more than 10 tokens are left out"),
    ],
)
def test_pairs_that_are_too_long_are_left_out_and_counted(
    toy, monkeypatch, too_long, shard_size, expected
):
    monkeypatch.setattr(batch_sampler, "SHARD_SIZE", shard_size)
    sampler = sampler_of(toy, numbered(60, too_long=too_long))
    counts = seen(sampler, until(sampler, sampler.shards_per_epoch))
    assert set(counts) == {f"s{i:03}" for i in range(60) if i not in too_long}
    if shard_size == 100:
        assert sampler.left_out == expected
    else:  # which pairs are first is a matter of chance
        assert sampler.left_out.endswith(
            "pairs of the first 59 of more than 10 tokens are left out"
        )


def test_a_pair_of_which_a_tokenizer_leaves_nothing_is_left_out_and_counted(toy):
    pairs = [*numbered(3).pairs("train"), SentencePair((), ("t",))]
    corpus = replace(numbered(3), sample=lambda split, size, seed: pairs)
    sampler = sampler_of(toy, corpus)
    assert sampler.left_out == "1 pair of more than 10 tokens or of none is left out"
    assert sum(seen(sampler, until(sampler, 1)).values()) == 3


def test_a_target_may_be_one_longer_for_its_last_token_is_never_read(toy):
    corpus = numbered(3)
    assert sampler_of(toy, corpus, max_len=2).left_out == "1 pair of more than 2 tokens is left out"
    # Each target is <bos> word <eos>: three tokens, two of which are read; the sources have 1 … 3.
    with pytest.raises(
        CourseError, match="at most 1 tokens.*all 3 are longer.*one sentence a line"
    ):
        sampler_of(toy, corpus, max_len=1)


@pytest.mark.slow
def test_training_says_how_many_pairs_were_too_long_and_trains_on_the_rest(toy, capsys):
    recipe = replace(toy, model={**toy.model, "max_len": 4}, valid_size=0)
    run = train(recipe, RunOptions(max_steps=2))
    assert run.finished
    assert "pairs of more than 4 tokens are left out" in capsys.readouterr().out


def test_validation_pairs_that_are_too_long_stop_no_run(toy):
    # max_len 4 reads targets of at most 5 tokens, <bos> and <eos> included; the toy has 6.
    run = train(replace(toy, model={**toy.model, "max_len": 4}), RunOptions(max_steps=2))
    assert run.epochs[-1]["valid_loss"] > 0
