"""Items: tasks with their tests (probes), and the misconceptions that a check can recognise."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

from torch import nn

from course_lib.checks.engine.call import Answer, Call, Use, call_plainly
from course_lib.checks.engine.compare import Difference
from course_lib.checks.engine.draw import Draw
from course_lib.checks.engine.isolation import watched

Subject = TypeVar("Subject", bound=Callable[..., Any])
# compare(calls, answers of the reference, answers of the learner): None if they agree
Comparison = Callable[[Sequence[Call], Sequence[Answer], Sequence[Answer]], Difference | None]


@dataclass(frozen=True)
class Probe:
    """A test of one property, on edge cases.

    Attributes:
        property: as a sentence that can be false, "padding gets no weight".
        calls: from a source of test inputs to the calls that test it.
        compare: for random answers, which have the form of the reference's: its types, shapes and
            dtypes, and finite numbers. By default every answer must equal the reference's.
        any_form: whether ``compare`` takes answers of any form.
    """

    property: str
    calls: Callable[[Draw], list[Call]]
    _: KW_ONLY
    compare: Comparison | None = None
    any_form: bool = False


@dataclass(frozen=True, kw_only=True)
class Misconception:
    """A small wrong implementation, and what to tell a learner who has written it.

    Attributes:
        name: of the function or class that implements it.
        subject: the wrong implementation itself.
        symptom: what was observed, "Your mask is True at the padding and False at the tokens."
        why: why that is wrong; "" in a variant of which it may be false.
        hint: where to look; not the answer; "" like ``why``.
        spellings: other implementations of the same misconception.
    """

    name: str
    subject: Any
    symptom: str
    why: str
    hint: str
    spellings: list[Any] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Bug:
    """Code with one wrong line; lines count from 1."""

    code: str
    line: int


@dataclass
class Item:
    """One task of an assignment, and everything that is needed to check it.

    Attributes:
        id: lesson and name, "06.padding_mask".
        reference: a correct solution.
        probes: the tests.
        hints: three steps: a nudge, an approach, almost the code.
        use: how a call uses the learner's code; see ``adapters``.
        tolerance: by how much floats may differ.
        bug: for a spot-the-bug item, the code to fix and the number of its wrong line.
        misconceptions: added by ``add``, ``misconception`` and ``switch``.
        variant: set by ``switchable``.
        apart: names of misconceptions that are never named together, since one takes away what the
            other is about.
        conventions: names of those by which it differs from the course's; see ``conventions``.
        shown: other names for arguments in reports.
        constructor_given: whether the notebook writes the constructor of the class.
        shows: one true sentence about an answer that passes, from what its first call returned.
    """

    id: str
    _: KW_ONLY
    reference: Any
    probes: Sequence[Probe]
    hints: tuple[str, str, str]
    use: Use = call_plainly
    tolerance: float = 1e-5
    bug: Bug | None = None
    misconceptions: list[Misconception] = field(default_factory=list)
    variant: Callable[[frozenset[str]], Any] | None = None
    apart: list[set[str]] = field(default_factory=list)
    conventions: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    constructor_given: bool = False
    shows: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        watched.append(self)

    def add(self, subject: Any, symptom: str, *, why: str, hint: str) -> None:
        """Add a wrong implementation, so that the check recognises it."""
        self.misconceptions.append(
            Misconception(
                name=subject.__name__, subject=subject, symptom=symptom, why=why, hint=hint
            )
        )

    def misconception(self, symptom: str, *, why: str, hint: str) -> Callable[[Subject], Subject]:
        """Decorate a wrong implementation: ``add`` it."""

        def added(subject: Subject) -> Subject:
            self.add(subject, symptom, why=why, hint=hint)
            return subject

        return added

    def spelling(self, name: str) -> Callable[[Subject], Subject]:
        """Decorate another implementation of the misconception of this name."""

        def add(subject: Subject) -> Subject:
            self._named(name).spellings.append(subject)
            return subject

        return add

    def spelling_with(self, name: str, **overrides: Any) -> None:
        """Add another implementation of a misconception: its class, with these attributes."""
        known = self._named(name)
        known.spellings.append(variation(known.subject, name, **overrides))

    def _named(self, name: str) -> Misconception:
        return next(m for m in self.misconceptions if m.name == name)

    def switchable(self, variant: Callable[[frozenset[str]], Subject]) -> None:
        """Decorate a function that makes the answer in which these switches are on.

        With none it is right; each is a misconception, and two of them are two at once.
        """
        self.variant = variant

    def switch(
        self, name: str, symptom: str, *, why: str, hint: str, spellings: Sequence[str] = ()
    ) -> None:
        """Add the misconception of one switch; ``spellings`` are switches with the same words."""
        assert self.variant is not None, "decorate a function with `switchable` first"
        subject, *others = (self.variant(frozenset({each})) for each in (name, *spellings))
        self.misconceptions.append(
            Misconception(
                name=name, subject=subject, symptom=symptom, why=why, hint=hint, spellings=others
            )
        )

    def together(self, *misconceptions: Misconception) -> Any:
        """An answer with all of these misconceptions, or None where they cannot be put together.

        Switches can, and so can classes that override different methods of one class.
        """
        names = {m.name for m in misconceptions}
        if any(pair <= names for pair in self.apart):
            return None
        if self.variant is not None:
            return self.variant(frozenset(names))
        kinds = [m.subject for m in misconceptions]
        if not all(isinstance(kind, type) for kind in kinds):
            return None
        changed = [name for kind in kinds for name in vars(kind) if name not in _IN_EVERY_CLASS]
        bases = {kind.__bases__ for kind in kinds}
        if len(bases) > 1 or (nn.Module,) in bases or len(set(changed)) < len(changed):
            return None
        return type("And".join(m.name for m in misconceptions), tuple(kinds), {})


def variation(base: type[Any], name: str, **overrides: Any) -> type[Any]:
    """A class of this name that differs from ``base`` in these attributes."""
    return type(name, (base,), overrides)


def name_in_words(name: str) -> str:
    """A misconception's name as words: "past_hidden" and "PastHidden" are "past hidden"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return spaced.replace("_", " ").lower()


_IN_EVERY_CLASS = {"__module__", "__doc__", "__firstlineno__", "__static_attributes__"}
