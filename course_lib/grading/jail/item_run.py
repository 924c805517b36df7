"""Grade one item of a submission: run the learner's cells in the jail, then make the calls there.

The tests, the reference and the comparison stay here. The engine is the one of
``course_lib.checks``, with its calls sent through the pipe.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import Diagnosis, diagnose
from course_lib.checks.diagnosis.trial import expected_answers
from course_lib.checks.engine.call import SECONDS, Answer, Call, Failure, Use
from course_lib.checks.engine.item import Item
from course_lib.grading.jail.jail import Jail
from course_lib.grading.jail.library_view import view_files
from course_lib.grading.jail.session import REAL_SECONDS, Session, SessionEnded
from course_lib.grading.submissions.exercise import Task
from course_lib.grading.submissions.transplant import CodeCell


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """Seconds of processor time, so that a busy machine changes no mark.

    Attributes:
        cell: for running one cell.
        item: for all calls of an item, at least.
        times_reference: ... or so many times what the reference takes, if that is more.
        submission: for everything, in real time; what comes later is not run.
    """

    cell: float = 10.0
    item: float = 2.0
    times_reference: float = 20.0
    submission: float = 180.0


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
        end: when the submission's time is over.
        stopped: the numbers of cells that ended their process or took too long, with the reason;
            of these, only the definitions are run from then on.
        skipped: those whose definitions alone did it again; they are not run any more.
        failures: what the other cells raised, when they were run last.
    """

    jail: Jail
    cells: Sequence[CodeCell]
    limits: TimeLimits
    end: float
    stopped: dict[int, str] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    failures: dict[int, Failure] = field(default_factory=dict)

    def diagnose(self, task: Task, seed: int) -> Diagnosis:
        """The diagnosis of what the learner wrote for a task.

        Raises:
            NotRun: it could not be found out.
        """
        item = load_item(task.entry.id, task.conventions)
        try:
            library = self.jail.library(item.id, view_files(item.id, task.subject))
            with self._started(library) as session:
                pipe = _Pipe(session, self._seconds_for(item, seed))
                line = StandIn(task.line) if task.line else None
                subject = StandIn(task.subject)
                return diagnose(item, subject, line=line, seed=seed, ask_learner=pipe.ask)
        except SessionEnded as error:
            raise NotRun(str(error)) from None

    def _seconds_for(self, item: Item, seed: int) -> float:
        expected = [expected_answers(p, item, seed=seed + i)[1] for i, p in enumerate(item.probes)]
        reference = sum(answer.seconds for answers in expected for answer in answers)
        return max(self.limits.item, self.limits.times_reference * reference)

    def _started(self, library: Path) -> Session:
        """A session in which the cells have been run.

        A cell that ends the process costs a new start, but no cell does so twice.

        Raises:
            NotRun: no time is left.
            SessionEnded: no process could be started.
        """
        while True:
            session = self.jail.session(library)
            try:
                self._run_cells(session)
                return session
            except SessionEnded:
                session.kill()
            except BaseException:
                session.kill()
                raise

    def _run_cells(self, session: Session) -> None:
        for number, cell in enumerate(self.cells):
            left = self.end - time.monotonic()
            if left <= 0:
                raise NotRun(f"the submission took more than {self.limits.submission:g} seconds")
            if number not in self.skipped:
                self._run_cell(session, number, cell, min(self.limits.cell, left))

    def _run_cell(self, session: Session, number: int, cell: CodeCell, seconds: float) -> None:
        again = number in self.stopped
        try:
            failure = session.run(cell.name, cell.source, seconds, only_definitions=again)
        except SessionEnded as error:
            if again:
                self.skipped.add(number)
            self.stopped[number] = str(error)
            raise
        if failure and failure.kind == "TookTooLong":
            self.stopped[number] = failure.message
        elif failure:
            self.failures[number] = failure
        else:
            self.failures.pop(number, None)

    def notes(self) -> list[str]:
        """What happened to cells that did not run to their end."""
        notes = []
        for number, reason in sorted(self.stopped.items()):
            rest = "Not even" if number in self.skipped else "Only"
            notes.append(
                f"The cell {self.cells[number].name} was stopped: {reason}. "
                f"{rest} its definitions count."
            )
        for number, failure in sorted(self.failures.items()):
            message = f": {failure.message}" if failure.message else ""
            notes.append(f"The cell {self.cells[number].name} raised {failure.kind}{message}.")
        return notes


class _Pipe:
    """Makes calls in a session, until the time of the item is over."""

    def __init__(self, session: Session, seconds: float) -> None:
        self.session, self.left = session, seconds
        self.end = time.monotonic() + REAL_SECONDS * seconds

    def ask(self, subject: StandIn, call: Call, use: Use, *, seconds: float = SECONDS) -> Answer:
        """As ``course_lib.checks.engine.call.ask``, in the jail."""
        if self.left <= 0 or time.monotonic() > self.end:
            return Answer(failure=Failure("TookTooLong", "the time for this item is over"))
        function = f"{use.__module__}:{use.__qualname__}"
        try:
            answer = self.session.ask(subject.name, function, call, min(seconds, self.left))
            self.left -= answer.seconds
            return answer
        except SessionEnded as error:
            kind = "TookTooLong" if error.timed_out else "ProcessEnded"
            return Answer(failure=Failure(kind, str(error)))
