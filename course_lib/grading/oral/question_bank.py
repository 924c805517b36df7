"""The bank of questions for a conversation: a TOML file for each lesson in ``assets/oral``.

An entry is about one item:

    [[question]]
    item = "06.causal_mask"
    lines = ["_.tril(...)", "torch.tril(...)"]   # patterns; left out, it fits every answer
    asks = "What does `diagonal=-1` change here, and which query notices first?"
    expects = ["The diagonal is hidden too, …", "Query 0 has no key left …"]
    then = "And `diagonal=1`?"

With ``lines``, the question is asked only of a student who wrote such a line, and its number and
text are put before the question. Without, the wrong line of a spot-the-bug item and the first
sentence of an answer in words are put before it, and it is asked of whoever wrote an answer that
did not fail. Adding an entry is all that it takes to add a question.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.checks.table import TABLE
from course_lib.errors import CourseError
from course_lib.grading.oral.patterns import parse_pattern

BANK = Path(__file__).parents[2] / "assets" / "oral"
_FIELDS = {"item", "lines", "asks", "expects", "then"}


@dataclass(frozen=True, kw_only=True)
class BankQuestion:
    """A question about an item.

    Attributes:
        item: its id.
        asks: the question.
        expects: two or three points of a good answer.
        then: a follow-up.
        lines: patterns, one of which the answer must have; () if it fits every answer.
    """

    item: str
    asks: str
    expects: tuple[str, ...]
    then: str
    lines: tuple[str, ...] = ()


@cache
def load_bank(assignment: str, folder: Path = BANK) -> tuple[BankQuestion, ...]:
    """The questions of an assignment, such as "06_masks"; none if it has no file.

    Raises:
        CourseError: the file is no TOML, or an entry is not as above.
    """
    path = folder / f"{assignment}.toml"
    if not path.is_file():
        return ()
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("question", [])
        return tuple(_question(entry) for entry in entries)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CourseError(
            f"expected questions for a conversation in {path}, and could not read them ({error}): "
            "compare the entry with its neighbours"
        ) from None


def _question(entry: dict[str, Any]) -> BankQuestion:
    """An entry of the file.

    Raises:
        ValueError: it lacks something, or has too much.
    """
    about = f"the question {str(entry.get('asks', entry))[:60]!r}"
    if unknown := entry.keys() - _FIELDS:
        raise ValueError(f"{about} has {', '.join(sorted(unknown))}, which no question has")
    if missing := _FIELDS - {"lines"} - entry.keys():
        raise ValueError(f"{about} lacks {', '.join(sorted(missing))}")
    if entry["item"] not in TABLE:
        raise ValueError(f"{about} is about {entry['item']!r}, which is no item")
    if not 2 <= len(entry["expects"]) <= 3:
        raise ValueError(f"{about} should have two or three expected points")
    for pattern in entry.get("lines", ()):
        parse_pattern(pattern)
    return BankQuestion(
        item=entry["item"],
        asks=entry["asks"],
        expects=tuple(entry["expects"]),
        then=entry["then"],
        lines=tuple(entry.get("lines", ())),
    )
