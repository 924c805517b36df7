"""What an attention explorer may show, and what follows from a choice: Python's ``state.js``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.errors import CourseError
from course_lib.viz.explorer_constants import MEAN, PALETTES, START, STEPS, VIEWS
from course_lib.viz.explorer_data import AttentionData

State = dict[str, Any]


def state_after(
    state: State, changes: Mapping[str, Any], shown: Mapping[str, AttentionData]
) -> State:
    """The state with changes, and with what they imply.

    Another kind of attention has other tokens, so nothing stays locked. Another head ends the
    comparison of several; another row closes the cell that was open.

    Args:
        state: what was shown.
        changes: see `AttentionExplorer.select`.
        shown: the attention, by its kind.

    Raises:
        CourseError: a name or a value that the explorer does not have.
    """
    if unknown := [name for name in changes if name not in START]:
        raise CourseError(f"select knows {', '.join(START)}, got {unknown[0]!r}: is it misspelt?")
    implied: State = {}
    kind = changes.get("kind", state["kind"])
    _check("kind", kind, list(shown))
    data = shown[kind]
    n_layers, n_heads, n_queries, n_keys = data.weights.shape
    if kind != state["kind"]:
        implied = {name: START[name] for name in ("heads", "layers", "query", "key", "step")}
        implied |= {"layer": min(state["layer"], n_layers - 1)}
        implied |= {"head": min(state["head"], n_heads - 1)}
    if "head" in changes:
        implied["heads"] = []
    if "query" in changes:
        implied["key"] = None
    choices: dict[str, Sequence[Any]] = {
        "layer": range(n_layers),
        "layers": range(n_layers),
        "head": range(MEAN, n_heads),
        "heads": range(n_heads),
        "view": list(VIEWS),
        "step": STEPS if data.scores is not None else STEPS[-1:],
        "query": [None, *range(n_queries)],
        "key": [None, *range(n_keys)],
        "palette": list(PALETTES),
    } | dict.fromkeys(("joined", "gold", "stretch"), (False, True))
    after = state | implied | dict(changes)
    for name, allowed in choices.items():
        if name not in ("heads", "layers"):
            _check(name, after[name], allowed)
            continue
        if not isinstance(after[name], list | tuple | set | range):
            raise CourseError(f"{name} must be a list, such as [0, 1], got {after[name]!r}")
        for value in after[name]:
            _check(name, value, allowed)
        after[name] = sorted(set(after[name]))
    if after["key"] is not None and after["query"] is None:
        raise CourseError(f"key={after['key']} opens a cell of a locked row: give query, too")
    if len(after["layers"]) == n_layers:
        after["layers"] = []
    if len(after["heads"]) == 1:  # a comparison of one
        after |= {"head": after["heads"][0], "heads": []}
    return after


def _check(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed:
        known = f"{allowed[0]} to {allowed[-1]}" if len(allowed) > 4 else list(allowed)
        raise CourseError(f"{name} must be one of {known}, got {value!r}")
