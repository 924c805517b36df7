"""Items under a convention, made of the public item by translation.

A convention translates between the course's own calls of an item and those of a variant. By it the
reference, the misconceptions and the test inputs of an item become the variant's:

    variant's answer = result(public answer(understood(variant's arguments)))
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from course_lib.checks.conventions.convention import (
    Arguments,
    Change,
    Convention,
    Translation,
    renamed,
)
from course_lib.checks.diagnosis.arguments import positional_names
from course_lib.checks.engine.call import Answer, Call
from course_lib.checks.engine.compare import Difference
from course_lib.checks.engine.draw import Draw
from course_lib.checks.engine.item import Item, Misconception, Probe, name_in_words
from course_lib.errors import CourseError

_FORGETS = "forgets_"
_ANY = "one of the inputs of this test"  # instead of words that a convention touches
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
HINT_LEFT_OUT = (
    "This hint is left out: it is about the lesson, and your group's conventions change what it "
    "mentions."
)


@dataclass(kw_only=True)
class VariantItem(Item):
    """An item under one more convention than ``public``, which may be a variant itself."""

    public: Item
    convention: Convention

    def together(self, *misconceptions: Misconception) -> Any:
        """An answer with all of these misconceptions, or None, in the variant's convention."""
        public = {m.name: m for m in self.public.misconceptions}
        if any(m.name not in public for m in misconceptions):
            return None  # forgetting a convention is no misconception of the lesson
        subject = self.public.together(*(public[m.name] for m in misconceptions))
        return None if subject is None else translated(subject, self.public, self.convention)


def under(item: Item, convention: Convention) -> Item:
    """The item as a variant with this convention has it.

    Its texts are the public ones. One that the convention touches is left out: of a hint, the
    reason stands in its place, of a misconception its name, and of a test its number.

    Raises:
        CourseError: the item does not take it.
    """

    def misconception(m: Misconception) -> Misconception:
        subject, *others = (translated(s, item, convention) for s in (m.subject, *m.spellings))
        told = replace(m, subject=subject, spellings=others)
        if is_of_a_variant(m) or not convention.touches(m.symptom, m.why, m.hint):
            return told
        return replace(told, symptom=_named(m.name), why="", hint="")

    def is_of_a_variant(m: Misconception) -> bool:
        return m.name.startswith(_FORGETS)  # its texts are another convention's

    # The name of a misconception that is about the convention itself would say the wrong thing.
    known = [
        m
        for m in item.misconceptions
        if is_of_a_variant(m) or not convention.touches(name_in_words(m.name))
    ]
    nudge, approach, code = (
        HINT_LEFT_OUT if convention.touches(hint) else hint for hint in item.hints
    )
    return VariantItem(
        item.id,
        reference=translated(item.reference, item, convention),
        probes=[
            _asked(probe, item, convention, f"test {i}") for i, probe in enumerate(item.probes, 1)
        ],
        hints=(nudge, approach, code),
        use=item.use,
        tolerance=item.tolerance,
        misconceptions=[forgets([convention], item.reference), *map(misconception, known)],
        apart=item.apart,
        shown={**item.shown, **_translation(item, convention).shown},
        constructor_given=item.constructor_given,
        conventions=(*item.conventions, convention.name),
        public=item,
        convention=convention,
    )


def _translation(item: Item, convention: Convention) -> Translation:
    while isinstance(item, VariantItem):
        item = item.public
    found = convention.taken(item)
    if found is None:
        raise CourseError(
            f"expected a convention that {item.id} takes, got {convention.name}: its arguments and "
            "its result have nothing that the convention changes"
        )
    return found


def _named(name: str) -> str:
    return (
        f"The misconception “{name_in_words(name)}”. The lesson's explanation of it is left out, "
        "since your group's conventions change what it mentions."
    )


def forgets(conventions: Sequence[Convention], subject: Any) -> Misconception:
    """What to tell a learner whose answer is right except for these conventions.

    Args:
        conventions: one that was overlooked, or all of the item's.
        subject: the answer without them.
    """
    name = conventions[0].name if len(conventions) == 1 else "all_conventions"
    return Misconception(
        name=_FORGETS + name,
        subject=subject,
        symptom="Your answer follows the lesson here, not your group's conventions.",
        why=" ".join(each.paragraph.replace("**", "").replace("`", "") for each in conventions),
        hint="Read the conventions at the head of the task again.",
    )


def forgotten(name: str) -> str:
    """What a teacher is told of a misconception that ``forgets`` made; "" for any other name."""
    if not name.startswith(_FORGETS):
        return ""
    if name == f"{_FORGETS}all_conventions":
        return "The answer follows the lesson, not the group's conventions."
    convention = name_in_words(name.removeprefix(_FORGETS))
    return f"The answer follows the lesson, not the group's convention “{convention}”."


def _asked(probe: Probe, item: Item, convention: Convention, number: str) -> Probe:
    """The probe with its calls in the variant's convention."""
    translation = _translation(item, convention)

    def calls(draw: Draw) -> list[Call]:
        found = (_translated_call(call, item, translation.given) for call in probe.calls(draw))
        return [replace(c, about=_ANY if convention.touches(c.about) else c.about) for c in found]

    name = number if convention.touches(probe.property) else probe.property
    compare = probe.compare
    if compare is None:
        return Probe(name, calls)

    def compare_translated(
        calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
    ) -> Difference | None:
        public = [_translated_call(call, item, translation.understood) for call in calls]
        right, got = ([_back(each, translation) for each in side] for side in (expected, answers))
        return compare(public, right, got)

    return Probe(name, calls, compare=compare_translated)


def _back(answer: Answer, translation: Translation) -> Answer:
    return answer if answer.failure else replace(answer, value=translation.back(answer.value))


def _translated_call(call: Call, item: Item, change: Change) -> Call:
    args, kwargs = _changed(change, _names_of_arguments(item), call.args, call.kwargs)
    return replace(call, args=args, kwargs=kwargs)


def _names_of_arguments(item: Item) -> list[str]:
    """The names of a call's positional arguments, in order; of ``*options`` none."""
    kinds = {name: p.kind for name, p in inspect.signature(item.use).parameters.items()}
    return [
        name
        for name in positional_names(item).values()
        if kinds.get(name, _POSITIONAL) is _POSITIONAL
    ]


def _changed(
    change: Change, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Arguments]:
    """Change arguments by name; each stays positional or by keyword, as it came."""
    named = dict(zip(names, args, strict=False))
    changed = change({**named, **kwargs})
    rest = args[len(named) :]
    return (*(changed[name] for name in named), *rest), {name: changed[name] for name in kwargs}


def translated(subject: Any, item: Item, convention: Convention) -> Any:
    """An implementation in the item's convention as one in the variant's.

    Args:
        subject: a function, a class of modules, or a function that makes one.
        item: whose reference names the parameters.
        convention: that the item takes.
    """
    translation = _translation(item, convention)
    reference = item.reference
    if not (isinstance(reference, type) and issubclass(reference, nn.Module)):
        names = list(inspect.signature(reference).parameters)
        return _translated_function(subject, names, translation)
    names = list(inspect.signature(reference.forward).parameters)[1:]
    if isinstance(subject, type):
        return _translated_class(subject, names, translation)

    @functools.wraps(subject)
    def make(*args: Any, **kwargs: Any) -> Any:
        module = subject(*args, **kwargs)
        module.__class__ = _translated_class(type(module), names, translation)
        return module

    return make


def _translated_function(
    function: Callable[..., Any], names: Sequence[str], translation: Translation
) -> Callable[..., Any]:
    @functools.wraps(function)
    def answer(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _changed(translation.understood, names, args, kwargs)
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        return translation.result(function(*args, **kwargs), arguments)

    return answer


def _translated_class(kind: type[Any], names: Sequence[str], translation: Translation) -> type[Any]:
    public = kind.forward

    @functools.wraps(public)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = functools.partial(public, self)
        return _translated_function(own, names, translation)(*args, **kwargs)

    members: dict[str, Any] = {"forward": forward, "__module__": __name__}
    if translation.renamed:
        of_class = kind.named_parameters

        def named_parameters(self: Any, *args: Any, **kwargs: Any) -> Any:
            for name, parameter in of_class(self, *args, **kwargs):
                yield renamed(name, translation.renamed), parameter

        members["named_parameters"] = named_parameters
    return type(kind.__name__, (kind,), members)
