"""The result of grading a submission, as plain data that can be stored and read again."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from course_lib.checks.engine.call import truncated
from course_lib.errors import CourseError

ItemStatus = Literal["passed", "not yet", "not started", "not run", "to be marked", "no answer"]
FORMAT = 1  # of the files; raised when their meaning changes
_MOST_NAMED = 10  # in an error message


@dataclass(frozen=True)
class PropertyResult:
    """A test of an item: the property, and what differed; "" if it passed."""

    property: str
    difference: str = ""


@dataclass(frozen=True, kw_only=True)
class ItemResult:
    """The result of one item.

    Attributes:
        id, title: of the item.
        status: "to be marked" and "no answer" are for answers in words, "not run" for what could
            not be graded.
        points: None where a person has to decide.
        most: the points that it is worth.
        misconceptions: the names of those that were recognised, or of what was observed.
        seen: what was observed, in a sentence; "" for a misconception, whose item has its words.
        tests: of the learner's code.
        line_found: for a spot-the-bug item, whether the wrong line was named; else None.
        flags: what a person should look at; they deduct nothing.
        text: an answer in words, as it was handed in. It may contain anything, HTML included.
        code: a short name of an answer in code, another one for each; "" if nothing was written.
        reason: why it was not run.
        conventions: those of the student's variant; without any, the course's own.
        numbers: of the runs that a right answer is about, where the student chooses them.
    """

    id: str
    title: str
    status: ItemStatus
    points: float | None
    most: float
    misconceptions: tuple[str, ...] = ()
    seen: str = ""
    tests: tuple[PropertyResult, ...] = ()
    line_found: bool | None = None
    flags: tuple[str, ...] = ()
    text: str = ""
    code: str = ""
    reason: str = ""
    conventions: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SubmissionResult:
    """The result of one student's submission.

    Attributes:
        student, assignment: whose it is, and of what.
        isolation: in which the code ran, "bubblewrap" or "none".
        key: a hash of all that the result depends on; equal keys mean equal results.
        notebook: the file that was graded, "" if none could be read.
        items: in the order of the exercise; none if nothing could be read.
        notes: what an instructor should know.
        handed_in: when, as nbgrader's timestamp.txt has it; "" where there is none.
        course_parts: the parts of earlier lessons that the answers use, which were the course's.
    """

    student: str
    assignment: str
    isolation: str
    key: str
    notebook: str
    items: tuple[ItemResult, ...]
    notes: tuple[str, ...] = ()
    handed_in: str = ""
    course_parts: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether there was a notebook that could be read."""
        return bool(self.notebook)

    @property
    def points(self) -> float | None:
        """The points earned automatically; None if nothing could be read or something not run."""
        if not self.readable or any(item.status == "not run" for item in self.items):
            return None
        return sum(item.points or 0 for item in self.items)

    @property
    def most(self) -> float:
        """The points that can be earned automatically."""
        words = ("to be marked", "no answer")
        return sum(item.most for item in self.items if item.status not in words)

    @property
    def to_mark(self) -> int:
        """The number of answers that a person has to mark."""
        return sum(item.status == "to be marked" for item in self.items)

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SubmissionResult:
        """The result that ``to_json`` wrote.

        Raises:
            CourseError: the text is something else.
        """
        try:
            data = json.loads(text)
            if data.pop("format") != FORMAT:
                raise ValueError("another format")
            items = tuple(_item(item) for item in data.pop("items"))
            parts = tuple(data.pop("course_parts", ()))
            return cls(items=items, notes=tuple(data.pop("notes")), course_parts=parts, **data)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CourseError(
                f"expected a stored result, got something else ({type(error).__name__}: {error}): "
                "delete the file and grade again"
            ) from None


def _item(data: Mapping[str, Any]) -> ItemResult:
    fields: dict[str, Any] = dict(data)
    fields["tests"] = tuple(PropertyResult(**test) for test in data["tests"])
    for name in ("misconceptions", "flags"):
        fields[name] = tuple(data[name])
    for name in ("conventions", "numbers"):
        fields[name] = tuple(data.get(name, ()))
    return ItemResult(**fields)


def shown_points(points: float | None) -> str:
    """Points in a table: "3", "2.5", or "?" where they are not known."""
    if points is None or not math.isfinite(points):
        return "?"
    return f"{points:g}"


def shown_text(text: str, most: int = 80) -> str:
    """Text that may come from anybody, to be shown: no control characters, and not too long.

    Marks that turn the direction of writing are such characters, too.
    """
    return truncated("".join(c if c.isprintable() else " " for c in text), most)


def quoted(name: object, most: int = 80) -> str:
    """A name that somebody chose, for a sentence of which no part of it can seem to be; of a long
    one the end is shown, which is where a path differs from others.
    """
    whole = str(name)
    text = shown_text(whole, len(whole)).replace('"', "'")
    return f'"{text}"' if len(text) <= most else f'"…{text[1 - most :]}"'


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows as lines in which columns are below each other; those at ``right`` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def clean_name(name: str) -> str:
    """A student's name as it is compared with those in other files.

    Nobody sees a space at its end, nor whether "é" is one character or two, as on macOS.
    """
    return unicodedata.normalize("NFC", name).strip()


def list_names(names: Sequence[str]) -> str:
    """Names for a message, of which there may be hundreds."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return "; ".join(shown_text(name, 200) for name in names[:_MOST_NAMED]) + more
