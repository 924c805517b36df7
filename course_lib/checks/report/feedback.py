"""The feedback to a learner, as text for a terminal; as HTML, `report_html` makes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.call import printed_lines
from course_lib.checks.engine.compare import Difference
from course_lib.checks.report.cell_history import outdated_name
from course_lib.checks.report.example import Example, failing_call
from course_lib.checks.report.remarks import (
    PRINTED,
    SIGNS,
    Finding,
    Remark,
    describe_difference,
    earlier_definition,
    findings_and_remarks,
    other_tests,
)
from course_lib.checks.report.report_html import html_of
from course_lib.checks.table import TABLE

MOST_PRINTED_LINES = 10


class Report:
    """The feedback on one item: whether it ``passed`` all tests, and the ``points`` it earns.

    ``misconception`` is the name of the misconception that was recognised, of two, "a + b", or of
    what was observed, such as "wrong_factor"; or None. ``example`` is a small failing call, to be
    run again, or None.
    """

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self.entry = TABLE[diagnosis.item.id]
        self.passed = diagnosis.status == "passed"
        self.points = self.entry.points if self.passed else 0
        names = [m.name for m in diagnosis.misconceptions]
        if not names and diagnosis.observation and diagnosis.observation.name:
            names = [diagnosis.observation.name]
        self.misconception = " + ".join(names) or None
        self.outdated = outdated_name(diagnosis.subject)
        self.printed = _first_printed(diagnosis)

    @cached_property
    def example(self) -> Example | None:
        """A small failing call; found when it is asked for, since it runs the code again."""
        return failing_call(self.diagnosis)

    @property
    def name(self) -> str:
        """The item, by its id and its title."""
        return f"{self.entry.id} · {self.entry.title}"

    @property
    def advice(self) -> str:
        """What to do if nothing is written yet, after the status; else ""."""
        if self.diagnosis.status != "not started":
            return ""
        return ". Replace `raise NotImplementedError` with your code, then check again."

    @property
    def tests(self) -> str:
        """How many tests pass, "" before the code was written."""
        diagnosis = self.diagnosis
        if diagnosis.status == "not started":
            return ""
        passed = len(diagnosis.trials) - len(diagnosis.failed)
        return f"{passed} of {len(diagnosis.item.probes)} tests pass"

    @property
    def worth(self) -> str:
        """The points."""
        return f"{self.points} of {self.entry.points} points"

    def diagnosed(self) -> Iterator[Finding | Remark]:
        """What went wrong: findings, each of one error, and remarks on them all."""
        if self.outdated:
            yield earlier_definition(self.outdated)
        yield from findings_and_remarks(self.diagnosis)

    def diagnosed_in_turn(self) -> Iterator[Remark]:
        """The same, one remark after the other."""
        for each in self.diagnosed():
            yield from each if isinstance(each, Finding) else [each]

    @property
    def other_tests(self) -> Remark | None:
        """What the – of tests means, if any has it."""
        return other_tests(self.diagnosis)

    @property
    def to_try(self) -> Remark | None:
        """What to do with ``example``."""
        return Remark("Try it", self.example.advice) if self.example else None

    def remarks(self) -> Iterator[Remark]:
        """What went wrong and what to do, as (label, sentence)."""
        yield from self.diagnosed_in_turn()
        yield from filter(None, [self.to_try, self.other_tests])

    def sign(self, trial: Trial) -> str:
        """How a test ended: ✓, ✗, or – if it may have failed for the same reason as the ✗."""
        if not trial.difference:
            return "✓"
        return "–" if self.diagnosis.may_follow(trial) else "✗"

    def shown_difference(self, trial: Trial) -> Difference | None:
        """The first difference of a test, where no finding says more than it."""
        if self.sign(trial) != "✗" or self.diagnosis.explained_all:
            return None
        if trial.difference and trial.difference.kind == "told":
            return None
        return trial.difference if self.diagnosis.calls_say_more else None

    def __str__(self) -> str:
        status = self.diagnosis.status
        title = f"{SIGNS[status]} {self.name}: {status}{self.advice}"
        lines = [" · ".join(filter(None, [title, self.tests, self.tests and self.worth]))]
        remarks = (f"  {label}: {text}" for label, text in self.diagnosed_in_turn())
        lines += [remark.replace("\n", "\n    ") for remark in remarks]
        if self.example and self.to_try:
            lines.append(f"  {self.to_try.label}: {self.to_try.text}")
            lines += [f"      {line}" for line in self.example.code.splitlines()]
        if self.tests:
            lines.append("  The tests:")
        for trial in self.diagnosis.trials if self.tests else ():
            lines.append(f"    {self.sign(trial)} {trial.probe.property}")
            if difference := self.shown_difference(trial):
                lines.append(f"        {describe_difference(difference)}")
        if self.other_tests:
            lines.append(f"  {self.other_tests.label}: {self.other_tests.text}")
        if self.printed:
            lines += [f"  {PRINTED}:", *(f"      {line}" for line in self.printed)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of(self)


def _first_printed(diagnosis: Diagnosis) -> list[str]:
    """The first lines that the code printed in the first call in which it printed any."""
    texts = (answer.printed for trial in diagnosis.trials for answer in trial.answers)
    lines = next(filter(None, (printed_lines(text) for text in texts)), [])
    more = ["…"] if len(lines) > MOST_PRINTED_LINES else []
    return lines[:MOST_PRINTED_LINES] + more
