"""Grade one item of a submission: run the learner's cells in the jail, then make the calls there.

The tests, the reference and the comparison stay here. The engine is the one of
``course_lib.checks``, with its calls sent through the pipe.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import Diagnosis, diagnose
from course_lib.checks.diagnosis.trial import expected_answers
from course_lib.checks.engine.call import SECONDS, Answer, Call, Failure, Use
from course_lib.checks.engine.item import Item
from course_lib.checks.engine.ready_made import READY_MADE
from course_lib.grading.jail.jail import Jail
from course_lib.grading.jail.library_view import view_files
from course_lib.grading.jail.session import (
    REAL_SECONDS,
    Called,
    MachineBusy,
    Session,
    SessionEnded,
)
from course_lib.grading.submissions.exercise import Task, bound_names
from course_lib.grading.submissions.transplant import CodeCell

# A line of a cell that may change an object: any but a definition, an import, a name for a constant
# or another object, and a print or check without a call inside. The answers to items below are
# definitions, and cost no second run.
_DOES_SOMETHING = re.compile(
    r"""^(?!(?:(?:async[ ]+)?(?:def|class|from|import)\b[^;\n]*
          |\w+[ ]*=[^;\n()\[\].]*
          |(?:print|check)\([^;\n(]*
        )$)[^\s#)\]}]""",
    re.MULTILINE | re.VERBOSE,
)

_UNDEFINED = re.compile(r"^name '(\w+)' is not defined")


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """Seconds of processor time, so that a busy machine changes no mark.

    Attributes:
        cell: for running one cell.
        item: for all calls of an item, at least.
        times_reference: ... or so many times what the reference takes, if that is more.
        run: in real time, for each time that all cells have to be run, which is once for each item
            or twice; later ones may use what is left over. Waiting for a processor doesn't count.
        submission: ... and in all, however many items there are: others wait for their marks.
    """

    cell: float = 10.0
    item: float = 2.0
    times_reference: float = 20.0
    run: float = 60.0
    submission: float = 240.0

    def in_all(self, runs: int) -> float:
        """Seconds for all of so many runs."""
        return min(self.run * runs, self.submission)


class NotRun(Exception):
    """An item that could not be graded: no time is left, or the jail does not work."""


@dataclass(frozen=True)
class StandIn:
    """What the engine is given in place of a learner's function: its name."""

    name: str

    def __call__(self) -> int:
        """Nothing of the learner's is ever called here."""
        raise TypeError(f"{self.name} can only be called in the jail")


@dataclass(kw_only=True)
class SubmissionRun:
    """The cells of one submission, and what has been found out about them so far.

    Attributes:
        jail: where they run.
        cells: in the order in which they run.
        limits: of time.
        end: when the submission's time is over, if its processes never have to wait.
        asked_for: the names of the functions and classes that the exercise asks for.
        stopped: the numbers of cells that ended their process or took too long, with the reason;
            of these, only the definitions are run from then on.
        skipped: those whose definitions alone did it again; they are not run any more.
        failures: what the other cells raised, when they were run last.
        as_checked: the items that count as they stood at the learner's own check.
    """

    jail: Jail
    cells: Sequence[CodeCell]
    limits: TimeLimits
    end: float
    asked_for: Sequence[str] = ()
    stopped: dict[int, str] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    failures: dict[int, Failure] = field(default_factory=dict)
    as_checked: list[str] = field(default_factory=list)

    def diagnose(self, task: Task, seed: int, *, checked: int | None = None) -> Diagnosis:
        """The diagnosis of what the learner wrote for a task.

        What counts is what stands at the end of the notebook, so that an answer may be improved
        further down. Where that fails, and a cell may have overwritten what the learner's own check
        saw, the cells above the check are run once more, without those below, and a function that
        the exercise asks for stays one even if a cell uses its name for something else. The better
        of the two diagnoses counts, so nobody gains or loses by what the process says was
        overwritten.

        Args:
            task: the item.
            seed: of its test inputs.
            checked: how many cells come before the learner's own check of it, if that is known.

        Raises:
            NotRun: it could not be found out.
        """
        start = time.monotonic()
        last, rebound = self._diagnose(task, seed, self.cells, checked=checked)
        if last.status == "passed" or not rebound:
            return last
        if 2 * time.monotonic() - start > self.end:  # it would leave the items below no time
            return last
        try:
            with self._apart():
                seen, _ = self._diagnose(task, seed, self.cells[:checked], keep=self.asked_for)
        except NotRun:
            return last
        if _how_bad(seen) >= _how_bad(last):
            return last
        self.as_checked.append(task.entry.id)
        return seen

    def _diagnose(
        self,
        task: Task,
        seed: int,
        cells: Sequence[CodeCell],
        *,
        keep: Sequence[str] = (),
        checked: int | None = None,
    ) -> tuple[Diagnosis, bool]:
        """The diagnosis after these cells, and whether they overwrite what the check saw.

        Where something is ready-made for the item, the cells run in a process from which it has
        been taken away. That settles it, unless they call what is gone: then they run once more
        with everything there, in a process that knows nothing of the first, on the same inputs. An
        answer that passes only there needs what is ready-made.

        Raises:
            NotRun: it passes only there without calling what is ready-made: a person decides.
        """
        item = load_item(task.entry.id, task.conventions)
        if item.id not in READY_MADE:
            found, rebound, _ = self._try(item, task, seed, cells, keep=keep, checked=checked)
            return found, rebound
        unknown = None
        with self._apart():
            try:
                without, rebound, called = self._try(
                    item, task, seed, cells, keep=keep, checked=checked, withheld=True
                )
                settled = self.stopped, self.skipped, self.failures
            except NotRun as error:
                unknown = error
        if not unknown and not called.anything:
            self.stopped, self.skipped, self.failures = settled
            return without, rebound
        found, rebound, _ = self._try(item, task, seed, cells, keep=keep, checked=checked)
        if found.status != "passed":
            return found, rebound
        if unknown:
            raise unknown
        if without.status == "passed":
            return found, rebound
        borrowed = next((name for name in READY_MADE[item.id] if name in called.by_answers), "")
        if borrowed:
            return replace(found, status="not yet", borrowed=borrowed), rebound
        raise NotRun(
            f"it passes, but not where {READY_MADE[item.id][0]} and the like are taken away: read "
            "whether it is the student's own"
        )

    def _try(
        self,
        item: Item,
        task: Task,
        seed: int,
        cells: Sequence[CodeCell],
        *,
        keep: Sequence[str],
        checked: int | None,
        withheld: bool = False,
    ) -> tuple[Diagnosis, bool, Called]:
        """The diagnosis in one process, whether the cells overwrite what the check saw, and what
        they called of what is withheld there.

        Raises:
            NotRun: the process ended, or the machine was busy.
        """
        try:
            library = self.jail.library(item.id, view_files(item.id, task.subject))
            name = item.id if withheld else ""
            with self._started(library, cells, keep, withheld=name) as session:
                rebound = checked is not None and self._rebinds(session, task, checked)
                pipe = _Pipe(session, self._seconds_for(item, seed))
                line = StandIn(task.line) if task.line else None
                subject = StandIn(task.subject)
                found = diagnose(item, subject, line=line, seed=seed, ask_learner=pipe.ask)
                called = _called(session) if withheld else Called()
                self.end += session.usage().waited
        except (SessionEnded, MachineBusy) as error:
            raise NotRun(str(error)) from None
        return found, rebound, called

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        """Cells that are run here leave no trace: what they do in full, and with everything there,
        is what the notes say and what other items begin with.
        """
        state = dict(self.stopped), set(self.skipped), dict(self.failures)
        try:
            yield
        finally:
            self.stopped, self.skipped, self.failures = state

    def _rebinds(self, session: Session, task: Task, checked: int) -> bool:
        """Whether a cell made something else of what the task's answer needs, or one below the
        check does anything that may change an object; true, too, where the process can't say so any
        more.
        """
        if any(_DOES_SOMETHING.search(cell.source) for cell in self.cells[checked:]):
            return True
        answer = [name for name in (task.subject, task.line) if name]
        above = sum(number not in self.skipped for number in range(checked))
        try:
            return session.rebinds(answer, cells=above, asked_for=self.asked_for)
        except SessionEnded:
            return True

    def _seconds_for(self, item: Item, seed: int) -> float:
        expected = [expected_answers(p, item, seed=seed + i)[1] for i, p in enumerate(item.probes)]
        reference = sum(answer.seconds for answers in expected for answer in answers)
        return max(self.limits.item, self.limits.times_reference * reference)

    def _started(
        self, library: Path, cells: Sequence[CodeCell], keep: Sequence[str], *, withheld: str
    ) -> Session:
        """A session in which these cells, the first ones, have been run, without what is ready-made
        for the item ``withheld`` if there is one.

        A cell that ends the process costs a new start, but no cell does so twice.

        Raises:
            NotRun: no time is left.
            SessionEnded: no process could be started.
        """
        while True:
            session = self.jail.session(library, withheld=withheld)
            try:
                self._run_cells(session, cells, keep)
                return session
            except SessionEnded:
                session.kill()
            except BaseException:
                session.kill()
                raise

    def _run_cells(self, session: Session, cells: Sequence[CodeCell], keep: Sequence[str]) -> None:
        for number in range(len(cells)):
            left = self.end + session.usage().waited - time.monotonic()
            if left <= 0:
                raise self._time_is_over()
            if number not in self.skipped:
                self._run_cell(session, number, min(self.limits.cell, left), keep=keep)

    def _run_cell(
        self, session: Session, number: int, seconds: float, *, keep: Sequence[str]
    ) -> None:
        cell, again = self.cells[number], number in self.stopped
        try:
            failure = session.run(
                cell.name, cell.source, seconds, only_definitions=again, keep=keep
            )
        except SessionEnded as error:
            if again:
                self.skipped.add(number)
            self._refuse_less_time(seconds, error.timed_out)
            self.stopped[number] = str(error)
            raise
        if failure and failure.kind == "TookTooLong":
            if again:
                self.skipped.add(number)
            self._refuse_less_time(seconds, True)
            self.stopped[number] = failure.message
        elif failure:
            self.failures[number] = failure
        else:
            self.failures.pop(number, None)

    def _refuse_less_time(self, seconds: float, timed_out: bool) -> None:
        """Stop here if a cell took longer than was left, and not longer than a cell may.

        Raises:
            NotRun: it did.
        """
        if timed_out and seconds < self.limits.cell:
            raise self._time_is_over()

    def _time_is_over(self) -> NotRun:
        return NotRun(
            f"running its cells takes more than {self.limits.run:g} seconds each time, or "
            f"{self.limits.submission:g} for all items together"
        )

    def notes_on_items(self) -> list[str]:
        """Which items were graded otherwise than they stand at the end of the notebook."""
        return [
            f"{item_id} was graded as it stood at the learner's own check: another cell overwrites "
            "what it needs."
            for item_id in self.as_checked
        ]

    def notes_on_cells(self) -> list[str]:
        """What happened to cells that did not run to their end."""
        notes = []
        unseen = self._look_at_runs()
        for number, reason in sorted(self.stopped.items()):
            rest = "Not even" if number in self.skipped else "Only"
            notes.append(
                f"The cell {self.cells[number].name} was stopped: {reason}. "
                f"{rest} its definitions count."
            )
        for number, failure in sorted(self.failures.items()):
            if number in unseen:
                continue
            message = f": {failure.message}" if failure.message else ""
            notes.append(f"The cell {self.cells[number].name} raised {failure.kind}{message}.")
        return notes

    def _look_at_runs(self) -> set[int]:
        """The cells that failed because grading makes no run, as those in which a learner looks at
        one, and cells that use what these would have defined.
        """
        found: set[int] = set()
        missing: set[str] = set()
        for number, failure in sorted(self.failures.items()):
            name = _UNDEFINED.search(failure.message)
            if failure.kind == "NotInGrading" or (name and name[1] in missing):
                found.add(number)
                missing |= bound_names(self.cells[number].source)
        return found


def _called(session: Session) -> Called:
    """What a session's cells and answers have called; anything, if the process can't say."""
    try:
        return session.called()
    except SessionEnded:
        return Called(anything=True)


def _how_bad(diagnosis: Diagnosis) -> tuple[int, int]:
    return ("passed", "not yet", "not started").index(diagnosis.status), len(diagnosis.failed)


class _Pipe:
    """Makes calls in a session, until the time of the item is over."""

    def __init__(self, session: Session, seconds: float) -> None:
        self.session, self.left = session, seconds
        self.end, self.before = time.monotonic() + REAL_SECONDS * seconds, session.usage()

    def ask(self, subject: StandIn, call: Call, use: Use, *, seconds: float = SECONDS) -> Answer:
        """As ``course_lib.checks.engine.call.ask``, in the jail."""
        if self._is_over():
            return Answer(failure=Failure("TookTooLong", "the time for this item is over"))
        function = f"{use.__module__}:{use.__qualname__}"
        try:
            answer = self.session.ask(subject.name, function, call, min(seconds, self.left))
            self.left -= answer.seconds
            return answer
        except SessionEnded as error:
            kind = "TookTooLong" if error.timed_out else "ProcessEnded"
            return Answer(failure=Failure(kind, str(error)))

    def _is_over(self) -> bool:
        late = time.monotonic() - self.end
        # What the process has waited is asked only then: the kernel's files take a while to read.
        is_late = late > 0 and late > self.session.usage().waited - self.before.waited
        return self.left <= 0 or is_late
