"""Run an item's probes on a learner's code, and say what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from tqdm.auto import tqdm

from course_lib.checks.diagnosis.dependence import find_dependence
from course_lib.checks.diagnosis.facts import describe_first_difference
from course_lib.checks.diagnosis.naming import misconceptions_in, other_dtype, the_one_in
from course_lib.checks.diagnosis.observation import Observation
from course_lib.checks.diagnosis.placeholders import find_placeholder
from course_lib.checks.diagnosis.relations import find_relation
from course_lib.checks.diagnosis.repetition import find_change
from course_lib.checks.diagnosis.several import FirstStep, first_of_several
from course_lib.checks.diagnosis.sublayers import find_first_sublayer
from course_lib.checks.diagnosis.telling_trial import find_telling_trial
from course_lib.checks.diagnosis.trial import ALL_TESTS_TOOK, AskLearner, Trial, try_probe
from course_lib.checks.diagnosis.wrong_kind import WRONG_KIND, find_wrong_kind
from course_lib.checks.engine.adapters import EVALUATION
from course_lib.checks.engine.call import (
    SECONDS,
    SECONDS_IN_ALL,
    Answer,
    Call,
    Failure,
    Use,
    ask,
    value_of,
)
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.isolation import usual_defaults
from course_lib.checks.engine.item import Item, Misconception
from course_lib.checks.progress import under_nbgrader

Found = TypeVar("Found")
Status = Literal["passed", "not yet", "not started"]
SEED = 2017  # of the test inputs; grading uses others
ERRORS_END_A_SEARCH = True  # only; the tests of the checks see them


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The result of all probes of an item on a learner's code."""

    item: Item
    subject: Any
    status: Status
    trials: Sequence[Trial]
    misconceptions: tuple[Misconception, ...] = ()  # the one that explains the answers, or two
    first_step: FirstStep | None = None  # the one of several errors that ``misconceptions`` holds
    other_dtype: str = ""  # what is expected and what came, if no misconception explains it
    line: Answer | None = None  # spot the bug: which line the learner names
    observation: Observation | None = None  # where no misconception is explained
    borrowed: str = ""  # it is right, because it calls this, which is ready-made: see ``own_work``
    own_part: str = ""  # it is right with the course's part of this name: see ``course_parts``
    own_part_fails: str = ""  # the test that fails with the learner's

    @property
    def misconception(self) -> Misconception | None:
        """The only misconception, or the first of two."""
        return self.misconceptions[0] if self.misconceptions else None

    @property
    def explained(self) -> bool:
        """Whether misconceptions were recognised, and the texts of all of them can be shown."""
        return bool(self.misconceptions) and all(m.why for m in self.misconceptions)

    @property
    def explained_all(self) -> bool:
        """Whether they also explain all answers: one error of several doesn't."""
        return self.explained and self.first_step is None

    @property
    def may_hide_more(self) -> bool:
        """Whether all wrong answers to a test are exceptions, or a test of dropout ended in
        evaluation mode: then numbers behind them haven't been compared.
        """
        compared = (
            any(
                received.failure is None
                and (
                    trial.probe.compare is not None
                    or answers_differ(right, received, tolerance=self.item.tolerance)
                )
                for right, received in zip(trial.expected, trial.answers, strict=True)
            )
            for trial in self.failed
        )
        wheres = [trial.difference.where for trial in self.failed if trial.difference]
        return not all(compared) or any(where.startswith(EVALUATION) for where in wheres)

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
        """The failed trial that tells most (see ``find_telling_trial``)."""
        return find_telling_trial(self.trials, self.misconceptions if self.explained else ())

    @property
    def calls_say_more(self) -> bool:
        """Whether a call that fails says more than that the code, or what was passed, is none."""
        wrong_kind = self.observation is not None and self.observation.name == WRONG_KIND
        return not wrong_kind and not self.trials[0].unwritten

    def may_follow(self, trial: Trial) -> bool:
        """Whether a trial may have failed for no other reason than the telling one: surely, if
        misconceptions explain all answers.
        """
        most_telling_trial = self.most_telling_trial
        if (
            most_telling_trial is None
            or trial is most_telling_trial
            or not trial.difference
            or not most_telling_trial.difference
        ):
            return False
        return self.explained_all or trial.difference.kind == most_telling_trial.difference.kind


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
    diagnosis = _tested(item, subject, line=line, seed=seed, ask_learner=ask_learner)
    if diagnosis.trials[-1].stop:
        return replace(
            diagnosis, observation=describe_first_difference(diagnosis.trials[-1], subject)
        )
    if diagnosis.trials[0].unwritten:
        if _is_untouched(diagnosis):
            return replace(diagnosis, status="not started")
        return replace(
            diagnosis, observation=describe_first_difference(diagnosis.trials[0], subject)
        )
    if not diagnosis.failed:
        return replace(diagnosis, status="passed") if diagnosis.line_found else diagnosis
    if wrong_kind := find_wrong_kind(item, subject, trial=diagnosis.trials[0]):
        return replace(diagnosis, observation=wrong_kind, trials=diagnosis.trials[:1])
    found = attempt(lambda: the_one_in(item, diagnosis.trials)) or ()
    fact = None if found else _find_placeholder(diagnosis, diagnosis.trials)
    if not fact:
        found = found or attempt(lambda: misconceptions_in(item, diagnosis.trials)) or ()
    if not fact and not found:
        first = diagnosis.trials[:1]
        fact = _find_placeholder(diagnosis, first, where="In the first test")
    if fact:
        return replace(diagnosis, observation=fact)
    # The search may take a second: a learner waits for it, the grading of a class does not.
    if not found and ask_learner is ask:
        trials = diagnosis.trials
        step = attempt(lambda: first_of_several(item, trials))
        # Where a result changes by itself, a part of it is no evidence of an error.
        all_explained = step is not None and step.of
        if not all_explained and (
            change := attempt(lambda: find_change(item, subject, trials=trials))
        ):
            return replace(diagnosis, observation=change)
        if step:
            found, diagnosis = (step.misconception,), replace(diagnosis, first_step=step)
    dtype = attempt(lambda: other_dtype(item, found, trials=diagnosis.trials)) if found else ""
    diagnosis = replace(diagnosis, misconceptions=found, other_dtype=dtype or "")
    if diagnosis.most_telling_trial and not diagnosis.explained:
        observation = _observe(diagnosis, diagnosis.most_telling_trial, ask_learner)
        diagnosis = replace(diagnosis, observation=observation)
    return diagnosis


@usual_defaults()
def passes(item: Item, subject: Any, *, line: Callable[[], int] | int | None, seed: int) -> bool:
    """Whether an answer passes all tests, without a look at what is wrong with it."""
    diagnosis = _tested(item, subject, line=line, seed=seed, ask_learner=ask)
    return not diagnosis.failed and diagnosis.line_found


def _tested(
    item: Item,
    subject: Any,
    *,
    line: Callable[[], int] | int | None,
    seed: int,
    ask_learner: AskLearner,
) -> Diagnosis:
    """What the tests give, before anything is found out about it."""
    return Diagnosis(
        item=item,
        subject=subject,
        status="not yet",
        trials=_try_probes(item, subject, seed=seed, ask_learner=ask_learner),
        line=_ask_line(line, ask_learner) if item.bug else None,
    )


def _find_placeholder(
    diagnosis: Diagnosis, trials: Sequence[Trial], **where: str
) -> Observation | None:
    item, subject = diagnosis.item, diagnosis.subject
    return attempt(lambda: find_placeholder(item, subject, trials=trials, **where))


def _try_probes(item: Item, subject: Any, *, seed: int, ask_learner: AskLearner) -> list[Trial]:
    """All probes; none after one that had to be stopped, or after a first one that only shows that
    the code isn't written.
    """
    trials: list[Trial] = []
    limited = limited_together(ask_learner, in_all=SECONDS_IN_ALL)
    # nbgrader takes anything on stderr, where the bar is drawn, for a failure.
    quiet = bool(os.environ.get("COURSE_QUIET")) or under_nbgrader() or ask_learner is not ask
    bar = tqdm(total=len(item.probes), desc="tests", delay=2, leave=False, disable=quiet)
    try:
        for i, probe in enumerate(item.probes):
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
            if trials[-1].stop or trials[0].unwritten:
                break
            bar.update()
    finally:
        bar.total = bar.n  # in a notebook, a bar that is closed before its end stays, and is red
        bar.close()
    return trials


def _is_untouched(diagnosis: Diagnosis) -> bool:
    """Whether code that isn't written is as the notebook gave it: the answer's own function raises,
    or the first of a class's methods to be called, and no line of a bug is named.
    """
    line = diagnosis.line
    if line is not None and not (line.failure and line.failure.not_written):
        return False
    subject = diagnosis.subject
    own = getattr(subject, "__name__", None) or getattr(subject, "name", "")  # see ``StandIn``
    for failure in (answer.failure for answer in diagnosis.trials[0].answers):
        name, _, method = failure.function.partition(".") if failure else ("", "", "")
        if name and name != own:
            return False
        if method not in ("", "__init__") and not diagnosis.item.constructor_given:
            return False
    return True


def attempt(find: Callable[[], Found | None]) -> Found | None:
    """What is found, or nothing where a strange result breaks off the search for what is wrong
    with it: whether the answer passes is known already.
    """
    try:
        return find()
    except Exception:
        if not ERRORS_END_A_SEARCH:
            raise
        return None


def limited_together(ask_learner: AskLearner, *, in_all: float) -> AskLearner:
    """``ask_learner``, for answers that may take ``in_all`` seconds together."""
    spent = 0.0

    def limited(subject: Any, call: Call, use: Use, *, seconds: float) -> Answer:
        nonlocal spent
        if spent < in_all:
            left = max(0.1, in_all - spent)
            answer = ask_learner(subject, call, use, seconds=min(seconds, left))
        else:
            answer = Answer(failure=Failure("TookTooLong", ""))
        spent += answer.seconds
        failure = answer.failure
        if failure is None or failure.kind != "TookTooLong" or spent < in_all:
            return answer
        told = replace(failure, message=f"{ALL_TESTS_TOOK} {in_all:g} seconds")
        return replace(answer, failure=told, seconds=seconds)  # so slow that no example repeats it

    return limited


def _observe(
    diagnosis: Diagnosis, most_telling_trial: Trial, ask_learner: AskLearner
) -> Observation:
    """What holds for all wrong answers, or a kind of error that the most telling test shows, or
    what the result depends on, or only the first difference.
    """
    item, subject, trials = diagnosis.item, diagnosis.subject, diagnosis.trials
    fact = attempt(lambda: describe_first_difference(most_telling_trial, subject))
    fact = fact or Observation("", f"The result is wrong: {most_telling_trial.difference}.")
    first = trials[:1]  # other tests may ask for something that is made of the result

    def depends(on: Sequence[Trial]) -> Observation | None:
        return find_dependence(item, subject, trials=on, ask_learner=ask_learner)

    searches: tuple[Callable[[], Observation | None], ...] = (
        lambda: find_relation(trials),
        lambda: fact if fact.name not in ("", "size_of_an_axis") else None,
        lambda: _restrict_to_first_test(find_relation(first)),
        lambda: fact if fact.name else None,
        lambda: depends(trials),
        lambda: _restrict_to_first_test(depends(first)),
    )
    observations = (attempt(search) for search in searches)
    if found := next((each for each in observations if each), None):
        return found
    if ask_learner is not ask:  # in another process, whose modules can't be watched
        return fact
    difference = most_telling_trial.difference
    if difference is None or difference.kind not in ("value", "nan"):  # it says more by itself
        return fact
    where = attempt(lambda: find_first_sublayer(item, subject, trials=trials))
    return replace(fact, meaning=where) if where else fact


def _restrict_to_first_test(observation: Observation | None) -> Observation | None:
    if observation is None:
        return None
    sentence = observation.sentence
    return replace(observation, sentence=f"In the first test: {sentence[0].lower()}{sentence[1:]}")


def _ask_line(line: Callable[[], int] | int | None, ask_learner: AskLearner) -> Answer | None:
    if line is None:
        return None
    return ask_learner(line, Call(()), value_of)
