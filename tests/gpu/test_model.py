"""The model computes on a GPU what it computes on the CPU: forwards, backwards, step by step.

Float32 has a relative precision of 6e-8. Sums of a few hundred products in another order differ by
about 1e-6, and through the layers by ten times that; 1e-4 leaves room, and a bug does not fit in.
"""

import copy

import pytest
import torch

from course_lib.data import teacher_forcing
from course_lib.model import (
    KeyValueCache,
    Transformer,
    attention_einsum,
    attention_fused,
    attention_matmul,
    preset,
    record_attention,
)
from course_lib.training import masked_cross_entropy
from course_lib.training.fast_loss import projected_loss

TOLERANCE = 1e-4


def make_model(name="small", **changes):
    sizes = {"source_vocab": 50, "target_vocab": 60, "max_len": 32} | changes
    torch.manual_seed(0)
    return Transformer(preset(name, **sizes)).eval()


def make_tokens(vocab, lengths, pad_id):
    generator = torch.Generator().manual_seed(len(lengths) + vocab)
    tokens = torch.full((len(lengths), max(lengths)), pad_id)
    for row, length in enumerate(lengths):
        tokens[row, :length] = torch.randint(3, vocab, (length,), generator=generator)
    return tokens


def make_batch(config):
    source = make_tokens(config.source_vocab, [5, 12, 9, 1], config.pad_id)
    return source, make_tokens(config.target_vocab, [7, 10, 2, 11], config.pad_id)


MODELS = {
    "small": {},
    "fused": {"attention": "fused"},
    "paper_base": {"target_vocab": 50, "d_model": 64, "d_ff": 128, "n_heads": 4, "n_layers": 2},
}


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_the_logits_are_the_same(device, close, name):
    model = make_model(name if name != "fused" else "small", **MODELS[name])
    source, target = make_batch(model.config)
    there = copy.deepcopy(model).to(device)
    close(model(source, target), there(source.to(device), target.to(device)), TOLERANCE)


@pytest.mark.parametrize("attention", [attention_matmul, attention_einsum, attention_fused])
def test_attention_is_the_same_and_what_is_fully_masked_is_zero(device, close, attention):
    torch.manual_seed(0)
    inputs = [torch.randn(3, 4, length, 16) for length in (7, 9, 9)]
    mask = torch.rand(3, 1, 7, 9) < 0.6
    mask[1, :, 2] = False
    context, _ = attention(*inputs, mask)
    context_there, _ = attention(*(x.to(device) for x in inputs), mask.to(device))
    close(context, context_there, TOLERANCE)
    assert not context_there[1, :, 2].any()


@pytest.mark.parametrize("attention", ["matmul", "einsum", "fused"])
def test_the_gradients_are_the_same(device, close, attention):
    model = make_model(attention=attention).train()
    source, target = make_batch(model.config)
    there = copy.deepcopy(model).to(device)
    losses = []
    for each in (model, there):
        where = each.device
        decoder_input, labels = teacher_forcing(target.to(where), each.config.pad_id)
        logits = each(source.to(where), decoder_input)
        losses.append(masked_cross_entropy(logits, labels, each.config.pad_id))
        losses[-1].backward()
    close(losses[0].detach(), losses[1].detach(), TOLERANCE)
    for here, other in zip(model.parameters(), there.parameters(), strict=True):
        close(here.grad, other.grad, TOLERANCE)


def test_the_loss_without_logits_is_the_same_and_so_are_its_gradients(device, close):
    torch.manual_seed(0)
    inputs = torch.randn(4, 9, 32), torch.randn(300, 32), torch.randn(300)
    labels = make_tokens(300, [9, 4, 6, 1], 0)
    results = []
    for where in ("cpu", device):
        leaves = [x.detach().to(where).requires_grad_() for x in inputs]
        loss = projected_loss(*leaves, labels.to(where), 0, 0.1, rows=8)
        loss.backward()
        results.append([loss.detach(), *(leaf.grad for leaf in leaves)])
    for here, there in zip(*results, strict=True):
        close(here, there, TOLERANCE)


@torch.no_grad()
def test_the_recorded_attention_is_the_same(device, close):
    model = make_model()
    source, target = make_batch(model.config)
    records = []
    for each in (model, copy.deepcopy(model).to(device)):
        with record_attention(each) as record:
            each(source.to(each.device), target.to(each.device))
        records.append(record)
    here, there = records
    for kind in ("encoder", "decoder", "cross"):
        close(getattr(here, kind), getattr(there, kind), TOLERANCE)


@torch.no_grad()
def test_with_a_cache_each_step_is_that_of_the_whole_sequence_on_the_cpu(device, close):
    model = make_model()
    source, _ = make_batch(model.config)
    target = make_tokens(model.config.target_vocab, [6, 6, 6, 6], model.config.pad_id)
    whole = model(source, target)
    there = copy.deepcopy(model).to(device)
    source, target = source.to(device), target.to(device)
    memory, cache = there.encode(source), KeyValueCache(model.config.n_layers)
    for step in range(target.size(1)):
        logits = there.decode(target[:, step : step + 1], memory, source, cache=cache)
        close(whole[:, step], logits[:, 0], TOLERANCE)


@torch.no_grad()
def test_one_weight_that_is_a_little_wrong_would_be_noticed(device, close):
    model = make_model()
    source, target = make_batch(model.config)
    there = copy.deepcopy(model).to(device)
    there.encoder.layers[0].self_attention.v_proj.weight[0].mul_(1.1)
    with pytest.raises(AssertionError, match="apart, at scale"):
        close(model(source, target), there(source.to(device), target.to(device)), TOLERANCE)
