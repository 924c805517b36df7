"""Recording shows the weights that were used and changes nothing."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from course_lib.model import KeyValueCache, attention_fused, preset, record_attention, split_heads

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
    torch.testing.assert_close(recorded, before, atol=1e-5, rtol=1e-5)


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
    with pytest.raises(RuntimeError, match="stop"), record_attention(model):
        raise RuntimeError("stop")
    assert all(layer.self_attention.attention is attention_fused for layer in model.encoder.layers)
    with record_attention(model) as attention:
        model(source, target)
    kept = attention.encoder
    model(source[:, :2], target)
    assert torch.equal(attention.encoder, kept)


def test_recordings_can_be_nested(make_model, make_batch):
    model = make_model(preset("small"))
    source, target = make_batch(model.config, [5], [4])
    with record_attention(model) as outer:
        model(source, target)
        with record_attention(model) as inner:
            model(source[:, :3], target)
        assert inner.encoder.shape[-1] == 3
        assert outer.encoder.shape[-1] == 5
        model(source[:, :2], target)
    assert outer.encoder.shape[-1] == 2


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
