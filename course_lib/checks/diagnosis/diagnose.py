"""Run an item's probes on a learner's code, and say what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tqdm.auto import tqdm

from course_lib.checks.diagnosis.dependence import find_dependence
from course_lib.checks.diagnosis.facts import describe_first_difference
from course_lib.checks.diagnosis.naming import misconceptions_in
from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.relations import find_relation
from course_lib.checks.diagnosis.several import FirstStep, first_of_several
from course_lib.checks.diagnosis.trial import ALL_TESTS_TOOK, AskLearner, Trial, try_probe
from course_lib.checks.engine.call import (
    SECONDS,
    SECONDS_IN_ALL,
    Answer,
    Call,
    Failure,
    Use,
    ask,
    call_plainly,
)
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.isolation import usual_defaults
from course_lib.checks.engine.item import Item, Misconception
from course_lib.checks.progress import under_nbgrader

Status = Literal["passed", "not yet", "not started"]
SEED = 2017  # of the test inputs; grading uses others


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The result of all probes of an item on a learner's code."""

    item: Item
    subject: Any
    status: Status
    trials: Sequence[Trial]
    misconceptions: tuple[Misconception, ...] = ()  # the one that explains the answers, or two
    first_step: FirstStep | None = None  # the one of several errors that ``misconceptions`` holds
    line: Answer | None = None  # spot the bug: which line the learner names
    observation: Observation | None = None  # where no misconception is explained
    borrowed: bool = False  # it is right, because it calls the reference (see ``own_work``)

    @property
    def misconception(self) -> Misconception | None:
        """The only misconception, or the first of two."""
        return self.misconceptions[0] if self.misconceptions else None

    @property
    def explained(self) -> bool:
        """Whether misconceptions were recognised, and the texts of all of them can be shown."""
        return bool(self.misconceptions) and all(m.why for m in self.misconceptions)

    @property
    def line_found(self) -> bool:
        """Whether the learner named the wrong line; always True for other kinds of items."""
        if self.item.bug is None:
            return True
        if self.line is None:
            return False
        return answers_differ(Answer(self.item.bug.line), self.line) is None

    @property
    def failed(self) -> list[Trial]:
        """The trials that did not pass."""
        return [trial for trial in self.trials if trial.difference]

    @property
    def most_telling_trial(self) -> Trial | None:
        """The failed trial that tells most: the one that had to be stopped; or the first one,
        unless its numbers are only a little wrong and those of another trial much more.
        """
        if not self.failed:
            return None
        if self.failed[-1].stop:
            return self.failed[-1]
        worst = max(self.failed, key=_error)
        return worst if 0 < 10 * _error(self.failed[0]) < _error(worst) else self.failed[0]

    def may_follow(self, trial: Trial) -> bool:
        """Whether a trial may have failed for no other reason than the telling one."""
        most_telling_trial = self.most_telling_trial
        if (
            most_telling_trial is None
            or trial is most_telling_trial
            or not trial.difference
            or not most_telling_trial.difference
        ):
            return False
        return trial.difference.kind == most_telling_trial.difference.kind


def _error(trial: Trial) -> float:
    return trial.difference.error if trial.difference else 0.0


@usual_defaults()  # also for what is computed to compare answers
def diagnose(
    item: Item,
    subject: Any,
    *,
    line: Callable[[], int] | int | None = None,
    seed: int = SEED,
    ask_learner: AskLearner = ask,
) -> Diagnosis:
    """Run all probes; if one fails, find the misconception that gives the same answers.

    After two seconds a progress bar shows which test runs.

    Args:
        item: the task.
        subject: the learner's function or class.
        line: for a spot-the-bug item, the wrong line's number or a function that returns it.
        seed: of the random test inputs.
        ask_learner: makes each call of the learner's code; grading has it made elsewhere.
    """
    named_line = _ask_line(line, ask_learner) if item.bug else None
    trials: list[Trial] = []
    limited = _limited_together(ask_learner)
    # nbgrader takes anything on stderr, where the bar is drawn, for a failure.
    quiet = bool(os.environ.get("COURSE_QUIET")) or under_nbgrader() or ask_learner is not ask
    bar = tqdm(item.probes, desc="tests", delay=2, leave=False, disable=quiet)
    for i, probe in enumerate(bar):
        trials.append(
            try_probe(
                probe,
                item,
                subject=subject,
                draw_seed=seed + i,
                seconds=SECONDS,
                ask_learner=limited,
            )
        )
        failures = [answer.failure for answer in trials[-1].answers if answer.failure]
        if i == 0 and failures and all(failure.not_written for failure in failures):
            return Diagnosis(item=item, subject=subject, status="not started", trials=trials)
        if trials[-1].stop:
            stopped = describe_first_difference(trials[-1])
            return Diagnosis(
                item=item,
                subject=subject,
                status="not yet",
                trials=trials,
                misconceptions=(),
                line=named_line,
                observation=stopped,
            )
    failed = any(trial.difference for trial in trials)
    found = misconceptions_in(item, trials) if failed else ()
    first_step = first_of_several(item, trials) if failed and not found else None
    diagnosis = Diagnosis(
        item=item,
        subject=subject,
        status="passed",
        trials=trials,
        misconceptions=(first_step.misconception,) if first_step else found,
        first_step=first_step,
        line=named_line,
    )
    if diagnosis.most_telling_trial and not diagnosis.explained:
        diagnosis = replace(
            diagnosis, observation=_observe(diagnosis, diagnosis.most_telling_trial, ask_learner)
        )
    if failed or not diagnosis.line_found:
        return replace(diagnosis, status="not yet")
    return diagnosis


def _limited_together(ask_learner: AskLearner) -> AskLearner:
    """``ask_learner``, for answers that may take ``SECONDS_IN_ALL`` together."""
    spent = 0.0

    def limited(subject: Any, call: Call, use: Use, *, seconds: float) -> Answer:
        nonlocal spent
        if spent < SECONDS_IN_ALL:
            left = max(0.1, SECONDS_IN_ALL - spent)
            answer = ask_learner(subject, call, use, seconds=min(seconds, left))
        else:
            answer = Answer(failure=Failure("TookTooLong", ""))
        spent += answer.seconds
        failure = answer.failure
        if failure is None or failure.kind != "TookTooLong" or spent < SECONDS_IN_ALL:
            return answer
        told = replace(failure, message=f"{ALL_TESTS_TOOK} {SECONDS_IN_ALL:g} seconds")
        return replace(answer, failure=told, seconds=seconds)  # so slow that no example repeats it

    return limited


def _observe(
    diagnosis: Diagnosis, most_telling_trial: Trial, ask_learner: AskLearner
) -> Observation:
    """What holds for all wrong answers, or a kind of error that the most telling test shows, or
    what the result depends on, or only the first difference.
    """
    fact = describe_first_difference(most_telling_trial)
    first = diagnosis.trials[:1]  # other tests may ask for something that is made of the result
    return (
        find_relation(diagnosis.trials)
        or (fact if fact.name else None)
        or _restrict_to_first_test(find_relation(first))
        or find_dependence(
            diagnosis.item, diagnosis.subject, trials=diagnosis.trials, ask_learner=ask_learner
        )
        or _restrict_to_first_test(
            find_dependence(
                diagnosis.item, diagnosis.subject, trials=first, ask_learner=ask_learner
            )
        )
        or fact
    )


def _restrict_to_first_test(observation: Observation | None) -> Observation | None:
    if observation is None:
        return None
    sentence = observation.sentence
    return replace(observation, sentence=f"In the first test: {sentence[0].lower()}{sentence[1:]}")


def _ask_line(line: Callable[[], int] | int | None, ask_learner: AskLearner) -> Answer | None:
    if line is None:
        return None
    return ask_learner(line if callable(line) else lambda: line, Call(()), call_plainly)
