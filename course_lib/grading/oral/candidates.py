"""All questions that may be put to a student about what they handed in.

Nothing is asked about what the exercise gave, or about an item that was left as it was handed out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from course_lib.checks import load_item
from course_lib.checks.table import TABLE, Entry
from course_lib.grading.oral.own_answer import CodeLine, OwnAnswer, without_comment
from course_lib.grading.oral.question_bank import BankQuestion
from course_lib.grading.results import ItemResult, shown_text
from course_lib.training.runs.run import Epoch

Kind = Literal["line", "answer", "failed", "corrected", "run", "words", "misconception"]
_MOST_SENTENCE, _MOST_SHOWN = 240, 300  # characters of a student's sentence, and of what failed
_ANOTHER_WAY = "Says in words what the code computes, and how to write it in another way."
_FEWEST_WORDS = 3  # of a sentence that is quoted
_LIST_SIGN = re.compile(r"\A\s*(?:(?:\d{1,2}[.)]|[-*>]|#{1,6})\s+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to one student.

    Attributes:
        item: its id.
        kind: what it is about: a line of the student's, the whole answer, a test that failed, an
            answer that was corrected, the student's run, their words, or a misconception of others.
        asks, expects, then: the question, points of a good answer, and a follow-up.
        lines: of the student's code, to look at together.
        note: what the person who asks should know.
    """

    item: str
    kind: Kind
    asks: str
    expects: tuple[str, ...]
    then: str
    lines: tuple[CodeLine, ...] = ()
    note: str = ""

    @property
    def entry(self) -> Entry:
        """The item's row in the table."""
        return TABLE[self.item]


@dataclass(frozen=True, kw_only=True)
class HandedIn:
    """What one student handed in, and what grading found.

    Attributes:
        answers: in code, by item.
        written: in words, by item.
        results: by item, of those answers; not of earlier ones.
        corrected: items that had fewer points in an earlier run of the grading.
        log: the validations of the student's own run, where one was handed in.
    """

    answers: Mapping[str, OwnAnswer]
    written: Mapping[str, str]
    results: Mapping[str, ItemResult]
    corrected: Collection[str] = ()
    log: Sequence[Epoch] = ()


def candidates(handed_in: HandedIn, bank: Sequence[BankQuestion]) -> list[Question]:
    """The questions that fit, in the order of the items."""
    found = [
        *_from_bank(handed_in, bank),
        *_from_results(handed_in),
        *_from_run(handed_in),
        *_from_misconceptions(handed_in),
    ]
    order = {item: number for number, item in enumerate(TABLE)}
    return sorted(found, key=lambda question: order[question.item])


def _from_bank(handed_in: HandedIn, bank: Sequence[BankQuestion]) -> Iterator[Question]:
    for each in bank:
        kind: Kind = "answer"
        result = handed_in.results.get(each.item)
        asks, lines = each.asks, tuple[CodeLine, ...]()
        if TABLE[each.item].kind == "written":
            if not (text := handed_in.written.get(each.item, "").strip()):
                continue
            kind, asks = "words", f"You wrote: “{_first_sentence(text)}” {asks}"
        elif each.item not in handed_in.answers:
            continue
        elif each.lines:
            answer = handed_in.answers[each.item]
            if (number := answer.find(each.lines)) is None:
                continue
            kind, lines = "line", answer.excerpt(number)
            asks = f"Your line {number} of `{answer.name}` is `{answer.line(number)}`. {asks}"
        elif result and result.status == "not yet":
            continue  # such a question takes a right answer for granted
        else:
            asks = f"{_wrong_line(each.item)}{asks}"
            lines = handed_in.answers[each.item].excerpt()
        yield Question(
            item=each.item,
            kind=kind,
            asks=asks,
            expects=each.expects,
            then=each.then,
            lines=lines,
            note=_note(result),
        )


def _wrong_line(item: str) -> str:
    """The wrong line of a spot-the-bug item, as a sentence; "" for other items."""
    if TABLE[item].kind != "bug" or (bug := load_item(item).bug) is None:
        return ""
    return f"The wrong line was `{without_comment(bug.code.splitlines()[bug.line - 1])}`. "


def _note(result: ItemResult | None) -> str:
    """What is different about this answer from the one that the expected points are about."""
    if result is None or result.status in ("passed", "to be marked"):
        conventions = result.conventions if result else ()
        if not conventions:
            return ""
        return (
            f"This student's variant differs from the public exercise: {', '.join(conventions)}. "
            "The expected points are about the public one."
        )
    return "This answer did not pass: the expected points are about a right one."


def _first_sentence(text: str) -> str:
    """The first one of a few words, without the number or the sign that begins a list."""
    start = shown_text(_LIST_SIGN.sub("", text[: 4 * _MOST_SENTENCE]), 4 * _MOST_SENTENCE)
    sentences = _SENTENCE_END.split(start)
    long = (each for each in sentences if len(each.split()) >= _FEWEST_WORDS)
    return shown_text(next(long, start).strip(), _MOST_SENTENCE)


def _from_results(handed_in: HandedIn) -> Iterator[Question]:
    """About what failed, and what was corrected between two runs of the grading."""
    for item, answer in handed_in.answers.items():
        result = handed_in.results.get(item)
        if result is None or not TABLE[item].is_code:
            continue
        if result.status == "not yet":
            if (question := _about_failure(result, answer)) is not None:
                yield question
        elif result.status == "passed" and item in handed_in.corrected:
            yield Question(
                item=item,
                kind="corrected",
                asks=f"Your first `{answer.name}` failed, and this one passes. What was wrong with "
                "the first, and which lines did you change?",
                expects=(
                    "Says what the earlier code computed, not only that a test failed.",
                    "Points to the lines that changed, and says why they are right now.",
                ),
                then="How would you have noticed it without the check?",
                lines=answer.excerpt(),
            )


def _about_failure(result: ItemResult, answer: OwnAnswer) -> Question | None:
    """A question about an answer that failed: about what grading recognised, else about the first
    test; None if the result says neither.
    """
    known = {each.name: each for each in load_item(result.id, result.conventions).misconceptions}
    named = next((known[name] for name in result.misconceptions if name in known), None)
    failed = next((test for test in result.tests if test.difference), None)
    bug = load_item(result.id).bug
    test = f"The first test that fails: “{failed.property}”." if failed else ""
    found = f"What it found: {shown_text(failed.difference, _MOST_SHOWN)}" if failed else ""
    if named or (result.seen and bug is None):
        symptom = named.symptom if named else shown_text(result.seen, _MOST_SHOWN)
        asks = f"The check says about your `{answer.name}`: “{symptom}” Which of your lines does "
        asks += "that, and why is it wrong?"
        hint = f"The way to a fix: {named.hint}" if named and named.hint else ""
        points = [named.why if named else test, hint or found or _ANOTHER_WAY]
    elif failed:
        asks = (
            f"A test of your `{answer.name}` fails: “{failed.property}”. Where in your code does "
        )
        asks += "that go wrong?"
        points = [found, "Follows a small input through the lines, up to the one that differs."]
    elif bug and result.line_found is False:
        asks = "You fixed this function, and named another line as the wrong one. Which one is it?"
        points = [
            f"Line {bug.line} of the task: {without_comment(bug.code.splitlines()[bug.line - 1])}",
            "Says what that line computes, and not only what the fixed one does.",
        ]
    else:
        return None
    return Question(
        item=result.id,
        kind="failed",
        asks=asks,
        expects=tuple(filter(None, points)),
        then="On which small input would you see it, and what would you see?",
        lines=answer.excerpt(),
    )


def _from_run(handed_in: HandedIn) -> Iterator[Question]:
    """About numbers of the student's own run, which the log has."""
    rows = handed_in.log
    if len(rows) < 2 or "11.own_run" not in handed_in.answers:
        return
    best, last = min(rows, key=lambda row: row["valid_loss"]), rows[-1]
    lines = handed_in.answers["11.own_run"].excerpt()
    kept, end = f"{best['step']:,.0f}", f"{last['step']:,.0f}"
    points = [f"They have the lowest validation loss of the log, {best['valid_loss']:.3f}."]
    if best is last:
        asks = f"Your run kept the weights of step {kept}, its last one. Why those, and what does "
        asks += "that say about training longer?"
        points += ["The loss was still falling, so more steps may help; how much, it doesn't say."]
    else:
        asks = f"Your run kept the weights of step {kept}, but went on until step {end}. Why "
        asks += "aren't the last ones the best?"
        points += [
            f"Then it rose, or moved by chance: the last one is {last['valid_loss']:.3f}. Lower "
            "training loss need not help with other sentences."
        ]
    yield Question(
        item="11.own_run",
        kind="run",
        asks=asks,
        expects=tuple(points),
        then="Why the loss on validation sentences, and not that on the training sentences?",
        lines=lines,
    )
    most = max(row["valid_exact"] for row in rows)
    early = next(row for row in rows if row["valid_exact"] >= 0.9 * most)
    yield Question(
        item="11.own_run",
        kind="run",
        asks=f"At step {early['step']:,.0f} your model had nine tenths of its exact translations. "
        "How did you find that number, and what changed from there to the end?",
        expects=(
            f"The first row with valid_exact of at least 0.9 × {most:.3f}; there it is "
            f"{early['valid_exact']:.3f}.",
            f"The validation loss went from {early['valid_loss']:.3f} to {best['valid_loss']:.3f}: "
            "most is learned early, and the rest takes long.",
        ),
        then="Which kind of sentence was still wrong at the end? Show one of your own.",
        lines=lines,
    )


def _from_misconceptions(handed_in: HandedIn) -> Iterator[Question]:
    """About errors that others make, and that this student's answer, which passes, doesn't have."""
    for item, answer in handed_in.answers.items():
        result = handed_in.results.get(item)
        if not TABLE[item].is_code or answer.tree is None or (result and result.status != "passed"):
            continue
        for each in load_item(item, result.conventions if result else ()).misconceptions:
            if not each.why:
                continue
            yield Question(
                item=item,
                kind="misconception",
                asks=f"The check tells somebody else about their `{answer.name}`: “{each.symptom}” "
                "How does that come about, and which of your lines keeps you from it?",
                expects=(
                    each.why,
                    f"Points to a line of this answer. The check asks, as a hint: {each.hint}",
                ),
                then="On which small input would you see it first?",
                lines=answer.excerpt(),
            )
