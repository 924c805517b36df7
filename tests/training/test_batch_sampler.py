from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
import torch

from course_lib.data import Corpus, SentencePair
from course_lib.errors import CourseError
from course_lib.training import batch_sampler, load_training_data, train
from course_lib.training.batch_sampler import BatchSampler, Place


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


def stream_of(recipe, corpus, *, max_len=10, seed=0):
    task = load_training_data(replace(recipe, train_size=None, valid_size=0), corpus)
    return BatchSampler(task, max_tokens=20, max_len=max_len, pad_id=0, seed=seed)


def seen(stream, batches):
    """How often each pair was in the batches, by its first source word."""
    words = stream.task.source_vocabulary.tokens
    return Counter(words[row[0]] for batch, _ in batches for row in batch.source)


def until(stream, pools):
    """The batches before the given pool."""
    batches = stream.batches(Place())
    while (item := next(batches))[1].pools < pools:
        yield item


@pytest.mark.parametrize("pool", [100, 60, 16])
def test_every_epoch_has_every_pair_once_however_many_pools_there_are(toy, monkeypatch, pool):
    monkeypatch.setattr(batch_sampler, "POOL", pool)
    stream = stream_of(toy, numbered(60))
    assert stream.pools_per_epoch == -(-60 // pool)
    for epochs in (1, 2):
        counts = seen(stream, until(stream, epochs * stream.pools_per_epoch))
        assert len(counts) == 60 and set(counts.values()) == {epochs}


@pytest.mark.parametrize("pool", [100, 16])
def test_epochs_differ_in_order_and_the_seed_decides_it(toy, monkeypatch, pool):
    monkeypatch.setattr(batch_sampler, "POOL", pool)

    def sources(seed):
        stream = stream_of(toy, numbered(60), seed=seed)
        half = sum(1 for _ in until(stream, stream.pools_per_epoch))
        rows = [batch.source.tolist() for batch, _ in islice(stream.batches(Place()), 2 * half)]
        return rows[:half], rows[half:]

    first, second = sources(0)
    assert first != second
    assert (first, second) == sources(0)
    assert first != sources(1)[0]


@pytest.mark.parametrize("pool", [100, 16])
def test_from_any_place_on_the_rest_is_the_same(toy, monkeypatch, pool):
    monkeypatch.setattr(batch_sampler, "POOL", pool)
    whole = list(islice(stream_of(toy, numbered(40)).batches(Place()), 30))
    for done in (1, 7, 13, 22):
        rest = islice(stream_of(toy, numbered(40)).batches(whole[done - 1][1]), 30 - done)
        for (batch, place), (expected, its_place) in zip(rest, whole[done:], strict=True):
            assert place == its_place
            assert torch.equal(batch.source, expected.source)
            assert torch.equal(batch.target, expected.target)


def test_the_batches_of_an_epoch_are_counted_beforehand(toy):
    stream = stream_of(toy, numbered(60))
    assert stream.per_epoch == sum(1 for _ in until(stream, 1))


def test_the_batches_of_several_pools_are_estimated_from_the_first(toy, monkeypatch):
    whole = stream_of(toy, numbered(60)).per_epoch
    monkeypatch.setattr(batch_sampler, "POOL", 20)
    assert stream_of(toy, numbered(60)).per_epoch == pytest.approx(whole, abs=3)


@pytest.mark.parametrize(
    ("too_long", "pool", "expected"),
    [
        ((), 100, ""),
        ({4}, 100, "1 pair of more than 10 tokens is left out"),
        ({4, 5, 50}, 100, "3 pairs of more than 10 tokens are left out"),
        (range(0, 60, 2), 59, "29 pairs of the first 59 of more than 10 tokens are left out"),
    ],
)
def test_pairs_that_are_too_long_are_left_out_and_counted(
    toy, monkeypatch, too_long, pool, expected
):
    monkeypatch.setattr(batch_sampler, "POOL", pool)
    stream = stream_of(toy, numbered(60, too_long=too_long))
    counts = seen(stream, until(stream, stream.pools_per_epoch))
    assert set(counts) == {f"s{i:03}" for i in range(60) if i not in too_long}
    if pool == 100:
        assert stream.left_out == expected
    else:  # which pairs are first is a matter of chance
        assert stream.left_out.endswith("pairs of the first 59 of more than 10 tokens are left out")


def test_a_target_may_be_one_longer_for_its_last_token_is_never_read(toy):
    corpus = numbered(3)
    assert stream_of(toy, corpus, max_len=2).left_out == "1 pair of more than 2 tokens is left out"
    # Each target is <bos> word <eos>: three tokens, two of which are read; the sources have 1 … 3.
    with pytest.raises(
        CourseError, match="at most 1 tokens.*all 3 are longer.*one sentence a line"
    ):
        stream_of(toy, corpus, max_len=1)


def test_training_says_how_many_pairs_were_too_long_and_trains_on_the_rest(toy, capsys):
    recipe = replace(toy, model={**toy.model, "max_len": 4}, valid_size=0)
    run = train(recipe, max_steps=2)
    assert run.finished
    assert "pairs of more than 4 tokens are left out" in capsys.readouterr().out


def test_validation_pairs_that_are_too_long_stop_no_run(toy):
    # max_len 4 reads targets of at most 5 tokens, <bos> and <eos> included; the toy has 6.
    run = train(replace(toy, model={**toy.model, "max_len": 4}), max_steps=2)
    assert run.epochs[-1]["valid_loss"] > 0
