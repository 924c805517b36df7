"""Recording shows the weights that were used and changes nothing."""

import asyncio
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from course_lib.model import (
    KeyValueCache,
    MultiHeadAttention,
    attention_matmul,
    preset,
    record_attention,
    split_heads,
)

few = settings(deadline=None, max_examples=10)


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans(), left=st.booleans())
def test_recording_changes_no_output(
    data, seed, training, left, small_configs, make_model, make_batch
):
    config = data.draw(small_configs(dropout=data.draw(st.sampled_from([0.0, 0.3]))))
    model = make_model(config, seed=seed, training=training)
    source, target = make_batch(config, [2, 5], [4, 3], seed=seed, left=left)
    torch.manual_seed(1)
    before = model(source, target)
    torch.manual_seed(1)
    with record_attention(model):
        recorded = model(source, target)
    assert torch.equal(recorded, before)


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans(), left=st.booleans())
def test_rows_sum_to_one_and_hidden_tokens_are_never_attended_to(
    data, seed, training, left, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed, training=training)
    source, target = make_batch(config, [2, 5], [4, 3], seed=seed, left=left)
    with record_attention(model) as attention:
        model(source, target)
    layers, heads = config.n_layers, config.n_heads
    assert attention.encoder.shape == (layers, 2, heads, 5, 5)
    assert attention.decoder.shape == (layers, 2, heads, 4, 4)
    assert attention.cross.shape == (layers, 2, heads, 4, 5)
    source_pads, target_pads = source == config.pad_id, target == config.pad_id
    everyone = attention.encoder, attention.cross, attention.decoder
    for weights, pads in zip(everyone, (source_pads, source_pads, target_pads), strict=True):
        columns = weights.permute(1, 4, 0, 2, 3)  # (B, key, N, H, query)
        assert (columns[pads] == 0).all()
        assert (columns[~pads] > 0).any()
    assert (attention.decoder.triu(1) == 0).all()
    sums = attention.decoder.permute(1, 3, 0, 2, 4).sum(-1)  # (B, query, N, H)
    # A left pad has nothing before it to read, itself a pad: its row is zero.
    torch.testing.assert_close(sums[~target_pads], torch.ones_like(sums[~target_pads]))
    for weights in (attention.encoder, attention.cross):
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_recorded_weights_are_those_of_the_layer(make_model, make_batch):
    config = preset("small")
    model, inputs = make_model(config), []
    layer = model.decoder.layers[1].cross_attention
    layer.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments))
    source, target = make_batch(config, [5, 5], [4, 4])
    with record_attention(model) as attention:
        model(source, target)
    query, key, value, _ = inputs[0]
    q, k = split_heads(layer.q_proj(query), 4), split_heads(layer.k_proj(key), 4)
    expected = (q @ k.transpose(-2, -1) / 32**0.5).softmax(-1)
    torch.testing.assert_close(attention.cross[1], expected)
    # And they explain the output: weights times values, projected, is what the layer returned.
    values = split_heads(layer.v_proj(value), 4)
    context = (expected @ values).transpose(1, 2).flatten(2)
    explained = F.linear(context, layer.out_proj.weight, layer.out_proj.bias)
    torch.testing.assert_close(explained, layer(*inputs[0]), atol=1e-5, rtol=1e-5)


def test_recording_ends_with_the_block_even_after_an_error(make_model, make_batch):
    model = make_model(preset("small", attention="fused"))
    source, target = make_batch(model.config, [5], [4])
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), record_attention(model) as attention:
            raise error
        model(source, target)
        assert attention.kinds == ()
    with record_attention(model) as attention:
        model(source, target)
    kept = attention.encoder
    model(source[:, :2], target)
    assert torch.equal(attention.encoder, kept)


def test_each_of_nested_recordings_has_the_last_pass_of_its_block(make_model, make_batch):
    model, other = make_model(preset("small")), make_model(preset("small"))
    source, target = make_batch(model.config, [5], [4])
    with record_attention(model) as outer, record_attention(other) as of_other:
        with record_attention(model) as inner:
            model(source[:, :3], target)
        other(source[:, :1], target)
        model(source[:, :2], target)
    assert [each.encoder.shape[-1] for each in (outer, inner, of_other)] == [2, 3, 1]


@pytest.mark.slow
@pytest.mark.usefixtures("own_messages")
def test_threads_that_share_a_model_record_their_own_calls_and_leave_nothing(
    make_model, make_tokens
):
    config = preset("small", d_model=8, d_ff=8, n_heads=2, n_layers=1, attention="auto")
    model = make_model(config)
    before = pickle.dumps(model)
    sources = [make_tokens(99, 0, [5], seed=seed) for seed in range(8)]
    target = torch.tensor([[1, 7]])
    with torch.no_grad(), record_attention(model) as record:
        expected = [(model(source, target), record.cross)[1] for source in sources]
    wrong = []

    def run(number):
        for _ in range(50):
            with torch.no_grad(), record_attention(model) as record:
                model(sources[number], target)
            if not torch.equal(record.cross, expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert pickle.dumps(model) == before


def run_tasks(coroutine):
    """Its result, in a thread of its own: another test's event loop may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def test_tasks_that_take_turns_record_their_own_calls(make_model, make_tokens):
    model, target = make_model(preset("small")), torch.tensor([[1, 7]])
    sources = [make_tokens(99, 0, [length]) for length in (3, 5)]

    async def task(source):
        with record_attention(model) as record:
            await asyncio.sleep(0)
            model(source, target)
            await asyncio.sleep(0)
            return record.cross.shape[-1]

    async def tasks():
        return await asyncio.gather(*map(task, sources))

    assert run_tasks(tasks()) == [3, 5]


def test_a_thread_that_runs_in_the_context_of_a_block_does_not_disturb_its_record(
    make_model, make_tokens
):
    model, target = make_model(preset("small")), torch.tensor([[1, 7]])

    async def run():
        with record_attention(model) as record:
            model(make_tokens(99, 0, [3]), target)
            await asyncio.to_thread(model, make_tokens(99, 0, [5]), target)
        return record

    assert run_tasks(run()).encoder.shape[-1] == 3


def test_copies_made_while_recording_record_nothing(make_model, make_batch):
    model = make_model(preset("small"))
    source, target = make_batch(model.config, [5], [4])
    with record_attention(model) as record:
        copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        model(source, target)
        kept = record.cross
        for each in copies:
            each(source[:, :2], target)
    assert torch.equal(record.cross, kept)


def test_a_form_of_ones_own_is_recorded_as_it_computes(make_model, make_batch):
    def sharper(query, key, value, mask=None, *, dropout_p=0.0):
        return attention_matmul(9 * query, key, value, mask, dropout_p=dropout_p)

    model = make_model(preset("small"))
    source, target = make_batch(model.config, [5], [4])
    with record_attention(model) as plain:
        model(source, target)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attention = sharper
    expected = model(source, target)
    with record_attention(model) as record:
        assert torch.equal(model(source, target), expected)
    assert record.encoder[0].max() > plain.encoder[0].max()


def test_latest_forward_pass_replaces_the_one_before(make_model, make_batch):
    model = make_model(preset("small"))
    source, target = make_batch(model.config, [5], [4])
    cache = KeyValueCache(model.config.n_layers)
    with record_attention(model) as attention:
        memory = model.encode(source)
        for step in range(4):
            model.decode(target[:, step : step + 1], memory, source, cache=cache)
    assert attention.decoder.shape == (2, 1, 4, 1, 4)
    assert not attention.decoder.requires_grad


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_record_without_a_forward_pass_is_explained(make_model, kind):
    with record_attention(make_model(preset("small"))) as attention:
        pass
    with pytest.raises(ValueError, match=f"no {kind} attention was recorded: call the model ins"):
        getattr(attention, kind)


def test_the_recorded_queries_and_keys_lead_to_the_recorded_weights(make_model, make_batch):
    config = preset("small")
    model = make_model(config)
    source, target = make_batch(config, [5, 5], [4, 4])
    with torch.no_grad(), record_attention(model) as record:
        model(source, target)
    assert record.kinds == ("encoder", "decoder", "cross")
    for kind, seq in (("encoder", (5, 5)), ("cross", (4, 5))):
        queries, keys = record.queries(kind), record.keys(kind)
        head = (config.n_layers, 2, config.n_heads)
        assert queries.shape == (*head, seq[0], config.resolved_d_head)
        assert keys.shape == (*head, seq[1], config.resolved_d_head)
        weights = (queries @ keys.mT / config.resolved_d_head**0.5).softmax(-1)
        torch.testing.assert_close(weights, getattr(record, kind))


def test_kinds_are_those_that_ran(make_model, make_batch):
    config = preset("small")
    model = make_model(config)
    source, _ = make_batch(config, [3], [2])
    with torch.no_grad(), record_attention(model) as record:
        assert record.kinds == ()
        model.encode(source)
    assert record.kinds == ("encoder",)
