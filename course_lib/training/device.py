"""Where to compute, and with how many bits."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Literal, get_args

import torch

from course_lib.errors import CourseError

Precision = Literal["fp32", "bf16"]


def choose_device(name: str) -> str:
    """The device called ``name``; "auto" is cuda if there is one, and else cpu.

    Raises:
        CourseError: PyTorch cannot use that device here.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).item()  # meta has devices, but no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise CourseError(
            f"expected a device that PyTorch can use here, such as cpu, got {name!r} "
            f"({str(error).splitlines()[0]}): run `course doctor` to see what there is",
            see="the-gpu-is-not-used",
        ) from error
    return name


def faster_in_bf16(device: str) -> bool:
    """Whether the device is faster with bfloat16 matrices: a GPU that has them is, a processor is
    timed.
    """
    # A smaller gain is lost again in conversions.
    return supports_bf16(device) and (device != "cpu" or bf16_speedup() > 1.2)


def supports_bf16(device: str) -> bool:
    """Whether the device multiplies bfloat16 matrices in hardware; False if PyTorch cannot tell."""
    if device.startswith("cuda"):
        with torch.cuda.device(device):  # PyTorch answers for the current device only
            return torch.cuda.is_bf16_supported(including_emulation=False)
    if device != "cpu":
        return False
    # PyTorch 2.6, the oldest version that the course accepts, has no get_capabilities.
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    # The last is the name on ARM processors.
    return any(capabilities.get(name) is True for name in ("avx512_bf16", "amx_bf16", "bf16"))


@cache
def bf16_speedup() -> float:
    """How many times as fast as float32 matrices this processor multiplies bfloat16 ones.

    It counts one thread's time on the processor, where a clock does so finely enough: a wait for
    other programs must not decide which numbers a run computes with.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    fine = time.get_clock_info("thread_time").resolution < 1e-5  # not on Windows
    clock = time.thread_time if fine else time.perf_counter
    fastest: dict[torch.dtype, float] = {}
    for dtype in (torch.float32, torch.bfloat16) * 8:  # in turn; all together some 40 ms
        matrix = torch.full((512, 512), 0.5, dtype=dtype)
        started = clock()
        matrix @ matrix
        seconds = clock() - started
        fastest[dtype] = min(seconds, fastest.get(dtype, seconds))
    torch.set_num_threads(threads)
    return fastest[torch.float32] / fastest[torch.bfloat16]


def choose_precision(name: str, device: str) -> Precision:
    """The precision asked for; "auto" is bf16 where the device is faster with it, else fp32.

    Raises:
        CourseError: there is no precision of that name.
    """
    if name == "auto":
        return "bf16" if faster_in_bf16(device) else "fp32"
    for precision in get_args(Precision):
        if name == precision:
            return precision
    raise CourseError(f"precision must be auto, fp32 or bf16, got {name!r}")


def mixed_precision(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """Inside, with bf16, matrix products round their inputs to bfloat16; sums, norms and the
    weights themselves keep float32.
    """
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
