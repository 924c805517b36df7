"""Name one error of an answer that has several, or one that the course doesn't know.

Sets of known misconceptions are put together, those first whose answers come nearest to the
learner's. If one set gives the same answers to every call, one of its errors is named. Otherwise a
misconception is named only if a part of the answers is wrong as with it, and as with nothing else.
"""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from course_lib.checks.diagnosis import evidence
from course_lib.checks.diagnosis.known_answers import (
    forget_larger_sets,
    known_answer,
    made_together,
)
from course_lib.checks.diagnosis.naming import are_alike, explains, list_calls
from course_lib.checks.diagnosis.parts import nearness, parts_that_differ
from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import answers_differ, first_difference
from course_lib.checks.engine.item import Item, Misconception

SEVERAL_SECONDS = 1.0  # for the search
SEARCH_SHARE = 0.7  # of these seconds for sets that explain everything
MOST_AT_ONCE = 4
MOST_IN_SAMPLE = 8  # calls by which sets are ranked
WORSE = 0.05  # than without it: so much an error may take a set away from the answers
QUICK = 1e-3  # seconds: calls that take less take equally long, but for chance
FOR_SINGLES = 0.3  # seconds for all calls of all misconceptions; of slow calls only some are made

Names = frozenset[str]
Part = tuple[int, str]  # of the answer to a call: which call, and where in the answer
NONE: Names = frozenset()


@dataclass(frozen=True)
class FirstStep:
    """One error of several.

    Attributes:
        misconception: what to tell the learner first.
        of: how many known errors explain all answers together; 0 if others are not known.
    """

    misconception: Misconception
    of: int = 0

    @property
    def how_known(self) -> str:
        """What the name rests on."""
        if self.of:
            others = "one other" if self.of == 2 else f"{self.of - 1} others"
            return f"On all test inputs your code does what code with this error and {others} does."
        return "Of the errors that I know, only this one explains a part of your results."

    @property
    def what_next(self) -> str:
        """That more has to be found."""
        if self.of:
            return "This is one of several errors. When it's gone, check again."
        return "This doesn't explain all that is wrong. When it's gone, check again."


class _OutOfTime(Exception):
    """The search has used up its seconds."""


def first_of_several(item: Item, trials: Sequence[Trial]) -> FirstStep | None:
    """The error to begin with, if it is certain that the answers have it."""
    search = _Search(item, trials)
    if not search.calls or not search.known:
        return None
    start = time.process_time()
    search.end = start + SEVERAL_SECONDS
    try:
        search.answer_singles()
        search.end = start + SEARCH_SHARE * SEVERAL_SECONDS
        together = search.find_explanation()
        search.end = start + SEVERAL_SECONDS
        return search.first_step(together) if together else search.partly_explained()
    except _OutOfTime:
        return None
    finally:
        forget_larger_sets()


@dataclass
class _Search:
    item: Item
    trials: Sequence[Trial]
    end: float = field(init=False, default=0.0)
    scores: dict[Names, float] = field(init=False, default_factory=dict)
    answered: list[Names] = field(init=False, default_factory=list)
    alone: dict[str, list[Answer]] = field(init=False, default_factory=dict)
    spelled: dict[str, list[list[Answer]]] = field(init=False, default_factory=dict)
    all_tried: bool = field(init=False, default=False)  # sets of up to ``MOST_AT_ONCE``

    def __post_init__(self) -> None:
        self.known = {m.name: m for m in self.item.misconceptions}
        plain = [trial for trial in self.trials if trial.probe.compare is None]
        # Each test's first call, then the others; the slow ones last.
        every = sorted(
            list_calls(plain), key=lambda c: (c[1] > 0, max(QUICK, c[0].expected[c[1]].seconds))
        )
        seconds = [trial.expected[i].seconds * len(self.known) for trial, i in every]
        total = accumulate(seconds)
        count = max(MOST_IN_SAMPLE, sum(spent < FOR_SINGLES for spent in total))
        self.calls = every[:count]
        self.right = [trial.expected[i] for trial, i in self.calls]
        self.received = [trial.answers[i] for trial, i in self.calls]
        self.sample = range(min(MOST_IN_SAMPLE, len(self.calls)))

    def subject(self, names: Names) -> Any:
        if not names:
            return self.item.reference
        return made_together(self.item, [self.known[name] for name in sorted(names)])

    def check_time(self) -> None:
        if time.process_time() > self.end:
            raise _OutOfTime

    def answer(self, names: Names, k: int) -> Answer:
        """The answer of code with these misconceptions to call k."""
        return self.answer_of(self.subject(names), k) if names else self.right[k]

    def answer_of(self, subject: Any, k: int) -> Answer:
        """The answer of a wrong implementation to call k."""
        self.check_time()
        trial, i = self.calls[k]
        return known_answer(subject, self.item, trial=trial, i=i)

    def answer_singles(self) -> None:
        for name in self.known:
            calls = range(len(self.calls))
            self.alone[name] = [self.answer(frozenset({name}), k) for k in calls]

    def answer_spellings(self) -> None:
        """Needed only where a part of the answers has to have one explanation and no other."""
        for name, m in self.known.items():
            calls = range(len(self.calls))
            self.spelled[name] = [[self.answer_of(s, k) for k in calls] for s in m.spellings]

    def score(self, names: Names, *, at_least: float = 0.0) -> float:
        """How near these misconceptions come to the learner's answers, from 0 to 1.

        Of a set that cannot come as near as ``at_least``, not all answers are computed.
        """
        tolerance, size = self.item.tolerance, len(self.sample)
        missing = 0.0
        for k in self.sample:
            theirs, received = self.answer(names, k), self.received[k]
            if not are_alike(theirs, received, right=self.right[k], tolerance=tolerance):
                missing += 1.0 - nearness(theirs, received, tolerance=tolerance)
            if missing > (1.0 - at_least) * size:
                break
        else:
            self.answered.append(names)
        return 1.0 - missing / size

    def find_explanation(self) -> Names | None:
        """The first set that explains all answers; None if there is none, or none in time."""
        try:
            found = next(self.explanations(), None)
        except _OutOfTime:
            return None
        self.all_tried = found is None
        return found

    def explanations(self) -> Iterator[Names]:
        """Sets of misconceptions that explain all answers, those first that come near them."""
        scores = self.scores
        scores[NONE] = self.score(NONE)
        queue: list[tuple[float, int, list[str]]] = [(-scores[NONE], 0, [])]
        while queue:
            names = frozenset(heapq.heappop(queue)[2])
            if len(names) == MOST_AT_ONCE:
                continue
            for name in self.known:
                larger = names | {name}
                if larger in scores or self.subject(larger) is None:
                    continue
                scores[larger] = self.score(larger, at_least=scores[names] - WORSE)
                if scores[larger] == 1.0 and self.explain_all(larger):
                    yield larger
                heapq.heappush(queue, (-scores[larger], len(larger), sorted(larger)))
            if not names and max(scores.values()) == scores[NONE]:
                return  # no error brings the answers any nearer, so they are of another kind

    def explain_all(self, names: Names) -> bool:
        """Whether these misconceptions together give all the learner's answers."""
        self.check_time()
        subject = self.subject(names)
        return subject is not None and (
            explains(subject, self.item, trials=self.trials)
            or explains(subject, self.item, trials=self.trials, loosely=True)
        )

    def first_step(self, together: Names) -> FirstStep | None:
        """The error to begin with, of a set that explains everything."""
        needed = set(together)
        for name in together:
            if len(needed) > 1 and self.explain_all(frozenset(needed - {name})):
                needed.remove(name)
        certain = [
            self.known[name]
            for name in sorted(needed)
            if self.is_visible(name) and not self.can_be_exchanged(name, frozenset(needed))
        ]
        if not certain:
            return None
        first = min(certain, key=lambda m: self.order(m.name, frozenset(needed)))
        return FirstStep(first, of=len(needed))

    def can_be_exchanged(self, name: str, together: Names) -> bool:
        """Whether another misconception in its place explains the answers as well."""
        rest = together - {name}
        return any(
            self.explain_all(rest | {other}) for other in self.known if other not in together
        )

    def is_visible(self, name: str) -> bool:
        """Whether the learner's answers are wrong wherever those with this error alone are."""
        tolerance = self.item.tolerance
        for theirs, received, right in zip(
            self.alone[name], self.received, self.right, strict=True
        ):
            wrong = parts_that_differ(theirs, right, tolerance=tolerance)
            if wrong and not wrong & parts_that_differ(received, right, tolerance=tolerance):
                return False
        return True

    def order(self, name: str, together: Names) -> tuple[int, float]:
        """Errors of shape and type first; then those without which the answers are nearest."""
        tolerance = self.item.tolerance
        pairs = zip(self.right, self.alone[name], strict=True)
        differences = [answers_differ(a, b, tolerance=tolerance) for a, b in pairs]
        kinds = {difference.kind for difference in differences if difference}
        rank = 0 if kinds & {"type", "shape"} else 1 if "dtype" in kinds else 2
        rest = together - {name}
        near = [
            nearness(self.answer(rest, k), self.right[k], tolerance=tolerance) for k in self.sample
        ]
        return rank, -sum(near)

    def partly_explained(self) -> FirstStep | None:
        """The misconception that explains a part of the answers that nothing else explains, and
        that also fails the first test that the answers fail: an error of a special case would not
        say why the plain one is wrong.
        """
        self.answer_spellings()
        name = (
            self.only_with_traits(
                evidence.forms_of, nothing_else=evidence.only_the_form_differs, at_least=2
            )
            or self.only_with_parts()
            or self.only_with_traits(
                evidence.facts_of, nothing_else=evidence.only_facts_differ, at_least=1
            )
        )
        return FirstStep(self.known[name]) if name else None

    def fails_first(self, name: str) -> bool:
        """Whether this error alone fails the first test that the learner's code fails."""
        plain = (trial for trial in self.trials if trial.probe.compare is None)
        first = next((trial for trial in plain if trial.difference), None)
        answers = zip(self.calls, self.alone[name], self.right, strict=True)
        return any(
            trial is first and answers_differ(right, theirs, tolerance=self.item.tolerance)
            for (trial, _), theirs, right in answers
        )

    def only_with_traits(
        self,
        traits_of: Callable[[evidence.Answers], Mapping[evidence.Trait, Any]],
        *,
        nothing_else: Callable[..., bool],
        at_least: int,
    ) -> str | None:
        """The one that changes nothing but traits which the answers have, and no other brings."""
        right, received = traits_of(self.right), traits_of(self.received)
        traits = {
            name: traits_of(answers)
            for name, answers in self.alone.items()
            if evidence.same_values(answers, received=self.received, right=self.right)
        }
        found = []
        for name, theirs in traits.items():
            self.check_time()
            if not self.fails_first(name):
                continue
            shared = evidence.shared_traits(theirs, received=received, right=right)
            if len(shared) < at_least:
                continue
            if not nothing_else(self.alone[name], self.right, tolerance=self.item.tolerance):
                continue
            others = [other for each, other in traits.items() if each != name]
            others += [
                traits_of(answers)
                for each, spellings in self.spelled.items()
                for answers in spellings
                if each != name
                and evidence.same_values(answers, received=self.received, right=self.right)
            ]
            if not any(all(o.get(t) == x for t, x in shared.items()) for o in others):
                found.append((self.order(name, frozenset({name})), name))
        return min(found)[1] if found else None

    def only_with_parts(self) -> str | None:
        """The one without which no set that was tried has many parts of the answers."""
        tolerance, matched = self.item.tolerance, self.matched_parts()
        received = [evidence.parts_with_first(answer) for answer in self.received]
        right = [evidence.parts_with_first(answer) for answer in self.right]
        found: list[tuple[float, str]] = []
        for name in filter(self.fails_first, self.known):
            self.check_time()
            wrong = [
                (k, where)
                for k, answer in enumerate(self.alone[name])
                for where in evidence.wrong_parts(answer, self.right[k], tolerance=tolerance)
            ]
            with_it = [part for part in wrong if any(name in names for names in matched[part])]
            if any(matched[part] for part in set(wrong) - set(with_it)):
                continue  # where it shows, other errors alone explain what came
            if not self.all_tried:  # then larger sets that match may only be those near the start
                with_it = [part for part in with_it if frozenset({name}) in matched[part]]
            only = [
                (k, where)
                for (k, where), sets in matched.items()
                if sets and all(name in names for names in sets)
                if self.all_tried or frozenset({name}) in sets
            ]
            bits = evidence.bits_together(
                [(received[k][where], right[k].get(where)) for k, where in only]
            )
            share = len(with_it) / max(1, len(wrong))
            if any(share >= least and bits >= enough for least, enough in evidence.ENOUGH):
                found.append((share, name))
        return max(found)[1] if found else None

    def matched_parts(self) -> dict[Part, list[Names]]:
        """Which sets that were tried give this part of an answer as the learner's code does."""
        matched: dict[Part, list[Names]] = defaultdict(list)
        parts = [evidence.parts_with_first(answer) for answer in self.received]
        tried: list[tuple[Names, Sequence[Answer]]] = [(NONE, self.right)]
        for name, answers in self.alone.items():
            tried += [(frozenset({name}), each) for each in (answers, *self.spelled[name])]
        tried += [
            (names, [self.answer(names, k) for k in self.sample])
            for names in self.answered
            if len(names) > 1
        ]
        for names, k, answer in (
            (names, *each) for names, all_ in tried for each in enumerate(all_)
        ):
            theirs = evidence.parts_with_first(answer)
            for where, x in parts[k].items():
                if where in theirs and not first_difference(
                    theirs[where], x, tolerance=self.item.tolerance
                ):
                    matched[k, where].append(names)
        return matched
