"""What a learner has passed, in a local file that nothing else depends on."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from course_lib.atomic import write_atomically
from course_lib.checks.progress_card import State, progress_card
from course_lib.checks.table import TABLE, TOPICS, Entry
from course_lib.errors import CourseError
from course_lib.home import expanded
from course_lib.widget_output import widget_output

# An id that an item had in a released version, and the one that it has today. It must never become
# another item's: whoever passed the old one would have passed the new.
FORMER_IDS: dict[str, str] = {}
# Ids of items that the course no longer has. No new item may take one: whoever passed the old item
# would have passed the new.
REMOVED_IDS = frozenset({"11.masked_accuracy", "14.heads_for_figure"})

IN_WORDS = (
    "A person marks answers in words: your teacher, or you, with the cell below your answer, which "
    "shows a model answer beside it."
)


def progress_file() -> Path:
    """``$COURSE_PROGRESS``, or ``transformer-course/progress.json`` among the user's data.

    Raises:
        CourseError: it would be in the home folder, and there is none.
    """
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    default = data / "transformer-course" / "progress.json"
    return expanded(os.environ.get("COURSE_PROGRESS") or default, "COURSE_PROGRESS")


def under_nbgrader() -> bool:
    """Whether this is a kernel in which nbgrader runs somebody else's notebook."""
    return bool(os.environ.get("NBGRADER_EXECUTION"))


def load_passed() -> set[str]:
    """The ids of all items passed so far, former ids translated; none if there is no valid file."""
    return _load()[0]


def load_tried() -> set[str]:
    """The ids of all items whose answers did not pass so far, in the same way."""
    return _load()[1]


def load_own_marks() -> dict[str, float]:
    """The points that a learner gave to answers in words, by item."""
    marks = (_stored() or {}).get("own_marks")
    if not isinstance(marks, dict):
        return {}
    known = ((FORMER_IDS.get(item, item), points) for item, points in marks.items())
    return {
        item: float(points)
        for item, points in known
        if item in TABLE and type(points) in (int, float) and 0 <= points <= TABLE[item].points
    }


def note_own_mark(item_id: str, points: float) -> None:
    """Remember the points that a learner gave to an answer in words; the last ones count.

    Raises:
        CourseError, OSError: the file cannot be written.
    """
    if not under_nbgrader():
        _store(_stored_ids() or {}, {item_id: points})


def _load() -> tuple[set[str], set[str]]:
    """Both, by one look at the file."""
    stored = _stored_ids() or {}
    passed, tried = (
        {FORMER_IDS.get(i, i) for i in stored.get(kind, ())} & TABLE.keys()
        for kind in ("passed", "tried")
    )
    return passed, tried - passed


def _stored() -> dict[str, Any] | None:
    """What the file holds; None if that is something else than a learner's progress.

    A path that is no regular file, such as /dev/null, holds nothing, and is never moved away.

    Raises:
        CourseError: as ``progress_file``.
    """
    file = progress_file()
    try:
        if not file.is_file():
            return {}
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_progress = isinstance(stored, dict) and isinstance(stored.get("passed"), list)
    return stored if is_progress else None


def _stored_ids() -> dict[str, set[str]] | None:
    """What the file holds as "passed" and "tried", also items of a newer version; None if it holds
    something else.

    Raises:
        CourseError: as ``progress_file``.
    """
    stored = _stored()
    if not stored:
        return stored
    lists = {kind: stored.get(kind) for kind in ("passed", "tried")}
    return {
        kind: {i for i in ids if isinstance(i, str)}
        for kind, ids in lists.items()
        if isinstance(ids, list)
    }


def note_checked(item_id: str, *, passed: bool) -> None:
    """Remember that an item was passed, or tried; an unwritable folder, or none, is not an error.

    Nothing is written while somebody else's notebook is graded: the file would be the instructor's.
    A file that cannot be read is kept beside the new one, as ``progress.json.damaged``.
    """
    if under_nbgrader():
        return
    # The check itself passed, and its report matters more than the progress file.
    with suppress(CourseError, OSError):
        stored = _stored_ids()
        known = stored or {}
        kind = "passed" if passed else "tried"
        if item_id in known.get("passed", ()) or item_id in known.get(kind, ()):
            return
        if stored is None:
            file = progress_file()
            file.replace(file.with_name(f"{file.name}.damaged"))
        _store(known | {kind: {*known.get(kind, ()), item_id}})


def note_reset(item_ids: Collection[str]) -> None:
    """Forget that items were passed or tried: their answers are gone. If it fails, they stay."""
    with suppress(CourseError, OSError):
        stored = _stored_ids() or {}
        left = {
            kind: {i for i in ids if FORMER_IDS.get(i, i) not in item_ids}
            for kind, ids in stored.items()
        }
        if left != stored:
            _store(left)


def _store(
    ids: Mapping[str, Collection[str]], own_marks: Mapping[str, float] | None = None
) -> None:
    passed = sorted(ids.get("passed", ()))
    stored: dict[str, Any] = {
        "version": 1,
        "passed": passed,
        "tried": sorted({*ids.get("tried", ())} - {*passed}),
    }
    if marks := load_own_marks() | dict(own_marks or {}):
        stored["own_marks"] = marks
    text = json.dumps(stored, indent=1) + "\n"
    write_atomically(progress_file(), text, through_link=True)


def _in_words(own_marks: Mapping[str, float], lesson: str = "") -> str:
    """The points for answers in words of a lesson, or of all, and how many one gave oneself."""
    entries = [e for e in TABLE.values() if e.kind == "written" and e.id.startswith(lesson)]
    points = str(sum(entry.points for entry in entries))
    marks = [own_marks[entry.id] for entry in entries if entry.id in own_marks]
    return f"{sum(marks):g} of {points}, by your own mark," if marks else points


class Progress:
    """How far a learner has come: a line for each lesson, and the next item.

    In a live notebook it shows the current content of the file, with a button to refresh. What a
    stored notebook keeps is the same for everyone: nothing done yet.
    """

    def __init__(self, passed: Collection[str] | None = None, tried: Collection[str] = ()) -> None:
        self.passed, self.tried = _load() if passed is None else (set(passed), set(tried))
        self.own_marks = load_own_marks() if passed is None else {}

    def rows(self) -> Iterator[tuple[str, list[Entry]]]:
        """Each lesson, "06 masks", with its checked items."""
        for number, topic in TOPICS.items():
            entries = [e for e in TABLE.values() if e.id.startswith(number)]
            yield f"{number} {topic.replace('_', ' ')}", [e for e in entries if e.kind != "written"]

    @property
    def size(self) -> int:
        """The number of checked items."""
        return sum(len(entries) for _, entries in self.rows())

    def next(self, here: str = "") -> str:
        """The first item that has not been passed, those of the lesson ``here`` first."""
        entry = self._next(here)
        if entry is None:
            return "All checked items are done."
        lesson = entry.id[:2]
        where = f"Open it with: course lab {lesson} --exercise"
        if lesson == here:
            where = "It is in this notebook."
        return f"Next: {entry.id} · {entry.title} ({entry.minutes} minutes). {where}"

    def _next(self, here: str = "") -> Entry | None:
        items = [entry for _, entries in self.rows() for entry in entries]
        items.sort(key=lambda entry: entry.id[:2] != here)
        return next((entry for entry in items if entry.id not in self.passed), None)

    def items(self, lesson: str) -> list[str]:
        """A line for each checked item of a lesson, "06" or "6", and how to open it.

        Raises:
            CourseError: no lesson with exercises has this number.
        """
        number = lesson.partition(".")[0].zfill(2)
        if number not in TOPICS:
            first, *_, last = TOPICS
            raise CourseError(
                f"expected a lesson with exercises, {first} to {last}, got {lesson!r}: for all of "
                "them type `course progress`"
            )
        rows = [entry for _, entries in self.rows() for entry in entries if entry.id[:2] == number]
        lines = [
            f"{'■' if e.id in self.passed else '□'} {e.id:32} {e.title} ({e.points} points)"
            for e in rows
        ]
        return [*lines, "", f"Open it with: course lab {number} --exercise"]

    def __str__(self) -> str:
        lines = []
        for name, entries in self.rows():
            bar = "".join("■" if e.id in self.passed else "□" for e in entries)
            lines.append(
                f"{name:22} {bar:9} {self._points(entries)}, and "
                f"{_in_words(self.own_marks, name[:2])} in words"
            )
        return "\n".join([*lines, "", IN_WORDS, self.next()])

    def to_html(self) -> str:
        """A card: what is next, and for each lesson a box for each of its items."""
        rows = dict(self.rows())
        states = {entry.id: self._state(entry.id) for row in rows.values() for entry in row}
        points = _in_words(self.own_marks)
        note = f"Answers in words count besides: {points} points. {IN_WORDS}"
        return progress_card(rows, states, following=self._next(), note=note)

    def _state(self, item_id: str) -> State:
        if item_id in self.passed:
            return "passed"
        return "tried" if item_id in self.tried else "to do"

    def _points(self, entries: list[Entry]) -> str:
        done = sum(e.points for e in entries if e.id in self.passed)
        return f"{done} of {sum(e.points for e in entries)} points"

    def __repr__(self) -> str:
        return f"Progress over {self.size} checked items in {len(TOPICS)} lessons"

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        import ipywidgets as widgets

        page = widgets.HTML(self.to_html())
        again = widgets.Button(description="Refresh")
        again.on_click(lambda _: page.set_trait("value", Progress().to_html()))
        box = widgets.VBox([page, again])
        return widget_output(box.model_id) | {
            "text/html": Progress(()).to_html(),
            "text/plain": repr(self),
        }
