"""The feedback to a learner, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator

from course_lib.checks.call import Failure
from course_lib.checks.compare import Difference
from course_lib.checks.diagnose import STOPPED, Diagnosis, Trial
from course_lib.checks.table import TABLE

LINE_HINT = "Say what each line should do, then run it on a tiny example."
_SIGNS = {"passed": "✓", "not yet": "✗", "not started": "○"}


class Report:
    """The feedback on one item: whether it ``passed`` all tests, and the ``points`` it earns.

    ``misconception`` is the name of the misconception that was recognised, or None.
    """

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self.entry = TABLE[diagnosis.item.id]
        self.passed = diagnosis.status == "passed"
        self.points = self.entry.points if self.passed else 0
        self.misconception = diagnosis.misconception and diagnosis.misconception.name

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
        if self.diagnosis.status != "not yet":
            return
        if not self.diagnosis.line_found:
            yield (
                "The wrong line",
                "It's a different line, or you haven't named one yet. " + LINE_HINT,
            )
        if not self.diagnosis.failed:
            return
        trial = self.diagnosis.failed[0]
        misconception = self.diagnosis.misconception
        if misconception:
            yield "What I see", misconception.symptom
            yield "Why it matters", misconception.why
            yield "Where to look", misconception.hint
            return
        failure = next((answer.failure for answer in trial.answers if answer.failure), None)
        if failure:
            yield from _of_failure(failure)
        elif trial.difference:
            yield from _of_difference(trial.difference)
        if trial.first_wrong.about:
            yield "When", f"{trial.first_wrong.about}."

    def __str__(self) -> str:
        lines = [self.headline]
        if self.diagnosis.status != "not started":
            for trial in self.diagnosis.trials:
                lines.append(f"    {'✗' if trial.difference else '✓'} {trial.probe.property}")
                if trial.difference and not self.misconception:
                    lines.append(f"        {trial.difference}")
        lines += [f"  {label}: {sentence}" for label, sentence in self.remarks()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        e = html.escape
        parts = [f"<p><strong>{e(self.headline)}</strong></p>"]
        if self.diagnosis.status != "not started":
            rows = "".join(
                f"<li>{'✗' if trial.difference else '✓'} {e(trial.probe.property)}"
                f"{self._shown(trial)}</li>"
                for trial in self.diagnosis.trials
            )
            parts.append(f'<ul style="list-style:none;padding-left:1em">{rows}</ul>')
        parts += [
            f"<p><em>{e(label)}.</em> {e(sentence)}</p>" for label, sentence in self.remarks()
        ]
        if self.diagnosis.status == "not yet":
            parts.append(folded_hints(self.diagnosis.item.hints))
        colour = {"passed": "#1b9e77", "not yet": "#d95f02", "not started": "#7570b3"}
        return (
            f'<div role="status" style="border-left:4px solid {colour[self.diagnosis.status]};'
            f'padding-left:.8em">{"".join(parts)}</div>'
        )

    def _shown(self, trial: Trial) -> str:
        """The first difference of a test, with both shapes drawn if they differ."""
        difference = trial.difference
        if difference is None or self.misconception:
            return ""
        text = f"<br><code>{html.escape(str(difference))}</code>"
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


def _boxes(shape: tuple[int, ...]) -> str:
    cell = '<td style="border:1px solid currentColor;padding:.2em .8em;text-align:center">'
    return "".join(f"{cell}{size}</td>" for size in shape) or f"{cell}a single number</td>"


def _of_failure(failure: Failure) -> Iterator[tuple[str, str]]:
    where = f" Your {failure.line}" if failure.line else ""
    if failure.kind in STOPPED:
        yield "What I see", f"Your code was stopped: {failure.message}.{where}"
        yield "Where to look", "Does every loop in your code end?"
    elif failure.kind == "NotImplementedError":
        yield "What I see", f"Part of your code isn't written yet.{where}"
    elif failure.kind == "WrongParameters":
        yield "What I see", failure.message
    else:
        yield "What I see", f"Your code raised {failure.kind}: {failure.message}.{where}"


def _of_difference(difference: Difference) -> Iterator[tuple[str, str]]:
    got_none = difference.kind == "type" and difference.got == "None"
    sentence = {
        "type": "Your code returned None. Is a `return` missing?"
        if got_none
        else f"The type is wrong: {difference}.",
        "shape": f"The shape is wrong: {difference}.",
        "dtype": f"The dtype is wrong: {difference}.",
        "nan": f"There is a NaN (not a number): {difference}.",
        "changed input": "Your code modifies its input in place. Work on a copy: the caller may "
        "still need the original.",
        "failure": f"Your code should raise an error here: {difference}.",
        "value": f"Here is the first difference: {difference}.",
    }[difference.kind]
    yield "What I see", sentence


def folded_hints(hints: tuple[str, str, str]) -> str:
    """Three hints, each folded inside the one before, so that you see only what you ask for."""
    names = ("A nudge", "An approach", "Almost the code")
    folded = ""
    for name, text in reversed(list(zip(names, hints, strict=True))):
        body = html.escape(text).replace("\n", "<br>")
        folded = f"<details><summary>{name}</summary><p>{body}</p>{folded}</details>"
    return folded
