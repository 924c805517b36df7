"""``course progress``, ``course update`` and ``course reset``: the verbs of a learner's own work.

What a verb needs is imported when it runs, so that ``course --help`` stays fast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.arguments import NoOptions, option
from course_lib.errors import CourseError
from course_lib.terminal import say

SAVE = "Only what is saved is merged: save open notebooks in JupyterLab before an update."
RELOAD = "If it is open in JupyterLab: File, Reload Notebook from Disk (or Revert, if it asks)."
# What was defined before stays in the kernel, whatever the cell shows.
RELOAD_AND_RESTART = RELOAD.rstrip(".") + ", then Kernel, Restart Kernel."


@dataclass(frozen=True, kw_only=True)
class ProgressOptions:
    """Of what to show the progress."""

    lesson: str = option(
        "the items of this lesson, such as 06 (default: a line for each lesson)",
        default="",
        metavar="LESSON",
        positional=True,
    )


def run_progress(options: ProgressOptions) -> int:
    """Print which exercises are done and which comes next."""
    from course_lib.checks import Progress

    progress = Progress()
    if options.lesson:
        say(*progress.items(options.lesson))
        return 0
    say(*str(progress).splitlines())
    if progress.passed:
        say("What passes, as a Transformer of your own, and the next of its parts: course mine")
    return 0


def run_update(options: NoOptions) -> int:
    """Bring the course's changes into the learner's copy and say what happened."""
    from course_lib.home import COURSE
    from course_lib.work_copy.folders import work_folder
    from course_lib.work_copy.trust import trust, unmodified_notebooks
    from course_lib.work_copy.update import RELEASE, outdated, update

    trust(unmodified_notebooks(COURSE))
    work = work_folder()
    if (work / RELEASE).is_dir() and outdated(work, COURSE):
        say(SAVE)
    changed = update(work, COURSE)
    say(*("\n".join([*changed, RELOAD]).split("\n") if changed else ["Nothing has changed."]))
    if changed and has_own_parts(work):
        say("`course mine` checks your parts against this release.")
    return 0


def has_own_parts(work: Path) -> bool:
    """Whether ``course mine`` has collected answers in this copy of the course."""
    return (work / "mine" / "parts.json").is_file()


@dataclass(frozen=True, kw_only=True)
class ResetOptions:
    """What to put back."""

    what: str = option(
        "an item's id, such as 06.padding_mask; or a lesson by its number, such as 06; or the path "
        "of a notebook in your copy of the course",
        metavar="ITEM",
        positional=True,
    )
    exercise: bool = option("of a lesson, put back the exercise", default=False)


def run_reset(options: ResetOptions) -> int:
    """Put back an answer or a notebook as it was released and say where the backup is."""
    from course_lib.home import COURSE
    from course_lib.work_copy.folders import find_notebook, work_folder
    from course_lib.work_copy.update import reset

    what = re.sub(r"^\d(?=\.)", r"0\g<0>", options.what)  # 6.causal_mask for 06.causal_mask
    is_lesson = what[:1].isdigit() and "." not in what
    if options.exercise and not is_lesson:
        raise CourseError(
            f"expected --exercise with a lesson's number, such as 06, got it with {what!r}: leave "
            "it out, or name the lesson"
        )
    if is_lesson:
        what = str(find_notebook(what, exercise=options.exercise).relative_to(COURSE))
    work = work_folder()
    say(reset(work, what), RELOAD_AND_RESTART)
    if has_own_parts(work) and not what.startswith("notebooks"):
        say("`course mine` takes the course's part in its place, until yours passes again.")
    return 0
