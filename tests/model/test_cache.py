"""Decoding step by step with a cache is decoding all at once, only cheaper."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.model import AttentionCache, KeyValueCache, Transformer, preset

few = settings(deadline=None, max_examples=10)


def stepwise(model: Transformer, source, target, steps, cache=None):
    """Logits of ``target``, decoded in steps of the given sizes."""
    memory, cache = model.encode(source), cache or KeyValueCache(model.config.n_layers)
    logits = [model.decode(x, memory, source, cache=cache) for x in target.split(steps, dim=1)]
    return torch.cat(logits, dim=1)


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans(), left=st.booleans())
def test_cache_gives_the_logits_of_full_decoding_whatever_the_step(
    data, seed, training, left, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed, training=training)
    source, target = make_batch(config, [2, 5, 4], [6, 4, 6], seed=seed, left=left)
    steps = data.draw(st.sampled_from([[1] * 6, [2] * 3, [3, 1, 2], [1, 5], [6]]))
    full = model(source, target)
    torch.testing.assert_close(stepwise(model, source, target, steps), full, atol=1e-5, rtol=1e-5)


@few
@given(
    data=st.data(),
    seed=st.integers(0, 99),
    rows=st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_selected_rows_go_on_as_if_they_had_always_been_the_batch(
    data, seed, rows, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed)
    source, target = make_batch(config, [2, 5, 4], [6, 6, 6], seed=seed)
    memory, cache, index = model.encode(source), KeyValueCache(config.n_layers), torch.tensor(rows)
    model.decode(target[:, :3], memory, source, cache=cache)
    cache.select(index)
    source, target, memory = source[index], target[index], memory[index]
    last = model.decode(target[:, 3:], memory, source, cache=cache)
    torch.testing.assert_close(last, model(source, target)[:, 3:], atol=1e-5, rtol=1e-5)


def test_comparison_sees_a_cache_that_forgets(make_model, make_batch, monkeypatch):
    config = preset("small")
    model = make_model(config)
    source, target = make_batch(config, [3, 5], [6, 6])
    monkeypatch.setattr(AttentionCache, "select", lambda self, rows: None)
    memory, cache = model.encode(source), KeyValueCache(config.n_layers)
    model.decode(target[:, :3], memory, source, cache=cache)
    cache.select(torch.tensor([1, 0]))
    last = model.decode(target.flip(0)[:, 3:], memory.flip(0), source.flip(0), cache=cache)
    assert (last - model(source.flip(0), target.flip(0))[:, 3:]).abs().max() > 1e-2


def test_memory_is_projected_once_and_each_token_once(make_model, make_batch):
    config = preset("small")
    model, lengths = make_model(config), {"self": [], "cross": []}
    layer = model.decoder.layers[0]
    for kind, attention in (("self", layer.self_attention), ("cross", layer.cross_attention)):
        attention.k_proj.register_forward_hook(
            lambda _, inputs, __, kind=kind: lengths[kind].append(inputs[0].size(1))
        )
    source, target = make_batch(config, [4, 4], [5, 5])
    stepwise(model, source, target, [1] * 5)
    assert lengths == {"self": [1] * 5, "cross": [4]}


def test_empty_cache_cannot_be_read():
    with pytest.raises(ValueError, match="the cache is empty: extend it before reading"):
        AttentionCache(grows=True).read()


def test_only_the_memory_is_ever_complete():
    growing, fixed, x = (
        AttentionCache(grows=True),
        AttentionCache(grows=False),
        torch.ones(1, 1, 2, 3),
    )
    assert not fixed.holds_memory
    for cache in (growing, fixed):
        cache.extend(x, -x)
    assert fixed.holds_memory
    assert not growing.holds_memory
    keys, values = growing.extend(2 * x, -2 * x)
    assert keys[0, 0, :, 0].tolist() == [1, 1, 2, 2]
    assert torch.equal(values, -keys)
    assert growing.read()[0] is keys


def test_selecting_from_a_fresh_cache_is_harmless():
    cache = KeyValueCache(2)
    cache.select(torch.tensor([0]))
    assert cache.append(torch.tensor([[1], [2]])).tolist() == [[1], [2]]


def test_reordering_beams_of_one_sentence_is_selecting_without_moving_the_memory(
    make_model, make_batch
):
    config = preset("small")
    model, caches, logits = make_model(config), [], []
    source, target = make_batch(config, [4, 6], [5, 5])
    sentences, rows = torch.tensor([0, 0, 1, 1]), torch.tensor([1, 0, 2, 2])
    source, target = source[sentences], target[[0, 1, 1, 0]]
    memory = model.encode(source)
    for move in (KeyValueCache.select, KeyValueCache.reorder):
        caches.append(KeyValueCache(config.n_layers))
        model.decode(target[:, :4], memory, source, cache=caches[-1])
        before = caches[-1].cross_attention[0].read()[0]
        move(caches[-1], rows)
        logits.append(model.decode(target[rows, 4:], memory, source, cache=caches[-1]))
    assert caches[1].cross_attention[0].read()[0] is before
    torch.testing.assert_close(*logits)
    torch.testing.assert_close(logits[0], model(source, target[rows])[:, 4:], atol=1e-5, rtol=1e-5)


def test_rows_of_another_batch_are_refused(make_model, make_batch):
    config = preset("small")
    model, cache = make_model(config), KeyValueCache(config.n_layers)
    source, target = make_batch(config, [4, 4, 3], [5, 5, 5])
    memory = model.encode(source)
    model.decode(target, memory, source, cache=cache)
    with pytest.raises(ValueError, match="the cache's 3 rows, got 2: did you select rows of the"):
        model.decode(target[:2, :1], memory[:2], source[:2], cache=cache)


def test_another_source_than_the_caches_is_refused(make_model, make_batch):
    config = preset("small")
    model, cache = make_model(config), KeyValueCache(config.n_layers)
    source, target = make_batch(config, [4, 3], [5, 5])
    model.decode(target[:, :1], model.encode(source), source, cache=cache)
    same = source.clone()
    model.decode(target[:, 1:2], model.encode(same), same, cache=cache)
    other = source.flip(0)
    with pytest.raises(ValueError, match="source must be the one that the cache was filled with"):
        model.decode(target[:, 2:3], model.encode(other), other, cache=cache)


def test_new_tokens_that_begin_with_the_only_one_so_far_are_appended():
    cache = KeyValueCache(2)
    cache.append(torch.tensor([[5]]))
    assert cache.append(torch.tensor([[5, 6]])).tolist() == [[5, 5, 6]]
