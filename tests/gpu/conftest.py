"""Every test here computes the same thing on the CPU and on another device, in float32.

Each runs twice. ``[cpu]``, the CPU against itself, shows on every machine that the test works.
``[cuda]`` is the test; it is skipped where there is no GPU, unless ``COURSE_GPU`` is set, as on the
machine that is there for it.
"""

import os

import pytest
import torch
from jaxtyping import config

from course_lib.lesson import set_up


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """The device to compare with the CPU."""
    if request.param == "cuda" and not torch.cuda.is_available():
        if os.environ.get("COURSE_GPU"):
            pytest.fail("COURSE_GPU is set, but PyTorch finds no GPU: see `course doctor`")
        pytest.skip("there is no GPU here")
    return request.param


@pytest.fixture(autouse=True)
def as_in_a_lesson(monkeypatch):
    """Seeded, without TF32, deterministic: whatever is not deterministic stops with an error."""
    monkeypatch.setenv("COURSE_QUIET", "1")
    monkeypatch.setattr(config, "jaxtyping_disable", True)
    precision = torch.get_float32_matmul_precision()
    set_up()
    yield
    torch.set_float32_matmul_precision(precision)
    torch.use_deterministic_algorithms(False)


def _close(here, there, tolerance):
    assert here.shape == there.shape and here.dtype == there.dtype
    # The largest number sets the scale: next to it, the rounding of a small one does not matter.
    scale = max(1.0, here.abs().max().item())
    difference = (here - there.cpu()).abs().max().item()
    assert difference <= tolerance * scale, f"{difference:.1e} apart, at scale {scale:.1f}"


@pytest.fixture
def close():
    """``close(here, there, tolerance)``: equal but for rounding, relative to the largest number."""
    return _close
