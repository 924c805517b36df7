"""Numbers of runs that are those of the public solution, or of others in the class."""

import json
import shutil
from dataclasses import replace

import pytest

from course_lib.checks import TABLE
from course_lib.checks.table import OWN_NUMBER
from course_lib.grading.grade_command import table
from course_lib.grading.marks.class_marks import load_class
from course_lib.grading.reports.report_page import list_class_flags
from course_lib.grading.results import SubmissionResult
from course_lib.grading.submissions.exercise import exercise_file, load_exercise
from course_lib.grading.submissions.own_numbers import (
    flag_same_numbers,
    flags_of_public,
    numbers_of,
    public_numbers,
)
from tests.checks.numbered_runs.test_own_number import both
from tests.grading.made_results import item_result, submission_result
from tests.grading.notebooks_to_hand_in import ROOT, answered, item_of, points
from tests.item_points import in_full

ITEM, ASSIGNMENT = "04.predict", "04_attention_matmul"
EXERCISES = ROOT / "exercises"
ASKED = [entry.id for entry in TABLE.values() if entry.kind in (*OWN_NUMBER, "experiment")]


def file_of(item_id):
    [folder] = EXERCISES.glob(f"{item_id[:2]}_*")
    return exercise_file(EXERCISES, folder.name)


@pytest.mark.parametrize("item_id", ASKED)
def test_the_public_solution_of_every_such_item_has_two_numbers(item_id):
    assert len({*public_numbers(file_of(item_id), item_id)}) == 2


def test_only_both_numbers_of_the_public_solution_are_flagged():
    file = file_of(ITEM)
    first, second = public_numbers(file, ITEM)
    [flag] = flags_of_public(ITEM, (first, second), exercise=file)
    assert flag == f"the same numbers, {first} and {second}, as in the public solution"
    for other in ((), (first, 99), (first, second, 99)):
        assert flags_of_public(ITEM, other, exercise=file) == []
    assert flags_of_public("04.cases", (first, second), exercise=file) == []


def test_a_variant_is_compared_with_the_public_solution_too(tmp_path):
    file = file_of(ITEM)
    variant = tmp_path / "variants" / "group_1" / ASSIGNMENT / file.name
    variant.parent.mkdir(parents=True)
    shutil.copy(file, variant)
    assert public_numbers(variant, ITEM) == public_numbers(file, ITEM)


@pytest.mark.parametrize("answer", [None, 3, "a", [], [3], [{}], [{"number": True}], {"number": 1}])
def test_what_is_no_answer_about_runs_has_no_numbers(answer):
    assert numbers_of(answer) == ()


def test_the_numbers_of_an_answer_are_sorted():
    assert numbers_of([{"number": 12, "why": "a"}, {"number": 5}]) == (5, 12)


def a_class():
    numbers = {"ana": (5, 12), "ben": (5, 12), "cem": (5, 13), "dana": (), "eva": ()}
    return [
        submission_result(name, item_result(ITEM, 6.0, most=6, numbers=each), assignment=ASSIGNMENT)
        for name, each in numbers.items()
    ]


def test_students_with_the_same_two_numbers_are_named_to_each_other():
    flags = {each.student: each.items[0].flags for each in flag_same_numbers(a_class())}
    assert flags.pop("ana") == ("the same numbers, 5 and 12, as ben",)
    assert flags.pop("ben") == ("the same numbers, 5 and 12, as ana",)
    assert set(flags.values()) == {()}


def test_who_has_the_public_numbers_is_not_named_to_all_others_who_have():
    file = file_of(ITEM)
    numbers = public_numbers(file, ITEM)
    flags = tuple(flags_of_public(ITEM, numbers, exercise=file))
    both_have = [
        submission_result(name, item_result(ITEM, 6.0, most=6, numbers=numbers, flags=flags))
        for name in ("ana", "ben")
    ]
    assert flag_same_numbers(both_have) == both_have


def test_the_table_and_the_report_of_a_class_have_these_flags_and_points_stay(tmp_path):
    (tmp_path / ASSIGNMENT).mkdir()
    for each in a_class():
        (tmp_path / ASSIGNMENT / f"{each.student}.json").write_text(each.to_json())
    assignments = load_class(tmp_path)
    assert [row[0] for row in list_class_flags(assignments)] == ["ana", "ben"]
    assert {mark.points for mark in assignments[0].marks} == {6.0}
    ana, ben, cem, *_ = table(flag_same_numbers(a_class())).split("\n")[1:]
    assert ana.split()[-1] == ben.split()[-1] == "1" and cem.endswith("6 of 6")


def test_a_result_that_was_stored_without_numbers_can_be_read():
    stored = json.loads(a_class()[0].to_json())
    assert SubmissionResult.from_json(json.dumps(stored)) == a_class()[0]
    del stored["items"][0]["numbers"]
    assert SubmissionResult.from_json(json.dumps(stored)).items[0].numbers == ()


@pytest.mark.slow
def test_the_public_numbers_keep_their_points_and_a_right_answer_alone_has_numbers(graded):
    exercise = load_exercise(EXERCISES, ASSIGNMENT)
    exercise = replace(
        exercise, tasks=tuple(task for task in exercise.tasks if task.entry.id == ITEM)
    )
    notebook = json.loads(exercise.file.read_text(encoding="utf-8"))

    def result_of(answer):
        source = f"def predict():\n    return {answer!r}\n"
        return graded(answered(notebook, {"04-predict-answer": source}), exercise)

    public = public_numbers(exercise.file, ITEM)
    copied, own = result_of(both(ITEM, *public)), result_of(both(ITEM, 5, 12))
    assert points(copied) == points(own) == in_full(ITEM)
    [flag] = item_of(copied, ITEM).flags
    assert "public solution" in flag and item_of(own, ITEM).flags == ()
    assert item_of(own, ITEM).numbers == (5, 12)
    wrong = item_of(result_of(both(ITEM, *public, why="z")), ITEM)
    assert (wrong.points, wrong.flags, wrong.numbers) == (0, (), ())
