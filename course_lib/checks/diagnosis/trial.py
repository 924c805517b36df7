"""Try a probe: make its calls on the reference and on a learner's code, and compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.checks.engine.call import SECONDS, Answer, Call, Failure, Use, ask
from course_lib.checks.engine.compare import (
    Difference,
    answers_differ,
    described,
    forms_differ,
)
from course_lib.checks.engine.draw import Draw
from course_lib.checks.engine.isolation import isolated
from course_lib.checks.engine.item import Item, Probe
from course_lib.errors import CourseError

STOPPED = ("TookTooLong", "Interrupted")
REFUSALS = ("ValueError", "CourseError")  # a reference may raise them: an item may ask for that
ALL_TESTS_TOOK = "all tests together took more than"
REFERENCE_SECONDS = 300.0  # on a busy machine, PyTorch alone may load for longer than ``SECONDS``
AskLearner = Callable[..., Answer]  # (subject, call, use, seconds=…): ``ask``, or one like it


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A probe, its calls, the answers, and the first difference."""

    probe: Probe
    item: Item
    seed: int
    calls: Sequence[Call]
    expected: Sequence[Answer]
    answers: Sequence[Answer]
    difference: Difference | None

    @property
    def stop(self) -> Failure | None:
        """Why a call had to be stopped, by time or by hand."""
        return next(filter(None, map(_find_stop, self.answers)), None)

    @property
    def unwritten(self) -> bool:
        """Whether every call ends in the learner's own NotImplementedError."""
        return all(answer.failure and answer.failure.not_written for answer in self.answers)

    @property
    def first_wrong(self) -> Call:
        """The call that had to be stopped, or else the one that shows the difference."""
        for call, a, b in zip(self.calls, self.expected, self.answers, strict=True):
            if self.stop and not _find_stop(b):
                continue
            if answers_differ(a, b, tolerance=self.item.tolerance):
                return call
        return self.calls[0]


def try_probe(
    probe: Probe,
    item: Item,
    *,
    subject: Any,
    draw_seed: int,
    seconds: float = SECONDS,
    ask_learner: AskLearner = ask,
) -> Trial:
    """Make a probe's calls, each within so many seconds, and compare."""
    calls, expected = expected_answers(probe, item, seed=draw_seed)
    answers = answer_all(subject, calls, use=item.use, seconds=seconds, ask_learner=ask_learner)
    difference = compare_answers(probe, item, calls=calls, expected=expected, answers=answers)
    return Trial(
        probe=probe,
        item=item,
        seed=draw_seed,
        calls=calls,
        expected=expected,
        answers=answers,
        difference=difference,
    )


def expected_answers(probe: Probe, item: Item, *, seed: int) -> tuple[list[Call], list[Answer]]:
    """The calls and the reference's answers, computed once for all checks of the item.

    Raises:
        KeyboardInterrupt: they were stopped before they were complete.
        CourseError: they take longer than ``REFERENCE_SECONDS``, or one of them is an error.
    """
    key = (item.id, probe, seed)  # items may share a probe, as post-norm and pre-norm do
    if key not in _expected_answers:
        with isolated():  # creating a module uses the global generator and the defaults
            calls = probe.calls(Draw(seed))
        answers = answer_all(item.reference, calls, use=item.use, seconds=REFERENCE_SECONDS)
        kinds = {answer.failure.kind for answer in answers if answer.failure}
        if "Interrupted" in kinds:
            raise KeyboardInterrupt
        if "TookTooLong" in kinds:
            raise CourseError(
                f"expected the course's own answer within {REFERENCE_SECONDS:g} seconds, and it is "
                "still computed: this machine is very busy, so try again later"
            )
        errors = (answer.failure for answer in answers if answer.failure)
        if error := next((each for each in errors if each.kind not in REFUSALS), None):
            raise CourseError(
                f"expected the course's own answer, and computing it raised {error.kind}: "
                f"{error.message.rstrip('.')}; a cell seems to have changed PyTorch or the course: "
                "restart the kernel, run the cells that you need, and check again"
            )
        _expected_answers[key] = calls, answers
    return _expected_answers[key]


_expected_answers: dict[tuple[str, Probe, int], tuple[list[Call], list[Answer]]] = {}


def answer_all(
    subject: Any,
    calls: Sequence[Call],
    *,
    use: Use,
    seconds: float = SECONDS,
    ask_learner: AskLearner = ask,
) -> list[Answer]:
    """One answer for each call; after one that had to be stopped, the others are not made."""
    answers: list[Answer] = []
    for call in calls:
        stopped = answers and _find_stop(answers[-1])
        answers.append(answers[-1] if stopped else ask_learner(subject, call, use, seconds=seconds))
    return answers


def not_interrupted(answer: Answer) -> Answer:
    """An answer of the course's own code.

    Raises:
        KeyboardInterrupt: it was stopped by hand, which is no answer.
    """
    if answer.failure and answer.failure.kind == "Interrupted":
        raise KeyboardInterrupt
    return answer


def _find_stop(answer: Answer) -> Failure | None:
    failure = answer.failure
    return failure if failure and failure.kind in STOPPED else None


def compare_answers(
    probe: Probe,
    item: Item,
    *,
    calls: Sequence[Call],
    expected: Sequence[Answer],
    answers: Sequence[Answer],
) -> Difference | None:
    """The first difference between all these answers and those expected."""
    try:
        if probe.compare is not None and not any(answer.failure for answer in answers):
            forms = (forms_differ(a.value, b.value) for a, b in zip(expected, answers, strict=True))
            other_form = None if probe.any_form else next(filter(None, forms), None)
            return other_form or probe.compare(calls, expected, answers)
        for a, b in zip(expected, answers, strict=True):
            if difference := answers_differ(a, b, tolerance=item.tolerance):
                return difference
    except Exception as error:  # a result may be of any type, and its methods the learner's
        values = {described(answer.value) for answer in answers if not answer.failure}
        reason = f"{', '.join(sorted(values))}: comparing it raises {type(error).__name__}"
        return Difference("type", expected="a result that can be compared", got=reason)
    return None
