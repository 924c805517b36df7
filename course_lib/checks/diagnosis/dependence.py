"""What a wrong result depends on: an input without effect, or indices that reach too far.

Each input is changed, as a whole and at one index of one axis, and the learner's result is compared
with the right one: both have to change at the same indices.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks.diagnosis.arguments import known_parameters, method_of, positional_names
from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.trial import AskLearner, Trial, not_interrupted
from course_lib.checks.engine.call import Answer, Call, ask
from course_lib.checks.engine.compare import answers_differ, any_along, slice_of_axis
from course_lib.checks.engine.item import Item

MOST_NAMED = 4
SECONDS = 1.0  # in which the inputs are changed
MOVED = 1e-4  # a smaller change may be rounding

Index = tuple[int, int]  # an axis and an index along it


@dataclass(frozen=True)
class _Input:
    """An input: its position among the leaves of a call."""

    position: int
    is_weight: bool


@dataclass(frozen=True, kw_only=True)
class _Case:
    """A call, its inputs by name, both results as lists of tensors and numbers, and how these are
    arranged in each result.
    """

    call: Call
    inputs: dict[str, _Input]
    right: list[Tensor]
    received: list[Tensor]
    layouts: tuple[Any, Any]
    fails: bool

    @property
    def is_plain(self) -> bool:
        """Whether nothing is special about it, and no axis has only one index."""
        tensors = [x for x in tree.tree_leaves(self.call.args) if isinstance(x, Tensor)]
        return not self.call.about and all(min(x.shape, default=2) > 1 for x in tensors)


@dataclass(frozen=True, kw_only=True)
class _ResultsAfter:
    """Both results after a change of one input.

    One is comparable with the result before, number by number, if it is arranged in the same way.
    """

    right: list[Tensor]
    received: list[Tensor]
    right_comparable: bool
    received_comparable: bool


@dataclass(frozen=True, kw_only=True)
class _Code:
    """The reference and the learner's code, and how the learner's is called."""

    item: Item
    subject: Any
    ask_learner: AskLearner

    def answers(self, call: Call) -> tuple[Answer, Answer]:
        """The right answer to a call, and the learner's."""
        right = not_interrupted(ask(self.item.reference, call, self.item.use))
        return right, self.ask_learner(self.subject, call, self.item.use)


def find_dependence(
    item: Item, subject: Any, *, trials: Sequence[Trial], ask_learner: AskLearner = ask
) -> Observation | None:
    """Results of one number, an input that has no effect on the learner's results, or the index of
    one that has it at other indices than it should; None if the results depend on everything as
    they should, or if there is an error instead of one of them.
    """
    answers = [answer for trial in trials for answer in trial.answers]
    if any(answer.failure or answer.seconds > SECONDS for answer in answers):
        return None
    cases = _cases(item, trials)
    failing = [case for case in cases if case.fails]
    if not failing:
        return None
    none_left_out = len(failing) == sum(_wrong_calls(item, trial) for trial in trials)
    if none_left_out and (same := _one_number(failing)):
        return same
    plain = next((case for case in failing if case.is_plain), None)
    code = _Code(item=item, subject=subject, ask_learner=ask_learner)
    end = time.monotonic() + SECONDS
    idle: list[str] = []
    reach: Observation | None = None
    for name in failing[0].inputs:
        if time.monotonic() > end:
            break
        if _has_no_effect(code, cases, name):
            idle.append(f"`{name}`")
        elif reach is None and plain is not None:
            reach = _find_wrong_reach(code, plain, name)
    if not idle:
        return reach
    more = f" and {len(idle) - MOST_NAMED} more" if len(idle) > MOST_NAMED else ""
    verb = "changes" if len(idle) == 1 else "change"
    return Observation(
        "no_effect",
        f"Your result stays the same when {', '.join(idle[:MOST_NAMED])}{more} {verb}: no effect.",
    )


def _wrong_calls(item: Item, trial: Trial) -> int:
    pairs = zip(trial.expected, trial.answers, strict=True)
    return sum(answers_differ(*pair, tolerance=item.tolerance) is not None for pair in pairs)


def _one_number(cases: Sequence[_Case]) -> Observation | None:
    """Results of several numbers that are all the same: then nothing has an effect that shows."""
    received = torch.cat([x.flatten().double() for case in cases for x in case.received])
    right = torch.cat([x.flatten().double() for case in cases for x in case.right])
    if len(received) == len(cases) or (received != received[0]).any() or (right == right[0]).all():
        return None
    number = f"{received[0].item():.4g}"
    return Observation("one_number", f"In every wrong result, all numbers are {number}.")


def _cases(item: Item, trials: Sequence[Trial]) -> list[_Case]:
    """The calls that give finite numbers of the right shapes, the smallest ones first."""
    found = []
    for trial in trials:
        if trial.probe.compare is not None:
            continue
        for call, right, received in zip(trial.calls, trial.expected, trial.answers, strict=True):
            a, b = numbers_of(right), numbers_of(received)
            if a and [x.shape for x in a] == [x.shape for x in b]:
                fails = answers_differ(right, received, tolerance=item.tolerance) is not None
                values_only = replace(call, gradients=False)
                layouts = _layout(right), _layout(received)
                found.append(
                    _Case(
                        call=values_only,
                        inputs=_inputs(item, call),
                        right=a,
                        received=b,
                        layouts=layouts,
                        fails=fails,
                    )
                )
    return sorted(found, key=lambda case: sum(x.numel() for x in case.right))


def numbers_of(answer: Answer) -> list[Tensor]:
    """All tensors and numbers of a result; none if one of them is not finite."""
    if answer.failure:
        return []
    value = drop_gradients(answer)
    leaves = [x for x in tree.tree_leaves(value) if isinstance(x, (Tensor, bool, int, float))]
    try:
        tensors = [x if isinstance(x, Tensor) else torch.tensor(float(x)) for x in leaves]
    except OverflowError:  # an integer too large for a float
        return []
    return tensors if all(bool(x.isfinite().all()) for x in tensors) else []


def _layout(answer: Answer) -> Any:
    """How lists, dicts and tensors are nested in a result, with their sizes."""
    leaves, nesting = tree.tree_flatten(drop_gradients(answer))
    return nesting, [getattr(leaf, "shape", None) for leaf in leaves]


def drop_gradients(answer: Answer) -> Any:
    """A result without the gradients, which come only if they are asked for."""
    value = answer.value
    if isinstance(value, dict) and "gradients" in value:
        return [entry for name, entry in value.items() if name != "gradients"]
    return value


def _inputs(item: Item, call: Call) -> dict[str, _Input]:
    """The inputs that can be changed, by the names that the learner knows, and weights."""
    method = method_of(call)
    known = known_parameters(item.reference, method=method)
    positional = positional_names(item, method=method)
    leaves, _ = tree.tree_flatten_with_path((call.args, dict(call.kwargs)))
    found: dict[str, _Input] = {}
    for position, (path, leaf) in enumerate(leaves):
        keys = [getattr(key, "idx", getattr(key, "key", None)) for key in path]
        name = str(keys[-1])
        if keys[0] == 0:
            name = positional.get(keys[1], "") if len(keys) == 2 else ""
        is_weight = keys[1] == "weights"
        if name.endswith("_id") and not isinstance(leaf, Tensor):
            continue  # another id may happen to occur nowhere
        if (is_weight or name in known) and _changed(leaf, None) is not None:
            found[item.shown.get(name, name)] = _Input(position, is_weight)
    return found


def _has_no_effect(code: _Code, cases: Sequence[_Case], name: str) -> bool:
    """Whether an input moves right results, and none of the learner's."""
    right_moves = False
    for case, more in product(cases, (False, True)):
        after = _results_after(code, case, changed=case.inputs.get(name), more=more)
        if after is None:
            continue
        # The slightest change of the learner's result is an effect, also one of its arrangement.
        if not after.received_comparable or _any_moved(case.received, after.received, least=0.0):
            return False
        if after.right_comparable and _any_moved(case.right, after.right):
            right_moves = True
    return right_moves


def _find_wrong_reach(code: _Code, case: _Case, name: str) -> Observation | None:
    """Where one index of an input has effect on the result, and should not, or the reverse."""
    changed = case.inputs.get(name)
    if changed is None or changed.is_weight or len(case.right) > 1:
        return None
    x = tree.tree_leaves((case.call.args, dict(case.call.kwargs)))[changed.position]
    if not isinstance(x, Tensor):
        return None
    for axis in range(x.ndim):
        for index in (
            x.size(axis) - 1,
            0,
        ):  # the last one first: a result that looks ahead moves with it
            after = _results_after(code, case, changed=changed, index=(axis, index))
            if after is None or not (after.right_comparable and after.received_comparable):
                continue
            found = _compare_reach(
                _moved(case.right[0], after.right[0]),
                _moved(case.received[0], after.received[0]),
                change=f"When only `{name}{slice_of_axis(axis, index)}` changes, your result",
            )
            if found:
                return found
    return None


def _compare_reach(right: Tensor, received: Tensor, *, change: str) -> Observation | None:
    """The first index along an axis at which only one of two results has moved.

    Args:
        right: where the right result has moved.
        received: where the learner's has, in the same shape.
        change: the start of the sentence.
    """
    for axis in range(right.ndim):
        too_far = any_along(received, axis) & ~any_along(right, axis)
        if too_far.any():
            index = slice_of_axis(axis, _first(too_far))
            return Observation(
                "reaches_too_far",
                f"{change} changes at `{index}`, too; the right one stays the same there.",
            )
        missed = any_along(right, axis) & ~any_along(received, axis)
        if missed.any():
            index = slice_of_axis(axis, _first(missed))
            return Observation(
                "does_not_reach",
                f"{change} stays the same at `{index}`; the right one changes there.",
            )
    return None


def _results_after(
    code: _Code,
    case: _Case,
    *,
    changed: _Input | None,
    index: Index | None = None,
    more: bool = False,
) -> _ResultsAfter | None:
    """Both results after a change of one input, everywhere or at one index; None if the call has no
    such input, if it cannot be changed like this, or if a result is an error or not finite.
    """
    if changed is None:
        return None
    leaves, structure = tree.tree_flatten(copy.deepcopy((case.call.args, dict(case.call.kwargs))))
    leaves[changed.position] = _changed(leaves[changed.position], index, more=more)
    if leaves[changed.position] is None:
        return None
    right, received = code.answers(Call(*tree.tree_unflatten(leaves, structure)))
    right_numbers, received_numbers = numbers_of(right), numbers_of(received)
    if not right_numbers or not received_numbers:
        return None
    right_layout, received_layout = case.layouts
    return _ResultsAfter(
        right=right_numbers,
        received=received_numbers,
        right_comparable=_layout(right) == right_layout,
        received_comparable=_layout(received) == received_layout,
    )


def _changed(x: Any, index: Index | None, *, more: bool = False) -> Any:
    """An input with other values, everywhere or at one index only; None if it can't be changed.

    With ``more`` only whole numbers are changed, by more than one.
    """
    if type(x) is int:
        return 2 * x + 2 if more else x + 1
    if more:
        return None
    if isinstance(x, float):
        return x / 2 + 0.1
    if not isinstance(x, Tensor) or not x.numel() or x.is_complex():
        return None
    other = _other_values(x)
    if index is None or other is None:
        return other
    axis, at = index
    mixed = x.clone()
    mixed.select(axis, at).copy_(other.select(axis, at))
    return mixed


def _other_values(x: Tensor) -> Tensor | None:
    if x.dtype == torch.bool:
        return ~x
    if x.is_floating_point():
        noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
        return x + noise * x.abs().mean().clamp(min=1.0)
    values, order = x.unique(return_inverse=True)
    return values.roll(1)[order] if len(values) > 1 else None


def _moved(before: Tensor, after: Tensor, least: float = MOVED) -> Tensor:
    """Where numbers have changed by more than a share of the largest of them."""
    if not before.is_floating_point():
        return before != after
    largest = float(before.abs().max()) if before.numel() else 0.0
    return (before - after).abs() > least * largest


def _any_moved(before: Sequence[Tensor], after: Sequence[Tensor], *, least: float = MOVED) -> bool:
    return any(bool(_moved(*pair, least).any()) for pair in zip(before, after, strict=True))


def _first(flags: Tensor) -> int:
    return int(flags.nonzero()[0])
