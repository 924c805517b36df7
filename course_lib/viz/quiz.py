"""Questions that check what was learnt: to be answered live, and folded text where nothing runs.

Both come from one source. In what an author writes, `backticks` become code and $…$ a formula.
"""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import ipywidgets as widgets

from course_lib.errors import CourseError

RIGHT, WRONG = "✓", "✗"
_SHAPE = re.compile(r"(?:torch\.Size)?[\s(\[]*([^()\[\]]*)[\s)\]]*")
_BETWEEN = re.compile(r"\s*[,×x*;]\s*|\s+")


class Question(ABC):
    """A question, what it is answered with, and a line that says how that went.

    In a live notebook it is answered and judged; a stored notebook keeps the question with the
    answer folded under it. Made by `quiz` and `predict_shape`. ``said`` is the last verdict in
    plain words, ``box`` the whole widget.
    """

    def __init__(self, question: str, answer: str, *, code: str, controls: widgets.Widget) -> None:
        self.question, self.answer, self.code = question, answer, code
        self.said = ""
        self.verdict = widgets.HTMLMath()
        self.reveal = widgets.Button(description="Show the answer", layout={"width": "auto"})
        self.reveal.on_click(lambda _: self._say(self.answer, sign=""))
        row = widgets.HBox([controls, self.reveal], layout={"flex_flow": "row wrap"})
        self.box = widgets.VBox([widgets.HTMLMath(self._asked()), row, self.verdict])

    @abstractmethod
    def _choices(self) -> str:
        """What may be chosen, in HTML."""

    def _asked(self) -> str:
        code = f"<pre><code>{html.escape(self.code)}</code></pre>" if self.code else ""
        return f"<p>{markup(self.question)}</p>{code}{self._choices()}"

    def _say(self, words: str, *, sign: str) -> None:
        """Show a verdict. Its sign tells right from wrong without colour."""
        self.said = f"{sign} {words}".strip()
        # role=status lets a screen reader say the verdict when it comes.
        self.verdict.value = f'<div role="status">{markup(self.said)}</div>'

    def __repr__(self) -> str:
        # Without the answer: in a terminal it would stand right below the question.
        return "\n".join(filter(None, [self.question, self.code]))

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        folded = f"<details><summary>Answer</summary><p>{markup(self.answer)}</p></details>"
        view = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        return {
            "application/vnd.jupyter.widget-view+json": view,
            "text/html": f"{self._asked()}{folded}",
            "text/plain": repr(self),
        }, {}


class Quiz(Question):
    """A question with several answers, one of them right. Made by `quiz`."""

    def __init__(
        self, question: str, choices: Sequence[str], right: int, why: str, *, code: str
    ) -> None:
        self.choices, self.right, self.why = choices, right, why
        self.buttons = [
            # The whole answer stands above; a button would cut it off.
            widgets.Button(description=letter, tooltip=choice, layout={"width": "3.5em"})
            for letter, choice in zip(ascii_lowercase, choices, strict=False)
        ]
        for i, button in enumerate(self.buttons):
            button.on_click(lambda _, i=i: self.choose(i))
        answer = f"{ascii_lowercase[right]}) {choices[right].rstrip('.')}. {why}"
        controls = widgets.HBox(self.buttons, layout={"flex_flow": "row wrap"})
        super().__init__(question, answer, code=code, controls=controls)

    def choose(self, index: int) -> None:
        """Answer with one of the choices, as its button does."""
        right = index == self.right
        for i, button in enumerate(self.buttons):
            button.button_style = ("success" if right else "warning") if i == index else ""
        letter = ascii_lowercase[index]
        if right:
            self._say(f"{letter}) is right. {self.why}", sign=RIGHT)
        else:
            self._say(f"{letter}) is not right. Think again.", sign=WRONG)

    def _choices(self) -> str:
        # The letters are text, since pages have their own ideas of how lists are counted.
        lettered = zip(ascii_lowercase, self.choices, strict=False)
        items = "".join(f"<li>{letter}) {markup(choice)}</li>" for letter, choice in lettered)
        return f'<ul style="list-style: none; padding-left: 1em">{items}</ul>'

    def __repr__(self) -> str:
        lettered = zip(ascii_lowercase, self.choices, strict=False)
        return "\n".join(
            [super().__repr__(), *(f"  {letter}) {text}" for letter, text in lettered)]
        )


class ShapeQuestion(Question):
    """A question whose answer is a shape, typed. Made by `predict_shape`."""

    def __init__(self, question: str, shape: tuple[int, ...], why: str, *, code: str) -> None:
        self.shape, self.why = shape, why
        self.typed = widgets.Text(
            description="shape",
            placeholder="(2, 3)",
            continuous_update=False,  # read when Enter is pressed or the box is left
            style={"description_width": "initial"},
            layout={"width": "16em"},
        )
        self.typed.observe(lambda change: self.judge(change["new"]), names="value")
        super().__init__(question, f"{_written(shape)}. {why}", code=code, controls=self.typed)

    def judge(self, text: str) -> None:
        """Answer with a shape, as if it were typed."""
        try:
            given = parse_shape(text)
        except CourseError as error:
            self._say(str(error), sign=WRONG)
            return
        if given == self.shape:
            self._say(f"{_written(given)} is right. {self.why}", sign=RIGHT)
        else:
            self._say(f"{_written(given)} is not right: {self._fault(given)}.", sign=WRONG)

    def _fault(self, given: tuple[int, ...]) -> str:
        """What to look at again, without the answer."""
        if len(given) != len(self.shape):
            return f"you gave {_axes(len(given))}, it has {_axes(len(self.shape))}"
        if sorted(given) == sorted(self.shape):
            return "these are the sizes, in another order"
        off = [
            str(i) for i, pair in enumerate(zip(given, self.shape, strict=True)) if len({*pair}) > 1
        ]
        axes = f"axis {off[0]}" if len(off) == 1 else f"axes {', '.join(off[:-1])} and {off[-1]}"
        return f"look again at {axes}, counted from 0"

    def _choices(self) -> str:
        return ""


def quiz(
    question: str, choices: Sequence[str], answer: int | str, why: str, *, code: str = ""
) -> Quiz:
    """A multiple-choice question: ``quiz("Which axis?", ["query", "key"], "b", "Rows sum …")``.

    Args:
        question: what is asked.
        choices: 2 to 8 different answers, lettered a, b, c, … in this order.
        answer: the right one, as its letter, its index from 0 or its words.
        why: one or two sentences, shown with the right answer.
        code: shown under the question as it is.

    Raises:
        CourseError: too few or too many choices, equal ones, none of them right, or a text is
            missing.
    """
    if not 2 <= len(choices) <= 8 or len(set(choices)) != len(choices):
        raise CourseError(f"a quiz needs 2 to 8 different choices, got {list(choices)}")
    _check_texts(question, why)
    letters = ascii_lowercase[: len(choices)]
    if isinstance(answer, str) and answer in choices:
        right = list(choices).index(answer)
    elif isinstance(answer, str) and len(answer) == 1 and answer in letters:
        right = letters.index(answer)
    elif isinstance(answer, int) and 0 <= answer < len(choices):
        right = answer
    else:
        raise CourseError(
            f"the answer must be a letter from {letters[0]} to {letters[-1]}, an index from 0 to "
            f"{len(choices) - 1} or one of the choices, got {answer!r}"
        )
    return Quiz(question, list(choices), right, why, code=code)


def predict_shape(
    question: str, shape: Sequence[int], why: str, *, code: str = ""
) -> ShapeQuestion:
    """A question whose answer is a shape: ``predict_shape("`q @ k.mT`?", (2, 3, 3), "…")``.

    Args:
        question: what is asked.
        shape: the right answer.
        why: one or two sentences, shown with the right answer.
        code: shown under the question as it is.

    Raises:
        CourseError: a size is not a whole number, or a text is missing.
    """
    _check_texts(question, why)
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        raise CourseError(f"a shape holds whole numbers, got {shape!r}: pass x.shape, or a tuple")
    return ShapeQuestion(question, tuple(shape), why, code=code)


def parse_shape(text: str) -> tuple[int, ...]:
    """The shape that a person typed: "(2, 3)", "2 3", "[2, 3]", "2×3", "torch.Size([2, 3])".

    Raises:
        CourseError: the text is no shape.
    """
    inner = _SHAPE.fullmatch(text.strip())
    listed = inner[1].strip().removesuffix(",") if inner else "?"
    sizes = _BETWEEN.split(listed) if listed else []
    if not all(re.fullmatch(r"[0-9]{1,9}", size) for size in sizes) or not text.strip():
        raise CourseError(
            f"a shape is whole numbers with commas between them, such as (2, 3), got {text!r}: "
            "is a letter or a bracket left over?"
        )
    return tuple(map(int, sizes))


def markup(text: str) -> str:
    """Escaped HTML in which `backticks` are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _check_texts(question: str, why: str) -> None:
    for name, text in (("question", question), ("why", why)):
        if not text.strip():
            raise CourseError(f"{name} must be a sentence or two, got an empty text")


def _written(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def _axes(count: int) -> str:
    return f"{count} axis" if count == 1 else f"{count} axes"
