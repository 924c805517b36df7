"""Questions about a run that each learner's own number decides.

Three kinds of items ask them, of two numbers each: a guess may be right once. In "predict", one
says what will come, runs it, and explains the result. In "compare", one of two runs is right, and
the other has an error. In "conclude", a conclusion is to be drawn from numbers, or put right. The
run has the answer, and no number is easier than another. What was predicted is never judged: a
notebook cannot show when it was typed.
"""

from __future__ import annotations

import html
import math
import random
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Item, Probe
from course_lib.checks.engine.adapters import call_for_data
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference, short, told
from course_lib.checks.items.hidden import got, two_numbers
from course_lib.errors import CourseError
from course_lib.wording import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)
PREDICTED = "predicted"
# On a phone, a line of a table that is too wide scrolls, with the keyboard, too. Where a page takes
# out style sheets, this stays.
LINES_STAY = (
    'style="white-space:pre;word-break:normal;overflow-x:auto" '
    'tabindex="0" role="region" aria-label="the run as text"'
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run shows.

    Attributes:
        text: as a table or a log, up to 80 characters a line.
        values: what one may compute with, by name: ``outcome["weights"]``; ``outcome.keys()`` has
            the names.
        picture: draws it, where people would rather look than read.
    """

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    picture: Callable[[], Axes] | None = None

    def __getitem__(self, name: str) -> Any:
        """The value of this name.

        Raises:
            CourseError: there is none.
        """
        is_text = isinstance(name, str)
        if is_text and name in self.values:
            return self.values[name]
        meant = did_you_mean(name, self) if is_text else ""
        raise CourseError(f"expected a key of this run ({', '.join(self)}), got {name!r}{meant}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def keys(self) -> list[str]:
        """The names of the values."""
        return [*self]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # Loads Matplotlib: only where a page is shown.
        from course_lib.viz.alt_text import describe
        from course_lib.viz.cards import card_style
        from course_lib.viz.display import bundle, stored
        from course_lib.viz.style import figure_of

        text = f"<pre {LINES_STAY}>{html.escape(self.text)}</pre>"
        shown = f'<div class="course-card" style="max-width:100%">{text}</div>'
        if self.picture is not None:
            figure = figure_of(self.picture())
            shown += bundle(stored(figure), describe(figure))["text/html"]
        return card_style() + shown


class Question(Protocol[R_contra]):
    """One entry of an answer."""

    def form(self) -> str:
        """What an answer is: "a letter from a to d"."""
        ...

    def fits(self, answer: Any) -> bool:
        """Whether an answer has this form."""
        ...

    def wrong(self, run: R_contra, answer: Any) -> str:
        """What to look at again, if the run says something else than an answer that fits."""
        ...


@dataclass(frozen=True, kw_only=True)
class Choice(Generic[R]):
    """Which of several sentences is true of a run.

    Attributes:
        options: the sentences by name, in the order of the task.
        right: the name of the true one.
        look: for whoever chose a sentence wrongly, by name: what in the run tells against it.
        letters: of the options.
    """

    options: Mapping[str, str]
    right: Callable[[R], str]
    look: Mapping[str, str]
    letters: str = string.ascii_lowercase

    @property
    def names(self) -> dict[str, str]:
        """From letters to names."""
        return dict(zip(self.letters, self.options, strict=False))

    def letter(self, run: R) -> str:
        """The letter of the true one."""
        return next(each for each, name in self.names.items() if name == self.right(run))

    def form(self) -> str:
        letters = [*self.names]
        if len(letters) == 2:
            return " or ".join(map(repr, letters))
        return f"a letter from {letters[0]} to {letters[-1]}"

    def fits(self, answer: Any) -> bool:
        return type(answer) is str and answer in self.names

    def wrong(self, run: R, answer: Any) -> str:
        name = self.names[answer]
        return "" if name == self.right(run) else f"it isn't {answer}. {self.look[name]}"


def which_is_right(right: Callable[[R], str], *, look: str) -> Choice[R]:
    """Which of two runs is right, "A" or "B".

    Args:
        right: from both runs to that letter.
        look: for whoever chose the other one, which stands for "{run}".
    """
    return Choice(
        options={"A": "A is right", "B": "B is right"},
        right=right,
        look={letter: look.replace("{run}", letter) for letter in "AB"},
        letters="AB",
    )


@dataclass(frozen=True, kw_only=True)
class Number(Generic[R]):
    """A number that a run gives.

    Attributes:
        what: "the step at which the loss is lowest".
        right: the number.
        look: where it is found, or how it is computed.
        within: by how much an answer may differ; 0 for whole numbers.
    """

    what: str
    right: Callable[[R], float]
    look: str
    within: float = 0.0

    def form(self) -> str:
        return f"{'a number' if self.within else 'a whole number'}, {self.what}"

    def fits(self, answer: Any) -> bool:
        return is_number(answer) and bool(self.within or answer == int(answer))

    def wrong(self, run: R, answer: Any) -> str:
        near = abs(answer - self.right(run)) <= self.within + 1e-9
        return "" if near else f"{short(answer)} isn't {self.what} in your run. {self.look}"


@dataclass(frozen=True, kw_only=True)
class NumberedRun(Generic[R]):
    """A run that a number decides, and what is asked about it.

    Attributes:
        id: of its item.
        make: the run, from a source of randomness that the number decides; in under two seconds,
            and the same on every machine as far as the questions go.
        show: what a learner sees of it.
        questions: by the key of their answer; of several that are wrong, the first is told.
        says: one true sentence about this run, for whoever has answered all questions.
        unit: of what is predicted, as "nats" or "%", else "".
        came: what a prediction is of, if it can be met exactly, else None.
        easy: what a run shows whose answer can be guessed, as "the loss is ln V", else "". Of such
            runs, an answer may have one.
    """

    id: str
    make: Callable[[random.Random], R]
    show: Callable[[R], Outcome]
    questions: Mapping[str, Question[R]]
    says: Callable[[R], str]
    unit: str = ""
    came: Callable[[R], float | None] = lambda run: None
    easy: Callable[[R], str] = lambda run: ""

    @cached_property
    def _made(self) -> dict[int, R]:
        return {}

    def run(self, number: int) -> R:
        """The run of a number, made once, on one thread: its tensors are small."""
        if number not in self._made:
            drawn, threads = random.Random(f"{self.id}/{number}"), torch.get_num_threads()
            try:
                torch.set_num_threads(1)
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(drawn.getrandbits(32))
                    self._made[number] = self.make(drawn)
            finally:
                torch.set_num_threads(threads)
        return self._made[number]


def own_number_item(run: NumberedRun[Any], *, hints: tuple[str, str, str]) -> Item:
    """The item that asks the questions."""

    def answers() -> list[dict[str, Any]]:
        """An answer of the right form."""
        return [{"number": number} | dict.fromkeys(run.questions) for number in (0, 1)]

    def judged(
        calls: Sequence[Call], expected: Sequence[Answer], received: Sequence[Answer]
    ) -> Difference | None:
        answer = received[0].value
        problem = two_numbers(answer, ["number", *run.questions], [PREDICTED])
        for each in () if problem else map(_plain, answer):
            problem = problem or _problem(each, run) or _wrong(each, run)
        problem = problem or _both_easy(answer, run)
        return told(problem) if problem else None

    answers.__name__ = run.id.split(".")[1]
    return Item(
        run.id,
        reference=answers,
        probes=[
            Probe(
                "the answers are what the runs of your two numbers show",
                lambda _: [Call(())],
                compare=judged,
                any_form=True,
            )
        ],
        hints=hints,
        use=call_for_data,
        shows=lambda answer: _shown(answer, run),
    )


def _plain(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with numbers in place of tensors without axes."""
    return {
        key: value.item() if isinstance(value, Tensor) and not value.ndim else value
        for key, value in answer.items()
    }


def _problem(answer: Mapping[str, Any], run: NumberedRun[Any]) -> str:
    """What keeps the answer about one run from having the right form."""
    for key, question in run.questions.items():
        if not question.fits(answer[key]):
            came = f"{got(answer[key])} for number {answer['number']}"
            return f"Expected as {key} {question.form()}, got {came}."
    return ""


def _wrong(answer: Mapping[str, Any], run: NumberedRun[Any]) -> str:
    """What a run tells against an answer of the right form."""
    made = run.run(answer["number"])
    for key, question in run.questions.items():
        if look := question.wrong(made, answer[key]):
            return f"Number {answer['number']}, {key}: {look}"
    return ""


def _both_easy(answer: Any, run: NumberedRun[Any]) -> str:
    """What is to be changed if both runs could be answered without a look at them."""
    shows = [run.easy(run.run(each["number"])) for each in answer]
    if not all(shows):
        return ""
    return (
        f"Both answers are right, and in both runs {shows[0]}, which could be guessed. Instead of "
        f"{answer[1]['number']}, take a number whose run shows something else."
    )


def _shown(answer: Any, run: NumberedRun[Any]) -> str:
    """A sentence on each run for whoever has answered, with what was predicted."""
    sentences = []
    for each in answer:
        made = run.run(each["number"])
        predicted = _predicted(_plain(each).get(PREDICTED), run.unit, run.came(made))
        sentences.append(f"Number {each['number']}: {run.says(made)}{predicted}")
    return "\n".join(sentences)


def _predicted(predicted: Any, unit: str, came: float | None) -> str:
    """A sentence with what was predicted, with its unit; "" if nothing was."""
    numbers = predicted if isinstance(predicted, (list, tuple)) else [predicted]
    if predicted is None or not numbers:
        return ""
    if not all(map(is_number, numbers)):
        return (
            f" Your prediction, {got(predicted)}, is neither a number nor a list of numbers, "
            "so the report leaves it out."
        )
    listed = ", ".join(f"{number:g}" for number in numbers)
    exactly = came is not None and [float(number) for number in numbers] == [came]
    met = ", and that is exactly what came" * exactly
    return f" You predicted {listed}{f' {unit}' * bool(unit)}{met}."


def is_number(value: Any) -> bool:
    """Whether a value of an answer is a plain, finite number."""
    return type(value) in (int, float) and abs(value) < 1e12 and math.isfinite(value)
