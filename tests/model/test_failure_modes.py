"""What went wrong in five published Transformers, shown not to happen here."""

import copy
import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.model import (
    PRESETS,
    Transformer,
    TransformerConfig,
    attention_einsum,
    attention_matmul,
    causal_mask,
    preset,
    record_attention,
    sinusoidal_positions,
    split_heads,
)

FIVE = ("naive_mt", "fastai_qa", "fastestimator_ted", "einsum_scratch", "wmt14_de_en")


def shrunk(name: str, **changes) -> TransformerConfig:
    """A preset with its choices kept and its sizes cut."""
    sizes = {"source_vocab": 30, "target_vocab": 30, "d_model": 32, "d_ff": 48, "n_layers": 2}
    return preset(name, **sizes | changes)


def loss_of(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of random labels at the real positions."""
    logits, pad = model(source, target), model.config.pad_id
    generator = torch.Generator().manual_seed(5)
    labels = torch.randint(0, logits.size(-1), target.shape, generator=generator)
    return F.cross_entropy(logits[target != pad].float(), labels[target != pad])


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_all_pad_source_keeps_loss_and_gradients_finite(name, dtype, make_model, make_batch):
    config = shrunk(name, max_len=8)
    model = make_model(config, training=True).to(dtype)
    source, target = make_batch(config, [4, 0], [3, 5])
    loss = loss_of(model, source, target)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("rows", [([4, 0], [3, 0]), ([0, 0], [2, 5])])
def test_rows_of_nothing_but_pads_leave_the_others_alone(rows, make_model, make_batch):
    config = shrunk("fastai_qa")
    model = make_model(config)
    source, target = make_batch(config, *rows)
    logits = model(source, target)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[:1], model(source[:1], target[:1]), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("lengths", [(1, 1), (3, 7), (7, 3), (8, 8)])
def test_any_length_up_to_max_len_works_and_the_two_sides_may_differ(
    name, lengths, make_model, make_batch
):
    config = shrunk(name, max_len=8)
    source, target = make_batch(config, lengths[:1] * 2, lengths[1:] * 2)
    assert make_model(config)(source, target).shape == (2, lengths[1], 30)


def test_length_equal_to_heads_is_no_special_case_in_einsum():
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 4, 5).unbind()
    expected, _ = attention_matmul(query, key, value, causal_mask(4))
    mixed_up = torch.einsum("bqhe,bkhe->bhqk", query, key)  # the axis order of another layout
    assert mixed_up.shape == (2, 4, 4, 4)  # … which no shape check can see
    assert (mixed_up - torch.einsum("bhqe,bhke->bhqk", query, key)).abs().max() > 1
    context, _ = attention_einsum(query, key, value, causal_mask(4))
    torch.testing.assert_close(context, expected)


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("left", [False, True])
def test_pads_get_exactly_no_attention(name, left, make_model, make_batch):
    config = shrunk(name, max_len=8)
    model = make_model(config)
    source, target = make_batch(config, [2, 6], [5, 3], left=left)
    with record_attention(model) as attention:
        model(source, target)
    source_pads, target_pads = source == config.pad_id, target == config.pad_id
    for weights, pads in (
        (attention.encoder, source_pads),
        (attention.cross, source_pads),
        (attention.decoder, target_pads),
    ):
        assert weights.permute(1, 4, 0, 2, 3)[pads].abs().max() == 0
    assert attention.decoder.triu(1).abs().max() == 0


@pytest.mark.parametrize("name", FIVE)
def test_left_padding_changes_no_logit(name, make_model, make_batch):
    config = shrunk(name, max_len=12)
    model = make_model(config)
    logits = []
    for left in (False, True):
        source, target = make_batch(config, [2, 6], [5, 3], left=left)
        logits.append(model(source, target)[target != config.pad_id])
    torch.testing.assert_close(*logits, atol=1e-5, rtol=1e-5)


def silent_modules(model: Transformer, source: Tensor, target: Tensor) -> set[str]:
    """Names of modules whose forward hooks do not fire."""
    silent = {name for name, m in model.named_modules() if not isinstance(m, nn.ModuleList)}
    handles = [
        model.get_submodule(name).register_forward_hook(lambda *_, name=name: silent.discard(name))
        for name in silent
    ]
    model(source, target)
    for handle in handles:
        handle.remove()
    return silent


@pytest.mark.parametrize("name", PRESETS)
def test_forward_hooks_fire_on_every_module(name, make_model, make_batch):
    model = make_model(shrunk(name))
    assert not silent_modules(model, *make_batch(model.config, [4, 2], [3, 5]))


def test_hook_probe_sees_a_call_that_goes_round_the_hooks(make_model, make_batch, monkeypatch):
    model = make_model(shrunk("fastai_qa"))
    positions = model.source_embedding.positions
    monkeypatch.setattr(type(positions), "__call__", type(positions).forward)
    assert silent_modules(model, *make_batch(model.config, [4, 2], [3, 5])) == {
        *("source_embedding.positions", "target_embedding.positions")
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_one_step_of_training_moves_every_parameter(name, make_model, make_batch):
    model = make_model(shrunk(name, max_len=8), training=True).double()
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loss_of(model, *make_batch(model.config, [4, 6], [3, 5])).backward()
    optimizer.step()
    still = {k for k, v in model.named_parameters() if torch.equal(v, before[k])}
    # Adding one number to all scores of a query is invisible to softmax: no gradient but noise.
    assert {name for name in still if not name.endswith("k_proj.bias")} == set()


@pytest.mark.parametrize("name", FIVE)
def test_norms_exist_in_the_module_and_train_unless_asked_not_to(name):
    with torch.device("meta"):
        model = Transformer(preset(name))
    norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm)]
    assert len(norms) == 5 * model.config.n_layers
    trainable = sum(p.numel() for m in norms for p in m.parameters())
    expected = 0 if name == "naive_mt" else 2 * len(norms) * model.config.d_model
    assert trainable == expected


@pytest.mark.parametrize(
    "config",
    [
        preset("fastai_qa", source_vocab=50, target_vocab=50),
        preset("fastai_qa"),
        preset("paper_base", n_layers=2, source_vocab=500, target_vocab=500),
        preset("small", tying="output"),
        preset("small", tying="all", positions="learned", d_model=64),
    ],
    ids=["fastai_qa small vocab", "fastai_qa", "all tied", "pre-norm", "pre-norm all tied"],
)
def test_tied_model_starts_at_the_loss_of_a_uniform_guess(config, make_model, make_batch):
    model = make_model(config)
    source, target = make_batch(config, [12] * 8, [16] * 8)
    with torch.no_grad():
        assert abs(loss_of(model, source, target) - math.log(config.target_vocab)) < 0.1
        # With the usual N(0, 1) embeddings the same model starts far off.
        nn.init.normal_(model.output.weight)
        assert loss_of(model, source, target) > 2 * math.log(config.target_vocab)


@pytest.mark.parametrize("name", FIVE)
def test_two_identical_calls_agree_in_eval_and_differ_only_by_dropout_in_training(
    name, make_model, make_batch
):
    config = shrunk(name)
    model = make_model(config)
    source, target = make_batch(config, [4, 2], [3, 5])
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    drops = any(getattr(config, f) for f in vars(config) if f.endswith("dropout"))
    assert torch.equal(model(source, target), model(source, target)) != drops


@pytest.mark.parametrize(
    "field",
    [
        "source_embedding_dropout",
        "target_embedding_dropout",
        "attention_dropout",
        "residual_dropout",
        "feed_forward_dropout",
    ],
)
def test_each_dropout_acts_where_it_is_named(field, make_model, make_batch):
    off = {f: 0.0 for f in vars(preset("small")) if f.endswith("dropout")}
    model = make_model(shrunk("small", **off | {field: 0.5}), training=True)
    source, target = make_batch(model.config, [4, 4], [5, 5])
    encoder_differs = not torch.equal(model.encode(source), model.encode(source))
    assert encoder_differs == (field != "target_embedding_dropout")
    memory = model.encode(source)
    first, second = (model.decode(target, memory, source) for _ in range(2))
    assert torch.equal(first, second) == (field == "source_embedding_dropout")


def test_attention_entropy_is_that_of_unit_scores(make_model):
    # Scores of variance 1 take about half a nat off ln 40 = 3.69; divided by √d_model instead
    # they would take off 0.06.
    config = preset("einsum_scratch")
    attention = make_model(config).encoder.layers[0].self_attention
    for projection in (attention.q_proj, attention.k_proj):
        nn.init.normal_(projection.weight, std=config.d_model**-0.5)
        nn.init.zeros_(projection.bias)
    x = torch.randn(4, 40, config.d_model, generator=torch.manual_seed(0))
    query, key = (
        split_heads(projection(x), config.n_heads)
        for projection in (attention.q_proj, attention.k_proj)
    )
    _, weights = attention_matmul(query, key, key)
    entropy = -(weights * weights.log()).sum(-1).mean().item()
    assert entropy == pytest.approx(math.log(40) - 0.5, abs=0.1)


def test_all_frequencies_vary_and_a_distance_can_be_read_off_the_code():
    code = sinusoidal_positions(100, 512)
    assert (code.std(dim=0) > 0.05).sum() > 250
    products = code @ code.T
    assert (products.diagonal(5) - products[0, 5]).abs().max() < 1e-2


@pytest.mark.parametrize("name", FIVE)
def test_positions_move_with_the_model_and_are_saved_only_if_learned(name):
    model = Transformer(shrunk(name, max_len=8))
    tables = [e.positions.table for e in (model.source_embedding, model.target_embedding)]
    learned = model.config.positions == "learned"
    assert [isinstance(table, nn.Parameter) for table in tables] == [learned] * 2
    assert ("source_embedding.positions.table" in model.state_dict()) == learned
    assert ("source_embedding.positions.table" in dict(model.named_buffers())) != learned
    assert model.double().source_embedding.positions.table.dtype == torch.float64
    assert model.to("meta").target_embedding.positions.table.device.type == "meta"


def test_double_model_computes_in_double(make_model, make_batch):
    model = make_model(shrunk("fastai_qa")).double()
    assert model(*make_batch(model.config, [4, 2], [3, 5])).dtype == torch.float64


def test_a_model_with_another_max_len_loads_the_same_sinusoidal_weights(make_model, make_batch):
    short, long = (make_model(shrunk("small", max_len=n), seed=n) for n in (8, 64))
    long.load_state_dict(short.state_dict())
    batch = make_batch(short.config, [4, 2], [3, 5])
    assert torch.equal(short(*batch), long(*batch))


def test_logits_of_each_row_can_be_read_at_its_own_last_token(make_model, make_batch):
    # Reading the last logit of a flattened view works for a batch of one only.
    model = make_model(shrunk("small"))
    source, target = make_batch(model.config, [4, 4], [3, 3])
    logits = model(source, target)
    for row in range(2):
        alone = model(source[row : row + 1], target[row : row + 1])[0, -1]
        torch.testing.assert_close(logits[row, -1], alone, atol=1e-5, rtol=0)
