"""What ``course assign`` does: write variants of assignments, or list what an item takes."""

from __future__ import annotations

from pathlib import Path

from course_lib.checks import load_item
from course_lib.checks.conventions import WITHOUT, conventions_of
from course_lib.checks.table import TABLE, TOPICS
from course_lib.errors import CourseError
from course_lib.grading.options import AssignOptions
from course_lib.grading.submissions.exercise import exercises_folder
from course_lib.grading.variants.variants import MANIFEST, write_variants
from course_lib.terminal import say


def assign_and_report(options: AssignOptions) -> None:
    """Write the variants and say what each group gets.

    Raises:
        CourseError: the options name something that is not there, or the folder is in use.
    """
    seed = options.seed or ""
    if not seed.strip():
        raise CourseError("--seed must be a text such as 2027-spring, got an empty one")
    output = options.output or Path("variants")
    names = list(options.assignments) or [f"{n}_{topic}" for n, topic in TOPICS.items()]
    drawn = write_variants(
        options.exercises or exercises_folder(),
        output,
        names,
        number=options.number,
        seed=seed,
    )
    for assignment, choices in drawn.items():
        say(assignment if choices else f"{assignment}: as it is, no item takes conventions")
        for group, choice in enumerate(choices, 1):
            say(f"  group {group}: {', '.join(choice)}")
    say(
        "",
        f"Hand out {output}/group_1 to group 1, and so on. Keep {MANIFEST} in",
        f"{output} for: course grade INCOMING --assignment … --variants {output}",
    )


def listing() -> str:
    """Which item takes which conventions, by what they are about, or why it takes none."""
    lines = []
    for entry in TABLE.values():
        aspects: dict[str, list[str]] = {}
        kept = WITHOUT.get(entry.kind)
        for each in () if kept else conventions_of(load_item(entry.id)):
            aspects.setdefault(each.aspect, []).append(each.name)
        if aspects:
            described = "; ".join(
                f"{about}: {', '.join(names)}" for about, names in aspects.items()
            )
        else:
            described = f"none: {kept or 'its arguments and results have nothing to change'}"
        lines.append(f"{entry.id:32}{described}")
    return "\n".join(lines)
