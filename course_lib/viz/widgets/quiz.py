"""Self-test questions: answered in a live notebook, text with a folded answer in a stored one.

In the texts, `backticks` become code, *asterisks* emphasis, **two of them** strong emphasis, and
$…$ a formula.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import ipywidgets as widgets

from course_lib.errors import CourseError
from course_lib.viz.alt_text import listed
from course_lib.viz.widgets.accessible_widgets import AnswerWatch

RIGHT, WRONG = "✓", "✗"
_SHAPE = re.compile(r"(?:torch\.Size)?[\s(\[]*([^()\[\]]*)[\s)\]]*")
# What a text may contain beside plain words, in the order in which it is looked for: a formula may
# contain asterisks, and code may contain anything. A blank inside an asterisk makes it a product.
_MARKUP = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|(?P<formula>\$[^$\s](?:[^$]*[^$\s])?\$)"
    r"|\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*"
    r"|\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*"
)
_BETWEEN = re.compile(r"\s*[,×x*;]\s*|\s+")


class Question:
    """A question, controls to answer it with, and a status line with feedback.

    In a live notebook an answer gets feedback; a stored notebook keeps the question with the
    answer folded under it. Made by `quiz` and `predict_shape`. ``feedback`` is the newest feedback
    in plain text, ``box`` the whole widget.
    """

    def __init__(self, question: str, answer: str, *, code: str, controls: widgets.Widget) -> None:
        self.question, self.answer, self.code = question, answer, code
        self.feedback = ""
        self.status = widgets.HTMLMath()
        self.watch = AnswerWatch()
        self.reveal = widgets.Button(description="Show the answer", layout={"width": "auto"})
        self.reveal.on_click(lambda _: self._give_feedback(self.answer, sign=""))
        row = widgets.HBox([controls, self.reveal], layout={"flex_flow": "row wrap"})
        self.box = widgets.VBox([widgets.HTMLMath(self._asked()), row, self.status, self.watch])

    def _choices(self) -> str:
        """The answers to choose from, as HTML; none for an answer that is typed."""
        return ""

    def _asked(self) -> str:
        code = f"<pre><code>{html.escape(self.code)}</code></pre>" if self.code else ""
        return f"<p>{markup(self.question)}</p>{code}{self._choices()}"

    def _give_feedback(self, text: str, *, sign: str) -> None:
        """Show feedback. Its sign tells right from wrong without colour."""
        self.feedback = f"{sign} {text}".strip()
        # role=status makes a screen reader announce the feedback when it appears.
        self.status.value = f'<div role="status">{markup(self.feedback)}</div>'
        self.watch.answered()

    def __repr__(self) -> str:
        # Without the answer: in a terminal it would be printed right below the question.
        return "\n".join(filter(None, [self.question, self.code]))

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        folded = f"<details><summary>Answer</summary><p>{markup(self.answer)}</p></details>"
        view, metadata = self.watch.view(self.box)
        return {
            **view,
            "text/html": f"{self._asked()}{folded}",
            "text/plain": repr(self),
        }, metadata


class Quiz(Question):
    """A multiple-choice question. Made by `quiz`."""

    def __init__(
        self, question: str, choices: Sequence[str], right: int, why: str, *, code: str
    ) -> None:
        self.lettered = list(zip(ascii_lowercase, choices, strict=False))
        self.right, self.why = right, why
        self.buttons = [
            # The full text of the answer is above; a button would cut it off.
            widgets.Button(description=letter, tooltip=plain(choice), layout={"width": "3.5em"})
            for letter, choice in self.lettered
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
            self._give_feedback(f"{letter}) is right. {self.why}", sign=RIGHT)
        else:
            self._give_feedback(f"{letter}) is not right. Try again.", sign=WRONG)

    def _choices(self) -> str:
        # The letters are text, since stylesheets differ in how they number lists.
        items = "".join(f"<li>{letter}) {markup(choice)}</li>" for letter, choice in self.lettered)
        return f'<ul style="list-style: none; padding-left: 1em">{items}</ul>'

    def __repr__(self) -> str:
        choices = [f"  {letter}) {text}" for letter, text in self.lettered]
        return "\n".join([super().__repr__(), *choices])


class ShapeQuestion(Question):
    """A question whose answer is a shape, which is typed. Made by `predict_shape`."""

    def __init__(self, question: str, shape: tuple[int, ...], why: str, *, code: str) -> None:
        self.shape, self.why = shape, why
        self.typed = widgets.Text(
            description="shape",
            placeholder="(2, 3)",
            continuous_update=False,  # read when Enter is pressed or the box is left
            style={"description_width": "initial"},
            layout={"width": "16em"},
        )
        self.typed.observe(lambda change: self.submit(change["new"]), names="value")
        super().__init__(question, f"{shape}. {why}", code=code, controls=self.typed)

    def submit(self, text: str) -> None:
        """Answer with a shape, as the text box does."""
        try:
            given = parse_shape(text)
        except CourseError as error:
            self._give_feedback(str(error), sign=WRONG)
            return
        if given == self.shape:
            self._give_feedback(f"{given} is right. {self.why}", sign=RIGHT)
        else:
            text = f"{given} is not right: {self._hint(given)}."
            self._give_feedback(text, sign=WRONG)

    def _hint(self, given: tuple[int, ...]) -> str:
        """What is wrong, without giving the answer away."""
        if len(given) != len(self.shape):
            return f"you gave {_axes(len(given))}, it has {_axes(len(self.shape))}"
        if sorted(given) == sorted(self.shape):
            return "these are the right sizes, in another order"
        off = [
            str(i) for i, pair in enumerate(zip(given, self.shape, strict=True)) if len({*pair}) > 1
        ]
        axes = f"{'axis' if len(off) == 1 else 'axes'} {listed(off)}"
        return f"look again at {axes}, counted from 0"


def quiz(
    question: str, choices: Sequence[str], answer: int | str, why: str, *, code: str = ""
) -> Quiz:
    """A multiple-choice question: ``quiz("Which axis?", ["query", "key"], "b", "Rows sum …")``.

    Args:
        question: what is asked.
        choices: 2 to 8 different answers, lettered a, b, c, … in this order.
        answer: the right one: its letter, its index from 0, or its text.
        why: one or two sentences, shown with the right answer.
        code: shown under the question.

    Raises:
        CourseError: too few or too many choices, equal ones, an answer that is none of them, or an
            empty text.
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
        code: shown under the question.

    Raises:
        CourseError: a size is not a whole number, or a text is empty.
    """
    _check_texts(question, why)
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        raise CourseError(
            f"a shape consists of whole numbers, got {shape!r}: pass x.shape, or a tuple"
        )
    return ShapeQuestion(question, tuple(shape), why, code=code)


def parse_shape(text: str) -> tuple[int, ...]:
    """The shape in a text that was typed: "(2, 3)", "2 3", "[2, 3]", "2×3", "torch.Size([2, 3])".

    Raises:
        CourseError: the text is not a shape.
    """
    inner = _SHAPE.fullmatch(text.strip())
    listed = inner[1].strip().removesuffix(",") if inner else "?"
    sizes = _BETWEEN.split(listed) if listed else []
    if not all(re.fullmatch(r"[0-9]{1,9}", size) for size in sizes) or not text.strip():
        raise CourseError(
            f"a shape is whole numbers separated by commas, such as (2, 3), got {text!r}: "
            "is there a letter or an extra bracket?"
        )
    return tuple(map(int, sizes))


def markup(text: str) -> str:
    """HTML of a text with code, emphasis and formulas; everything else in it is escaped.

    A formula stays as it is, for the page to typeset.
    """
    parts, end = [], 0
    for found in _MARKUP.finditer(text):
        parts += [html.escape(text[end : found.start()]), _marked(found)]
        end = found.end()
    return "".join([*parts, html.escape(text[end:])])


def _marked(found: re.Match[str]) -> str:
    if found["code"]:
        return f"<code>{html.escape(found['code'])}</code>"
    if found["formula"]:
        return html.escape(found["formula"])
    tag, inner = ("strong", found["strong"]) if found["strong"] else ("em", found["emphasis"])
    return f"<{tag}>{markup(inner)}</{tag}>"


def plain(text: str) -> str:
    """The text without the signs of its markup, for where no HTML can be shown."""
    shown = ("code", "formula", "strong", "emphasis")
    return _MARKUP.sub(lambda found: next(found[kind] for kind in shown if found[kind]), text)


def _check_texts(question: str, why: str) -> None:
    for name, text in (("question", question), ("why", why)):
        if not text.strip():
            raise CourseError(f"{name} must be a sentence or two, got an empty text")


def _axes(count: int) -> str:
    return f"{count} axis" if count == 1 else f"{count} axes"
