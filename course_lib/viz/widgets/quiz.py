"""Self-test questions: answered where scripts run, text with a folded answer elsewhere.

In the texts, `backticks` become code, *asterisks* emphasis, **two of them** strong emphasis, and
$…$ a formula.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from course_lib.errors import CourseError
from course_lib.viz.cards import card_css
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.live_html import live_fragment

# What a text may contain beside plain words, in the order in which it is looked for: a formula may
# contain asterisks, and code may contain anything. A blank inside an asterisk makes it a product.
_MARKUP = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|(?P<formula>\$[^$\s](?:[^$]*[^$\s])?\$)"
    r"|\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*"
    r"|\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*"
)


class Question:
    """A question with the answer folded under it, which a script lets a reader answer.

    The script runs in a notebook, with a kernel or without, and on a page; where none runs, the
    question and the fold stay. Made by `quiz` and `predict_shape`.
    """

    def __init__(self, question: str, answer: str, why: str, *, code: str) -> None:
        self.question, self.answer, self.why, self.code = question, answer, why, code

    def _choices(self) -> str:
        """The answers to choose from, as HTML; none for an answer that is typed."""
        return ""

    def _right(self) -> str:
        """The right answer, as the attribute in which the script finds it."""
        raise NotImplementedError

    def to_html(self) -> str:
        """What a notebook stores; a page may show it as well."""
        code = self.code and f'<pre class="course-code"><code>{html.escape(self.code)}</code></pre>'
        asked = f'<p class="course-ask">{markup(self.question)}</p>{code}{self._choices()}'
        why = f'<span class="course-why">{markup(self.why)}</span>'
        folded = f"<summary>Answer</summary><p>{markup(self.answer)} {why}</p>"
        card = (
            f'<div class="course-card course-question" {self._right()}>'
            f"{asked}<details>{folded}</details></div>"
        )
        # The script brings the style: packed it is a quarter, and a lesson has many questions.
        return live_fragment(card, {"module": bundle("quiz"), "style": card_css()})

    def __repr__(self) -> str:
        # Without the answer: in a terminal it would be printed right below the question.
        return "\n".join(filter(None, [self.question, self.code]))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/html": self.to_html(), "text/plain": repr(self)}


class Quiz(Question):
    """A multiple-choice question. Made by `quiz`."""

    def __init__(
        self, question: str, choices: Sequence[str], right: int, why: str, *, code: str
    ) -> None:
        self.lettered = list(zip(ascii_lowercase, choices, strict=False))
        self.right = right
        answer = f"{ascii_lowercase[right]}) {choices[right].rstrip('.')}."
        super().__init__(question, answer, why, code=code)

    def _choices(self) -> str:
        # The letters are text, since stylesheets differ in how they number lists.
        items = "".join(
            f"<li><b>{letter})</b> <span>{markup(choice)}</span></li>"
            for letter, choice in self.lettered
        )
        return f'<ul style="list-style: none; padding-left: 1em">{items}</ul>'

    def _right(self) -> str:
        return f'data-right="{self.right}"'

    def __repr__(self) -> str:
        choices = [f"  {letter}) {text}" for letter, text in self.lettered]
        return "\n".join([super().__repr__(), *choices])


class ShapeQuestion(Question):
    """A question whose answer is a shape, which is typed. Made by `predict_shape`."""

    def __init__(self, question: str, shape: tuple[int, ...], why: str, *, code: str) -> None:
        self.shape = shape
        super().__init__(question, f"{shape}.", why, code=code)

    def _right(self) -> str:
        return f'data-shape="{",".join(map(str, self.shape))}"'


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


def _check_texts(question: str, why: str) -> None:
    for name, text in (("question", question), ("why", why)):
        if not text.strip():
            raise CourseError(f"{name} must be a sentence or two, got an empty text")
