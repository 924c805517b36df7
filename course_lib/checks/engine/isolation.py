"""Run a learner's code so that it changes nothing outside; what it prints is kept apart.

This protects a check from accidents and clumsy tricks, in the same process. It is no wall against
an attacker: whoever gives marks runs the code in a process of its own.
"""

from __future__ import annotations

import builtins
import copy
import gc
import html
import inspect
import io
import linecache
import math
import operator
import os
import random
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import _get_current_function_mode_stack
from torch.overrides import _pop_mode as pop_function_mode
from torch.utils import _pytree as tree
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._python_dispatch import _pop_mode as pop_dispatch_mode

# What the checks themselves use, so that a learner's patch of it would make them wrong.
_PATCHED = (
    *(torch, torch.random, Tensor, nn, nn.Module, nn.Linear, nn.Parameter, nn.init, F, tree),
    *(builtins, copy, gc, html, inspect, io, linecache, math, operator, os, random, re, signal),
    *(time, traceback, warnings),
)
_CLASSES = (Tensor, nn.Module)  # nothing is added to them while learners' code runs
_is = operator.is_
_CHECKS = Path(__file__).parents[1]
_MODULES = tuple(  # of the checks, whose names a learner's code must not change either
    ".".join(("course_lib.checks", *file.with_suffix("").parts))
    for file in (path.relative_to(_CHECKS) for path in _CHECKS.rglob("*.py"))
    if file.stem != "__init__" and file.parts[0] != "items"
)
_GLOBAL_HOOKS = tuple(
    hooks
    for name, hooks in vars(nn.modules.module).items()
    if re.fullmatch(r"_global_.*_hooks", name)
)
MOST_RECURSION = 10_000
MOST_PRINTED = 5_000  # characters that are kept
watched: list[object] = []  # objects with attributes that are put back, too


class Printed(io.StringIO):
    """The start of what a learner's code prints, however much it is."""

    def write(self, text: str) -> int:
        """Keep it as far as there is room."""
        super().write(str.__str__(text)[: max(0, MOST_PRINTED - self.tell())])
        return len(text)

    @property
    def text(self) -> str:
        """What was printed, "" after the learner's code has closed it."""
        return "" if self.closed else self.getvalue()


@contextmanager
def isolated() -> Iterator[Printed]:
    """Undo what the code in the block sets, hide what it warns about, and give what it prints.

    It begins with float32 and the CPU as defaults, whatever the notebook has set.
    """
    printed = Printed()
    learning = torch.is_grad_enabled()
    deterministic = torch.get_deterministic_debug_mode()
    set_recursion_limit = sys.setrecursionlimit
    recursion, variables, folder = sys.getrecursionlimit(), dict(os.environ), _folder()
    try:
        with (
            usual_defaults(),
            _patches_undone(),
            _hooks_undone(),
            torch.random.fork_rng(devices=[]),
            torch.enable_grad(),
            redirect_stdout(printed),
            redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            sys.setrecursionlimit = partial(_limit_recursion, set_recursion_limit)
            yield printed
    finally:  # with everything unpatched again
        sys.setrecursionlimit = set_recursion_limit
        torch.set_grad_enabled(learning)
        torch.set_deterministic_debug_mode(deterministic)
        sys.setrecursionlimit(recursion)
        if dict(os.environ) != variables:
            os.environ.clear()
            os.environ.update(variables)
        if folder != _folder():
            os.chdir(folder)


@contextmanager
def usual_defaults() -> Iterator[None]:
    """The dtype and the device by default as in a new kernel, and afterwards as before."""
    dtype, device = torch.get_default_dtype(), _default_device()
    torch.set_default_dtype(torch.float32)
    if device.type != "cpu":
        torch.set_default_device(None)
    moved = _default_device() != device  # not inside of `with torch.device(…)`
    try:
        yield
    finally:
        if moved or _default_device() != device:
            torch.set_default_device(None if device.type == "cpu" else device)
        torch.set_default_dtype(dtype)


def _default_device() -> torch.device:
    """The default device as it was set, which may be one that isn't there: where it has no index,
    ``torch.get_default_device`` makes a tensor on it to find that out.
    """
    modes = reversed(_get_current_function_mode_stack())
    device = next((mode.device for mode in modes if isinstance(mode, DeviceContext)), "cpu")
    return torch.device(device)


def _limit_recursion(original: Callable[[int], None], limit: int) -> None:
    """Beyond this, a recursion without end would overflow the stack and end the process."""
    original(min(limit, MOST_RECURSION))


@contextmanager
def _hooks_undone() -> Iterator[None]:
    """Take away what the block leaves behind to run later: tracers, modes, callbacks, imports."""
    tracer, profiler = sys.gettrace(), sys.getprofile()
    lists: list[list[Any]] = [sys.meta_path, sys.path, gc.callbacks]
    before = [list(entries) for entries in lists]
    autocast, known = torch.is_autocast_enabled("cpu"), len(watched)
    depth = _autocast_depth()
    before_hooks = [dict(hooks) for hooks in _GLOBAL_HOOKS]
    functions = len(_get_current_function_mode_stack())
    dispatches = len(_get_current_dispatch_mode_stack())
    try:
        yield
    finally:
        if sys.gettrace() is not tracer:
            sys.settrace(tracer)
        if sys.getprofile() is not profiler:
            sys.setprofile(profiler)
        for entries, old in zip(lists, before, strict=True):
            if entries != old:
                entries[:] = old
        for item in watched[known:]:  # imported by the learner, and perhaps changed at once
            for name in [name for name, module in sys.modules.items() if _holds(module, item)]:
                del sys.modules[name]
        del watched[known:]
        torch.set_autocast_enabled("cpu", autocast)
        while _autocast_depth() > depth:
            torch.autocast_decrement_nesting()
            torch.clear_autocast_cache()  # of weights as they were then
        for hooks, hooked in zip(_GLOBAL_HOOKS, before_hooks, strict=True):
            if len(hooks) != len(hooked):
                hooks.clear()
                hooks.update(hooked)
        while len(_get_current_function_mode_stack()) > functions:
            pop_function_mode()
        while len(_get_current_dispatch_mode_stack()) > dispatches:
            pop_dispatch_mode()


def _holds(module: object, item: object) -> bool:
    return getattr(module, "__dict__", {}).get("item") is item


def _autocast_depth() -> int:
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def _folder() -> str:
    """The working directory, "/" if it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


@contextmanager
def _patches_undone() -> Iterator[None]:
    """Put back what the block replaces in PyTorch, in the modules of this package, in items."""
    own = [sys.modules.get(name) for name in ("course_lib.checks", *_MODULES)]
    owners = (*_PATCHED, *filter(None, own), *watched)
    before = [(owner, dict(vars(owner))) for owner in owners]
    try:
        yield
    finally:
        for owner, names in before:
            now = vars(owner)
            if len(now) == len(names) and all(map(_is, now.values(), names.values())):
                continue
            for name, value in names.items():
                if now.get(name) is not value:
                    setattr(owner, name, value)
            if owner in _CLASSES:
                for name in now.keys() - names.keys():
                    delattr(owner, name)
