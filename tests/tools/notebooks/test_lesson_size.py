"""The length of a lesson, and its form."""

import pytest

from tests.tools.notebooks.sample_notebooks import bundle, code, markdown, notebook, stream
from tools.notebooks import lesson_size
from tools.notebooks.lesson_size import form_problems, size_of

PICTURE = bundle(html='<img alt="three words here" src="x">')


def lesson(*cells, time="**Time** about 5 minutes, plus the exercise."):
    made = notebook(*cells, markdown("next", "## What next"))
    made.cells[0].source += f"\n\n{time}"
    return made


def deeper(text="", **metadata):
    cell = markdown("deeper", f"## Deeper\n\n{text}")
    cell.metadata.update(metadata)
    return cell


def test_what_is_read_is_counted_and_what_is_folded_or_deeper_is_not():
    size = size_of(
        notebook(
            markdown("text", "Read [the *map*](docs/map.md) and look. <br>"),
            code("open", "x = 1\n\nprint(x)"),
            code("folded", "assert x", jupyter={"source_hidden": True}),
            code("drawn", "show_figure(ax, words)", [PICTURE]),
            code("moves", "viz.interact(draw)", [PICTURE]),
            code("quiz-1", "quiz(question)", jupyter={"source_hidden": True}),
            deeper("three more words"),
            code("more", "x = 2", [PICTURE]),
        )
    )
    assert (size.words, size.lines, size.figures, size.widgets) == (3 + 5, 4, 1, 1)
    assert (size.questions, size.deeper) == (1, 5)


@pytest.mark.parametrize(
    ("text", "bare"),
    [("equal: True", 1), ("False", 1), ("[True, False]", 0), ("True: it is", 0), ("a   True", 1)],
)
def test_verdicts_without_a_number_are_counted(text, bare):
    assert size_of(notebook(code("out", "f()", [stream(text + "\n")]))).bare == bare
    assert size_of(notebook(code("out", "f()", [bundle(plain=text)]))).bare == bare


def test_minutes_are_those_of_reading_and_looking():
    assert lesson_size.Size().minutes == 5
    assert lesson_size.Size(words=2000, lines=200).minutes == 20
    assert lesson_size.Size(words=2000, lines=200, figures=10, widgets=4, questions=5).minutes == 40


def test_a_lesson_of_the_right_form_has_no_problem():
    assert form_problems(lesson(markdown("wrong", "## What goes wrong"))) == []
    whole = lesson()
    whole.cells.append(deeper(**{"jp-MarkdownHeadingCollapsed": True}))
    assert form_problems(whole) == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lesson(markdown("text", "word " * 3101)), "at most 3100"),
        (lesson(code("long", "x = 1\n" * 351)), "at most 350"),
        (lesson(time="**Time** 45–60 minutes"), "about 5 minutes"),
        (lesson(time="**Time** about 10 minutes"), "about 5 minutes"),
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
