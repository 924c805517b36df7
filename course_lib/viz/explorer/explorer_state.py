"""What an attention explorer may show, and what follows from a choice: Python's ``state.js``.

Python refuses what cannot be shown, where the script shows what is nearest. In all else both follow
the cases in ``tests/js/state_cases.json``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.errors import CourseError
from course_lib.viz.explorer.explorer_constants import (
    ALL,
    MEAN,
    PALETTES,
    SENTENCES,
    START,
    STEPS,
    VIEWS,
)
from course_lib.viz.explorer.explorer_data import AttentionData
from course_lib.viz.explorer.explorer_pack import word_numbers

State = dict[str, Any]


def state_after(
    state: State, changes: Mapping[str, Any], shown: Mapping[str, AttentionData]
) -> State:
    """The state with changes, and with what they imply.

    Another kind of attention, or another sentence, has other tokens, so no row stays locked.
    Another head ends the comparison of several. Another row closes the cell that was open. Of
    joined subwords only the weights are known, not the steps to them.

    Args:
        state: what was shown.
        changes: see `AttentionExplorer.select`.
        shown: the attention, by its kind.

    Raises:
        CourseError: a name or a value that the explorer does not have.
    """
    if "sentences" in changes and "sentences" not in state:
        raise CourseError(
            f"sentences={changes['sentences']!r} needs to know where the second one begins: give "
            "explore_attention its second_sentence"
        )
    if unknown := [name for name in changes if name not in state]:
        raise CourseError(f"select knows {', '.join(state)}, got {unknown[0]!r}: is it misspelt?")
    implied: State = {}
    kind = changes.get("kind", state["kind"])
    _check("kind", kind, list(shown))
    data = shown[kind]
    n_layers, n_heads, n_queries, n_keys = data.weights.shape
    if kind != state["kind"]:
        implied = {name: START[name] for name in ("heads", "layers", "query", "key", "step")}
        implied |= {"layer": min(state["layer"], n_layers - 1)}
        implied |= {"head": min(state["head"], n_heads - 1)}
        implied |= {"joined": state["joined"] and _has_subwords(data)}
        implied |= {"sentences": ALL} if "sentences" in state else {}
    if "sentences" in changes and changes["sentences"] != state["sentences"]:
        implied |= {"query": None, "key": None}
    if "head" in changes:
        implied["heads"] = []
    if "query" in changes:
        implied["key"] = None
    if changes.get("joined"):
        implied["step"] = START["step"]
    after = state | implied | dict(changes)
    rows, columns = range(n_queries), range(n_keys)
    if "sentences" in after:
        two = data.second_sentence is not None
        _check("sentences", after["sentences"], list(SENTENCES) if two else [ALL])
        if after["sentences"] != ALL:
            rows, columns = (
                tokens[data.tokens_of(sentence)]
                for tokens, sentence in zip((rows, columns), after["sentences"], strict=True)
            )
    choices: dict[str, Sequence[Any]] = {
        "layer": range(n_layers),
        "layers": range(n_layers),
        "head": range(MEAN, n_heads),
        "heads": range(n_heads),
        "view": list(VIEWS),
        "step": STEPS if data.scores is not None and not after["joined"] else STEPS[-1:],
        "query": [None, *rows],
        "key": [None, *columns],
        "palette": list(PALETTES),
        "joined": (False, True) if _has_subwords(data) else (False,),
        "gold": (False, True),
        "stretch": (False, True),
    }
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


def _has_subwords(data: AttentionData) -> bool:
    """Whether some word consists of several tokens."""
    return any(
        word_numbers(tokens, data.second_sentence)[-1] + 1 < len(tokens)
        for tokens in (data.query_tokens, data.key_tokens)
    )


def _check(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed:
        known = f"{allowed[0]} to {allowed[-1]}" if len(allowed) > 4 else list(allowed)
        raise CourseError(f"{name} must be one of {known}, got {value!r}")
