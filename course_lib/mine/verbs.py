"""``course mine``: which parts of a Transformer are yours, and whether they work together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.arguments import option
from course_lib.atomic import write_atomically
from course_lib.errors import CourseError
from course_lib.mine.parts import PARTS
from course_lib.terminal import say

if TYPE_CHECKING:
    from course_lib.mine.collect import Collection
    from course_lib.mine.parts import Part
    from course_lib.model import Transformer
    from course_lib.training.trainer import MakeTraining, OwnTraining

_STEPS = {
    "model": "The model",
    "training": "Training it",
    "translating": "Translating with it",
    "reading": "Reading its attention",
}


@dataclass(frozen=True, kw_only=True)
class MineOptions:
    """What to show."""

    trial: bool = option(
        "only say whose each part is: don't try yours inside a Transformer",
        default=True,
    )
    page: Path | None = option(
        "also write the model as a page, your parts filled and the course's outlined",
        default=None,
        metavar="FILE",
    )


def run_mine(options: MineOptions) -> int:
    """Collect the answers that pass, show them as a Transformer, try them; 1 if one is wrong."""
    found = collected()
    for line in overview(found):
        say(line)
    if options.page:
        from course_lib.mine.picture import diagram_page

        write_atomically(options.page, diagram_page(found.library(), newest_run(found.folder)))
        say(f"Drawn in {options.page}: open it in a browser.")
    if not options.trial or not found.own:
        return 0
    return _try(found)


def collected() -> Collection:
    """What the learner's notebooks answer by now.

    Raises:
        CourseError: there is no copy of the course.
    """
    from course_lib.mine.collect import collect
    from course_lib.mine.parts import WORK_MARK
    from course_lib.work_copy.folders import work_folder

    work = work_folder()
    if not (work / WORK_MARK).is_dir():
        raise CourseError(
            f"expected your copy of the course in {work}, found none: `course lab` makes it; "
            "another folder is named by $COURSE_WORK"
        )
    return collect(work, tell=say)


def own_training(folder: Path) -> MakeTraining:
    """What trains a model with the learner's parts; says first whose parts they are, and which are
    others than when the run in this folder began.
    """
    from course_lib.mine.join import make_own_training

    found = collected()
    for line in overview(found):
        say(line)
    say("")
    parts = {part.name: found.version_of(part) for part in PARTS.values()}
    record = folder / "parts.json"
    if changed := [name for name, version in read_parts(record).items() if parts[name] != version]:
        say(
            f"Since the run in {folder} began, these parts have changed: {', '.join(changed)}. "
            "With --resume it goes on with those of today; --overwrite trains anew with them.",
            "",
        )

    def make(model: Transformer) -> OwnTraining:
        record.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(record, json.dumps(parts, indent=1))
        return make_own_training(model, found.library())

    return make


def read_parts(record: Path) -> dict[str, str]:
    """The versions of the parts with which a run last trained; {} where none are known."""
    try:
        stored = json.loads(record.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    stored = stored if isinstance(stored, dict) else {}
    return {name: str(version) for name, version in stored.items() if name in PARTS}


def newest_run(folder: Path) -> Path | None:
    """The run in ``mine/`` that was trained last; None if there is none."""
    logs = folder.glob("run-seed*/metrics.jsonl")
    newest = max(logs, key=lambda log: log.stat().st_mtime, default=None)
    return newest.parent if newest else None


def _after_the_parts(folder: Path) -> str:
    """What is next for a learner who has written every part."""
    run = newest_run(folder)
    if run is None:
        return "course train mine"
    seed = run.name.removeprefix("run-seed")
    if not _is_finished(run):
        seeds = f" --seed {seed}" if seed != "0" else ""
        return f"course train mine{seeds} --resume, since the run in {run} isn't finished"
    return (
        f"the run in {run} is finished. 11.own_run asks what it shows, and course translator "
        f"--mine{'' if seed == '0' else f' --run {run}'} writes a page with its weights"
    )


def _is_finished(run: Path) -> bool:
    try:
        last = json.loads((run / "metrics.jsonl").read_text("utf-8").splitlines()[-1])
        total = json.loads((run / "run.json").read_text("utf-8"))["total_steps"]
        return total is None or bool(last["step"] >= total)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def overview(found: Collection) -> list[str]:
    """A line for each part, whose it is, and what is next."""
    from course_lib.checks import TABLE

    own = [part for part in PARTS.values() if part.item in found.own]
    verb = "is" if len(own) == 1 else "are"
    lines = [f"Of the {len(PARTS)} parts of a Transformer, {len(own)} {verb} yours:"]
    for step, heading in _STEPS.items():
        lines += ["", heading]
        lines += [_line(part, found) for part in PARTS.values() if part.step == step]
    missing = next((part for part in PARTS.values() if part.item not in found.own), None)
    remarks = [remark for lesson in found.lessons.values() for remark in lesson.remarks]
    lines += ["", *remarks] if remarks else [""]
    if missing:
        entry = TABLE[missing.item]
        lines.append(
            f"Next: {entry.id} · {entry.title} ({entry.minutes} minutes). Open it with: course "
            f"lab {entry.id[:2]} --exercise"
        )
    else:
        lines.append(f"Next: {_after_the_parts(found.folder)}")
    if found.own:
        lines.append(f"Your answers are in {found.folder}, a file for each lesson.")
    return lines


def _line(part: Part, found: Collection) -> str:
    if part.item in found.own:
        return f"  ■ {part.lesson} {part.name:22} yours"
    reason = found.why_not(part.item)
    return f"  □ {part.lesson} {part.name:22} the course's: {reason}"


def _try(found: Collection) -> int:
    """Try the parts of the model inside a Transformer and say what is wrong with them."""
    from course_lib.mine.trial import try_part, try_parts

    library = found.library()
    wrong = 0
    say("", "Each of your parts inside the course's Transformer, on its weights:")
    for name, finding in try_parts(library):
        if finding is None:
            say(f"  ✓ {name}")
            continue
        wrong += not finding.slow
        say(f"  {'!' if finding.slow else '✗'} {name}: {finding.sentence}")
        if finding.call:
            say(f"      {finding.call}")
    if not wrong and (finding := try_part(library)) and not finding.slow:
        wrong += 1
        say(f"  ✗ all of them together: {finding.sentence}")
    return min(wrong, 1)
