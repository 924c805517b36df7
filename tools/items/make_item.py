"""All that is to do after a change of an exercise item: ``make item ITEM=06.causal_mask``.

    python -m tools.items.make_item 06.causal_mask

Tests the item, makes the exercise of its lesson, brings the pages up to date that count items,
tries small bugs in its solution, and says what it wrote and what is left to do by hand. It stops at
the first step that fails.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from course_lib.checks import TABLE, load_item
from course_lib.checks.conventions import conventions_of
from course_lib.checks.progress import Progress
from course_lib.checks.table import TOPICS
from course_lib.errors import CourseError
from tools import ROOT, evidence
from tools.items import misconception_matrix, mutation_testing
from tools.notebooks.build_exercises import EXERCISES, SOLUTIONS, make
from tools.notebooks.course_map import PLAN, lesson_rows, plan, read_map
from tools.notebooks.notebook_normal_form import (
    NotebookError,
    linked_path,
    normal_form,
    read,
    repository,
    to_bytes,
)

FIRST_LESSON = ROOT / "notebooks" / "00_start_here.ipynb"
TESTS_OF_ITEM = ("tests/checks/test_items.py", "tests/checks/test_conventions.py")
TESTS_OF_LESSON = (
    "tests/notebooks/test_exercises.py",
    "tests/grading/variants/test_variants.py",
    "tests/project/test_teaching.py",
)
LEFT = """
Conventions of variants that it takes, which its reference's annotations decide: {conventions}

Left to do by hand:
- read the task as a learner will see it, in {exercise}
- if learners or teachers will notice the change, say so in CHANGELOG.md
- make test, then commit all of this, with what was written here"""


def existing(item_id: str) -> str:
    """The id, if there is such an item.

    Raises:
        CourseError: there is none; the message names the nearest ones.
    """
    if item_id in TABLE:
        return item_id
    near = difflib.get_close_matches(item_id, TABLE, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise CourseError(
        f"expected the id of an item, such as make item ITEM=06.causal_mask, got "
        f"{repr(item_id) if item_id else 'none'}: {hint}course_lib/checks/table.py lists all, and "
        "make new-item ITEM=06.my_item begins another"
    )


def run_tests(files: tuple[str, ...], expression: str) -> None:
    """Run the tests of these files whose names match.

    Raises:
        CourseError: some fail; it says what they say.
    """
    quiet = ("-q", "--no-header", "--tb=short", "-rN", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, *files, "-k", expression],
        cwd=ROOT,
        env={"OMP_NUM_THREADS": "1"} | os.environ,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CourseError(failures_in(done.stdout + done.stderr))
    print(done.stdout.strip().splitlines()[-1])


def failures_in(printed: str) -> str:
    """What failed, as pytest says it: each message, and below it the name of its test."""
    _, *sections = re.split(r"^_+ (\S+) _+$", printed, flags=re.MULTILINE)
    if not sections:
        return printed.strip()
    rest = re.compile(r"^(?:=+ .* =+|\d+ failed.*|)$\n?", re.MULTILINE)
    pairs = zip(sections[::2], sections[1::2], strict=True)
    return "\n\n".join(f"{rest.sub('', message).strip()}\n    ({test})" for test, message in pairs)


def stamped_pages() -> dict[Path, bytes]:
    """What counts items elsewhere, as it must be: the plan of a term, and lesson 00."""
    lesson = read(FIRST_LESSON)
    [shown] = next(cell for cell in lesson.cells if cell.id == "progress").outputs
    nothing_passed = Progress(())
    shown.data |= {"text/html": nothing_passed.to_html(), "text/plain": repr(nothing_passed)}
    wanted = normal_form(lesson, path=linked_path(FIRST_LESSON), home=repository())
    return {
        PLAN: plan(PLAN.read_text("utf-8"), lesson_rows(read_map())).encode(),
        FIRST_LESSON: to_bytes(wanted),
    }


def store_pages() -> None:
    """Write the pages that count items, where they are not up to date."""
    for path, content in stamped_pages().items():
        if path.read_bytes() != content:
            path.write_bytes(content)


def try_mutants(item_id: str) -> None:
    """Try small bugs in the solution, unless nothing has changed since they were tried.

    Raises:
        CourseError: the check calls one of them by a wrong name.
    """
    if item_id not in mutation_testing.stale():
        print("not again: nothing has changed since")
    elif mutation_testing.main([item_id]):
        raise CourseError(
            f"{item_id}: the check calls a mutant above by the name of a misconception that it "
            "does not name for other inputs: the tests do not tell the two apart"
        )


def try_misconceptions(item_id: str) -> None:
    """Print which test catches which misconception.

    Raises:
        CourseError: one passes every test, or is not called by its name.
    """
    if misconception_matrix.main([item_id]):
        raise CourseError(f"{item_id}: a misconception above is not caught, or not named")


def steps_for(item_id: str) -> dict[str, Callable[[], object]]:
    """What is to do, in order."""
    lesson = item_id[:2]
    topic = TOPICS[lesson]
    solution = SOLUTIONS / f"{lesson}_{topic}" / f"{topic}.ipynb"
    of_lesson = f"{topic} or {lesson} or teaching"
    steps: dict[str, Callable[[], object]] = {
        "tests of the item": lambda: run_tests(TESTS_OF_ITEM, f"{item_id} or [{lesson}]"),
        "which test catches which misconception": lambda: try_misconceptions(item_id),
        "the exercise, made from the solution": lambda: make(solution, run=True),
        "the pages that count items": store_pages,
        "small bugs in the solution": lambda: try_mutants(item_id),
        "tests of the lesson's notebooks": lambda: run_tests(TESTS_OF_LESSON, of_lesson),
    }
    if not TABLE[item_id].is_code:  # a person marks it, or a run answers it
        for name in ("which test catches which misconception", "small bugs in the solution"):
            del steps[name]
    return steps


def main(arguments: list[str] | None = None) -> int:
    """Do all steps; 1 if there is no such item, or a step fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.make_item",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("item", nargs="?", default="", help="such as 06.causal_mask")
    try:
        item_id = existing(parser.parse_args(arguments).item)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    folder = f"{item_id[:2]}_{TOPICS[item_id[:2]]}"
    written = [evidence.PAGE, PLAN, FIRST_LESSON]
    written += [path for top in (SOLUTIONS, EXERCISES) for path in (top / folder).glob("*.ipynb")]
    before = {path: path.read_bytes() for path in written}
    steps = steps_for(item_id)
    for number, (name, step) in enumerate(steps.items(), 1):
        print(f"\n== {number} of {len(steps)}: {name}", flush=True)
        start = time.perf_counter()
        try:
            step()
        except (CourseError, NotebookError) as error:
            print(f"\n{error}\n\nStopped at: {name}", file=sys.stderr)
            return 1
        print(f"   {time.perf_counter() - start:.0f} s")
    changed = [path for path, content in before.items() if path.read_bytes() != content]
    print("\nWrote:" if changed else "\nAll was up to date, so nothing was written.")
    for path in changed:
        print(f"- {path.relative_to(ROOT).as_posix()}")
    exercise = EXERCISES / folder / f"{TOPICS[item_id[:2]]}.ipynb"
    print(
        LEFT.format(
            exercise=exercise.relative_to(ROOT).as_posix(), conventions=conventions_taken(item_id)
        )
    )
    return 0


def conventions_taken(item_id: str) -> str:
    """The names of the conventions of variants that an item takes."""
    if TABLE[item_id].kind != "code":
        return "none, of an item of this kind"
    names = [convention.name for convention in conventions_of(load_item(item_id))]
    return ", ".join(names) or "none"


if __name__ == "__main__":
    sys.exit(main())
