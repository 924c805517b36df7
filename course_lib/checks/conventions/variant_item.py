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
from course_lib.checks.engine.item import Item, Misconception, Probe

_FORGETS = "forgets_"
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(kw_only=True)
class VariantItem(Item):
    """An item under one more convention than ``public``, which may be a variant itself."""

    public: Item
    convention: Convention

    def worded(self, text: str) -> str:
        """A text about the item in the words of its conventions."""
        return self.convention.rewritten(self.public.worded(text), self.id)

    def both(self, a: Misconception, b: Misconception) -> Any:
        """An answer with both misconceptions, or None, in the variant's convention."""
        public = {m.name: m for m in self.public.misconceptions}
        if a.name not in public or b.name not in public:
            return None  # words about a misconception aren't those of the lesson's convention
        subject = self.public.both(public[a.name], public[b.name])
        return None if subject is None else translated(subject, self.public, self.convention)


def under(item: Item, convention: Convention) -> Item:
    """The item as a variant with this convention has it.

    Raises:
        KeyError: the item does not take it.
    """

    def text(words: str) -> str:
        return convention.rewritten(words, item.id)

    def misconception(m: Misconception) -> Misconception:
        subject, *others = (translated(s, item, convention) for s in (m.subject, *m.spellings))
        if m.name.startswith(_FORGETS):  # it states another convention
            return replace(m, subject=subject, spellings=others)
        return Misconception(
            name=m.name,
            subject=subject,
            symptom=text(m.symptom),
            why=text(m.why),
            hint=text(m.hint),
            spellings=others,
        )

    left_out = convention.items[item.id].left_out
    known = [misconception(m) for m in item.misconceptions if m.name not in left_out]
    nudge, approach, code = map(text, item.hints)
    return VariantItem(
        item.id,
        reference=translated(item.reference, item, convention),
        probes=[_asked(probe, item, convention) for probe in item.probes],
        hints=(nudge, approach, code),
        use=item.use,
        tolerance=item.tolerance,
        misconceptions=[*known, forgets([convention], item.reference)],
        apart=item.apart,
        shown={**item.shown, **convention.items[item.id].shown},
        conventions=(*item.conventions, convention.name),
        public=item,
        convention=convention,
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
        symptom="Your answer follows the lesson here, not your conventions.",
        why=" ".join(each.sentence.replace("**", "") for each in conventions),
        hint="Read your conventions at the head of the task again.",
    )


def _asked(probe: Probe, item: Item, convention: Convention) -> Probe:
    """The probe with its calls in the variant's convention."""
    given = convention.items[item.id].given

    def calls(draw: Draw) -> list[Call]:
        found = (_translated_call(call, item, given) for call in probe.calls(draw))
        return [replace(c, about=convention.rewritten(c.about, item.id)) for c in found]

    name, compare = convention.rewritten(probe.property, item.id), probe.compare
    if compare is None:
        return Probe(name, calls)

    def compare_translated(
        calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
    ) -> Difference | None:
        translation = convention.items[item.id]
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
    translation = convention.items[item.id]
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
