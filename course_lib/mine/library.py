"""Your parts as Python: the files in ``mine/``, and the course's part where one is missing."""

from __future__ import annotations

import types
from collections.abc import Collection
from pathlib import Path
from typing import Any

from course_lib.mine.parts import PARTS, course_part, using


class Library:
    """Where parts come from.

    Args:
        sources: the Python of each lesson, by its number.
        own: the names of the parts that are taken from there; all others are the course's.
        folder: where the sources are kept, for tracebacks.
    """

    def __init__(
        self, sources: dict[str, str], own: Collection[str], folder: Path = Path("mine")
    ) -> None:
        self.sources, self.own, self.folder = sources, frozenset(own), folder
        self._modules: dict[str, types.ModuleType] = {}

    def is_own(self, name: str) -> bool:
        """Whether the part of this name is the learner's."""
        return name in self.own

    def part(self, name: str) -> Any:
        """The part of this name: the learner's, or the course's."""
        if name not in self.own:
            return course_part(name)
        return getattr(self.module(PARTS[name].lesson), name)

    def module(self, lesson: str) -> types.ModuleType:
        """A lesson's file, run once. While it runs, the parts that it imports are this library's.

        Raises:
            Exception: whatever the learner's code raises.
        """
        if lesson not in self._modules:
            self._modules[lesson] = run_source(self.sources[lesson], self.folder, lesson, self)
        return self._modules[lesson]

    def with_own(self, own: Collection[str]) -> Library:
        """A library of the same sources in which these parts are the learner's."""
        return Library(self.sources, frozenset(own) & self.own, self.folder)


def run_source(source: str, folder: Path, lesson: str, library: Library) -> types.ModuleType:
    """A module made from a source.

    Raises:
        Exception: whatever the source raises.
    """
    path = folder / file_name(lesson)
    module = types.ModuleType(f"mine.{path.stem}")
    module.__file__ = str(path)
    with using(library):
        exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    return module


def file_name(lesson: str) -> str:
    """The file of a lesson's parts, "lesson_04.py"."""
    from course_lib.checks.table import TOPICS

    return f"lesson_{lesson}_{TOPICS[lesson]}.py"


def library_of(work: Path) -> Library:
    """The library of a learner's copy of the course, with what its notebooks answer by now."""
    from course_lib.mine.collect import collect

    found = collect(work, tell=print)
    files = tuple(lesson.file for lesson in found.lessons.values())
    if (work, files) not in _libraries:
        _libraries[work, files] = found.library()
    return _libraries[work, files]


_libraries: dict[tuple[Path, tuple[str, ...]], Library] = {}
