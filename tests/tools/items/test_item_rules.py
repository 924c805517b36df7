"""Every rule for items finds what breaks it; tests/checks/test_items.py applies the rules."""

import pytest

from course_lib.checks import load_item
from course_lib.checks.engine.item import Item, Misconception, Probe
from tests.tools.notebooks.sample_notebooks import code, markdown, notebook
from tools.items import item_rules

HINTS = ("Look.", "Think.", "Write.")
PROBE = Probe("a property", lambda draw: [])


def item(*misconceptions, hints=HINTS, probes=(PROBE,)):
    made = Item("06.causal_mask", reference=None, probes=probes, hints=hints)
    made.misconceptions.extend(misconceptions)
    return made


def misconception(name="a", symptom="Your mask is upside down.", **changes):
    texts = {"why": "The future is hidden.", "hint": "Look at row 0."} | changes
    return Misconception(name=name, subject=None, symptom=symptom, **texts)


@pytest.mark.parametrize(
    ("rule", "offender", "message"),
    [
        (item_rules.enough_misconceptions, item(misconception()), "1 misconceptions, expected at"),
        (
            item_rules.enough_misconceptions,
            item(misconception("a"), misconception("b"), misconception("a")),
            "two misconceptions are called a",
        ),
        (item_rules.short_sentences, item(misconception(symptom="Too short.")), "10 characters"),
        (item_rules.short_sentences, item(misconception(why="x" * 330 + ".")), "331 characters"),
        (item_rules.short_sentences, item(misconception(hint="Look at row 0")), "end in"),
        (item_rules.short_sentences, item(misconception(hint="Look at row 0. ")), "in no space"),
        (item_rules.three_hints, item(hints=("One.", "Two.", "")), "2 hints, expected 3"),
        (
            item_rules.nothing_to_fill_in,
            item(probes=(Probe("FILL IN: a property", lambda draw: []),)),
            "'FILL IN: a property' still has to be written",
        ),
        (
            item_rules.nothing_to_fill_in,
            item(misconception(why="FILL IN: why that is wrong.")),
            "why that is wrong.' still has to be written",
        ),
    ],
)
def test_what_breaks_a_rule_is_named(rule, offender, message):
    [problem] = rule(offender)
    assert problem.startswith("06.causal_mask") and message in problem


def test_too_few_alternatives_are_counted():
    assert item_rules.enough_alternatives("06.bug", [print] * 3) == []
    [problem] = item_rules.enough_alternatives("06.bug", [print] * 2)
    assert problem == "06.bug: 2 correct alternatives, expected at least 3"


def test_a_check_that_does_not_follow_its_answer_is_named():
    answer, check = code("06-bug-answer", "1"), code("06-bug-check", "2")
    assert item_rules.check_after_answer(notebook(answer, check)) == []
    for cells, following in (
        ((answer, code("a", "1"), check), "'a'"),
        ((check, answer), "''"),
    ):
        [problem] = item_rules.check_after_answer(notebook(*cells))
        assert problem == f"cell {following} follows '06-bug-answer', expected '06-bug-check'"


def test_a_hint_that_has_the_line_of_the_answer_is_named():
    line = "weights = query @ key.transpose(-2, -1)"
    answer = code(
        "04-a-answer", f"def a():\n    ### BEGIN SOLUTION\n    {line}\n    ### END SOLUTION"
    )
    for text, given_away in ((line, True), ("x.transpose(0, 1) swaps two axes of x", False)):
        hints = markdown("04-a-hints", f"<details><p>Write {text}.</p></details>")
        problems = item_rules.no_line_of_the_answer_in_a_hint(notebook(hints, answer))
        assert bool(problems) == given_away
        assert all(
            "'04-a-hints' gives a part of the answer away: weights = " in p for p in problems
        )


def test_a_cell_to_fill_in_is_named():
    [problem] = item_rules.no_cell_to_fill_in(notebook(code("a", "1"), code("b", "# FILL IN")))
    assert problem == "cell 'b' still has to be written"


def test_an_item_of_the_course_keeps_all_rules():
    assert [p for rule in item_rules.RULES for p in rule(load_item("06.causal_mask"))] == []
