"""Grade a whole class: one result file for each student, written as soon as it is known.

Stopped at any point and started again, no result is lost, and what has not changed is not graded
again. The results do not depend on the number of processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path

import torch

from course_lib.atomic import below, write_atomically
from course_lib.errors import CourseError
from course_lib.grading.class_run.grade import grade_submission, unreadable
from course_lib.grading.class_run.regrade_changes import append_changes, changes_between
from course_lib.grading.jail.jail import Jail
from course_lib.grading.results import SubmissionResult
from course_lib.grading.submissions.exercise import Exercise
from course_lib.grading.submissions.submission import SubmissionError, read_regular_file
from course_lib.grading.variants.variants import Variants
from course_lib.wording import pip_install

SECRET_BYTES = 32
_MOST_NAME = 255  # bytes of a file's name, in the usual file systems
CONNECT_SECONDS = 10  # to a cluster


@dataclass(frozen=True, kw_only=True)
class ClassRun:
    """Whose work is graded, and where the results go.

    Attributes:
        incoming: a folder with a folder, or a notebook, for each student.
        exercise: what was released.
        results: a folder; an assignment's results are in a folder of it.
        secret: decides the test inputs.
        jobs: processes at the same time on this machine.
        cluster: the address of a Dask scheduler, whose workers are used instead; they have to see
            the same folders.
        trusted: run the submissions without isolation.
        preview: write no results.
        variants: what each group was given instead of ``exercise``.
    """

    incoming: Path
    exercise: Exercise
    results: Path
    secret: bytes
    jobs: int = 1
    cluster: str = ""
    trusted: bool = False
    preview: bool = False
    variants: Variants | None = None

    def result_file(self, student: str) -> Path:
        """Where a student's result is stored."""
        return self.results / self.exercise.assignment / _result_name(student)

    def load_result(self, student: str) -> SubmissionResult | None:
        """A student's result of an earlier run; None if there is none that can be read."""
        with contextlib.suppress(OSError, ValueError):  # also a CourseError, or no UTF-8
            return SubmissionResult.from_json(self.result_file(student).read_text(encoding="utf-8"))
        return None

    def exercise_of_student(self, student: str) -> tuple[Exercise, tuple[str, ...]]:
        """The exercise that a student was given, and what the result says of it.

        Raises:
            SubmissionError: which variant that was can't be told.
        """
        if self.variants is None:
            return self.exercise, ()
        variant = self.variants.variant_of(student, self.incoming / student)
        return variant.exercise, (variant.note,)

    def timestamp(self, student: str) -> bytes | None:
        """What is in nbgrader's timestamp.txt, if there is one.

        Only where nbgrader or an instructor puts it, which is beside the assignment's notebook in
        nbgrader's folder ``submitted``, and directly in the student's folder elsewhere: in a deeper
        one, it may be the student's own, of an archive.
        """
        folders, incoming = [self.incoming / student], self.incoming.absolute()
        beside = (incoming.parent / name for name in ("nbgrader_config.py", "gradebook.db"))
        if incoming.name == "submitted" and any(map(os.path.isfile, beside)):
            folders.append(folders[0] / self.exercise.assignment)
        if any(folder.is_symlink() for folder in folders):  # perhaps to that of another student
            return None
        with contextlib.suppress(SubmissionError):
            return read_regular_file(folders[-1] / "timestamp.txt", most=100)
        return None

    def grade(self, student: str, jail: Jail) -> SubmissionResult:
        """Grade one student's work, unless that was done before and nothing has changed."""
        try:
            return self._grade(student, jail)
        except CourseError:  # of the machine, not of the work: it is told at once
            raise
        except Exception as error:  # a bug here must not end the grading of a whole class
            told = SubmissionError(
                f"the grader raised {type(error).__name__}: {error}. Please report it"
            )
            return unreadable(student, self.exercise, jail=jail, error=told)

    def _grade(self, student: str, jail: Jail) -> SubmissionResult:
        try:
            exercise, remarks = self.exercise_of_student(student)
        except SubmissionError as error:
            return unreadable(student, self.exercise, jail=jail, error=error)
        return grade_submission(
            self.incoming / student,
            exercise,
            jail=jail,
            secret=self.secret,
            student=student,
            known=self.load_result(student),
            remarks=remarks,
            handed_in=(self.timestamp(student) or b"").decode("utf-8", "replace"),
        )


def _result_name(student: str) -> str:
    """The name of a result's file; that of a folder may leave no room for .json, or look like that
    of such a result.
    """
    name = f"{student}.json"
    if len(os.fsencode(name)) <= _MOST_NAME and not re.search(r"~[0-9a-f]{12}\Z", student):
        return name
    whole = os.fsencode(student)
    return f"{whole[:200].decode(errors='ignore')}~{hashlib.sha256(whole).hexdigest()[:12]}.json"


def students_in(incoming: Path) -> list[str]:
    """The names of the entries of a folder, sorted.

    Raises:
        CourseError: there are none, or it is no folder.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(incoming) if not _is_no_work(entry))
    except OSError as error:
        raise CourseError(
            f"expected a folder with the students' work at {incoming}, and could not read "
            f"one ({error}): name the folder that holds a folder for each student"
        ) from None
    if not names:
        raise CourseError(
            f"expected a folder for each student in {incoming}, got none: unpack what was "
            "handed in there; names that begin with a dot, tables (.csv) and what systems leave in "
            "folders aren't read"
        )
    return names


_NO_WORK = (".ipynb_checkpoints", ".git")
_OF_SYSTEMS = ("__macosx", "lost+found", "thumbs.db", "desktop.ini")  # as macOS and Windows leave


def _is_no_work(entry: os.DirEntry[str]) -> bool:
    """Whether what is in a class's folder is nobody's work, as far as one knows."""
    name = entry.name.casefold()
    is_table = name.endswith(".csv") and not entry.is_dir()
    return name.startswith(".") or name in _OF_SYSTEMS or is_table


def left_out_of(incoming: Path) -> list[str]:
    """What is nobody's work, as far as one knows, and might be: it is not graded, and named, since
    a student's name may begin with a dot.
    """
    with contextlib.suppress(OSError):
        return sorted(
            entry.name
            for entry in os.scandir(incoming)
            if _is_no_work(entry) and entry.name not in _NO_WORK
            if not entry.name.startswith(".")
            or entry.is_dir()
            or (entry.name.endswith(".ipynb") and not entry.name.startswith("._"))
        )
    return []


def look_the_same(students: Iterable[str]) -> list[list[str]]:
    """The names that differ only in spaces or in how their accents are stored."""
    found: dict[str, list[str]] = {}
    for name in students:
        seen = " ".join(unicodedata.normalize("NFKC", name).split())
        found.setdefault(seen, []).append(name)
    return [names for names in found.values() if len(names) > 1]


def left_results(run: ClassRun, students: Collection[str]) -> list[str]:
    """The files of earlier results that are none of these students', sorted by name."""
    files = (run.results / run.exercise.assignment).glob("*.json")
    return sorted({file.name for file in files} - {*map(_result_name, students)})


def grade_class(run: ClassRun, jail: Jail) -> Iterator[SubmissionResult]:
    """Grade everybody's work and store each result; they come in no particular order.

    Args:
        run: what is graded.
        jail: used if there is one job; with more, each process starts its own.

    Raises:
        CourseError: there is nothing to grade, or a result can't be written.
    """
    students = students_in(run.incoming)
    if run.jobs == 1 and not run.cluster:
        for student in students:
            yield _store(run, student, run.grade(student, jail))
        return
    with _executor(run, len(students)) as pool:
        waiting = {pool.submit(_grade_there, run, name): name for name in students}
        try:
            for future in as_completed(waiting):
                yield _store(run, waiting[future], future.result())
        finally:
            for future in waiting:
                future.cancel()


def _store(run: ClassRun, student: str, result: SubmissionResult) -> SubmissionResult:
    before = run.load_result(student)
    if result != before and not run.preview:
        path = below(run.results, run.result_file(student).relative_to(run.results))
        if changes := changes_between(before, result):
            append_changes(path.parent, changes)
        write_atomically(path, result.to_json())
    return result


@contextlib.contextmanager
def _executor(run: ClassRun, students: int) -> Iterator[Executor]:
    """Processes here, or on the machines of a Dask cluster.

    Raises:
        CourseError: there is no such cluster, or no package to reach it.
    """
    if not run.cluster:
        # a fork would share PyTorch's threads
        spawn = get_context("spawn")
        jobs = min(run.jobs, students)
        with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_end_with_parent) as pool:
            yield pool
        return
    try:
        from distributed import Client

        client = Client(run.cluster, timeout=CONNECT_SECONDS)
    except ImportError:
        raise CourseError(
            "expected the package distributed, which --cluster needs, and it is not installed: "
            f"install it with {pip_install(extra='cluster')}, and on the workers as well"
        ) from None
    except (OSError, ValueError) as error:
        raise CourseError(
            f"expected the address of a running Dask scheduler, got {run.cluster!r}, and could not "
            f"connect ({error}): start one with `dask scheduler` and name the address it prints"
        ) from None
    with client, client.get_executor(retries=2) as pool:
        yield pool


def _end_with_parent() -> None:
    """Let this process, and with it its jail, end when the one that started it is killed."""
    parent = parent_process()
    assert parent is not None

    def end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


_jails: dict[bool, Jail] = {}  # by `trusted`, of a process of an executor, which keeps them
_one_at_a_time = threading.Lock()  # a Dask worker may have several threads


def _grade_there(run: ClassRun, student: str) -> SubmissionResult:
    """Grade in a process of an executor."""
    with _one_at_a_time:
        if run.trusted not in _jails:
            torch.set_num_threads(1)
            _jails[run.trusted] = Jail(trusted=run.trusted)
        return run.grade(student, _jails[run.trusted])


def load_secret(path: Path) -> bytes:
    """The secret in a file, which is made if it is not there.

    Raises:
        CourseError: the file can't be read or made, or is too short to be a secret.
    """
    try:
        with contextlib.suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(SECRET_BYTES) + "\n")
        secret = path.read_bytes().strip()
    except OSError as error:
        raise CourseError(
            f"could not read or make the secret {path} ({error}): name a file with --secret-file "
            "that you may write"
        ) from None
    if len(secret) < 16:
        raise CourseError(
            f"expected a secret of at least 16 characters in {path}, got {len(secret)}: delete the "
            "file, and a new one is made"
        )
    return secret
