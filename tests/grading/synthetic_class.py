"""The results of a class that does not exist, with the variety of a real one.

``python -m tests.grading.synthetic_class FOLDER STUDENTS`` writes them, to look at a report.
"""

import hashlib
import random
import sys
from pathlib import Path

from course_lib.atomic import write_atomically
from course_lib.checks import load_item
from course_lib.checks.table import TABLE, TOPICS
from course_lib.grading.results import ItemResult, PropertyResult, SubmissionResult

HOSTILE_NAMES = [
    "<script>alert(1)</script>",
    "=cmd()",
    "O'Neil, Jr",
    '"quoted"',
    "\u202eright to left",
    "long " * 100,
    "$\\frac{1}{0}$ 🦊",
    "عائشة محمد",
]
FIRST = (
    "Ada Alan Ana Bo Chen Dina Eva Femi Gul Hana Ivan Jo Kim Lea Mia Noor Omar Pia Rui Zoë".split()
)
LAST = "Ali Berg Costa Diaz Eze Frank Gupta Haas Ito Jung Khan Li Meyer Novak Okoye Park".split()


def names(count):
    """Names of students, hostile ones first where there are more than ten."""
    plain = (f"{first} {last}" for last in LAST for first in FIRST)
    hostile = HOSTILE_NAMES if count > 10 else []
    return [*hostile, *plain][:count]


def synthetic_class(students, assignments=tuple(TOPICS), *, seed=0):
    """``students`` results for each of these lessons, "06", drawn from a seed."""
    source = random.Random(seed)
    skill = {name: source.gauss(0, 1) for name in names(students)}
    results = []
    for number in assignments:
        entries = [entry for entry in TABLE.values() if entry.id.startswith(f"{number}.")]
        for name, ability in skill.items():
            if source.random() < 0.04:
                continue  # handed in nothing
            results.append(_submission(name, ability, number, entries, source))
    return results


def _submission(name, ability, number, entries, source):
    assignment = f"{number}_{TOPICS[number]}"
    if source.random() < 0.02:
        note = "expected a notebook, which is JSON, in masks.ipynb: was it cut off? ask again"
        return SubmissionResult(
            student=name,
            assignment=assignment,
            isolation="bubblewrap",
            key="key",
            notebook="",
            items=(),
            notes=(note,),
        )
    items = tuple(_item(entry, ability, source) for entry in entries)
    return SubmissionResult(
        student=name,
        assignment=assignment,
        isolation="bubblewrap",
        key="key",
        notebook="a.ipynb",
        items=items,
    )


def _item(entry, ability, source):
    common = {"id": entry.id, "title": entry.title, "most": entry.points}
    if entry.kind == "written":
        if source.random() < 0.1:
            return ItemResult(status="no answer", points=0.0, **common)
        marked = source.random() < 0.93
        points = float(source.randint(0, entry.points)) if marked else None
        return ItemResult(status="to be marked", points=points, text="Because.", **common)
    if source.random() < 0.005:
        return ItemResult(status="not run", points=None, reason="no time is left", **common)
    line = source.random() < 0.8 if entry.kind == "bug" else None
    if (
        ability + source.gauss(0.9, 0.7) > (entry.difficulty - 2) * 0.8
        and entry.id != "13.beam_search"
    ):
        flags = ("unusual in this course: gc (cell 3, line 1)",) if source.random() < 0.01 else ()
        return ItemResult(
            status="passed", points=float(entry.points), line_found=line, flags=flags, **common
        )
    if source.random() < 0.2:
        return ItemResult(status="not started", points=0.0, line_found=line, **common)
    known = [each.name for each in load_item(entry.id).misconceptions]
    chosen = [known[min(int(source.expovariate(0.6)), len(known) - 1)]] if known else []
    return ItemResult(
        status="not yet",
        points=0.0,
        misconceptions=tuple(chosen if source.random() < 0.85 else ["nothing_returned"]),
        tests=(PropertyResult("it is right", "entry [0, 0] should be 1, but is 0"),),
        line_found=line,
        **common,
    )


def store(results, folder):
    """Write results as ``course grade`` does; the files have hashes for names."""
    for result in results:
        name = hashlib.sha256(result.student.encode()).hexdigest()[:16]
        write_atomically(folder / result.assignment / f"{name}.json", result.to_json())


if __name__ == "__main__":
    store(synthetic_class(int(sys.argv[2])), Path(sys.argv[1]))
