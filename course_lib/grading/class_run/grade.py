"""Grade one student's submission: read it, run it in the jail, and put the result together."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from traceback import clear_frames

import torch

from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.engine.call import Failure, truncated
from course_lib.checks.engine.ready_made import READY_MADE, refusal
from course_lib.grading.jail.inside.confinement import Limits
from course_lib.grading.jail.item_run import NotRun, SubmissionRun, TimeLimits
from course_lib.grading.jail.jail import Jail
from course_lib.grading.jail.library_view import LIBRARY
from course_lib.grading.results import (
    ItemResult,
    PropertyResult,
    SubmissionResult,
    list_names,
    quoted,
)
from course_lib.grading.submissions.exercise import (
    Exercise,
    Task,
    bound_names,
    solution_file,
)
from course_lib.grading.submissions.flags import find_flags
from course_lib.grading.submissions.own_modules import own_modules
from course_lib.grading.submissions.own_numbers import (
    flags_of_public,
    flags_of_public_run,
    numbers_of,
)
from course_lib.grading.submissions.submission import (
    Submission,
    SubmissionError,
    find_notebooks,
    read_submission,
    what_is_not_read,
)
from course_lib.grading.submissions.transplant import (
    AnotherExercise,
    NoCells,
    Transplant,
    transplant,
)
from course_lib.grading.submissions.which_copy import SortKey, sort_key
from course_lib.run_options import HANDED_IN
from course_lib.training.runs.handed_in_run import (
    digest_of_run,
    evaluate_run_at_hand,
    handed_in_with,
)

# Of a notebook: that it is not the course's solution, how many answers it has, whether there are
# other cells of the exercise in it, and its name.
_Rank = tuple[bool, int, tuple[bool, SortKey]]
# The name, among misconceptions, of right answers that call what is ready-made.
READY_MADE_NAME = "ready_made"
_MOST_TEXT = 50_000  # characters of an answer in words
_MOST_NOTES = 100
_NOT_IN_THE_NOTEBOOK = (
    "it was handed in beside the notebook, and only the notebook is run; put its definitions into "
    "a cell above the first answer, or ask for that, and grade again"
)
_NO_THREAD = "can't start new thread"
# What is raised where something is missing: by its import, by what uses its names, or by our stub.
_MISSING = ("ModuleNotFoundError", "NameError", "NotImplementedError")
_NO_MODULE = re.compile(r"No module named '(\w+)[.']")
_NO_GPU = re.compile(r"not compiled with CUDA|no NVIDIA driver|No CUDA GPUs|CUDA error: no CUDA")
ENDED = "ended its process, which a wrong answer seldom does: try whether it runs outside the jail"
NO_THREAD = (
    f"could not start a thread: here it may have {Limits().threads - 2} of its own at once, and on "
    "Linux before 5.14 fewer"
)
_LINE_NOT_NAMED = "The fix is right, and the wrong line is not named, or it is another one."
NO_RUN = f"no folder {HANDED_IN} with the run's log and weights was handed in: ask for it"
FITS_PUBLIC = (
    "fits the public variant: it passes the course's own tests, and not those of the conventions "
    "that the student was given"
)


def grade_submission(
    path: Path,
    exercise: Exercise,
    *,
    jail: Jail,
    secret: bytes,
    student: str = "",
    limits: TimeLimits | None = None,
    known: SubmissionResult | None = None,
    remarks: Sequence[str] = (),
    handed_in: str = "",
) -> SubmissionResult:
    """Grade what a student handed in for an assignment. Whatever it is, there is a result.

    Args:
        path: a notebook, or a folder with one in it or in a folder in it.
        exercise: what was released.
        jail: where the code runs.
        secret: decides the test inputs; the same for all submissions of an assignment.
        student: whose it is, by default the name of the path.
        limits: of time.
        known: an earlier result; it is returned if everything that it depends on is unchanged.
        remarks: notes that come first in the result.
        handed_in: when; "" if that is not known.
    """
    limits, student = limits or TimeLimits(), student or path.name
    try:
        hand_in = read_hand_in(path, exercise)
    except SubmissionError as error:
        return unreadable(student, exercise, jail=jail, error=error)
    submission, transplanted, notes = hand_in.submission, hand_in.transplant, hand_in.notes
    asks_for_run = any(task.entry.kind == "run" for task in exercise.tasks)
    beside = digest_of_run(hand_in.with_run) if asks_for_run else ""
    key = _key(exercise, jail, secret, limits, submission.sha256, beside, handed_in, *notes)
    if known is not None and known.key == key and known.points is not None:
        return known  # what could not be run is tried again
    asked = [task.entry.id for task in exercise.tasks if task.entry.kind != "written"]
    runs = len(asked) + sum(item_id in READY_MADE for item_id in asked)
    run = SubmissionRun(
        jail=jail,
        cells=transplanted.cells,
        limits=limits,
        end=time.monotonic() + limits.in_all(runs),
        # Not what names a line: a number does, too.
        asked_for=[task.subject for task in exercise.tasks if task.subject],
    )
    items = tuple(
        _with_elsewhere(
            replace(
                _graded(task, exercise, hand_in=hand_in, run=run, secret=secret),
                code=code_id(task, transplanted),
            ),
            hand_in,
        )
        for task in exercise.tasks
    )
    # A notebook may have any number of cells that fail: what they raised comes last.
    notes = (*remarks, *notes, *run.notes_on_items(), *transplanted.notes, *run.notes_on_cells())
    if len(notes) > _MOST_NOTES:
        left_out = len(notes) - _MOST_NOTES + 1
        notes = (*notes[: _MOST_NOTES - 1], f"{left_out} more notes are left out.")
    return SubmissionResult(
        student=encodable(student),
        assignment=exercise.assignment,
        isolation=jail.isolation,
        key=key,
        notebook=_plain(submission.name),
        items=items,
        notes=tuple(map(_plain, notes)),
        handed_in=_plain(handed_in.strip()),
        course_parts=exercise.earlier_parts,
    )


def unreadable(
    student: str, exercise: Exercise, *, jail: Jail, error: SubmissionError
) -> SubmissionResult:
    """The result of what can't be graded, which is tried again at every run."""
    note = (_plain(str(error)),)
    return SubmissionResult(
        student=encodable(student),
        assignment=exercise.assignment,
        isolation=jail.isolation,
        key="",
        notebook="",
        items=(),
        notes=note,
    )


def derive_seed(secret: bytes, item_id: str) -> int:
    """The seed of an item's test inputs: nobody can guess it without the secret."""
    digest = hmac.new(secret, item_id.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:6], "big")


@dataclass(frozen=True, kw_only=True)
class HandIn:
    """What a student handed in.

    Attributes:
        path, submission, transplant: the notebook that counts, and its answers.
        with_run: the folder that may hold a run of the student's, ``own_run``.
        notes: why that one, and what an instructor should know about the others.
        modules: the student's own that it imports.
        elsewhere: items that it doesn't answer, and the notebook that does, in quotation marks.
    """

    path: Path
    submission: Submission
    transplant: Transplant
    notes: tuple[str, ...]
    with_run: Path
    modules: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)


def read_hand_in(folder: Path, exercise: Exercise) -> HandIn:
    """The notebook of a student that counts. Nothing of it is executed.

    The one with the most answers counts, and of equally many the one that ``which_copy`` tells. The
    course's solution, and what is in a folder of this name, comes last, however much it answers.

    Args:
        folder: the student's; or the notebook itself.
        exercise: what was released.

    Raises:
        SubmissionError: there is none that can be read and belongs to the exercise.
    """
    best, errors = None, []  # only the best is kept: each may have 20 MB
    read: dict[Path, _Rank] = {}
    without, answers = list[Path](), dict[Path, frozenset[str]]()
    for path in find_notebooks(folder, exercise.assignment):
        try:
            submission = read_submission(path)
            transplanted = transplant(submission, exercise)
        except SubmissionError as error:
            clear_frames(error.__traceback__)  # they hold the whole text, as the error before it
            error.__context__ = None
            errors.append(error)
            if isinstance(error, NoCells):
                without.append(path.relative_to(folder))
            continue
        name = path.relative_to(folder)
        is_own = "solutions" not in map(str.casefold, name.parts[:-1])
        is_own = is_own and _code_of(submission) != _solution_code(exercise.file)
        has_cells = _has_cells(submission, exercise)
        key = sort_key(name, exercise.file.stem, assignment=exercise.assignment)
        read[path] = rank = is_own, len(transplanted.answered), (has_cells, key)
        answers[path] = transplanted.answered if is_own and has_cells else frozenset()
        if best is None or rank > best[0]:
            best = rank, submission, transplanted, path
    if best is None:
        raise errors[0]
    _, submission, transplanted, path = best
    elsewhere = {
        task.entry.id: quoted(other.relative_to(folder))
        for task in exercise.tasks
        for other in sorted(answers, key=read.__getitem__)
        if task.entry.id in answers[other] - transplanted.answered
    }
    notes = [
        f"{other} answers {', '.join(item for item in elsewhere if elsewhere[item] == other)}, and "
        "the notebook that was graded doesn't: ask which one is meant, or for one with all answers."
        for other in dict.fromkeys(elsewhere.values())
    ]
    if len(read) > 1:
        notes.append(_which_one(read, path, folder))
    # Notebooks of other exercises in the same folder are nothing to worry about.
    notes += [str(each) for each in errors if not isinstance(each, (AnotherExercise, NoCells))]
    if without:
        notes.append(f"Without cells of this exercise: {list_names(list(map(quoted, without)))}.")
    if not_read := what_is_not_read(folder, exercise.assignment):
        notes.append(not_read)
    modules = own_modules(transplanted.cells, [] if path == folder else [path.parent, folder])
    if modules:
        notes.append(f"{quoted(path.name)} needs {_listed(modules)}: {_NOT_IN_THE_NOTEBOOK}.")
    return HandIn(
        path=path,
        submission=submission,
        transplant=transplanted,
        notes=tuple(notes),
        with_run=_with_run(path, folder),
        modules=modules,
        elsewhere=elsewhere,
    )


def _with_run(notebook: Path, folder: Path) -> Path:
    """Where a student's run is looked for: beside the notebook, else in the student's folder. Where
    the notebook is all there is, what lies beside it is other people's, so nowhere.
    """
    if notebook == folder:
        return notebook
    return notebook.parent if (notebook.parent / HANDED_IN).is_dir() else folder


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _with_elsewhere(item: ItemResult, hand_in: HandIn) -> ItemResult:
    """The result of an item, with a flag if another notebook answers it."""
    if not (other := hand_in.elsewhere.get(item.id)):
        return item
    return replace(item, flags=(f"answered in {other}, which was not graded", *item.flags))


def _has_cells(submission: Submission, exercise: Exercise) -> bool:
    """Whether it has cells as they were released, by id or source. Where it has none, all that is
    known is that it defines the same names, as a lesson or another exercise may.
    """
    cells = [cell for cell in exercise.cells if cell.item]
    released = {each for cell in cells for each in (cell.id, cell.source.strip())} - {""}
    return any(
        not released.isdisjoint((cell.id, cell.grade_id, cell.source.strip()))
        for cell in submission.cells
    )


def _code_of(submission: Submission) -> tuple[str, ...]:
    return tuple(cell.source.strip() for cell in submission.cells if cell.is_code)


@cache
def _solution_code(exercise: Path) -> tuple[str, ...]:
    """The code of the course's solution; () if there is none that can be read."""
    with suppress(SubmissionError):
        if (file := solution_file(exercise)) is not None:
            return _code_of(read_submission(file))
    return ()


def _which_one(read: Mapping[Path, _Rank], graded: Path, folder: Path) -> str:
    """A note about several notebooks: which one was graded, which ones were not, and why."""
    is_own, most, key = read[graded]
    others = {path: rank for path, rank in read.items() if path != graded}
    listed = ", ".join(
        f"{quoted(path.relative_to(folder))} ({rank[1]})" for path, rank in others.items()
    )
    reason = "it has the most answers"
    if (is_own, most, key) in others.values():
        reason = "of those with the most answers, its path comes first; ask which one is meant"
    elif any(rank[:2] == (is_own, most) and rank[2][0] < key[0] for rank in others.values()):
        reason = "of those with the most answers, it has the exercise's other cells"
    elif any(rank[:2] == (is_own, most) for rank in others.values()):
        reason = "of those with the most answers, its name says most that it is meant"
    if any(not rank[0] for rank in others.values()):
        last = "a folder solutions and the course's solution count last"
        reason = f"{reason} ({last})" if any(rank[0] for rank in others.values()) else last
    return (
        f"There are {len(read)} notebooks. {quoted(graded.relative_to(folder))} ({most} answers) "
        f"was graded, since {reason}; not {listed}."
    )


def _graded(
    task: Task, exercise: Exercise, *, hand_in: HandIn, run: SubmissionRun, secret: bytes
) -> ItemResult:
    entry, transplanted = task.entry, hand_in.transplant
    if entry.kind == "written":
        text = truncated(transplanted.written.get(entry.id, ""), _MOST_TEXT)
        if not text:
            return ItemResult(
                id=entry.id, title=entry.title, status="no answer", points=0.0, most=entry.points
            )
        return ItemResult(
            id=entry.id,
            title=entry.title,
            status="to be marked",
            points=None,
            most=entry.points,
            text=text,
        )
    if all(cell.ours for cell in transplanted.cells):  # nothing was written, so nothing can run
        return ItemResult(
            id=entry.id, title=entry.title, status="not started", points=0.0, most=entry.points
        )
    flags: tuple[str, ...] = ()
    try:
        flags = find_flags(entry.id, transplanted.cells, others=_flagged_elsewhere(task, exercise))
        seed = derive_seed(secret, entry.id)
        if entry.kind == "run":
            flags = (*flags, *_flags_of_run(entry.id, exercise, hand_in))
        with handed_in_with(hand_in.with_run):
            if entry.kind == "run":
                evaluate_run_at_hand()  # before the time for the answer begins
            diagnosis = run.diagnose(task, seed, checked=transplanted.checked.get(entry.id))
        if reason := _lacks(diagnosis, task, hand_in=hand_in, run=run):
            raise NotRun(reason)
        if task.conventions and diagnosis.status == "not yet" and _fits_public(run, task, seed):
            flags = (FITS_PUBLIC, *flags)
        item = _item_result(task, diagnosis, flags)
        public = flags_of_public(entry.id, item.numbers, exercise=exercise.file)
        return replace(item, flags=(*item.flags, *public))
    except NotRun as error:
        reason = str(error)
    except Exception as error:  # a bug here must not end the grading of a whole class
        reason = f"the grader raised {type(error).__name__}: {error}. Please report it"
    return ItemResult(
        id=entry.id,
        title=entry.title,
        status="not run",
        points=None,
        most=entry.points,
        reason=_plain(reason),
        flags=tuple(map(_plain, flags)),
    )


def _flags_of_run(item_id: str, exercise: Exercise, hand_in: HandIn) -> list[str]:
    """What a person should know about the run that belongs to an answer."""
    if (hand_in.with_run / HANDED_IN).is_dir():
        return flags_of_public_run(hand_in.with_run, exercise.file)
    return [NO_RUN] if item_id in hand_in.transplant.answered else []


def code_id(task: Task, transplanted: Transplant) -> str:
    """A short name of the code that a learner wrote for an item, or in cells of their own if there
    is none; "" for nothing and for answers in words.
    """
    if task.entry.kind == "written":
        return ""
    theirs = [cell for cell in transplanted.cells if not cell.ours]
    answer = [cell.source for cell in theirs if cell.item == task.entry.id]
    sources = answer or [cell.source for cell in theirs if not cell.item]
    digest = hashlib.sha256(json.dumps(sources).encode()).hexdigest()
    return f"c{digest[:12]}" if sources else ""


def _flagged_elsewhere(task: Task, exercise: Exercise) -> set[str]:
    """The items of the exercise that flag what is in a cell; the first has what is no answer."""
    checked = [each.entry.id for each in exercise.tasks if each.entry.kind != "written"]
    first = {"", *checked} if task.entry.id != checked[0] else set(checked)
    return first - {task.entry.id}


def _lacks(diagnosis: Diagnosis, task: Task, *, hand_in: HandIn, run: SubmissionRun) -> str:
    """What this machine lacks for an answer that failed, so that a person decides; "" if nothing.

    That is what a call of the answer says is missing; or what a cell says, if the answer then
    failed as code does of which a part is not there.
    """
    if diagnosis.status == "passed":
        return ""
    failures = [a.failure for trial in diagnosis.trials for a in trial.answers if a.failure]
    theirs = [cell.source for cell in hand_in.transplant.cells if not cell.ours]
    written = task.entry.id in hand_in.transplant.answered
    if not written and not any(task.subject in bound_names(source) for source in theirs):
        return ""
    if diagnosis.status == "not started" or any(each.kind in _MISSING for each in failures):
        failures += run.failures.values()
    return next((why for each in failures if (why := _lacking(each, hand_in))), "")


def _lacking(failure: Failure, hand_in: HandIn) -> str:
    """What a failure says that this machine lacks: a package, a GPU, a newer Python; or ""."""
    if failure.kind in ("SyntaxError", "IndentationError"):
        version, newer = ".".join(map(str, hand_in.submission.python)), sys.version_info[:2]
        if hand_in.submission.python > newer:
            return (
                f"a cell does not compile here, and its notebook ran with Python {version}, which "
                f"is newer than {newer[0]}.{newer[1]}: grade it again with that version"
            )
    elif failure.kind == "ModuleNotFoundError":
        module = next(iter(_NO_MODULE.findall(failure.message)), "")
        if module in {name.partition(".")[0] for name in hand_in.modules}:
            return f"it needs {_listed(hand_in.modules)}: {_NOT_IN_THE_NOTEBOOK}"
        beside = any((hand_in.path.parent / each).exists() for each in (module, f"{module}.py"))
        known = "course_lib", *sys.stdlib_module_names
        if module and not beside and module not in known:
            return f"it needs {module}, which is not installed here: install it and grade again"
    elif _NO_GPU.search(failure.message):
        return "it needs a GPU, and none is visible to it here: read it, or run it on one"
    return ""


def _fits_public(run: SubmissionRun, task: Task, seed: int) -> bool:
    """Whether the answer passes the item as the course has it."""
    try:
        return run.diagnose(replace(task, conventions=()), seed).status == "passed"
    except NotRun:
        return False


def _item_result(task: Task, diagnosis: Diagnosis, flags: Sequence[str]) -> ItemResult:
    names, seen = [misconception.name for misconception in diagnosis.misconceptions], ""
    if not names and diagnosis.observation and diagnosis.observation.name:
        names, seen = [diagnosis.observation.name], diagnosis.observation.sentence
    elif not names and not diagnosis.failed and not diagnosis.line_found:
        seen = _LINE_NOT_NAMED
    if diagnosis.borrowed:
        names, seen = [READY_MADE_NAME], refusal(diagnosis.borrowed, task.entry.id)
        flags = (seen, *flags)
    answers = [answer for trial in diagnosis.trials for answer in trial.answers]
    if any(each.failure and each.failure.kind == "ProcessEnded" for each in answers):
        flags = (ENDED, *flags)
    if any(each.failure and _NO_THREAD in each.failure.message for each in answers):
        flags = (NO_THREAD, *flags)
    passed = diagnosis.status == "passed"
    return ItemResult(
        id=task.entry.id,
        title=task.entry.title,
        status=diagnosis.status,
        points=float(task.entry.points) if passed else 0.0,
        most=task.entry.points,
        misconceptions=tuple(names),
        seen=_plain(seen),
        tests=tuple(
            PropertyResult(trial.probe.property, _plain(str(trial.difference or "")))
            for trial in diagnosis.trials
        ),
        line_found=diagnosis.line_found if diagnosis.item.bug else None,
        flags=tuple(map(_plain, flags)),
        conventions=tuple(task.conventions),
        numbers=numbers_of(answers[0].value) if passed and answers else (),
    )


def encodable(name: str) -> str:
    """A student's name as it is, control characters too: by it a roster finds the result. Bytes of
    another encoding are written as numbers, so that two such names stay two.
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(text: str) -> str:
    """Text that may come from a learner, on one line and without control characters."""
    return "".join(c if c.isprintable() else " " for c in encodable(text))[:1000]


def _key(
    exercise: Exercise, jail: Jail, secret: bytes, limits: TimeLimits, *submission: str
) -> str:
    """A hash of all that a result depends on."""
    parts = {
        "submission": submission,
        "exercise": exercise.sha256,
        "library": library_hash(),
        "torch": torch.__version__,
        "isolation": jail.isolation,
        "limits": asdict(limits),
        "secret": hmac.new(secret, b"key", hashlib.sha256).hexdigest(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def library_hash() -> str:
    """A hash of the library: probes, references, the grader, and what the jail shows of it."""
    total = hashlib.sha256()
    files = (*LIBRARY.rglob("*.py"), *(LIBRARY / "assets").rglob("*"))
    for path in sorted(file for file in files if file.is_file()):
        total.update(str(path.relative_to(LIBRARY)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()
