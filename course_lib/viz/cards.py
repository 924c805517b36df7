"""One look for what a learner answers and reads: questions, what is folded, check reports."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from course_lib.viz.drawings.colours import forced_variables, short, theme, variables

ASSETS = Path(__file__).parents[1] / "assets" / "cards"
SCOPE = ":is(.course-card,.course-fold)"
COLOURS = ("ink", "soft", "line", "hair", "fill", "page", "german", "right", "wrong")


@cache
def card_css() -> str:
    """CSS of all cards, in the colours of the course, for the head of a page."""
    css = (ASSETS / "cards.css").read_text("utf-8")
    return (
        variables(COLOURS, scope=SCOPE)
        + short(theme(SCOPE) + css)
        + forced_variables(COLOURS, scope=SCOPE)
    )


def card_style() -> str:
    """The same as an element, for the output of a notebook."""
    return f"<style>{card_css()}</style>"
