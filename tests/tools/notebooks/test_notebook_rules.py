from pathlib import Path

import nbformat
import pytest

from tests.tools.notebooks.sample_notebooks import bundle, code, markdown, notebook, stream
from tools import ROOT
from tools.notebooks import notebook_rules as rules
from tools.notebooks.notebook_normal_form import (
    SET_UP,
    linked_path,
    normal_form,
    repository,
    to_bytes,
)

ERROR = nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])


def with_widgets() -> nbformat.NotebookNode:
    given: nbformat.NotebookNode = notebook()
    given.metadata["widgets"] = {"state": {}}
    return given


def captioned(caption: str, *, alt: str | None = None) -> nbformat.NotebookNode:
    picture = f'<img alt="{alt or caption}" src="a"><figcaption aria-hidden="true">{caption}'
    given: nbformat.NotebookNode = notebook(
        code("a", "1", [bundle(html=f"{picture}</figcaption>")])
    )
    return given


OFFENDERS = [
    (rules.small_file, notebook(code("a", "1", [stream("x" * rules.MAX_BYTES)])), "at most 500000"),
    (rules.no_widget_state, with_widgets(), "state of widgets"),
    (rules.meaningful_ids, notebook(code("Q1_curves", "1")), "'Q1_curves'"),
    (rules.meaningful_ids, notebook(code("a1b2c3d4", "1")), "'a1b2c3d4'"),
    (rules.short_cells, notebook(code("long", "x = 1\n" * 26)), "26 lines"),
    (rules.short_cells, notebook(code("wide", "x" * 101)), "101 characters"),
    (rules.short_cells, notebook(code("blank", "")), "'blank': empty"),
    (rules.no_final_semicolon, notebook(code("quiet", "f(x); \n")), "'quiet': ends in"),
    (rules.nothing_banned, notebook(code("a", "widgets.interact(f)")), "'widgets.interact('"),
    (
        rules.nothing_banned,
        notebook(code("a", "from ipywidgets import interact")),
        "'from ipywidgets import interact'",
    ),
    (rules.nothing_banned, notebook(code("a", "out = widgets.Output()")), "'Output('"),
    (rules.nothing_banned, notebook(code("a", "clear_output()")), "'clear_output'"),
    (rules.nothing_banned, notebook(code("a", "# NBVAL_SKIP")), "'NBVAL_'"),
    (rules.nothing_banned, notebook(code("a", "1", tags=["nbval-skip"])), "'nbval-'"),
    (rules.headings_in_order, notebook(markdown("deep", "### Deep")), "level 3 follows 1"),
    (rules.headings_in_order, notebook(markdown("again", "# Again")), "a second title"),
    (rules.headings_in_order, nbformat.v4.new_notebook(), "no title"),
    (rules.no_stored_trouble, notebook(code("a", "1", [stream("!", "stderr")])), "stderr"),
    (rules.no_stored_trouble, notebook(code("a", "1", [ERROR])), "is an error"),
    (rules.pictures_have_alt_text, notebook(code("a", "1", [bundle(png="")])), "alt text is ''"),
    (rules.quiz_sources_are_hidden, notebook(code("a", "x = 1\nquiz(x)")), "is not hidden"),
    (
        rules.pictures_have_alt_text,
        notebook(code("a", "1", [bundle(png="", plain="A plot")])),
        "alt text is 'A plot'",
    ),
    (
        rules.pictures_have_alt_text,
        notebook(code("a", "1", [bundle(svg="", plain="what is to be seen")])),
        "expected pictures as text/html",
    ),
    (rules.captions_are_sentences, captioned("No stop"), "without a full stop: No stop"),
    (rules.captions_are_sentences, captioned("One.", alt="Two."), "not the alt text"),
    (
        rules.captions_are_sentences,
        captioned("AER: a 0.1; b 0.2; c 0.3; d 0.4."),
        "a list of numbers",
    ),
    (rules.captions_are_sentences, captioned("One dark column."), "is wrong on a dark page"),
    (rules.captions_are_sentences, captioned("word " * 40 + "end."), "more than 40 words"),
    (rules.no_absolute_paths, notebook(code("a", "open('/tmp/x')")), "'/tmp'"),
    (rules.no_absolute_paths, notebook(code("a", "1", [stream(f"{ROOT}/x")])), "the path"),
    (rules.no_absolute_paths, notebook(code("a", "1", [bundle(plain="C:\\Users")])), "'C:"),
]


@pytest.mark.parametrize(("rule", "offender", "message"), OFFENDERS)
def test_an_offender_is_named(
    tmp_path: Path, rule: rules.Rule, offender: nbformat.NotebookNode, message: str
) -> None:
    path = tmp_path / "lesson.ipynb"
    path.write_bytes(to_bytes(offender))
    problems = rule(path, offender)
    assert len(problems) == 1
    assert message in problems[0]


def test_a_file_that_the_build_did_not_write_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lesson.ipynb"
    path.write_bytes(to_bytes(notebook(code("a", "1"))))
    assert "not in normal form" in rules.in_normal_form(path, notebook())[0]


def test_a_lesson_with_every_permitted_thing_passes_every_rule(tmp_path: Path) -> None:
    text = "## Why?\n```python\n# a comment, no heading\n```\n### Deeper\n## See https://a.b/tmp/c"
    picture = bundle(png="aGk/tmp/aGk=", plain="A diagonal of eight weights")
    lesson = notebook(
        markdown("q1-why", text),
        code("set-up", "x = 1;  y = 2"),
        code("q1-error", "1 / 0", [ERROR], tags=["raises-exception"]),
        code("q1-picture", "show_figure(output)", [stream("entropy 0.12\n"), picture]),
    )
    path = tmp_path / "lesson.ipynb"
    stored = normal_form(lesson, path=linked_path(path), home=repository())
    path.write_bytes(to_bytes(stored))
    assert [problem for rule in rules.RULES for problem in rule(path, stored)] == []


def test_every_rule_has_an_offender() -> None:
    tried = {rule for rule, _, _ in OFFENDERS} | {rules.in_normal_form}
    assert tried == set(rules.RULES)


def test_the_set_up_cell_is_found_by_its_id() -> None:
    assert rules.set_up(notebook(code("a", "1"), code("set-up", "import torch"))) == "import torch"
    assert rules.set_up(notebook(code("a", "1"))) is None


def test_what_lessons_share_of_the_set_up_cell_is_told_from_what_a_lesson_adds() -> None:
    own = "\n\nimport math\n\nmath.pi"
    cell = code("set-up", f"{SET_UP}{own}")
    assert rules.set_up(notebook(cell)) == SET_UP
    assert rules.own_lines(cell) == ["math.pi"]


def test_a_set_up_cell_may_have_as_many_lines_of_its_own_as_any_cell(tmp_path: Path) -> None:
    def problems(lines: int) -> list[str]:
        added = "\n".join(["x = 1"] * lines)
        return rules.short_cells(tmp_path, notebook(code("set-up", f"{SET_UP}\n\n{added}")))

    assert problems(rules.MAX_CELL_LINES) == []
    [problem] = problems(rules.MAX_CELL_LINES + 1)
    assert f"{rules.MAX_CELL_LINES + 1} lines" in problem


def test_a_drawings_caption_need_not_be_an_alt_text(tmp_path: Path) -> None:
    lesson = captioned("A query meets all keys.", alt="What is to be seen.")
    html = lesson.cells[-1].outputs[0].data["text/html"]
    lesson.cells[-1].outputs[0].data["text/html"] = f'<figure class="dw dw-figure">{html}'
    assert rules.captions_are_sentences(tmp_path, lesson) == []
