"""Properties of the whole model, over random small configurations.

Each property is measured by a probe that returns how badly it is broken, and each probe is also
shown to see a sabotaged model.
"""

import copy
import pickle
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model import (
    KeyValueCache,
    Transformer,
    TransformerConfig,
    padding_mask,
    preset,
    record_attention,
)

few = settings(deadline=None, max_examples=10)
lengths = st.lists(st.integers(1, 5), min_size=2, max_size=3)

TINY = TransformerConfig(
    source_vocab=11, target_vocab=11, d_model=16, d_ff=20, n_heads=2, n_layers=2, max_len=16
)


def logits_of(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Logits; when training, with the same dropout at each call."""
    torch.manual_seed(7)
    return model(source, target)


def other_tokens(tokens: Tensor, vocab: int, pad_id: int) -> Tensor:
    """Another token at each position, never a pad, which would be masked and hide the change."""
    steps_from_pad = (tokens - pad_id) % vocab
    return (pad_id + 1 + steps_from_pad % (vocab - 1)) % vocab


def future_leak(model: Transformer, source: Tensor, target: Tensor) -> float:
    """Largest change of a past logit when later target tokens change."""
    c, before, worst = model.config, logits_of(model, source, target), 0.0
    for t in range(1, target.size(1)):
        changed = target.clone()
        changed[:, t:] = other_tokens(target[:, t:], c.target_vocab, c.pad_id)
        after = logits_of(model, source, changed)
        worst = max(worst, (after - before)[:, :t].abs().max().item())
    return worst


def pad_leak(model: Transformer, source: Tensor, target: Tensor, *, left: bool) -> float:
    """Largest change of a real token's logit when pads are added on one side of both sentences."""
    pad = model.config.pad_id
    sides = (3, 0) if left else (0, 3)
    source_padded, target_padded = (F.pad(x, sides, value=pad) for x in (source, target))
    kept = slice(3, None) if left else slice(target.size(1))
    after = model(source_padded, target_padded)[:, kept]
    real = target != pad
    return (after - model(source, target))[real].abs().max().item()


def batch_leak(model: Transformer, source: Tensor, target: Tensor) -> float:
    """Largest change of a logit when a row is computed alone."""
    together = model(source, target)
    alone = [model(source[i : i + 1], target[i : i + 1]) for i in range(len(source))]
    return (together - torch.cat(alone)).abs().max().item()


def source_effect(model: Transformer, source: Tensor, target: Tensor) -> float:
    """Smallest effect, over rows, of another first source word on the logits."""
    c, changed = model.config, source.clone()
    changed[:, 0] = other_tokens(source[:, 0], c.source_vocab, c.pad_id)
    difference = model(changed, target) - model(source, target)
    return difference.abs().amax(dim=(1, 2)).min().item()


def without_gradient(model: Transformer, source: Tensor, target: Tensor) -> set[str]:
    """Names of parameters that a training step would leave where they are, but for rounding."""
    model.zero_grad()
    logits = model(source, target)
    labels = torch.randint(0, logits.size(-1), target.shape, generator=torch.manual_seed(0))
    F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    return {name for name, g in gradients.items() if g is None or not g.abs().max() > 1e-13}


def forget_positions(model: Transformer) -> None:
    with torch.no_grad():
        model.source_embedding.positions.table.zero_()


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans(), left=st.booleans())
def test_future_tokens_never_change_past_logits(
    data, seed, training, left, small_configs, make_model, make_batch
):
    config = data.draw(small_configs(dropout=data.draw(st.sampled_from([0.0, 0.3]))))
    model = make_model(config, seed=seed, training=training)
    source, target = make_batch(config, [3, 5], [5, 3], seed=seed, left=left)
    assert future_leak(model, source, target) <= 1e-5


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans(), left=st.booleans())
def test_more_pads_change_nothing(
    data, seed, training, left, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed, training=training)
    rows = data.draw(lengths)
    source, target = make_batch(config, rows, rows[::-1], seed=seed, left=left)
    assert pad_leak(model, source, target, left=left) <= 1e-5


@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_left_and_right_padding_give_the_same_logits(
    data, seed, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed)
    source_lengths, target_lengths = data.draw(lengths), data.draw(lengths)
    size = min(len(source_lengths), len(target_lengths))
    rows = source_lengths[:size], target_lengths[:size]
    logits = []
    for left in (False, True):
        source, target = make_batch(config, *rows, seed=seed, left=left)
        logits.append(model(source, target)[target != config.pad_id])
    torch.testing.assert_close(*logits, atol=1e-5, rtol=1e-5)


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans())
def test_a_row_does_not_depend_on_its_batch(
    data, seed, training, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed, training=training)
    rows = data.draw(lengths)
    source, target = make_batch(config, rows, rows[::-1], seed=seed)
    assert batch_leak(model, source, target) <= 1e-5


@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_encoder_without_positions_cannot_tell_the_order(
    data, seed, small_configs, make_model, make_tokens
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed)
    source = make_tokens(config.source_vocab, config.pad_id, [6, 6], seed=seed)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    forget_positions(model)
    encoded, shuffled = model.encode(source), model.encode(source[:, order])
    torch.testing.assert_close(shuffled, encoded[:, order], atol=1e-5, rtol=1e-5)


@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_positions_let_the_encoder_tell_the_order(
    data, seed, small_configs, make_model, make_tokens
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed)
    # One token, many times: only its position can make two memories differ.
    source = make_tokens(config.source_vocab, config.pad_id, [1, 1], seed=seed).expand(2, 6)
    memory = model.encode(source)
    assert (memory[:, 1:] - memory[:, :-1]).abs().amax(dim=2).min() > 1e-3
    forget_positions(model)
    memory = model.encode(source)
    assert (memory[:, 1:] - memory[:, :-1]).abs().max() < 1e-5


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans())
def test_every_source_word_matters(data, seed, training, small_configs, make_model, make_batch):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed, training=training).double()
    source, target = make_batch(config, [3, 5], [4, 2], seed=seed)
    assert source_effect(model, source, target) > 1e-9


@few
@given(data=st.data(), seed=st.integers(0, 99), training=st.booleans())
def test_every_parameter_gets_a_gradient(
    data, seed, training, small_configs, make_model, make_batch
):
    config = data.draw(small_configs())
    model = make_model(config, seed=seed, training=training).double()
    source, target = make_batch(config, [5, 5, 4], [5, 4, 5], seed=seed)
    still = without_gradient(model, source, target)
    assert {name for name in still if not name.endswith("k_proj.bias")} == set()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_key_bias_alone_cannot_change_anything(make_model, make_batch):
    # It adds the same number to a query's every score, and softmax does not see that.
    model = make_model(TINY)
    source, target = make_batch(TINY, [3, 5], [5, 3])
    before = model(source, target)
    for name, parameter in model.named_parameters():
        if name.endswith("k_proj.bias"):
            nn.init.normal_(parameter)
    torch.testing.assert_close(model(source, target), before, atol=1e-5, rtol=0)


@pytest.fixture
def tiny(make_model, make_batch) -> tuple[Transformer, Tensor, Tensor]:
    return make_model(TINY), *make_batch(TINY, [3, 5], [5, 3])


def test_future_probe_sees_a_decoder_without_causal_mask(tiny, monkeypatch):
    assert future_leak(*tiny) <= 1e-5
    monkeypatch.setattr(
        "course_lib.model.transformer.decoder_mask",
        lambda tokens, pad_id, query_length: padding_mask(tokens, pad_id),
    )
    assert future_leak(*tiny) > 1e-3


@pytest.mark.parametrize("left", [False, True])
def test_pad_probe_sees_a_model_that_reads_pads(tiny, monkeypatch, left):
    model, source, target = tiny
    source, target = source[:1, :3], target[:1]  # no pads: those that come are the probe's
    assert pad_leak(model, source, target, left=left) <= 1e-5
    monkeypatch.setattr(
        "course_lib.model.transformer.padding_mask",
        lambda tokens, pad_id: torch.ones_like(padding_mask(tokens, pad_id)),
    )
    assert pad_leak(model, source, target, left=left) > 1e-3


def test_pad_probe_sees_positions_that_count_columns(tiny, monkeypatch):
    model, source, target = tiny
    monkeypatch.setattr(
        "course_lib.model.embedding.token_positions",
        lambda tokens, pad_id: torch.arange(tokens.size(1)).expand(tokens.shape),
    )
    assert pad_leak(model, source[:1, :3], target[:1], left=True) > 1e-3


def test_batch_probe_sees_a_batch_norm(tiny):
    class BatchNorm(nn.BatchNorm1d):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.transpose(1, 2)).transpose(1, 2)

    model, source, target = tiny
    model.train()
    for layer in model.encoder.layers:
        layer.add_norm_1.norm = BatchNorm(16)
    model.eval().encoder.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    assert batch_leak(model, source, target) > 1e-3


def test_source_probe_sees_a_source_blind_decoder(tiny):
    model, source, target = tiny
    for layer in model.decoder.layers:
        layer.add_norm_2.forward = lambda x, _: x
    assert source_effect(model, source, target) == 0


def test_gradient_probe_sees_a_parameter_that_is_not_used(tiny):
    model, source, target = tiny
    model.encoder.layers[1].feed_forward.expand.bias.requires_grad_(requires_grad=False)
    model.decoder.layers[0].add_norm_1.norm = nn.LayerNorm(16)
    model.decoder.layers[0].add_norm_1.unused = nn.Parameter(torch.ones(3))
    still = without_gradient(model.double(), source, target)
    assert {name for name in still if not name.endswith("k_proj.bias")} == {
        "encoder.layers.1.feed_forward.expand.bias",
        "decoder.layers.0.add_norm_1.unused",
    }


def test_parameter_names_are_the_documented_ones():
    config = TransformerConfig(
        source_vocab=5, target_vocab=5, d_model=8, n_heads=2, n_layers=1, final_norm=True
    )
    attention = [f"{p}_proj.{w}" for p in ("q", "k", "v", "out") for w in ("weight", "bias")]
    feed_forward = [f"{p}.{w}" for p in ("expand", "contract") for w in ("weight", "bias")]
    norm = ["norm.weight", "norm.bias"]
    encoder = {
        *(f"self_attention.{name}" for name in attention),
        *(f"feed_forward.{name}" for name in feed_forward),
        *(f"add_norm_{i}.{name}" for i in (1, 2) for name in norm),
    }
    decoder = encoder | {
        *(f"cross_attention.{name}" for name in attention),
        *(f"add_norm_3.{name}" for name in norm),
    }
    expected = {
        *("source_embedding.tokens.weight", "target_embedding.tokens.weight"),
        *(f"encoder.layers.0.{name}" for name in encoder),
        *(f"decoder.layers.0.{name}" for name in decoder),
        *(
            f"{stack}.final_norm.{w}"
            for stack in ("encoder", "decoder")
            for w in ("weight", "bias")
        ),
        *("output.weight", "output.bias"),
    }
    assert set(Transformer(config).state_dict()) == expected


def test_tied_output_starts_without_a_favourite_word():
    assert not Transformer(preset("small", tying="output")).output.bias.any()
    assert Transformer(preset("small")).output.bias.any()


def test_tied_tables_are_one_and_stay_one():
    for tying, distinct in (("none", 3), ("output", 2), ("all", 1)):
        model = Transformer(preset("small", tying=tying))
        for m in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.double()):
            tables = m.source_embedding.tokens, m.target_embedding.tokens, m.output
            assert len({id(table.weight) for table in tables}) == distinct


@pytest.mark.parametrize("tying", ["none", "all"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_copies_and_saved_weights_give_the_same_logits(tying, activation, make_model, make_batch):
    config = replace(TINY, tying=tying, activation=activation)
    model = make_model(config)
    source, target = make_batch(config, [3, 5], [5, 3])
    loaded = make_model(config, seed=1)
    loaded.load_state_dict(model.state_dict())
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), loaded):
        assert torch.equal(other(source, target), model(source, target))


def test_same_seed_gives_the_same_model(make_model):
    first, second = make_model(TINY, seed=3), make_model(TINY, seed=3)
    other = make_model(TINY, seed=4)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(first.output.weight, other.output.weight)


def test_forward_is_encode_then_decode(tiny):
    model, source, target = tiny
    memory = model.encode(source)
    assert memory.shape == (2, 5, 16)
    assert torch.equal(model.decode(target, memory, source), model(source, target))


def test_two_sides_may_have_vocabularies_of_their_own():
    model = Transformer(preset("small", source_vocab=5, target_vocab=30))
    assert model(torch.tensor([[4, 4]]), torch.tensor([[29]])).shape == (1, 1, 30)


def test_device_is_that_of_the_parameters():
    model = Transformer(TINY)
    assert model.device.type == "cpu"
    assert model.to("meta").device.type == "meta"


@pytest.mark.usefixtures("own_messages")
def test_source_and_target_must_be_one_batch(tiny):
    model, source, target = tiny
    memory, message = model.encode(source), r"must agree, got .*is memory the encoding of this"
    with pytest.raises(ValueError, match=message):
        model(source, target[:1])
    with pytest.raises(ValueError, match=message):
        model.decode(target, memory[:, :2], source)
    with pytest.raises(ValueError, match=message):
        model.decode(target[0], memory, source)
    with pytest.raises(ValueError, match=message):
        model.decode(target[:, 0], memory, source)


@pytest.mark.usefixtures("own_messages")
def test_memory_of_another_width_is_refused(tiny):
    model, source, target = tiny
    with pytest.raises(ValueError, match=r"key must have shape \(batch, length, d_model=16\)"):
        model.decode(target, torch.zeros(2, 5, 8), source)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("shape", [(2, 0), (0, 4)])
def test_empty_batches_are_refused(tiny, side, shape):
    model, source, target = tiny
    empty = torch.zeros(shape, dtype=torch.int64)
    with pytest.raises(ValueError, match="got"):
        model(empty, target) if side == "source" else model(source, empty)


def test_int32_tokens_give_the_same_logits(tiny):
    model, source, target = tiny
    assert torch.equal(model(source.int(), target.int()), model(source, target))


@pytest.mark.parametrize("side", ["source", "target"])
def test_sequence_longer_than_max_len_is_explained(tiny, side):
    model, source, target = tiny
    long, fits = torch.ones(2, 17, dtype=torch.int64), torch.ones(2, 16, dtype=torch.int64)
    assert model(fits, fits).shape == (2, 16, 11)
    with pytest.raises(ValueError, match="at most max_len=16 tokens, got 17: shorten it"):
        model(long, target) if side == "source" else model(source, long)


def test_target_that_outgrows_max_len_step_by_step_is_explained(tiny):
    model, source, _ = tiny
    memory, cache = model.encode(source), KeyValueCache(TINY.n_layers)
    token = torch.ones(2, 1, dtype=torch.int64)
    for _ in range(16):
        model.decode(token, memory, source, cache=cache)
    with pytest.raises(ValueError, match="at most max_len=16 tokens, got 17"):
        model.decode(token, memory, source, cache=cache)


@pytest.mark.parametrize("attention", ["matmul", "einsum", "fused"])
def test_bfloat16_stays_close_to_float32(make_model, make_batch, attention):
    config = preset("small", attention=attention)
    model = make_model(config)
    source, target = make_batch(config, [12, 20], [15, 9])
    real = target != 0
    exact = model(source, target)[real]
    rough = copy.deepcopy(model).bfloat16()(source, target)[real].float()
    error = (rough - exact).abs()
    # bfloat16 keeps 8 bits: half a percent for each operation, on logits whose standard
    # deviation is about 0.6.
    assert exact.std() > 0.4
    assert error.max() < 0.05
    assert error.mean() < 0.01
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(source, target)[real].float()
    assert (mixed - exact).abs().max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.usefixtures("own_messages")
def test_a_model_can_be_exported_for_batches_of_any_size(make_model, make_batch, strict):
    model = make_model(TINY)
    batch, length = (torch.export.Dim(name, min=2, max=12) for name in ("batch", "length"))
    sizes = ({0: batch, 1: length}, {0: batch, 1: torch.export.Dim("target", min=2, max=12)})
    arguments = make_batch(TINY, [5, 4], [4, 3])
    exported = torch.export.export(model, arguments, dynamic_shapes=sizes, strict=strict).module()
    other = make_batch(TINY, [7, 2, 3], [3, 2, 3])
    torch.testing.assert_close(exported(*other), model(*other))


@pytest.mark.slow
@pytest.mark.usefixtures("own_messages")
def test_a_model_can_be_vectorised_and_compiled_as_one_graph(make_model, make_batch):
    model = make_model(TINY)
    source, target = make_batch(TINY, [5, 4], [4, 3])
    expected = model(source, target)
    vectorised = torch.func.vmap(model)(source[:, None], target[:, None])[:, 0]
    torch.testing.assert_close(vectorised, expected)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(source, target), expected)
    with record_attention(model) as record:
        compiled(source, target)
    with pytest.raises(ValueError, match="in the same thread and not compiled"):
        record.cross.sum()
