import math
from dataclasses import replace

import pytest
import torch

from course_lib.data import Batch, collate
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset
from course_lib.training import (
    Recipe,
    distributed,
    load_training_data,
    make_optimizer,
    make_schedule,
    train_step,
)
from course_lib.training.distributed import rows_of_this_rank
from course_lib.training.gradient_accumulation import AccumulatedStep, ModelWithLoss


@pytest.fixture
def data(still):
    return load_training_data(still)


def one_step(still, data, **options):
    """Loss and weights after two steps on the same batch, by one of the two kinds of step."""
    torch.manual_seed(0)
    model = data.new_translator(still).model
    optimizer = make_optimizer(still, model)
    batch = collate(data.encode(data.train[:23]), pad_id=0)
    options |= {"lr": 1e-2, "max_grad_norm": 1.0}
    if "micro_batches" in options:
        step = AccumulatedStep(
            model, label_smoothing=0.1, micro_batches=options.pop("micro_batches")
        )
        losses = [step(batch, optimizer, **options) for _ in "ab"]
    else:
        losses = [
            train_step(model, batch, optimizer, 0, label_smoothing=0.1, **options) for _ in "ab"
        ]
    return losses, torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("micro_batches", [1, 2, 3, 23, 100])
def test_a_batch_in_micro_batches_is_the_same_step(still, data, micro_batches):
    sgd = replace(still, optimizer="sgd")
    losses, weights = one_step(sgd, data)
    others, other_weights = one_step(sgd, data, micro_batches=micro_batches)
    assert others == pytest.approx(losses, abs=1e-5)
    assert torch.allclose(other_weights, weights, atol=1e-6)


def test_a_large_vocabulary_is_learnt_blockwise_with_the_same_result(still, data, monkeypatch):
    sgd = replace(still, optimizer="sgd")
    plain, weights = one_step(sgd, data)
    monkeypatch.setattr("course_lib.training.loss.BLOCKWISE_FROM", 1)
    monkeypatch.setattr(Transformer, "forward", lambda *args: pytest.fail("made all logits"))
    blockwise, other_weights = one_step(sgd, data)
    assert blockwise == pytest.approx(plain, abs=1e-5)
    assert torch.allclose(other_weights, weights, atol=1e-6)


@pytest.mark.parametrize("blockwise_from", [1, 10**9])
def test_rows_of_pads_alone_add_neither_loss_nor_gradient(still, data, monkeypatch, blockwise_from):
    monkeypatch.setattr("course_lib.training.loss.BLOCKWISE_FROM", blockwise_from)
    torch.manual_seed(0)
    model = data.new_translator(still).model
    source = torch.tensor([[1, 2, 3]])
    pads = torch.zeros(1, 4, dtype=torch.int64)
    loss = ModelWithLoss(model, 0.1)(source, pads, pads)
    loss.backward()
    assert loss.item() == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_a_process_without_rows_computes_one_of_pads(monkeypatch):
    batch = Batch(torch.tensor([[4, 5], [6, 0]]), torch.tensor([[1, 7, 2], [1, 8, 2]]))
    assert rows_of_this_rank(batch, 0) is batch
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    shares = []
    for rank in range(3):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        shares.append(rows_of_this_rank(batch, 0))
    assert [share.source.tolist() for share in shares] == [[[4, 5]], [[6, 0]], [[4, 5]]]
    assert [share.target.tolist() for share in shares] == [[[1, 7, 2]], [[1, 8, 2]], [[0, 0, 0]]]


@pytest.mark.parametrize(
    ("schedule", "first", "last"),
    [("constant", 1.0, 1.0), ("inverse_sqrt", 0.1, (10 / 100) ** 0.5), ("cosine", 0.1, 0.0)],
)
def test_a_recipe_names_its_schedule_and_its_highest_rate(schedule, first, last):
    recipe = Recipe(
        name="x", summary="", corpus="x", preset="small", schedule=schedule, lr=1.0, warmup=10
    )
    rate = make_schedule(recipe, d_model=128)
    assert rate(1, 100) == pytest.approx(first)
    assert rate(100, 100) == pytest.approx(last, abs=1e-9)


def test_the_papers_schedule_has_a_highest_rate_of_its_own():
    recipe = Recipe(
        name="x", summary="", corpus="x", preset="small", schedule="inverse_sqrt", warmup=4000
    )
    rate = make_schedule(recipe, d_model=128)
    assert max(rate(step, 0) for step in (3999, 4000, 4001)) == rate(4000, 0)
    assert rate(4000, 0) == pytest.approx(1.398e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("sgd", torch.optim.SGD), ("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)],
)
def test_a_recipe_names_its_optimiser(toy, name, kind):
    model = Transformer(preset("small", d_model=8, n_heads=2))
    optimizer = make_optimizer(replace(toy, optimizer=name, momentum=0.9, weight_decay=0.1), model)
    assert type(optimizer) is kind
    assert optimizer.param_groups[0]["weight_decay"] == 0.1
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(
        list(model.parameters())
    )


@pytest.mark.parametrize("what", ["loss", "gradient norm"])
@pytest.mark.parametrize("micro_batches", [None, 2])
def test_neither_a_loss_nor_a_gradient_that_is_not_finite_reaches_the_weights(
    still, data, monkeypatch, what, micro_batches
):
    torch.manual_seed(0)
    model = data.new_translator(still).model
    if what == "loss":
        with torch.no_grad():
            model.output.bias[0] = math.nan
    else:
        model.output.bias.register_hook(lambda gradient: gradient * math.inf)
    before = torch.cat([p.detach().flatten() for p in model.parameters()])
    optimizer = make_optimizer(still, model)
    batch = collate(data.encode(data.train[:5]), pad_id=0)
    with pytest.raises(CourseError, match=f"finite {what}, got .*is the learning rate too high"):
        if micro_batches:
            AccumulatedStep(model, label_smoothing=0.0, micro_batches=2)(batch, optimizer, lr=0.1)
        else:
            train_step(model, batch, optimizer, 0, lr=0.1)
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert torch.equal(before.nan_to_num(), after.nan_to_num())


@pytest.mark.parametrize("max_grad_norm", [None, 1e9, 0.01])
def test_a_gradient_is_clipped_where_it_is_longer(still, data, max_grad_norm):
    sgd = replace(still, optimizer="sgd")
    torch.manual_seed(0)
    model = data.new_translator(sgd).model
    before = torch.cat([p.detach().flatten() for p in model.parameters()])
    batch = collate(data.encode(data.train[:5]), pad_id=0)
    train_step(model, batch, make_optimizer(sgd, model), 0, lr=1.0, max_grad_norm=max_grad_norm)
    moved = (torch.cat([p.detach().flatten() for p in model.parameters()]) - before).norm()
    assert moved == pytest.approx(0.01, rel=1e-3) if max_grad_norm == 0.01 else moved > 0.02


@pytest.mark.parametrize("micro_batches", [None, 2])
def test_an_optimiser_of_another_model_is_refused_instead_of_learning_nothing(
    still, data, micro_batches
):
    model, other = data.new_translator(still).model, data.new_translator(still).model
    batch = collate(data.encode(data.train[:3]), pad_id=0)
    optimizer = make_optimizer(still, other)
    with pytest.raises(CourseError, match="of this model's parameters, got one of others"):
        if micro_batches:
            AccumulatedStep(model, label_smoothing=0.0, micro_batches=2)(batch, optimizer)
        else:
            train_step(model, batch, optimizer, 0)


def test_another_pad_id_than_the_models_is_refused(still, data):
    model = data.new_translator(still).model
    batch = collate(data.encode(data.train[:3]), pad_id=0)
    with pytest.raises(ValueError, match="pad_id must be the model's, 0, got 1"):
        train_step(model, batch, make_optimizer(still, model), 1)
