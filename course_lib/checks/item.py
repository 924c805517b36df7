"""What can be checked: items, the probes that test them, the misconceptions that can be named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from course_lib.checks.call import Answer, Call, Use, call_plainly
from course_lib.checks.compare import Difference
from course_lib.checks.draw import Draw

Subject = TypeVar("Subject", bound=Callable[..., Any])
# judge(calls, answers of the reference, answers of the learner): None if all is well
Comparison = Callable[[Sequence[Call], Sequence[Answer], Sequence[Answer]], Difference | None]


@dataclass(frozen=True)
class Probe:
    """One property, tried on awkward inputs.

    Attributes:
        claim: the property as a sentence that can be false, "pads are never read".
        calls: from a source of numbers to the calls that show it.
        judge: for what is random; by default every answer must equal the reference's.
    """

    property: str
    calls: Callable[[Draw], list[Call]]
    compare: Comparison | None = None


@dataclass(frozen=True)
class Misconception:
    """A misconception: a small wrong implementation, and what to say to who has written it.

    Attributes:
        name: of the function or class that makes it.
        subject: the wrong implementation itself.
        symptom: what was seen, "Your mask is True at the pads and False at the words."
        why: why that is wrong.
        hint: where to look; not the answer.
    """

    name: str
    subject: Any
    symptom: str
    why: str
    hint: str


@dataclass(frozen=True)
class Bug:
    """Code with one wrong line; lines count from 1."""

    code: str
    line: int


@dataclass
class Item:
    """One task of an assignment: what is asked for, and all that is needed to check it.

    Attributes:
        id: lesson and name, "06.padding_mask".
        reference: a right solution.
        probes: what must hold.
        hints: three steps: a nudge, an approach, almost the code.
        use: how a call uses the subject; see ``adapters``.
        tolerance: by which real numbers may differ.
        bug: of a spot-the-bug item, the code that is to be mended and its wrong line.
        misconceptions: added by ``misconception``.
    """

    id: str
    reference: Any
    probes: Sequence[Probe]
    hints: tuple[str, str, str]
    use: Use = call_plainly
    tolerance: float = 1e-5
    bug: Bug | None = None
    misconceptions: list[Misconception] = field(default_factory=list)

    def misconception(self, symptom: str, *, why: str, hint: str) -> Callable[[Subject], Subject]:
        """Decorate a wrong implementation, to make it known by its name."""

        def add(subject: Subject) -> Subject:
            self.misconceptions.append(Misconception(subject.__name__, subject, symptom, why, hint))
            return subject

        return add
