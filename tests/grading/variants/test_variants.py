"""Variants of assignments: drawn, written, recognised and graded."""

import json
import re

import pytest

from course_lib.checks import TABLE
from course_lib.checks.conventions import CONVENTIONS
from course_lib.checks.table import TOPICS
from course_lib.cli import main
from course_lib.errors import CourseError
from course_lib.grading.class_run.class_run import ClassRun, grade_class
from course_lib.grading.class_run.grade import FITS_PUBLIC
from course_lib.grading.jail.library_view import view_files
from course_lib.grading.nbgrader.class_gradebook import store_class
from course_lib.grading.results import SubmissionResult
from course_lib.grading.submissions.exercise import load_exercise
from course_lib.grading.submissions.submission import SubmissionError
from course_lib.grading.variants.variant_draw import (
    MOST_OF_AN_ITEM,
    candidates,
    conventions_by_item,
    draw_variants,
    names_by_item,
)
from course_lib.grading.variants.variant_notebook import STAMP, without_false_docstrings
from course_lib.grading.variants.variants import load_variants, write_variants
from tests.grading.nbgrader.nbgrader_course import result_of
from tests.grading.notebooks_to_hand_in import RIGHT, RIGHT_ITEMS, ROOT, SECRET, answered, points
from tests.item_points import in_full

EXERCISES = ROOT / "exercises"
ASSIGNMENTS = sorted(path.name for path in EXERCISES.iterdir() if path.is_dir())
LESSONS = [lesson for lesson in TOPICS if conventions_by_item(lesson)]
HIDES = {
    "06-padding-mask-answer": """\
def padding_mask(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :]
""",
    "06-causal-mask-answer": """\
def causal_mask(size):
    return torch.ones(1, 1, size, size, dtype=torch.bool).triu(1)
""",
    "06-decoder-mask-answer": """\
def decoder_mask(tokens, pad_id):
    return padding_mask(tokens, pad_id) | causal_mask(tokens.size(1))
""",
}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Variants of lesson 06 for three groups."""
    folder = tmp_path_factory.mktemp("variants")
    write_variants(EXERCISES, folder, ["06_masks"], number=3, seed="2027-spring")
    return folder


@pytest.fixture
def hiding(notebook, released):
    """The notebook of the group whose only convention is true_hides, and the group."""
    variants = load_variants(released, "06_masks").by_group.values()
    group = next(v.group for v in variants if v.conventions == ("true_hides",))
    text = (released / f"group_{group}" / "06_masks" / "masks.ipynb").read_text(encoding="utf-8")
    return json.loads(text), group


def handed_in(incoming, **notebooks):
    for student, notebook in notebooks.items():
        (incoming / student).mkdir(parents=True)
        text = json.dumps(notebook)
        (incoming / student / "masks.ipynb").write_text(text, encoding="utf-8")
    return incoming


def graded(jail, released, incoming, tmp_path, groups=None):
    exercise = load_exercise(EXERCISES, "06_masks")
    variants = load_variants(released, "06_masks", groups)
    run = ClassRun(
        incoming=incoming,
        exercise=exercise,
        results=tmp_path / "results",
        secret=SECRET,
        variants=variants,
    )
    return {result.student: result for result in grade_class(run, jail)}


# What is drawn


def test_a_seed_gives_the_same_variants_on_every_machine():
    assert draw_variants("06", 6, "2027-spring") == [
        ("keys_then_queries",),
        ("true_hides",),
        ("ones_attend",),
        ("true_hides", "keys_then_queries"),
        ("ones_attend", "keys_then_queries"),
        ("ones_hide",),
    ]


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_item_has_one_to_three_conventions_in_each_variant(lesson):
    for choice in draw_variants(lesson, 6, "any"):
        for _, names in names_by_item(conventions_by_item(lesson), choice):
            assert 1 <= len(names) <= MOST_OF_AN_ITEM


@pytest.mark.parametrize("lesson", LESSONS)
def test_an_item_has_as_many_different_variants_as_it_can(lesson):
    taken = conventions_by_item(lesson)
    drawn, possible = (
        [dict(names_by_item(taken, choice)) for choice in choices]
        for choices in (draw_variants(lesson, 6, "any"), candidates(taken))
    )
    for item in drawn[0]:
        different, most = (len({each[item] for each in choices}) for choices in (drawn, possible))
        assert different >= min(4, most)


@pytest.mark.parametrize("seed", [f"term {i}" for i in range(20)])
def test_conventions_that_contradict_each_other_are_not_handed_out_together(seed):
    drawn = draw_variants("05", 6, seed)
    assert not [choice for choice in drawn if {"keys_then_queries", "axes_reversed"} <= set(choice)]
    assert any("keys_then_queries" in choice for choice in drawn)
    assert any("axes_reversed" in choice for choice in drawn)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("lesson", "number", "message"),
    [("06", 0, "--variants must be at least 1, got 0"), ("15", 6, "lesson 15 has no variants")],
)
def test_what_can_t_be_drawn_is_refused(lesson, number, message):
    with pytest.raises(CourseError, match=message):
        draw_variants(lesson, number, "any")


# What is written


@pytest.mark.slow
def test_every_lesson_s_exercise_can_be_written_as_variants_but_the_last_one_s(tmp_path):
    drawn = write_variants(EXERCISES, tmp_path, ASSIGNMENTS, number=4, seed="2026-autumn")
    assert [name for name, choices in drawn.items() if not choices] == ["15_museum"]
    assert all(len(set(choices)) == 4 for choices in drawn.values() if choices)


def test_a_task_stays_as_it_is_below_its_conventions_and_a_check_names_them(hiding, notebook):
    public, cells = (
        {cell["id"]: "".join(cell["source"]) for cell in each["cells"]}
        for each in (notebook, hiding[0])
    )
    task = cells["06-padding-mask-task"]
    card = TABLE["06.padding_mask"].card
    title, _, rest = public["06-padding-mask-task"].partition(f"{card}\n\n")
    assert task.startswith(f"{title}{card}\n\n> **Conventions for your group.**")
    assert task.endswith(f"\n\n{rest}")
    assert "**True means hidden**" in task
    check = 'check("06.padding_mask", padding_mask, conventions=["true_hides"])'
    assert cells["06-padding-mask-check"] == check
    for task in ("06-bug-task", "06-why-not-rows-task"):
        assert "\n\n> **No conventions for your group here**: this task follows" in cells[task]
    assert "conventions" not in cells["06-bug-check"]


def test_a_hint_or_a_docstring_that_would_be_false_is_left_out(hiding):
    cells = {cell["id"]: "".join(cell["source"]) for cell in hiding[0]["cells"]}
    assert '"""Which keys each query may attend to, ' in cells["06-causal-mask-answer"]
    answer = 'def causal_mask(size):\n    """True on and below the diagonal."""\n    raise Error'
    (hides,) = (each for each in CONVENTIONS if each.name == "true_hides")
    assert without_false_docstrings(answer, [hides]) == ("def causal_mask(size):\n    raise Error")
    assert '"""Padding and future at once, ' in cells["06-decoder-mask-answer"]
    assert cells["06-causal-mask-hints"].count("This hint is left out") == 3
    assert cells["06-decoder-mask-hints"].count("This hint is left out") == 1  # it names & and |


def test_a_variant_does_not_link_to_the_public_exercise(hiding):
    title = "".join(hiding[0]["cells"][0]["source"])
    assert STAMP.search(title)
    assert "colab" not in title
    assert "](../" not in title


def test_checksums_are_those_of_nbgrader(hiding):
    nbformat = pytest.importorskip("nbformat")
    utils = pytest.importorskip("nbgrader.utils")
    for cell in nbformat.reads(json.dumps(hiding[0]), as_version=4).cells:
        if "checksum" in cell.metadata.nbgrader:
            assert cell.metadata.nbgrader["checksum"] == utils.compute_checksum(cell)


def test_an_assignment_without_conventions_stays_as_it_is(tmp_path):
    write_variants(EXERCISES, tmp_path, ["15_museum"], number=2, seed="x")
    public = load_exercise(EXERCISES, "15_museum")
    for variant in load_variants(tmp_path, "15_museum").by_group.values():
        assert variant.exercise.cells == public.cells
        assert variant.note == "Everybody was given the public exercise."


def test_assignments_can_be_added_and_another_seed_is_refused(tmp_path):
    write_variants(EXERCISES, tmp_path, ["06_masks"], number=2, seed="x")
    write_variants(EXERCISES, tmp_path, ["02_embeddings"], number=2, seed="x")
    assert load_variants(tmp_path, "06_masks").by_group.keys() == {"1", "2"}
    with pytest.raises(CourseError, match="name another folder with --output"):
        write_variants(EXERCISES, tmp_path, ["06_masks"], number=2, seed="y")


# Whose it is


def test_a_changed_exercise_is_refused(tmp_path):
    write_variants(EXERCISES, tmp_path, ["06_masks"], number=1, seed="x")
    path = tmp_path / "group_1" / "06_masks" / "masks.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("true", "false", 1), encoding="utf-8")
    with pytest.raises(CourseError, match="is not the one that the manifest names"):
        load_variants(tmp_path, "06_masks")


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("anna,1\nben\n", re.escape("got ['ben', '']")),
        ("anna,9\n", "with a group from 1, 2, 3"),
        ("student;team\nanna;1\n", "expected the columns student, group in .*: add group"),
        ("", "expected a header and rows"),
        ("anna,1\nben,1\nanna ,2\n", "got 1 and 2 for 'anna': delete the line"),
    ],
)
def test_a_list_of_groups_with_a_wrong_line_is_refused(text, message, released, tmp_path):
    groups = tmp_path / "groups.csv"
    groups.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=message):
        load_variants(released, "06_masks", groups)


@pytest.mark.usefixtures("own_messages")
def test_without_a_manifest_there_are_no_variants(tmp_path, released):
    with pytest.raises(CourseError, match="expected the manifest that `course assign` writes"):
        load_variants(tmp_path, "06_masks")
    with pytest.raises(CourseError, match="expected variants of one of 06_masks"):
        load_variants(released, "07_blocks")


def test_a_list_of_groups_counts_more_than_a_stamp(hiding, released, tmp_path):
    notebook, group = hiding
    incoming = handed_in(tmp_path / "incoming", anna=notebook)
    assert load_variants(released, "06_masks").variant_of("anna", incoming / "anna").group == group
    other = "1" if group != "1" else "2"
    (tmp_path / "groups.csv").write_text(f"student,group\nanna,{other}\n", encoding="utf-8")
    listed = load_variants(released, "06_masks", tmp_path / "groups.csv")
    assert listed.variant_of("anna", incoming / "anna").group == other
    with pytest.raises(SubmissionError, match='expected a group for "ben"'):
        listed.variant_of("ben", incoming / "anna")


@pytest.mark.parametrize(
    "text",
    [
        "student;group\nanna;2\n;\n",  # of Excel in German
        "Name,Group,Student\nAnna A.,2,anna\n",
        "anna,2,a third column\n",
        "anna;2\n",
        "'-anna,3\nanna,2\n",
    ],
)
def test_a_list_of_groups_may_be_as_a_spreadsheet_saves_it(text, released, tmp_path):
    (tmp_path / "groups.csv").write_text(text, encoding="utf-8-sig")
    variants = load_variants(released, "06_masks", tmp_path / "groups.csv")
    assert variants.groups["anna"] == "2"
    assert variants.groups.get("-anna", "3") == "3"


@pytest.mark.parametrize("folder", ["Zoë ", "Zoe\u0308"])
def test_a_list_of_groups_names_a_folder_whatever_its_spaces_and_accents(
    folder, released, tmp_path
):
    (tmp_path / "groups.csv").write_text("Zoë,2\nZoë,2\n", encoding="utf-8")
    variants = load_variants(released, "06_masks", tmp_path / "groups.csv")
    assert variants.variant_of(folder, tmp_path / folder).group == "2"


# What it earns


@pytest.mark.slow
def test_the_own_solution_earns_its_points_and_the_public_one_is_flagged(
    jail, hiding, released, tmp_path
):
    own, pasted = answered(hiding[0], HIDES), answered(hiding[0], RIGHT)
    incoming = handed_in(tmp_path / "incoming", own=own, pasted=pasted)
    results = graded(jail, released, incoming, tmp_path)
    assert points(results["own"]) == in_full(*RIGHT_ITEMS)
    assert [item.points for item in results["pasted"].items[:3]] == [0, 0, 0]
    assert all(FITS_PUBLIC in item.flags for item in results["pasted"].items[:3])
    assert not any(FITS_PUBLIC in item.flags for item in results["own"].items)
    assert results["pasted"].items[0].misconceptions == ("forgets_true_hides",)
    assert results["own"].notes[0].endswith(": true_hides.")
    stored = SubmissionResult.from_json(results["pasted"].to_json())
    assert stored.items[0].conventions == ("true_hides",)


def test_a_public_notebook_is_named_and_gets_no_silent_0(jail, notebook, released, tmp_path):
    incoming = handed_in(tmp_path / "incoming", anna=answered(notebook, RIGHT))
    result = graded(jail, released, incoming, tmp_path)["anna"]
    assert result.points is None
    assert "was the public exercise handed in" in result.notes[0]


@pytest.mark.slow
def test_formgrader_shows_the_variant_that_a_student_was_given(hiding, released, tmp_path):
    incoming = handed_in(tmp_path / "incoming", own=answered(hiding[0], HIDES))
    exercise = load_exercise(EXERCISES, "06_masks")
    variants = load_variants(released, "06_masks")
    run = ClassRun(
        incoming=incoming,
        exercise=exercise,
        results=tmp_path / "results",
        secret=SECRET,
        variants=variants,
    )
    store_class(tmp_path / "course", run, results=[result_of(exercise, "own")])
    shown = tmp_path / "course" / "autograded" / "own" / "06_masks" / "masks.ipynb"
    assert "(tokens == pad_id)[:, None, None, :]" in shown.read_text(encoding="utf-8")
    task = next(c["source"] for c in hiding[0]["cells"] if c["id"] == "06-padding-mask-task")
    stored = json.loads(shown.read_text(encoding="utf-8"))["cells"]
    assert task in [cell["source"] for cell in stored]


def test_the_jail_has_no_conventions():
    """They hold no answers, but a learner's code has no use for them there."""
    assert not any("conventions" in path for path in view_files("06.padding_mask", "padding_mask"))


# The command


def test_the_command_writes_variants_and_lists_conventions(tmp_path, capsys):
    command = ["assign", "--seed", "x", "--variants", "2", "--assignment", "06_masks"]
    assert main([*command, "--output", str(tmp_path / "out")]) == 0
    assert "group 2: " in capsys.readouterr().out
    assert load_variants(tmp_path / "out", "06_masks")
    assert main(["assign", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(TABLE)
    assert "06.bug                          none: it shows code with one wrong line" in listed


@pytest.mark.parametrize("seed", ["", " "])
def test_the_command_refuses_an_empty_seed(tmp_path, capsys, seed):
    assert main(["assign", "--seed", seed, "--output", str(tmp_path)]) == 1
    assert "--seed must be a text such as 2027-spring" in capsys.readouterr().err
