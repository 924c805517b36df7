"""Alignment links, and calls that should raise a ValueError, for the items of lesson 14."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib.checks.engine.compare import described, short

Link = tuple[int, ...]


Links = set[Link]


def refusal(use: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, str]:
    """For calls that should raise a ValueError, with any message."""
    try:
        value = use(*args, **kwargs)
    except ValueError:
        return {"it raises": "a ValueError"}
    except (ArithmeticError, AssertionError, LookupError, TypeError) as error:
        return {"it raises": f"another error, {type(error).__name__}"}
    result = short(value) if value is None or isinstance(value, (int, float)) else described(value)
    if isinstance(value, BaseException):
        result = "an exception, which isn't raised"
    elif isinstance(value, Tensor) and value.ndim:
        result = "a tensor"  # of whatever shape
    return {"it raises": f"no error, and returns {result}"}
