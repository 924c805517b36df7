"""A learner's progress as HTML: the next step on top, and a row of boxes for each lesson."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Literal

from course_lib.checks.table import Entry

State = Literal["passed", "tried", "to do"]
_STYLE = Path(__file__).parents[1] / "assets" / "progress.css"
_SIGNS = {"passed": "✓", "tried": "…"}  # what is to do has its number


def progress_card(
    rows: Mapping[str, Sequence[Entry]],
    states: Mapping[str, State],
    *,
    following: Entry | None,
    note: str = "",
) -> str:
    """The card, complete without its style and without a script.

    Args:
        rows: the checked items of each lesson, "06 masks".
        states: of each item, by id.
        following: the next item, or None if all are passed.
        note: a sentence below the rows.
    """
    entries = [entry for row in rows.values() for entry in row]
    lines = "".join(_row(name, row, states, following) for name, row in rows.items())
    return (
        f"<style>{_style()}</style>"
        f'<section class="dw course-progress" aria-label="Your progress">{_next(following)}'
        f"<p>{_count(entries, states)}</p>"
        f'<ol class="rows">{lines}</ol><p class="key">✓ passed, … tried, a number: to do. '
        f"{escape(note)}</p></section>"
    )


def _style() -> str:
    from course_lib.viz.drawings.colours import forced_variables, short, theme, variables

    css = theme(".course-progress") + _STYLE.read_text("utf-8")
    return variables() + forced_variables() + short(css)


def _next(entry: Entry | None) -> str:
    if entry is None:
        return '<p class="next"><strong>All checked items are done.</strong></p>'
    return (
        f'<p class="next"><strong>Next: {escape(entry.title)}</strong>'
        f"<small>{entry.id}, about {entry.minutes} minutes. Open it with "
        f"<code>course lab {entry.id[:2]} --exercise</code></small></p>"
    )


def _row(
    name: str, row: Sequence[Entry], states: Mapping[str, State], following: Entry | None
) -> str:
    boxes = []
    for number, entry in enumerate(row, start=1):
        state = states[entry.id]
        classes = [state.replace(" ", "-"), *(["next-item"] if entry == following else [])]
        title = f"{entry.title}: {state}{', next' if entry == following else ''}"
        boxes.append(
            f'<span class="{" ".join(classes)}" title="{escape(title)}">'
            f"{_SIGNS.get(state, number)}</span>"
        )
    words = "; ".join(f"{entry.title}: {states[entry.id]}" for entry in row)
    return (
        f'<li class="row"><span>{name}</span> '
        f'<span class="boxes" role="img" aria-label="{escape(words)}">{" ".join(boxes)}</span> '
        f'<span class="count">{_count(row, states)}</span></li>'
    )


def _count(entries: Sequence[Entry], states: Mapping[str, State]) -> str:
    """How many of the items and points, in words; before the first, only how many there are."""
    passed = [entry for entry in entries if states[entry.id] == "passed"]
    tried = sum(states[entry.id] == "tried" for entry in entries)
    items, points = f"{len(entries)} items", f"{sum(e.points for e in entries)} points"
    if passed:
        items, points = f"{len(passed)} of {items}", f"{sum(e.points for e in passed)} of {points}"
    return f"{items}{f', {tried} tried' if tried else ''} · {points}"
