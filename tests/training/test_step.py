from dataclasses import replace

import pytest
import torch

from course_lib.data import Batch, collate
from course_lib.model import Transformer, preset
from course_lib.training import Recipe, distributed, load_training_data, make_optimizer, train_step
from course_lib.training import step as training_step
from course_lib.training.distributed import share_of
from course_lib.training.step import LossOf


@pytest.fixture
def task(still):
    return load_training_data(still)


def one_step(still, task, **options):
    """Loss and weights after two steps on the same batch."""
    model = task.new_translator(still, seed=0).model
    optimizer = make_optimizer(still, model)
    optimizer.param_groups[0]["lr"] = 1e-2
    batch = collate(task.encode(task.train[:23]), pad_id=0)
    losses = [train_step(model, batch, optimizer, 0, **options) for _ in range(2)]
    return losses, torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("micro_batches", [2, 3, 23, 100])
def test_a_batch_in_pieces_is_the_same_step(still, task, micro_batches):
    sgd = replace(still, optimizer="sgd")
    losses, weights = one_step(sgd, task, label_smoothing=0.1, max_grad_norm=1.0)
    others, other_weights = one_step(
        sgd, task, label_smoothing=0.1, max_grad_norm=1.0, micro_batches=micro_batches
    )
    assert others == pytest.approx(losses, abs=1e-5)
    assert torch.allclose(other_weights, weights, atol=1e-6)


def test_a_large_vocabulary_is_learnt_blockwise_with_the_same_result(still, task, monkeypatch):
    sgd = replace(still, optimizer="sgd")
    plain, weights = one_step(sgd, task, label_smoothing=0.1)
    monkeypatch.setattr(training_step, "BLOCKWISE_FROM", 1)
    monkeypatch.setattr(Transformer, "forward", lambda *args: pytest.fail("made all logits"))
    blockwise, other_weights = one_step(sgd, task, label_smoothing=0.1)
    assert blockwise == pytest.approx(plain, abs=1e-5)
    assert torch.allclose(other_weights, weights, atol=1e-6)


@pytest.mark.parametrize("blockwise_from", [1, 10**9])
def test_rows_of_pads_alone_add_neither_loss_nor_gradient(still, task, monkeypatch, blockwise_from):
    monkeypatch.setattr(training_step, "BLOCKWISE_FROM", blockwise_from)
    model = task.new_translator(still, seed=0).model
    source = torch.tensor([[1, 2, 3]])
    pads = torch.zeros(1, 4, dtype=torch.int64)
    loss = LossOf(model, 0, 0.1)(source, pads, pads)
    loss.backward()
    assert loss.item() == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_a_process_without_rows_computes_one_of_pads(monkeypatch):
    batch = Batch(torch.tensor([[4, 5], [6, 0]]), torch.tensor([[1, 7, 2], [1, 8, 2]]))
    assert share_of(batch, 0) is batch
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    shares = []
    for rank in range(3):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        shares.append(share_of(batch, 0))
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
    rate = training_step.make_schedule(recipe, d_model=128)
    assert rate(1, 100) == pytest.approx(first)
    assert rate(100, 100) == pytest.approx(last, abs=1e-9)


def test_the_papers_schedule_has_a_highest_rate_of_its_own():
    recipe = Recipe(
        name="x", summary="", corpus="x", preset="small", schedule="inverse_sqrt", warmup=4000
    )
    rate = training_step.make_schedule(recipe, d_model=128)
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
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(
        list(model.parameters())
    )
