"""What must hold of every exercise item: each rule says in its docstring what it asks for.

docs/maintaining.md quotes these docstrings, and tests/checks/test_items.py applies the rules.
"""

import html
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

from nbformat import NotebookNode

from course_lib.checks import TABLE
from course_lib.checks.engine.item import Item
from tools.items.item_minutes import REGION

Rule = Callable[[Item], list[str]]

FILL_IN = "FILL IN"  # what `make new-item` leaves to a person
MIN_MISCONCEPTIONS = 3
MIN_ALTERNATIVES = 3
MIN_CHARACTERS, MAX_CHARACTERS = 11, 330
MOST_IN_A_ROW = 9  # words and signs of an answer, such as x[:, None] + 1


def enough_misconceptions(item: Item) -> list[str]:
    """An item has at least three misconceptions, each with a name of its own."""
    names = [misconception.name for misconception in item.misconceptions]
    problems = [f"two misconceptions are called {n}" for n in set(names) if names.count(n) > 1]
    if len(names) < MIN_MISCONCEPTIONS:
        problems.append(f"{len(names)} misconceptions, expected at least {MIN_MISCONCEPTIONS}")
    return [f"{item.id}: {problem}" for problem in problems]


def short_sentences(item: Item) -> list[str]:
    """Symptom, why and hint have 11 to 330 characters each, and end in a full stop, ? or !"""
    problems = []
    for misconception in item.misconceptions:
        for name in ("symptom", "why", "hint"):
            text = getattr(misconception, name)
            where = f"{item.id}: the {name} of {misconception.name}"
            if not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS:
                problems.append(
                    f"{where} has {len(text)} characters, "
                    f"expected {MIN_CHARACTERS} to {MAX_CHARACTERS}"
                )
            if text != text.strip() or text[-1:] not in (".", "?", "!"):
                problems.append(f"{where} should end in '.', '?' or '!', and in no space: {text!r}")
    return problems


def three_hints(item: Item) -> list[str]:
    """An item has three hints: a nudge, an approach, almost the code."""
    written = [hint for hint in item.hints if hint.strip()]
    return [f"{item.id}: {len(written)} hints, expected 3"] if len(written) != 3 else []


def nothing_to_fill_in(item: Item) -> list[str]:
    """No text of an item, and not its title, says FILL IN any more."""
    texts = [TABLE[item.id].title, *item.hints, *(probe.property for probe in item.probes)]
    for misconception in item.misconceptions:
        texts += [misconception.symptom, misconception.why, misconception.hint]
    return [f"{item.id}: {text!r} still has to be written" for text in texts if FILL_IN in text]


def enough_alternatives(item_id: str, alternatives: Sequence[Any]) -> list[str]:
    """An item has at least three correct alternatives: right answers, written differently."""
    count = len(alternatives)
    if count >= MIN_ALTERNATIVES:
        return []
    return [f"{item_id}: {count} correct alternatives, expected at least {MIN_ALTERNATIVES}"]


def check_after_answer(notebook: NotebookNode) -> list[str]:
    """In a solution, the check cell of an item directly follows its answer cell."""
    ids = [cell.id for cell in notebook.cells]
    return [
        f"cell {following!r} follows {name!r}, expected {name.removesuffix('answer') + 'check'!r}"
        for name, following in zip(ids, [*ids[1:], ""], strict=True)
        if name.endswith("-answer") and following != name.removesuffix("answer") + "check"
    ]


def no_line_of_the_answer_in_a_hint(notebook: NotebookNode) -> list[str]:
    """In a solution, no hint has ten words and signs in a row that its answer has, too."""
    sources = {cell.id: cell.source for cell in notebook.cells}
    problems = []
    for name, source in sources.items():
        if not name.endswith("-hints"):
            continue
        hints = _words_and_signs(html.unescape(re.sub(r"<[^>]*>", "\n", source)))
        answer = sources.get(f"{name.removesuffix('hints')}answer", "")
        code = _words_and_signs(re.sub(r"#.*", "", "\n".join(REGION.findall(answer))))
        same = SequenceMatcher(None, hints, code, autojunk=False).find_longest_match()
        if same.size > MOST_IN_A_ROW:
            shown = " ".join(code[same.b : same.b + same.size])
            problems.append(f"cell {name!r} gives a part of the answer away: {shown}")
    return problems


def _words_and_signs(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def no_cell_to_fill_in(notebook: NotebookNode) -> list[str]:
    """In a solution, no cell says FILL IN any more."""
    return [
        f"cell {cell.id!r} still has to be written"
        for cell in notebook.cells
        if FILL_IN in cell.source
    ]


RULES: tuple[Rule, ...] = (enough_misconceptions, short_sentences, three_hints, nothing_to_fill_in)
