"""Exercises are their solutions without the answers, and nothing else."""

import pytest
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import SaveCells
from traitlets.config import Config

from course_lib.checks import TABLE
from course_lib.checks.table import TOPICS
from course_lib.grading.nbgrader.nbgrader_settings import configure
from tools.items.item_minutes import REGION
from tools.items.item_rules import (
    check_after_answer,
    no_cell_to_fill_in,
    no_line_of_the_answer_in_a_hint,
)
from tools.notebooks import build_exercises
from tools.notebooks.build_exercises import (
    EXERCISES,
    ROLES,
    SOLUTIONS,
    is_fresh,
    item_of,
    main,
    role_of,
)
from tools.notebooks.notebook_normal_form import read
from tools.notebooks.notebook_rules import RULES, set_up, short_cells

PAIRS = [(path, EXERCISES / path.relative_to(SOLUTIONS)) for path in SOLUTIONS.glob("*/*.ipynb")]
BOTH = [path for pair in sorted(PAIRS) for path in pair]
each_pair = pytest.mark.parametrize("pair", sorted(PAIRS), ids=lambda pair: pair[0].stem)
each_notebook = pytest.mark.parametrize("path", BOTH, ids=lambda p: f"{p.parts[-3]}-{p.stem}")


@each_pair
def test_the_exercise_is_what_its_solution_makes(pair):
    if not is_fresh(pair[0]):
        name = pair[0].parent.name
        pytest.fail(
            f"{name} differs from what its solution and its items make: run `make item` for the "
            f"item that has changed, or python -m tools.notebooks.build_exercises {name}",
            pytrace=False,
        )


def test_every_exercise_has_a_solution_in_the_folder_of_its_lesson():
    assert set(EXERCISES.glob("*/*.ipynb")) == {exercise for _, exercise in PAIRS}
    for solution, _ in PAIRS:
        number, _, topic = solution.parent.name.partition("_")
        assert TOPICS[number] == topic == solution.stem


@each_notebook
@pytest.mark.parametrize(
    "rule", [r for r in RULES if r is not short_cells], ids=lambda rule: rule.__name__
)
def test_the_notebook_keeps_the_rules_of_lessons(path, rule):
    assert rule(path, read(path)) == []


@each_notebook
def test_the_set_up_cell_is_that_of_all_lessons(path):
    lesson = next(SOLUTIONS.parent.glob("notebooks/00*.ipynb"))
    assert set_up(read(path)) == set_up(read(lesson))


def lines_of(texts):
    return {line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 24}


@each_pair
def test_no_answer_or_rubric_is_left_in_the_exercise(pair):
    solution, exercise = ([cell.source for cell in read(path).cells] for path in pair)
    assert not any("SOLUTION" in text or "Rubric" in text for text in exercise)
    answers = lines_of(region for text in solution for region in REGION.findall(text))
    given = lines_of(REGION.sub("", text) for text in solution)
    assert answers and not (answers - given) & lines_of(exercise)


@each_pair
def test_an_untouched_exercise_is_not_started_and_its_solution_passes(pair):
    for notebook, word in zip(map(read, pair), ("passed", "not started"), strict=True):
        for cell in notebook.cells:
            if cell.cell_type == "code" and role_of(cell) == "check":
                assert word in cell.outputs[0]["data"]["text/plain"].splitlines()[0]


@each_pair
def test_cells_carry_the_points_of_the_table_and_the_roles_of_nbgrader(pair):
    for notebook in map(read, pair):
        graded = {}
        for cell in notebook.cells:
            about = cell.metadata["nbgrader"]
            assert about["grade_id"] == cell.id
            assert ROLES[role_of(cell)].items() <= about.items()
            if about["grade"]:
                graded[item_of(cell)] = about["points"]
        lesson = pair[0].parent.name[:2]
        assert graded == {e.id: e.points for e in TABLE.values() if e.id.startswith(lesson)}


@each_notebook
@pytest.mark.parametrize(
    "rule", [check_after_answer, no_cell_to_fill_in, no_line_of_the_answer_in_a_hint]
)
def test_the_notebook_keeps_the_rules_of_exercises(path, rule):
    assert rule(read(path)) == []


def test_check_says_what_is_stale(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(build_exercises, "EXERCISES", tmp_path)
    assert main(["--check", sorted(PAIRS)[0][0].parent.name]) == 1
    assert "STALE, run make exercises" in capsys.readouterr().out


def test_stamping_runs_nothing_and_changes_nothing_that_is_fresh(capsys, monkeypatch):
    monkeypatch.setattr(build_exercises, "build", None)
    assert main(["--stamp", "06_masks"]) == 0
    assert "06_masks: unchanged" in capsys.readouterr().out


@each_pair
def test_what_nbgrader_generates_from_a_solution_is_the_exercise(pair):
    """Stock `nbgrader generate_assignment` in a course folder of `course grade --gradebook`."""
    solution, exercise = map(read, pair)
    configure(config := Config())
    resources = {"nbgrader": {"notebook": "n", "assignment": "a", "db_url": "sqlite://"}}
    for step in GenerateAssignment.class_traits()["preprocessors"].default():
        if step is not SaveCells:  # it stores them, and changes nothing
            solution, _ = step(config=config).preprocess(solution, resources)
    for given, cell in zip(solution.cells, exercise.cells, strict=True):
        assert (given.source, given.metadata) == (cell.source, cell.metadata)
    [title] = [cell.source for cell in exercise.cells if "solutions/" in cell.source]
    path = "/".join(pair[0].parts[-3:])
    assert f"[the solution](../../{path})" in title
