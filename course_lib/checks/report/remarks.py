"""What a report says of an error: what is seen, why it matters, where to look, how it is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from course_lib.checks.diagnosis.arguments import describe_arguments
from course_lib.checks.diagnosis.diagnose import Diagnosis
from course_lib.checks.diagnosis.facts import raised
from course_lib.checks.engine.compare import Difference, short
from course_lib.checks.engine.item import Bug
from course_lib.checks.engine.ready_made import refusal
from course_lib.checks.report.operations import compare_operations

PRINTED = "What your code printed, in the first call that prints"
SIGNS = {"passed": "✓", "not yet": "✗", "not started": "○"}
HIDES_MORE = "When this is gone, more of your results can be compared: check again."
LINE_HINT = "Say what each line should do, then run it on a tiny example."


class Remark(NamedTuple):
    """A sentence or two, and the label before them, such as "Where to look"."""

    label: str
    text: str


class Finding(tuple[Remark, ...]):
    """One error: what is seen first, then remarks on it."""


def findings_and_remarks(diagnosis: Diagnosis) -> Iterator[Finding | Remark]:
    """What went wrong, most telling first; nothing if the item isn't "not yet"."""
    if diagnosis.own_part:
        yours = "With yours"
        if "coder" in diagnosis.own_part:  # Encoder, Decoder: the learner has written no such part
            yours = "With your blocks of lesson 07, and what they use of 03 and 04"
        yield Remark(
            "Your own part",
            f"This is right with the course's {diagnosis.own_part}. {yours}, one test fails: "
            f"“{diagnosis.own_part_fails}”. `course mine` says whether that matters in a model.",
        )
    if diagnosis.status == "passed":
        yield from _worth_knowing(diagnosis)
    if diagnosis.status != "not yet":
        return
    if diagnosis.borrowed:
        yield _finding("What I see", refusal(diagnosis.borrowed, diagnosis.item.id))
    if diagnosis.item.bug:
        verdict = Remark("The wrong line", _describe_line(diagnosis, diagnosis.item.bug))
        yield verdict if diagnosis.line_found else Finding([verdict])
    if diagnosis.most_telling_trial is None:
        return
    yield from _misconceptions(diagnosis)
    if diagnosis.other_dtype:
        yield _finding("What I see", f"A dtype is wrong, too: {diagnosis.other_dtype}.")
    if diagnosis.misconceptions and (agreed := _agreement(diagnosis)):
        yield Remark("How I know", agreed)
    if diagnosis.first_step:
        yield Remark("What next", diagnosis.first_step.what_next)
    elif diagnosis.misconceptions and diagnosis.may_hide_more:
        yield Remark("What next", HIDES_MORE)
    if diagnosis.observation and not diagnosis.explained:
        meaning = diagnosis.observation.meaning
        yield _finding("What I see", diagnosis.observation.sentence, ("What it means", meaning))
    if not diagnosis.explained and (when := _describe_call(diagnosis)):
        yield Remark("When", when)


def _worth_knowing(diagnosis: Diagnosis) -> Iterator[Remark]:
    """One true sentence about an answer that passes."""
    if diagnosis.item.shows:
        shown = diagnosis.item.shows(diagnosis.trials[0].answers[0].value)
        yield Remark("What it shows", shown)
    elif counted := compare_operations(diagnosis):
        yield Remark("Worth knowing", counted)


def earlier_definition(name: str) -> Remark:
    """Of a name whose newest cell failed before it defined it."""
    return Remark(
        "Note",
        f"The last cell that defines {name} didn't get that far, so this is about "
        f"the {name} from before. Run that cell again, and look at its error.",
    )


def other_tests(diagnosis: Diagnosis) -> Remark | None:
    """What the – of tests means, if any has it."""
    if diagnosis.status != "not yet" or not any(map(diagnosis.may_follow, diagnosis.failed)):
        return None
    perhaps = "" if diagnosis.explained_all and not diagnosis.may_hide_more else "perhaps "
    return Remark(
        "The other tests", f"Those with – fail, too, {perhaps}for the same reason as the ✗."
    )


def _finding(label: str, text: str, *more: tuple[str, str]) -> Finding:
    return Finding(Remark(*each) for each in [(label, text), *more] if each[1])


def _misconceptions(diagnosis: Diagnosis) -> Iterator[Finding | Remark]:
    if len(diagnosis.misconceptions) == 2:
        yield Remark(
            "What I see", "Two errors at once. What each of them would do without the other:"
        )
    # An error that the course doesn't know may have the same part of its results.
    unsure = diagnosis.first_step and not diagnosis.first_step.of
    for misconception in diagnosis.misconceptions:
        yield _finding(
            "What it may be" if unsure else "What I see",
            misconception.symptom,
            ("Why it matters", misconception.why),
            ("Where to look", misconception.hint),
        )


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


def _agreement(diagnosis: Diagnosis) -> str:
    """What a name rests on: the results of code with this error; "" if all tests are random."""
    plain = [trial for trial in diagnosis.trials if trial.probe.compare is None]
    random = len(plain) < len(diagnosis.trials)
    inputs = sum(len(trial.calls) for trial in plain)
    if not inputs:
        return ""
    if not any(answer.failure is None for trial in plain for answer in trial.answers):
        return "No number of yours could be compared yet."
    if diagnosis.first_step:
        return diagnosis.first_step.how_known
    error = "these errors" if len(diagnosis.misconceptions) == 2 else "this error"
    where = f"all {inputs} test inputs" if inputs > 1 else "the test input"
    also = ", and its random results fail the same tests" if random else ""
    return f"On {where} your code does what code with {error} does{also}."


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
        return f"Expected the number of a line, got {short(line.value)}.{fixed} {LINE_HINT}"
    return f"It isn't line {short(line.value)}.{fixed} {LINE_HINT}"


def describe_difference(difference: Difference) -> str:
    """A difference in one line; "expected a value" would say little of an error."""
    if difference.kind == "failure" and difference.expected == "a value":
        return difference.got
    return str(difference)
