"""The length of a lesson, and its form."""

import pytest

from tests.tools.notebooks.sample_notebooks import bundle, code, markdown, notebook, stream
from tools.notebooks import lesson_size
from tools.notebooks.lesson_size import (
    Size,
    evenings,
    form_problems,
    label,
    listed,
    sections,
)

PICTURE = bundle(html='<img alt="three words here" src="x">')


def lesson(*cells, time="**Time** about 0 minutes, plus the exercise."):
    made = notebook(*cells, markdown("next", "## What next"))
    made.cells[0].source += f"\n\n{time}"
    return made


def deeper(text="", **metadata):
    cell = markdown("deeper", f"## Deeper\n\n{text}")
    cell.metadata.update(metadata)
    return cell


def test_what_is_read_is_counted_and_what_is_folded_or_deeper_is_not():
    [opening, part] = sections(
        notebook(
            markdown("text", "Read [the *map*](docs/map.md) and look. <br>"),
            code("open", "x = 1\n\nprint(x)"),
            code("folded", "assert x", jupyter={"source_hidden": True}),
            code("drawn", "show_figure(ax, words)", [PICTURE]),
            markdown(
                "q", "## Q1a. Why?\n\n<details><summary>Think first</summary>\n\nWhy?</details>"
            ),
            code("moves", "viz.interact(draw)", [PICTURE]),
            code("quiz-1", "quiz(question)", jupyter={"source_hidden": True}),
            deeper("three more words"),
            code("more", "x = 2", [PICTURE]),
        )
    )
    assert opening.size == Size(words=3 + 5, lines=3, figures=1)
    assert part.heading == "Q1a. Why?"
    assert part.size == Size(words=6, lines=1, widgets=1, quiz=1, think=1)


@pytest.mark.parametrize(
    ("text", "bare"),
    [("equal: True", 1), ("False", 1), ("[True, False]", 0), ("True: it is", 0), ("a   True", 1)],
)
def test_verdicts_without_a_number_are_counted(text, bare):
    for output in (stream(text + "\n"), bundle(plain=text)):
        problems = form_problems(lesson(code("out", "f()", [output])))
        assert sum("end in True or False" in problem for problem in problems) == bare


@pytest.mark.parametrize(
    ("size", "minutes"),
    [
        (Size(), 0),
        (Size(words=1100, lines=100), 20),
        (Size(words=1100, lines=100, figures=3, widgets=2, quiz=2, think=4), 34),
    ],
)
def test_minutes_are_those_of_reading_looking_and_thinking(size, minutes):
    assert size.minutes == minutes


def two_evenings(lines=150):
    """A lesson whose second evening is one question of ten minutes."""
    return lesson(
        markdown("list", "- [Q1a. Why?](#Q1a.-Why?)\n- [Q1b. And?](#Q1b.-And?)"),
        markdown("a", "## Q1a. Why?"),
        code("long", "x = 1\n" * lines),
        code("longer", "x = 1\n" * 149, [PICTURE]),
        markdown("rest", "Stop here for today."),
        markdown("b", "## Q1b. And?"),
        code("last", "x = 1\n" * 99),
    )


def test_a_lesson_of_two_evenings_says_how_long_each_takes_and_each_question():
    parts = sections(two_evenings())
    assert evenings(parts) == (31, 10)
    assert label(parts) == "**Time** about 41 minutes: a first evening of 31, a second of 10"
    assert listed("- [Q1a. Why?](#Q1a.-Why?)\n- [Q1c. Who?](#Q1c.-Who?) · 3 min", parts) == (
        "- [Q1a. Why?](#Q1a.-Why?) · 31 min\n- [Q1c. Who?](#Q1c.-Who?)"
    )


def test_a_lesson_of_the_right_form_has_no_problem():
    assert form_problems(lesson(markdown("wrong", "## What goes wrong"))) == []
    whole = lesson()
    whole.cells.append(deeper(**{"jp-MarkdownHeadingCollapsed": True}))
    assert form_problems(whole) == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lesson(code("long", "x = 1\n" * 510)), "the first evening has 51 minutes"),
        (lesson(markdown("q", "## Q1a. Why?"), code("long", "x = 1\n" * 190)), "at most 18"),
        (lesson(time="**Time** 45–60 minutes"), "about 0 minutes"),
        (lesson(time="**Time** about 10 minutes"), "about 0 minutes"),
        (lesson(markdown("list", "- [Q1a. Why?](#Q) · 7 min")), "minutes at the questions"),
        (lesson(code("out", "f()", [stream("True\n")])), "print the number"),
        (lesson(deeper(**{"jp-MarkdownHeadingCollapsed": True})), "in this order"),
        (notebook(), "in this order"),
    ],
)
def test_each_departure_from_the_form_is_told(made, told):
    assert any(told in problem for problem in form_problems(made))


def test_a_section_that_is_not_folded_is_told():
    whole = lesson()
    whole.cells.append(deeper())
    assert form_problems(whole) == ["cell 'deeper': the section Deeper is not folded"]


def test_the_command_prints_all_lessons(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["lesson_size"])
    assert lesson_size.main() == 0
    printed = capsys.readouterr().out
    assert all(path.stem in printed for path in lesson_size.lessons()) and "minutes" in printed
