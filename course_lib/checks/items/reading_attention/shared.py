"""What several items of this lesson need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.checks.compare import short

Link = tuple[int, ...]


Links = set[Link]


def refusal(use: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, str]:
    """For calls that deserve a ValueError: its words are the learner's own affair."""
    try:
        value = use(*args, **kwargs)
    except ValueError:
        return {"it raises": "a ValueError"}
    return {"it raises": f"no error, and gives {short(value)}"}
