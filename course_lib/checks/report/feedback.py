"""The feedback to a learner, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from functools import cached_property

from course_lib.checks.diagnosis.arguments import describe_arguments
from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.diagnosis.facts import raised
from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.call import printed_lines
from course_lib.checks.engine.compare import Difference, short
from course_lib.checks.engine.item import Bug
from course_lib.checks.engine.ready_made import refusal
from course_lib.checks.progress import Progress, under_nbgrader
from course_lib.checks.report.cell_history import outdated_name
from course_lib.checks.report.example import Example, failing_call
from course_lib.checks.table import TABLE
from course_lib.errors import CourseError

MOST_PRINTED_LINES = 10
PRINTED = "What your code printed, in the first call that prints"
LINE_HINT = "Say what each line should do, then run it on a tiny example."
_SIGNS = {"passed": "✓", "not yet": "✗", "not started": "○"}


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
    def headline(self) -> str:
        """One line: the item and its status."""
        status, tried = self.diagnosis.status, len(self.diagnosis.trials)
        line = f"{_SIGNS[status]} {self.entry.id} · {self.entry.title}: {status}"
        if status == "not started":
            return f"{line}. Replace `raise NotImplementedError` with your code, then check again."
        passed = tried - len(self.diagnosis.failed)
        worth = f" · {self.points} of {self.entry.points} points"
        return f"{line} · {passed} of {len(self.diagnosis.item.probes)} tests pass{worth}"

    def remarks(self) -> Iterator[tuple[str, str]]:
        """What went wrong and what to do, as (label, sentence)."""
        diagnosis = self.diagnosis
        if self.outdated:
            yield (
                "Note",
                f"The last cell that defines {self.outdated} didn't get that far, so this is about "
                f"the {self.outdated} from before. Run that cell again, and look at its error.",
            )
        if diagnosis.status != "not yet":
            return
        if diagnosis.borrowed:
            yield "What I see", refusal(diagnosis.borrowed, diagnosis.item.id)
        if diagnosis.item.bug:
            yield "The wrong line", _describe_line(diagnosis, diagnosis.item.bug)
        trial = diagnosis.most_telling_trial
        if trial is None:
            return
        if len(diagnosis.misconceptions) == 2:
            yield "What I see", "Two errors at once. What each of them would do without the other:"
        # An error that the course doesn't know may have the same part of its results.
        unsure = diagnosis.first_step and not diagnosis.first_step.of
        for misconception in diagnosis.misconceptions:
            yield "What it may be" if unsure else "What I see", misconception.symptom
            if misconception.why:
                yield "Why it matters", misconception.why
            if misconception.hint:
                yield "Where to look", misconception.hint
        if diagnosis.other_dtype:
            yield "What I see", f"A dtype is wrong, too: {diagnosis.other_dtype}."
        if diagnosis.misconceptions and (agreed := _agreement(diagnosis)):
            yield "How I know", agreed
        if diagnosis.first_step:
            yield "What next", diagnosis.first_step.what_next
        if diagnosis.observation and not diagnosis.explained:
            yield "What I see", diagnosis.observation.sentence
            if diagnosis.observation.meaning:
                yield "What it means", diagnosis.observation.meaning
        if not diagnosis.explained and (when := _describe_call(diagnosis)):
            yield "When", when
        if any(diagnosis.may_follow(other) for other in diagnosis.failed):
            sure = diagnosis.explained_all and not diagnosis.may_hide_more
            perhaps = "" if sure else "perhaps "
            yield (
                "The other tests",
                f"Those with – fail, too, {perhaps}for the same reason as the ✗.",
            )
        if self.example:
            yield "Try it", self.example.advice

    def _sign(self, trial: Trial) -> str:
        if not trial.difference:
            return "✓"
        return "–" if self.diagnosis.may_follow(trial) else "✗"

    def _shows_difference(self, trial: Trial) -> bool:
        diagnosis = self.diagnosis
        if self._sign(trial) != "✗" or diagnosis.explained_all:
            return False
        return diagnosis.calls_say_more

    def __str__(self) -> str:
        lines = [self.headline]
        if self.diagnosis.status != "not started":
            for trial in self.diagnosis.trials:
                lines.append(f"    {self._sign(trial)} {trial.probe.property}")
                if trial.difference and self._shows_difference(trial):
                    lines.append(f"        {_describe_difference(trial.difference)}")
        lines += [f"  {label}: {sentence}" for label, sentence in self.remarks()]
        if self.example:
            lines += [f"      {line}" for line in self.example.code.splitlines()]
        if self.printed:
            lines += [f"  {PRINTED}:", *(f"      {line}" for line in self.printed)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        e = html.escape
        parts = [f"<p><strong>{e(self.headline)}</strong></p>"]
        if self.diagnosis.status != "not started":
            rows = "".join(
                f"<li>{self._sign(trial)} {e(trial.probe.property)}"
                f"{self._draw_difference(trial)}</li>"
                for trial in self.diagnosis.trials
            )
            parts.append(f'<ul style="list-style:none;padding-left:1em">{rows}</ul>')
        parts += [
            f"<p><em>{e(label)}.</em> {e(sentence)}</p>" for label, sentence in self.remarks()
        ]
        if self.example:
            parts.append(f"<pre>{e(self.example.code)}</pre>")
        if self.printed:
            shown = "\n".join(self.printed)
            parts.append(f"<p><em>{PRINTED}.</em></p><pre>{e(shown)}</pre>")
        if self.diagnosis.status == "not yet":
            parts.append(folded_hints(self.diagnosis.item.hints))
        colour = {"passed": "#1b9e77", "not yet": "#d95f02", "not started": "#7570b3"}
        parts.append(_progress(self.entry.id[:2]))
        return (
            f'<div role="status" style="border-left:4px solid {colour[self.diagnosis.status]};'
            f'padding-left:.8em">{"".join(parts)}</div>'
        )

    def _draw_difference(self, trial: Trial) -> str:
        """The first difference of a test, with both shapes drawn if they differ."""
        difference = trial.difference
        if difference is None or not self._shows_difference(trial):
            return ""
        text = f"<br><code>{html.escape(_describe_difference(difference))}</code>"
        if difference.expected_shape is None or difference.got_shape is None:
            return text
        drawn = (
            f"<tr><td>{label}</td>{_boxes(shape)}</tr>"
            for label, shape in (
                ("expected", difference.expected_shape),
                ("got", difference.got_shape),
            )
        )
        return f"{text}<table>{''.join(drawn)}</table>"


def _first_printed(diagnosis: Diagnosis) -> list[str]:
    """The first lines that the code printed in the first call in which it printed any."""
    texts = (answer.printed for trial in diagnosis.trials for answer in trial.answers)
    lines = next(filter(None, (printed_lines(text) for text in texts)), [])
    more = ["…"] if len(lines) > MOST_PRINTED_LINES else []
    return lines[:MOST_PRINTED_LINES] + more


def _describe_call(diagnosis: Diagnosis) -> str:
    """What the call was about that shows the first difference, and what it was given."""
    trial = diagnosis.most_telling_trial
    if trial is None or not diagnosis.calls_say_more:
        return ""
    call = trial.first_wrong
    others = [each for trial in diagnosis.trials for each in trial.calls]
    given = describe_arguments(diagnosis.item, call, others=others, subject=diagnosis.subject)
    parts = [part for part in (call.about, given) if part]
    return f"{': '.join(parts)}." if parts else ""


def _progress(lesson: str) -> str:
    """How far the learner is, and what is next, this lesson's items first; not in outputs that are
    stored for others.
    """
    if os.environ.get("COURSE_QUIET") or under_nbgrader():
        return ""
    try:
        progress = Progress()
    except CourseError:  # no home folder: the report matters more
        return ""
    done = f"{len(progress.passed)} of {progress.size} items passed."
    return f"<p><small>{done} {html.escape(progress.next(lesson))}</small></p>"


def _boxes(shape: tuple[int, ...]) -> str:
    cell = '<td style="border:1px solid currentColor;padding:.2em .8em;text-align:center">'
    return "".join(f"{cell}{size}</td>" for size in shape) or f"{cell}a single number</td>"


def _agreement(diagnosis: Diagnosis) -> str:
    """What a name rests on: the results of code with this error; "" if all tests are random."""
    plain = [trial for trial in diagnosis.trials if trial.probe.compare is None]
    random = len(plain) < len(diagnosis.trials)
    inputs = sum(len(trial.calls) for trial in plain)
    if not inputs:
        return ""
    if not any(answer.failure is None for trial in plain for answer in trial.answers):
        return "No number of yours could be compared yet. When this is gone, check again."
    if diagnosis.first_step:
        return diagnosis.first_step.how_known
    error = "these errors" if len(diagnosis.misconceptions) == 2 else "this error"
    more = "Code that looks different can do the same."
    if diagnosis.may_hide_more:
        more = "Other numbers can't be compared before this is gone: check again then."
    each = f"each of {inputs} test inputs" if inputs > 1 else "the test input"
    return (
        f"On {each}, your code gives the same numbers, or the same kind of exception, as code with "
        f"{error}{'; random results fail the same tests' if random else ''}. {more}"
    )


def _describe_difference(difference: Difference) -> str:
    """A difference in one line; "expected a value" would say little of an error."""
    if difference.kind == "failure" and difference.expected == "a value":
        return difference.got
    return str(difference)


def _describe_line(diagnosis: Diagnosis, bug: Bug) -> str:
    """Whether the learner found the wrong line of a spot-the-bug item."""
    fixed = "" if diagnosis.failed else " Your fix is right."
    line = diagnosis.line
    if line is None or (line.failure and line.failure.not_written):
        return f"You haven't named one yet.{fixed} {LINE_HINT}"
    if line.failure:
        return f"The function that names it raised {raised(line.failure)}{fixed}"
    if diagnosis.line_found:
        return f"You found it: line {bug.line}."
    if isinstance(line.value, bool) or not isinstance(line.value, (int, float)):
        expected = "a number, such as 3"
        return f"Expected {expected}, got {short(line.value)}.{fixed} {LINE_HINT}"
    return f"It isn't line {short(line.value)}.{fixed} {LINE_HINT}"


def folded_hints(hints: tuple[str, str, str]) -> str:
    """Three hints, each folded inside the one before, so that you see only what you ask for."""
    names = ("A nudge", "An approach", "Almost the code")
    folded = ""
    for name, text in reversed(list(zip(names, hints, strict=True))):
        body = html.escape(text).replace("\n", "<br>")
        folded = f"<details><summary>{name}</summary><p>{body}</p>{folded}</details>"
    return folded
