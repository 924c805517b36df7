"""Which sublayer of a learner's module is the first that gets or gives other numbers.

Both modules, the learner's and the reference, are made with the same weights by the item's own
``use``, and what goes into and comes out of the modules inside them is compared by their names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as tree

from course_lib.checks.diagnosis.trial import Trial, not_interrupted
from course_lib.checks.engine.call import Call, ask
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.item import Item

_PLAIN = (bool, int, float, str)


@dataclass(frozen=True, kw_only=True)
class _Event:
    """One call of a module inside another: its arguments by name, and all tensors it returned."""

    name: str
    given: Mapping[str, Any]
    returned: list[Any]


def find_first_sublayer(item: Item, subject: Any, *, trials: Sequence[Trial]) -> str:
    """Where the smallest failing call goes wrong first, as a sentence.

    "" if it can't be found: if the item asks for no module, or the learner's doesn't call the same
    modules as often and with tensors of the same shapes, which is another way to go, and not wrong.
    """
    reference = item.reference
    if not (isinstance(reference, type) and issubclass(reference, nn.Module)):
        return ""
    failing = list(_calls_with_wrong_values(item, trials))
    if not failing:
        return ""
    call = replace(min(failing, key=_size), gradients=False)
    right = _observe_calls(item, reference, call, names=None)
    names = {event.name for event in right}
    received = _observe_calls(item, subject, call, names=names)
    return _first_difference(right, received, tolerance=item.tolerance)


def _calls_with_wrong_values(item: Item, trials: Sequence[Trial]) -> Iterator[Call]:
    """The calls of which not the gradients alone are wrong: what they compute forward is right."""
    for trial in trials:
        if trial.probe.compare is not None:
            continue
        for call, right, received in zip(trial.calls, trial.expected, trial.answers, strict=True):
            if received.failure:
                continue
            difference = answers_differ(right, received, tolerance=item.tolerance)
            if difference and not difference.where.startswith("gradients"):
                yield call


def _size(call: Call) -> int:
    return sum(x.numel() for x in tree.tree_leaves(call.args) if isinstance(x, Tensor))


def _observe_calls(item: Item, subject: Any, call: Call, *, names: set[str] | None) -> list[_Event]:
    """The calls of these modules inside the subject's module, by default of all in its first level,
    dropout left out.
    """
    events: list[_Event] = []
    wrapped: list[tuple[nn.Module, Any]] = []

    def make(*args: Any, **kwargs: Any) -> Any:
        module = subject(*args, **kwargs)
        for name, part in _parts(module):
            if names is None or name in names:
                # Not a hook: a learner may call `forward` directly, which runs none.
                wrapped.append((part, vars(part).get("forward")))
                part.forward = _noted(name, part.forward, events)
        return module

    try:
        not_interrupted(ask(make, call, item.use))
    finally:  # the learner's code may use a part again in another module
        for part, own in reversed(wrapped):
            if own is None:
                del part.forward
            else:
                part.forward = own
    return events


def _parts(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, part in module.named_children():
        if isinstance(part, nn.ModuleList):
            yield from ((f"{name}[{i}]", each) for i, each in enumerate(part))
        elif not isinstance(part, nn.Dropout):
            yield name, part


def _noted(name: str, forward: Callable[..., Any], events: list[_Event]) -> Callable[..., Any]:
    signature = inspect.signature(forward)

    def noted(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = tree.tree_map(_copied, dict(bound.arguments))  # before it may be changed in place
        result = forward(*args, **kwargs)
        returned = [_copied(x) for x in tree.tree_leaves(result)]
        events.append(_Event(name=name, given=given, returned=returned))
        return result

    return noted


def _copied(x: Any) -> Any:
    return x.detach().clone() if isinstance(x, Tensor) else x


def _first_difference(
    right: Sequence[_Event], received: Sequence[_Event], *, tolerance: float
) -> str:
    """Compare the calls in the order of the right module."""
    used: dict[str, int] = {}
    for event in right:
        mine = [each for each in received if each.name == event.name]
        number = used.get(event.name, 0)
        if number >= len(mine) or mine[number].given.keys() - event.given.keys():
            return ""
        used[event.name] = number + 1
        for argument, value in event.given.items():
            same = _same(value, mine[number].given.get(argument), tolerance)
            if same is None:
                return ""
            if not same:
                others = (each.given.get(argument) for each in mine if each is not mine[number])
                if any(_same(value, other, tolerance) for other in others):
                    return ""  # one module is called several times, in another order
                look = "What is computed before that is worth a look."
                if "mask" in argument:
                    look = "Which mask do you pass to it?"
                return (
                    f"Compared with a right answer, the first difference is in what goes into "
                    f"`{event.name}`: its `{argument}`. {look}"
                )
        outputs = zip(event.returned, mine[number].returned, strict=False)
        same_outputs = [_same(a, b, tolerance) for a, b in outputs]
        if None in same_outputs:
            return ""
        if not all(same_outputs):
            return (
                f"Compared with a right answer, what goes into `{event.name}` is right, and what "
                "comes out of it is the first difference."
            )
    if not right or any(used[name] < sum(e.name == name for e in received) for name in used):
        return ""
    last = right[-1].name
    return (
        "Compared with a right answer, the submodules that both answers have get and give the same "
        f"numbers. The difference comes after `{last}`."
    )


def _same(a: Any, b: Any, tolerance: float) -> bool | None:
    """Whether two arguments are the same; None if they can't be compared number by number. A mask
    that masks nothing is as good as none.
    """
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        # What any other two objects hold, such as two caches, isn't known.
        return True if a is b or (isinstance(a, _PLAIN) and a == b) else None
    if a is None or b is None:
        mask = b if a is None else a
        return bool(mask.all()) if mask.dtype == torch.bool else None
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)) or a.dtype != b.dtype:
        return None
    if a.dtype == torch.bool:
        try:
            return bool((a == b).all())
        except RuntimeError:
            return None
    if a.shape != b.shape:
        return None
    return bool(torch.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True).all())
