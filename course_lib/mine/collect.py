"""Collect the answers that pass from the exercises of a learner's copy, one file a lesson.

The notebooks are the source: each is read anew when it, or the course, has changed since. An answer
counts if it passes its check when it stands in its file, and not in a kernel that may hold more.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from course_lib.atomic import write_atomically
from course_lib.checks import TABLE, load_item
from course_lib.checks.diagnosis.diagnose import SEED
from course_lib.checks.diagnosis.trial import Trial, try_probe
from course_lib.checks.engine.call import ask
from course_lib.checks.engine.isolation import usual_defaults
from course_lib.checks.engine.item import Item
from course_lib.checks.engine.time_limit import PROCESSOR_TIME, TookTooLong, within
from course_lib.checks.report.own_work import borrowed_from
from course_lib.checks.table import TOPICS
from course_lib.grading.submissions.exercise import load_exercise
from course_lib.grading.submissions.magics import without_commands
from course_lib.grading.submissions.submission import SubmissionError, read_submission
from course_lib.grading.submissions.transplant import transplant
from course_lib.home import COURSE, LIBRARY
from course_lib.mine.library import Library, file_name, run_source
from course_lib.mine.parts import PARTS, Part, using
from course_lib.mine.statements import Statement, as_module, read_statements, select

FOLDER, RECORD = "mine", "parts.json"
SECONDS = 10.0  # of processor time, for a call of an answer
_ask = partial(ask, timer=PROCESSOR_TIME)
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What was collected of a lesson.

    Attributes:
        notebook: the SHA-256 of the notebook that was read, "" if there is none.
        file: the SHA-256 of the file that was written, "" for none.
        own: the names of the answers that pass, by item.
        missing: for each other item, in a sentence, why it isn't among them.
        remarks: what the learner should know besides.
    """

    notebook: str = ""
    file: str = ""
    own: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collection:
    """What was collected of all lessons, in the folder ``mine`` of a learner's copy."""

    work: Path
    lessons: Mapping[str, Lesson]

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.work / FOLDER

    @property
    def own(self) -> dict[str, str]:
        """The learner's answers: names by item."""
        return {item: name for each in self.lessons.values() for item, name in each.own.items()}

    def version_of(self, part: Part) -> str:
        """What tells a part from an earlier one: its file; "" for the course's."""
        return self.lessons[part.lesson].file if part.item in self.own else ""

    def library(self) -> Library:
        """The parts, as Python."""
        sources = {
            number: (self.folder / file_name(number)).read_text("utf-8")
            for number, lesson in self.lessons.items()
            if lesson.own
        }
        own = [part.name for part in PARTS.values() if part.item in self.own]
        return Library(sources, own, self.folder)

    def why_not(self, item_id: str) -> str:
        """Why an item isn't among the learner's own, in a sentence."""
        lesson = self.lessons.get(item_id[:2], Lesson())
        return lesson.missing.get(item_id, "it isn't written yet")


def collect(work: Path, *, tell: Tell | None = None) -> Collection:
    """Bring ``mine/`` up to date with the exercises of a copy of the course.

    Args:
        tell: called with a sentence before a notebook is checked, which takes seconds.

    Raises:
        CourseError: the folder can't be written.
    """
    folder = work / FOLDER
    known = _read_record(folder / RECORD)
    lessons: dict[str, Lesson] = {}
    for number, topic in TOPICS.items():
        notebook = work / "exercises" / f"{number}_{topic}" / f"{topic}.ipynb"
        before = known.get(number, Lesson())
        if not notebook.is_file():
            if before.file:  # nothing is lost because a notebook was moved away for a while
                note = f"{notebook} isn't there: the answers collected from it earlier are used."
                lessons[number] = _with_remark(before, note)
            continue
        file = folder / file_name(number)
        remarks = _keep_edit(file, before)
        digest = _sha256(notebook)
        if digest == before.notebook and _same_file(file, before) and not remarks:
            lessons[number] = before
            continue
        lessons[number] = _collect_lesson(
            number, notebook, digest, folder, before=before, lessons=lessons, tell=tell
        )
        for remark in remarks:
            lessons[number] = _with_remark(lessons[number], remark)
    _write_record(folder / RECORD, lessons, known)
    return Collection(work, lessons)


def _collect_lesson(
    number: str,
    notebook: Path,
    digest: str,
    folder: Path,
    *,
    before: Lesson,
    lessons: Mapping[str, Lesson],
    tell: Tell | None,
) -> Lesson:
    """What a notebook answers by now; it writes the lesson's file."""
    assignment = f"{number}_{TOPICS[number]}"
    exercise = load_exercise(COURSE / "exercises", assignment)
    try:
        found = transplant(read_submission(notebook), exercise)
    except SubmissionError as error:
        return _with_remark(before, str(error))
    asked = {
        task.entry.id: task.subject
        for task in exercise.tasks
        if task.entry.kind == "code" and task.entry.id in found.answered
    }
    file = folder / file_name(number)
    if not asked:
        return _without_file(file, digest)
    if tell:
        tell(f"Checking what {notebook.name} answers …")
    statements = read_statements([without_commands(cell.source) for cell in found.cells])
    library = Collection(folder.parent, lessons).library()
    own, missing = dict[str, str](), dict[str, str]()
    with usual_defaults():
        for item_id, name in asked.items():
            source = _source(number, notebook, select(statements, [name]))
            reason = _why_it_fails(item_id, name, source, folder=folder, library=library)
            if reason and library.own:  # it may be an earlier part that is wrong
                course = library.with_own(())
                reason = _why_it_fails(item_id, name, source, folder=folder, library=course)
            if reason:
                changed = " any more" if item_id in before.own else ""
                missing[item_id] = f"it doesn't pass{changed}: {reason}"
            else:
                own[item_id] = name
    if not own:
        return _without_file(file, digest, missing)
    text = _source(number, notebook, select(statements, list(own.values())))
    write_atomically(file, text)
    others = [p.name for p in notebook.parent.glob("*.ipynb") if p != notebook]
    remarks = (
        [
            f"{notebook.parent.name} has other notebooks, too ({', '.join(sorted(others))}): only "
            f"{notebook.name} is read."
        ]
        if others
        else []
    )
    return Lesson(
        notebook=digest,
        file=_sha256(file),
        own=own,
        missing=missing,
        remarks=tuple(remarks),
    )


def _without_file(file: Path, digest: str, missing: dict[str, str] | None = None) -> Lesson:
    file.unlink(missing_ok=True)
    return Lesson(notebook=digest, missing=missing or {})


def _source(number: str, notebook: Path, statements: Sequence[Statement]) -> str:
    return as_module(
        f"Your answers of lesson {number} that pass, as they stand in {notebook.name}.\n\n"
        "`course mine` writes this file anew whenever the notebook changes: change the notebook.",
        statements,
    )


def _why_it_fails(item_id: str, name: str, source: str, *, folder: Path, library: Library) -> str:
    """Why an answer doesn't pass as it stands in its file, "" if it does."""
    if files := _own_files(source, folder.parent):
        return (
            f"it imports {', '.join(files)}, a file of yours that only its notebook finds; put "
            "what it needs into the notebook"
        )
    with using(library):  # an answer may make a part when it is called
        try:
            module = within(
                SECONDS, lambda: run_source(source, folder, item_id[:2], library), PROCESSOR_TIME
            )
            subject = getattr(module, name)
        except (Exception, SystemExit, TookTooLong) as error:  # whatever a notebook's code raises
            return f"outside of its notebook it raises {type(error).__name__}: {error}"
        if not callable(subject):
            return f"{name} is no function or class at the end of the notebook"
        return _first_failure(load_item(item_id), subject)


def _first_failure(item: Item, subject: Any) -> str:
    calls = []
    for i, probe in enumerate(item.probes):
        trial = try_probe(
            probe, item, subject=subject, draw_seed=SEED + i, seconds=SECONDS, ask_learner=_ask
        )
        if trial.difference:
            return _reason(trial)
        calls.append(trial.calls[0])
    borrowed = borrowed_from(item, subject, calls=calls)
    return f"it calls {borrowed}" if borrowed else ""


def _reason(trial: Trial) -> str:
    if trial.stop:
        return f"it takes more than {SECONDS:g} seconds where “{trial.probe.property}” is tested"
    return f"the test “{trial.probe.property}” fails; run its check in the notebook"


def _own_files(source: str, work: Path) -> list[str]:
    """The modules that a source imports and that are neither installed nor the course's."""
    return [
        module
        for module in dict.fromkeys(_imported(source))
        if module not in ("course_lib", *sys.stdlib_module_names) and not _installed(module, work)
    ]


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or ".").partition(".")[0]


def _installed(module: str, work: Path) -> bool:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return False
    return spec is not None and not Path(spec.origin or "/").is_relative_to(work.resolve())


def _keep_edit(file: Path, before: Lesson) -> list[str]:
    """Keep a file that somebody has edited under another name, and say so."""
    if not file.is_file() or not before.file or _sha256(file) == before.file:
        return []
    kept = file.with_name(f"{file.stem}.edited.py")
    file.replace(kept)
    return [
        f"{file.name} was edited: what you wrote is kept in {kept.name}, and the file is written "
        "anew from the notebook. Put your change into the notebook."
    ]


def _same_file(file: Path, before: Lesson) -> bool:
    return _sha256(file) == before.file if file.is_file() else not before.file


def _with_remark(lesson: Lesson, remark: str) -> Lesson:
    return Lesson(**{**asdict(lesson), "remarks": (*lesson.remarks, remark)})


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def checks_hash() -> str:
    """A hash of all that decides whether an answer passes: a new release checks everything anew."""
    total = hashlib.sha256()
    for path in sorted([*LIBRARY.glob("checks/**/*.py"), *LIBRARY.glob("mine/*.py")]):
        total.update(path.read_bytes())
    return total.hexdigest()


def _read_record(path: Path) -> dict[str, Lesson]:
    """What was collected before; of another release, everything is checked anew."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        known = {number: _lesson(row) for number, row in stored["lessons"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    if stored.get("checks") == checks_hash():
        return known
    return {number: Lesson(**{**asdict(each), "notebook": ""}) for number, each in known.items()}


def _lesson(row: Mapping[str, Any]) -> Lesson:
    """A lesson as the record has it.

    Raises:
        TypeError: it is not one.
    """
    texts = {item: str(name) for item, name in row["own"].items() if item in TABLE}
    missing = {item: str(why) for item, why in row["missing"].items() if item in TABLE}
    return Lesson(notebook=str(row["notebook"]), file=str(row["file"]), own=texts, missing=missing)


def _write_record(path: Path, lessons: Mapping[str, Lesson], known: Mapping[str, Lesson]) -> None:
    if lessons == known or (not lessons and not path.exists()):
        return
    rows = {number: asdict(each) for number, each in lessons.items()}
    write_atomically(path, json.dumps({"checks": checks_hash(), "lessons": rows}, indent=1) + "\n")
