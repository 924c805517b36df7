from contextlib import nullcontext

import pytest
import torch

from course_lib.data import collate
from course_lib.errors import CourseError
from course_lib.training import device, load_training_data, train_step
from course_lib.training.device import (
    bf16_speedup,
    choose_device,
    choose_precision,
    faster_in_bf16,
    mixed_precision,
    supports_bf16,
)
from course_lib.training.optimizers import make_optimizer


def test_a_gpu_is_chosen_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    assert choose_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("capabilities", "supported", "speedup", "expected"),
    [
        ({"avx512_bf16": True}, True, 2.0, True),
        ({"avx512_bf16": True}, True, 0.6, False),
        ({"avx512_bf16": True}, True, 1.0, False),
        ({"amx_bf16": True}, True, 4.0, True),
        ({"bf16": True}, True, 2.0, True),
        ({"avx512_f": True, "avx512_bf16": False}, False, 2.0, False),
        ({}, False, 2.0, False),
    ],
)
def test_bf16_is_chosen_only_where_the_processor_is_faster_with_it(
    monkeypatch, capabilities, supported, speedup, expected
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    monkeypatch.setattr(device, "bf16_speedup", lambda: speedup)
    assert supports_bf16("cpu") is supported
    assert faster_in_bf16("cpu") is expected
    assert choose_precision("auto", "cpu") == ("bf16" if expected else "fp32")
    assert choose_precision("fp32", "cpu") == "fp32"
    assert choose_precision("bf16", "cpu") == "bf16"


@pytest.mark.slow
def test_the_speed_up_is_that_of_the_fastest_products(monkeypatch):
    durations = iter([9.0, 9.0, 1.0, 2.0] + [3.0, 3.0] * 6)
    clock = iter(
        moment for start, seconds in enumerate(durations) for moment in (start, start + seconds)
    )
    monkeypatch.setattr(device.time, "thread_time", lambda: next(clock))
    bf16_speedup.cache_clear()
    assert bf16_speedup() == 0.5
    assert bf16_speedup() == 0.5  # measured once: the clock has run out
    bf16_speedup.cache_clear()


def test_an_old_pytorch_that_knows_no_capabilities_takes_fp32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not supports_bf16("cpu")
    assert choose_precision("auto", "cpu") == "fp32"


def test_each_gpu_is_asked_for_bf16_of_its_own_without_emulation(monkeypatch):
    asked = []

    def is_bf16_supported(including_emulation):
        assert not including_emulation
        return asked[-1] == "cuda:1"

    monkeypatch.setattr(torch.cuda, "device", lambda name: nullcontext(asked.append(name)))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_bf16_supported)
    assert not supports_bf16("cuda:0")
    assert supports_bf16("cuda:1")
    assert not supports_bf16("mps")


def test_a_device_without_numbers_is_refused():
    with pytest.raises(CourseError, match="a device that PyTorch can use here, .* got 'meta'"):
        choose_device("meta")


def test_precision_has_three_names():
    with pytest.raises(CourseError, match="precision must be auto, fp32 or bf16, got 'fp16'"):
        choose_precision("fp16", "cpu")


def test_mixed_precision_rounds_products_only():
    cpu, ones = torch.device("cpu"), torch.ones(2, 2)
    with mixed_precision(cpu, "bf16"):
        assert (ones @ ones).dtype == torch.bfloat16
        assert ones.softmax(-1).dtype == torch.float32
    with mixed_precision(cpu, "fp32"):
        assert (ones @ ones).dtype == torch.float32


def test_a_step_in_bf16_is_a_rounded_step_in_fp32(still):
    recipe, data = still, load_training_data(still)
    losses = {}
    for precision in ("fp32", "bf16"):
        torch.manual_seed(0)
        translator = data.new_translator(recipe)
        optimizer = make_optimizer(recipe, translator.model)
        optimizer.param_groups[0]["lr"] = recipe.lr
        batch = collate(data.encode(data.train[:8]), pad_id=0)
        losses[precision] = [
            train_step(translator.model, batch, optimizer, 0, precision=precision) for _ in range(3)
        ]
        assert all(p.dtype == torch.float32 for p in translator.model.parameters())
    assert losses["bf16"] != losses["fp32"]
    assert losses["bf16"] == pytest.approx(losses["fp32"], abs=0.05)
