"""The decoder-only model: with a cache and without, with a prefix, and what it refuses."""

import pytest
import torch

from course_lib.model import record_attention
from course_lib.modern import (
    DecoderCache,
    DecoderConfig,
    DecoderOnly,
    cache_bytes,
    continue_greedily,
    count_parameters,
    parameter_parts,
)

TOKENS = torch.tensor([[3, 7, 2, 9, 4, 4, 8], [1, 5, 10, 6, 3, 2, 7]])


@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 3], [7]])
def test_token_by_token_gives_the_logits_of_the_whole(config, steps):
    model, cache = DecoderOnly(config).double().eval(), DecoderCache(config)
    parts = [model(part, cache=cache) for part in TOKENS.split(steps, dim=1)]
    assert torch.allclose(torch.cat(parts, dim=1), model(TOKENS), atol=1e-12)


def test_parameters_and_bytes_by_formula_are_those_that_the_model_has(config):
    model, cache = DecoderOnly(config), DecoderCache(config)
    assert sum(parameter_parts(config).values()) == count_parameters(config)
    assert count_parameters(config) == sum(p.numel() for p in model.parameters())
    model(TOKENS, cache=cache)
    assert cache.n_bytes == cache_bytes(config, 7, batch=2, bytes_per_number=4)


def test_no_token_sees_what_comes_after_it(config):
    model = DecoderOnly(config).double()
    changed = TOKENS.clone()
    changed[:, 4:] = 0
    assert torch.equal(model(changed)[:, :4], model(TOKENS)[:, :4])


def test_a_prefix_sees_itself_and_nothing_of_what_follows(small):
    model = DecoderOnly(DecoderConfig(**small)).double()
    prefix = torch.tensor([3, 5])
    logits = model(TOKENS, prefix=prefix)
    causal = model(TOKENS)
    assert not torch.allclose(logits[:, 0], causal[:, 0])  # the first token sees the second
    changed = TOKENS.clone()
    changed[0, 3:], changed[1, 5:] = 0, 0
    after = model(changed, prefix=prefix)
    assert torch.equal(after[0, :3], logits[0, :3])
    assert torch.equal(after[1, :5], logits[1, :5])


def test_a_prefix_works_with_a_cache(small):
    config = DecoderConfig(**small)
    model, cache, prefix = DecoderOnly(config).double(), DecoderCache(config), torch.tensor([3, 4])
    parts = [model(part, prefix=prefix, cache=cache) for part in TOKENS.split([4, 2, 1], dim=1)]
    assert torch.allclose(torch.cat(parts, dim=1), model(TOKENS, prefix=prefix), atol=1e-12)


def test_a_prefix_that_reaches_beyond_the_first_call_is_refused(small):
    config = DecoderConfig(**small)
    model, cache, prefix = DecoderOnly(config), DecoderCache(config), torch.tensor([3, 4])
    model(TOKENS[:, :3], prefix=torch.tensor([3, 3]), cache=cache)
    with pytest.raises(ValueError, match="the first call must hold the whole prefix"):
        model(TOKENS[:, 3:], prefix=prefix, cache=cache)


def test_padding_on_the_right_changes_nothing(config):
    model = DecoderOnly(config).double()
    assert torch.allclose(model(TOKENS[:, :5]), model(TOKENS)[:, :5], atol=1e-12)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (torch.tensor([[1, 11]]), "token ids must lie in 0 … 10"),
        (torch.zeros(1, 33, dtype=torch.int64), "at most max_len=32 tokens"),
        (torch.zeros(3, dtype=torch.int64), r"tokens must have shape \(batch, length\)"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(small, tokens, message):
    with pytest.raises(ValueError, match=message):
        DecoderOnly(DecoderConfig(**small))(tokens)


def test_the_loss_starts_near_the_logarithm_of_the_vocabulary(config):
    if config.tied:
        logits = DecoderOnly(config)(TOKENS)
        assert logits.std() < 0.5


def test_attention_of_every_layer_is_recorded(config):
    model = DecoderOnly(config)
    with record_attention(model) as record:
        model(TOKENS)
    assert record.kinds == ("decoder",)
    assert record.decoder.shape == (3, 2, 4, 7, 7)
    assert torch.allclose(record.decoder.sum(dim=-1), torch.ones(3, 2, 4, 7))
    assert not record.decoder.triu(1).any()


def test_greedy_continuation_is_the_argmax_of_the_whole_at_each_step(config):
    model = DecoderOnly(config).double()
    new = continue_greedily(model, TOKENS, max_new=5)
    whole = torch.cat((TOKENS, new), dim=1)
    assert torch.equal(model(whole)[:, 6:-1].argmax(dim=-1), new)


def test_greedy_continuation_ends_at_eos_and_fills_up_with_it(small):
    model = DecoderOnly(DecoderConfig(**small))
    new = continue_greedily(model, TOKENS, max_new=20)
    eos = int(new[0, 2])
    stopped = continue_greedily(model, TOKENS, max_new=20, eos_id=eos)
    first = new[0].tolist().index(eos)
    assert stopped[0, : first + 1].tolist() == new[0, : first + 1].tolist()
    assert set(stopped[0, first:].tolist()) == {eos}


def test_greedy_continuation_refuses_impossible_lengths(small):
    model = DecoderOnly(DecoderConfig(**small))
    with pytest.raises(ValueError, match="max_new must be at least 1, got 0"):
        continue_greedily(model, TOKENS, max_new=0)
    with pytest.raises(ValueError, match="prefix_length must lie in 0 … 7"):
        continue_greedily(model, TOKENS, max_new=1, prefix_length=8)


def test_experts_are_counted_and_not_built(small):
    config = DecoderConfig(**small, n_experts=4, top_k=2, d_expert=8)
    assert parameter_parts(config)["router"] == 3 * 16 * 4
    with pytest.raises(NotImplementedError, match="can be counted"):
        DecoderOnly(config)
