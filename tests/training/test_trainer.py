"""When a run validates, saves, stops, and what it keeps."""

import copy
import itertools
import os
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from course_lib.cli import main
from course_lib.data import Vocabulary
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer
from course_lib.training import (
    RECIPES,
    RunOptions,
    evaluation,
    load_training_data,
    load_translator,
    loop,
    read_checkpoint,
    save_checkpoint,
    train,
)
from course_lib.training import trainer as training_trainer
from course_lib.training.runs import interrupts, monitor, random_state
from tests.training.test_loop import interrupt_at, weights

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unchecked_shapes")]


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that goes on by an eighth of a second whenever somebody looks at it."""
    ticks = itertools.count()
    monkeypatch.setattr(monitor, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 8))


@pytest.fixture
def rates(monkeypatch):
    """The learning rate of each step."""
    found, original = [], training_trainer.train_step

    def spy(model, batch, optimizer, *args, **kwargs):
        found.append(optimizer.param_groups[0]["lr"])
        return original(model, batch, optimizer, *args, **kwargs)

    monkeypatch.setattr(training_trainer, "train_step", spy)
    return found


@pytest.mark.parametrize("schedule", ["cosine", "one_cycle"])
def test_a_run_of_minutes_ends_in_time_and_its_rate_ends_near_zero(
    toy, slow_clock, rates, schedule
):
    run = train(replace(toy, schedule=schedule, lr=1e-2), RunOptions(minutes=0.1))
    assert run.finished and run.total_steps is None and run.options.minutes == 0.1
    assert 6.0 <= run.seconds <= 6.25
    assert run.epochs[-1]["step"] == run.step
    assert max(rates) > 0.9e-2
    assert rates[-1] < 0.02e-2
    assert rates[1] > rates[-1]  # that of the first step, when nobody knows how many there will be


def test_each_pass_over_the_pairs_has_its_own_dropout_also_after_a_break(
    toy, tmp_path, monkeypatch
):
    recipe = replace(toy, epochs=3, dropout=(0.0, 0.25))  # an epoch has 10 steps
    found, original = [], training_trainer.train_step

    def spy(model, *args, **kwargs):
        rates = {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)}
        found.append(rates)
        return original(model, *args, **kwargs)

    monkeypatch.setattr(training_trainer, "train_step", spy)
    whole = train(recipe)
    # Where the model has no dropout, as in its feed-forward layers, it gets none.
    assert found == 10 * [{0.0}] + 20 * [{0.0, 0.25}]
    del found[:]
    with monkeypatch.context() as patch:
        interrupt_at(patch, 14)
        train(recipe, folder=tmp_path)
    resumed = train(recipe, RunOptions(resume=True), folder=tmp_path)
    assert found == 10 * [{0.0}] + 20 * [{0.0, 0.25}]
    assert torch.equal(weights(resumed), weights(whole))


def test_a_real_minute_is_kept_too(toy):
    run = train(toy, RunOptions(minutes=0.5 / 60))
    assert run.finished and 0.5 <= run.seconds < 3


def test_a_run_of_minutes_is_resumed_with_the_time_that_is_left(
    toy, slow_clock, tmp_path, monkeypatch
):
    whole = train(toy, RunOptions(minutes=0.1))
    with monkeypatch.context() as patch:
        interrupt_at(patch, 20)
        stopped = train(toy, RunOptions(minutes=0.1), folder=tmp_path)
    assert stopped.step == 20 and not stopped.finished
    resumed = train(toy, RunOptions(minutes=0.1, resume=True), folder=tmp_path)
    assert resumed.seconds == pytest.approx(whole.seconds)
    assert resumed.losses == whole.losses
    assert torch.equal(weights(resumed), weights(whole))


def test_minutes_must_be_positive(toy):
    with pytest.raises(CourseError, match="minutes must be positive and finite, got -1"):
        train(toy, RunOptions(minutes=-1))


@pytest.fixture
def valid_losses(monkeypatch):
    """Validation losses to be found instead of the true ones."""

    def prescribe(*losses):
        values = iter(losses)
        monkeypatch.setattr(evaluation, "teacher_forced", lambda *args: (next(values), 0.5))

    return prescribe


@pytest.mark.parametrize(
    ("losses", "validations"),
    [
        ((3, 2, 2.5, 2.1, 1, 1, 1, 1), 4),  # 2 is best, and is not reached twice in a row
        ((3, 2, 2.5, 1, 2, 2, 1, 1), 6),
        ((3, 2, 2.5, 1, 2, 0.9, 1, 0.8), 8),
        ((2, 2, 2, 2, 2, 2, 2, 2), 3),  # as good as the best is no better
    ],
)
def test_patience_is_over_after_so_many_validations_without_a_better_loss(
    toy, valid_losses, losses, validations
):
    valid_losses(*losses)
    run = train(replace(toy, epochs=8, patience=2))
    assert run.finished
    assert len(run.epochs) == validations
    assert run.stopped_early == (validations < 8)


def test_the_command_says_that_it_stopped_early_and_resume_has_nothing_to_do(
    at_home, toy, valid_losses, monkeypatch, capsys
):
    monkeypatch.setitem(RECIPES, "toy", replace(toy, epochs=8, patience=1))
    valid_losses(1.0, 2.0)
    assert main(["train", "toy"]) == 0
    assert "s, stopped early." in capsys.readouterr().out
    monkeypatch.setattr(training_trainer, "train_step", lambda *a, **k: pytest.fail("trained"))
    assert main(["train", "toy", "--resume"]) == 0
    assert "s in all, stopped early." in capsys.readouterr().out


def test_validations_come_as_often_as_the_recipe_says_and_at_the_end(toy):
    run = train(replace(toy, valid_every=3), RunOptions(max_steps=10))
    assert [row["step"] for row in run.epochs] == [3, 6, 9, 10]
    assert [row["epoch"] for row in run.epochs] == [1, 2, 3, 4]
    assert run.epochs[1]["loss"] == pytest.approx(sum(run.losses[3:6]) / 3)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_a_run_keeps_its_best_weights_or_its_last(toy, valid_losses, tmp_path, keep):
    valid_losses(2.0, 1.0, 3.0)
    after = []
    models = []

    def remember(row):
        after.append(torch.cat([p.detach().flatten() for p in models[0].parameters()]))

    def spy(run):
        models[:] = [run.translator.model]

    run = train(
        replace(toy, epochs=3, keep_weights=keep), folder=tmp_path, on_step=spy, on_epoch=remember
    )
    kept = torch.cat([p.flatten() for p in load_translator(tmp_path).model.parameters()])
    assert torch.equal(weights(run), kept)
    assert torch.equal(kept, after[1 if keep == "best" else 2])
    assert not torch.equal(after[1], after[2])


def test_a_file_called_best_holds_the_best_weights_whatever_the_recipe_keeps(
    toy, valid_losses, tmp_path
):
    valid_losses(2.0, 1.0, 3.0)
    epochs = []
    run = train(
        replace(toy, epochs=3, keep_weights="last"),
        folder=tmp_path,
        on_step=lambda run: epochs.append(weights(run).clone()),
    )
    best, final = (
        torch.cat([p.flatten() for p in load_translator(tmp_path / name).model.parameters()])
        for name in ("best.safetensors", "final.safetensors")
    )
    assert torch.equal(best, epochs[19]) and torch.equal(final, weights(run))  # 10 steps an epoch
    assert not torch.equal(best, final)


def test_without_validation_the_last_weights_are_kept(toy, tmp_path):
    run = train(replace(toy, valid_size=0), RunOptions(max_steps=4), folder=tmp_path)
    assert "valid_loss" not in run.epochs[-1]
    kept = torch.cat([p.flatten() for p in load_translator(tmp_path).model.parameters()])
    assert torch.equal(kept, weights(run))


def test_a_run_in_another_precision_is_not_resumed_unnoticed(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, RunOptions(precision="bf16"), folder=tmp_path)
    message = "precision = fp32, but the run in .* has bf16: resume with the options"
    with pytest.raises(CourseError, match=message):
        train(toy, RunOptions(precision="fp32", resume=True), folder=tmp_path)
    assert train(toy, RunOptions(precision="bf16", resume=True), folder=tmp_path).finished
    resumed = train(toy, RunOptions(precision="auto", resume=True), folder=tmp_path)
    assert resumed.finished and resumed.options.precision == "bf16"


def test_the_option_that_differs_is_named_alone(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, folder=tmp_path)
    for change, message in (
        ({"epochs": 3}, "go on with epochs = 3, but the run in .* has 2: resume"),
        ({"lr": 1e-3}, "go on with lr = 0.001, but the run in .* has 0.005: resume"),
    ):
        with pytest.raises(CourseError, match=message):
            train(replace(toy, **change), RunOptions(resume=True), folder=tmp_path)


def test_a_run_with_other_words_is_not_resumed(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(toy, RunOptions(max_steps=4), folder=tmp_path)
    data = load_training_data(toy)
    vocabulary = Vocabulary([*data.target_vocabulary.tokens[:-2], "X", "Y"])
    for other in (
        load_training_data(replace(toy, train_size=2)),  # fewer words
        replace(data, target_vocabulary=vocabulary),  # as many, but others
    ):
        with pytest.raises(CourseError, match="got others. Changed: .*tokenizer of the target"):
            train(toy, RunOptions(max_steps=4, resume=True), folder=tmp_path, data=other)


def test_a_run_whose_preset_was_another_is_not_resumed(toy, tmp_path):
    train(toy, RunOptions(max_steps=2), folder=tmp_path)
    path = tmp_path / "last.safetensors"
    translator, info, extra = read_checkpoint(path)
    model = Transformer(replace(translator.model.config, norm_eps=1e-3))
    model.load_state_dict(translator.model.state_dict())
    other = Translator(model, translator.source_vocabulary, translator.target_vocabulary)
    save_checkpoint(path, other, info=info, extra=extra)
    with pytest.raises(CourseError, match="go on with the recipe's model, but .* has another"):
        train(toy, RunOptions(max_steps=2, resume=True), folder=tmp_path)


@pytest.mark.smoke
def test_a_last_checkpoint_that_lacks_something_is_refused_by_name(toy, tmp_path):
    train(toy, RunOptions(max_steps=2), folder=tmp_path)
    path = tmp_path / "last.safetensors"
    translator, info, extra = read_checkpoint(path)
    resume = RunOptions(max_steps=2, resume=True)
    less = {name: tensor for name, tensor in extra.items() if name != "rng"}
    cases = [
        ({name: info[name] for name in info if name != "position"}, extra, "KeyError: 'position'"),
        (info | {"position": []}, extra, "ValueError: not enough values"),
        (info | {"data": ["train"]}, extra, "AttributeError"),
        (info | {"losses": "x"}, extra, "ValueError: could not convert string"),
        (info | {"learning_rates": []}, extra, "ValueError: 2 losses, 0 learning rates"),
        (info | {"step": 3}, extra, "ValueError: 2 losses of 3 steps"),
        (info | {"epochs": [None]}, extra, "TypeError"),
        (info | {"seconds": float("nan")}, extra, "ValueError: nan seconds"),
        (info, less, "KeyError: 'rng'"),
        (info, {"rng": extra["rng"]}, "lacks a part for source_embedding.tokens.weight"),
        (info, {n: t for n, t in extra.items() if ".7." not in n}, "optimiser lacks a part for"),
        (info, {n: t for n, t in extra.items() if "exp_avg_sq" not in n}, "lacks a part for"),
        (info, extra | {"rng": torch.zeros(3)}, "TypeError: RNG state must be"),
    ]
    for changed_info, tensors, message in cases:
        save_checkpoint(path, translator, info=changed_info, extra=tensors)
        with pytest.raises(CourseError, match=f"all that a run needs to go on, got .*{message}"):
            train(toy, resume, folder=tmp_path)


def test_the_random_numbers_of_a_gpu_are_kept_too(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # on a machine with one, too
    restored = []
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        gpu = SimpleNamespace(
            is_available=lambda: True,
            get_rng_state=lambda: torch.arange(3),
            set_rng_state=restored.append,
        )
        with_gpu = SimpleNamespace(**vars(torch) | {"cuda": gpu})
        patch.setattr("course_lib.training.runs.random_state.torch", with_gpu)
        train(toy, folder=tmp_path)
        train(toy, RunOptions(resume=True), folder=tmp_path)
    assert [state.tolist() for state in restored] == [[0, 1, 2]]
    assert train(toy, RunOptions(resume=True), folder=tmp_path).finished  # where there is no GPU


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT"])
def test_being_asked_to_end_saves_the_run_as_ctrl_c_does(toy, tmp_path, monkeypatch, name):
    if not hasattr(signal, name):
        pytest.skip(f"no {name} on this system")
    number = getattr(signal, name)
    original, calls = training_trainer.train_step, []

    def terminated_step(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)  # as shell and system both do of a closed terminal
        return original(*args, **kwargs)

    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        patch.setattr(training_trainer, "train_step", terminated_step)
        assert train(toy, folder=tmp_path).step == 3
    assert signal.getsignal(number) is before
    assert train(toy, RunOptions(resume=True), folder=tmp_path).losses == train(toy).losses


def test_of_several_processes_a_second_ctrl_c_tears_no_step(toy, monkeypatch):
    original = training_trainer.train_step

    def doubly_interrupted_step(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(interrupts, "world_size", lambda: 2)
    monkeypatch.setattr(training_trainer, "train_step", doubly_interrupted_step)
    assert train(toy).step == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_every_process_has_its_own_dropout(toy, monkeypatch):
    data, states = load_training_data(toy), []
    for rank in (0, 1, 2):
        monkeypatch.setattr(random_state, "rank", lambda rank=rank: rank)
        torch.manual_seed(0)
        training_trainer.Trainer(toy, data, RunOptions())
        states.append(torch.rand(1).item())
    assert len(set(states)) == 3


def test_an_error_within_a_step_of_one_process_is_not_blamed_on_others(toy, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(training_trainer, "train_step", fail)
    with pytest.raises(RuntimeError, match="^out of memory$"):
        train(toy)


@pytest.mark.parametrize("error", [RuntimeError("broken"), ValueError("no"), CourseError("odd")])
def test_a_step_that_fails_loses_no_step_before_it(toy, tmp_path, monkeypatch, error):
    original, calls = training_trainer.train_step, []

    def fail_at_seven(*args, **kwargs):
        calls.append(1)
        torch.rand(5)  # random numbers that are drawn again when the run goes on
        if len(calls) == 7:
            raise error
        return original(*args, **kwargs)

    whole = train(toy)
    with monkeypatch.context() as patch:
        patch.setattr(training_trainer, "train_step", fail_at_seven)
        with pytest.raises(type(error), match=str(error)):
            train(toy, folder=tmp_path)
    resumed = train(toy, RunOptions(resume=True), folder=tmp_path)
    assert len(resumed.losses) == len(whole.losses)
    assert resumed.learning_rates == whole.learning_rates


def test_a_callback_that_fails_loses_nothing_either(toy, tmp_path):
    with pytest.raises(ZeroDivisionError):
        train(toy, folder=tmp_path, on_epoch=lambda row: 1 / 0)
    resumed = train(toy, RunOptions(resume=True), folder=tmp_path)
    assert resumed.losses == train(toy).losses


@pytest.mark.parametrize("failing", [1, 2])
def test_a_validation_that_fails_is_made_up_for_when_the_run_goes_on(
    toy, tmp_path, monkeypatch, failing
):
    original, calls = loop.validate, []

    def fail(run, data):
        calls.append(1)
        return 1 / 0 if len(calls) == failing else original(run, data)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "validate", fail)
        with pytest.raises(ZeroDivisionError):
            train(toy, folder=tmp_path)
    resumed, whole = train(toy, RunOptions(resume=True), folder=tmp_path), train(toy)
    assert [row["step"] for row in resumed.epochs] == [row["step"] for row in whole.epochs]
    assert torch.equal(weights(resumed), weights(whole))
    assert (tmp_path / "best.safetensors").exists()


def test_the_state_of_a_trainer_is_all_that_another_one_needs(toy):
    recipe = replace(toy, valid_size=0)
    data = load_training_data(recipe)
    torch.manual_seed(0)
    first = training_trainer.Trainer(recipe, data, RunOptions())
    batches = first.remaining_batches()
    for _ in range(3):
        first.step(*next(batches))
    state = copy.deepcopy(first.state_dict())
    for _ in range(3):
        first.step(*next(batches))
    torch.manual_seed(99)
    second = training_trainer.Trainer(recipe, data, RunOptions())
    second.load_state_dict(state)
    batches = second.remaining_batches()
    for _ in range(3):
        second.step(*next(batches))
    assert second.run.losses == first.run.losses
    assert torch.equal(weights(second.run), weights(first.run))


def test_training_seeds_where_one_sees_it_and_making_a_model_does_not(toy):
    data = load_training_data(toy)
    torch.manual_seed(7)
    first = weights(SimpleNamespace(translator=data.new_translator(toy)))
    second = weights(SimpleNamespace(translator=data.new_translator(toy)))
    torch.manual_seed(7)
    again = weights(SimpleNamespace(translator=data.new_translator(toy)))
    assert torch.equal(first, again) and not torch.equal(first, second)


def test_the_configuration_is_known_without_a_model(toy, monkeypatch):
    data = load_training_data(toy)
    monkeypatch.setattr(
        "course_lib.training.data.training_data.new_model",
        lambda config: pytest.fail("built a model"),
    )
    assert data.config(toy).d_model == 16
    assert data.config(toy).target_vocab == len(data.target_vocabulary)


def test_a_run_may_get_validation_sentences_when_it_goes_on(toy, tmp_path, monkeypatch):
    recipe = replace(toy, valid_every=2, patience=3)
    data = load_training_data(recipe)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        train(recipe, RunOptions(max_steps=6), folder=tmp_path, data=replace(data, valid=[]))
    options = RunOptions(max_steps=6, resume=True, accept_changed_data=True)
    run = train(recipe, options, folder=tmp_path, data=data)
    assert ["valid_loss" in row for row in run.epochs] == [False, True, True]


def test_losses_of_other_validation_sentences_cost_no_patience(
    toy, tmp_path, monkeypatch, valid_losses
):
    recipe = replace(toy, valid_every=1, patience=2)
    data = load_training_data(recipe)
    valid_losses(1.0, 3.0, 2.9, 2.8, 2.7, 2.6)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)
        train(recipe, RunOptions(max_steps=5), folder=tmp_path, data=data)
    options = RunOptions(max_steps=5, resume=True, accept_changed_data=True)
    run = train(recipe, options, folder=tmp_path, data=replace(data, valid=data.valid[1:]))
    assert not run.stopped_early and len(run.epochs) == 5


def test_without_its_validation_sentences_a_run_keeps_its_last_weights(toy, tmp_path, monkeypatch):
    recipe = replace(toy, valid_every=1)
    data = load_training_data(recipe)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        train(recipe, RunOptions(max_steps=4), folder=tmp_path, data=data)
    options = RunOptions(max_steps=4, resume=True, accept_changed_data=True)
    run = train(recipe, options, folder=tmp_path, data=replace(data, valid=[]))
    last, info, _ = read_checkpoint(tmp_path / "final.safetensors")
    assert info["step"] == 4
    assert torch.equal(weights(run), parameters_to_vector(last.model.parameters()))


def test_the_best_weights_are_chosen_anew_when_the_validation_sentences_change(
    toy, tmp_path, monkeypatch
):
    recipe = replace(toy, valid_every=2)
    data = load_training_data(recipe)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        train(recipe, RunOptions(max_steps=6), folder=tmp_path, data=data)
    harder = [pair._replace(target=("of another corpus",) * 6) for pair in data.valid]
    options = RunOptions(max_steps=6, resume=True, accept_changed_data=True)
    run = train(recipe, options, folder=tmp_path, data=replace(data, valid=harder))
    before, *after = [row["valid_loss"] for row in run.epochs]
    assert before < min(after)
    best = read_checkpoint(tmp_path / "best.safetensors")[1]
    assert best["step"] == run.epochs[1 + after.index(min(after))]["step"]
