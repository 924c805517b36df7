"""The marks of a class: from results, and from a person."""

from dataclasses import replace

import pytest

from course_lib.errors import CourseError
from course_lib.grading.class_run.regrade_changes import append_changes, changes_between
from course_lib.grading.marks.class_marks import load_class, mark_assignment
from course_lib.grading.marks.given_marks import GivenMark, answer_id, read_marks
from course_lib.grading.reports.report_command import csv_files
from course_lib.grading.reports.roster import load_roster
from course_lib.grading.safe_csv import write_csv
from tests.grading.made_results import item_result, submission_result, to_be_marked
from tests.grading.synthetic_class import store, synthetic_class
from tests.item_points import all_points, items_of

pytestmark = pytest.mark.usefixtures("own_messages")
PASSED = item_result("06.padding_mask", 2.0)
WRITTEN = to_be_marked()
UNRUN = item_result("06.causal_mask", None, reason="no time is left")
RESULTS = [
    submission_result("ana", PASSED, WRITTEN),
    submission_result("bo", PASSED, UNRUN),
    submission_result("=cmd()", notebook=""),
]


def marks_file(folder, *rows):
    write_csv(folder / "marks.csv", [["student", "item", "points"], *rows])
    return folder / "marks.csv"


def test_points_are_unknown_while_a_person_is_needed():
    ana, bo, unread = mark_assignment("06_masks", RESULTS).marks
    assert [mark.points for mark in (ana, bo, unread)] == [None, None, None]
    assert ana.waits_for == "to be marked: 06.why_not_rows"
    assert bo.waits_for == "not run: 06.causal_mask"
    assert unread.waits_for == "could not be read"
    assert ana.most == 4
    assert unread.most == all_points("06")  # of what can't be read, all items of the lesson


def test_the_results_of_one_assignment_are_told_from_those_of_a_class(tmp_path):
    store(RESULTS, tmp_path)
    assert [each.name for each in load_class(tmp_path)] == ["06_masks"]
    with pytest.raises(CourseError, match=f"of one assignment: {tmp_path} is meant"):
        load_class(tmp_path / "06_masks")


def test_a_persons_mark_wins_over_the_automatic_one_and_completes_the_points(tmp_path):
    path = marks_file(tmp_path, ["ana", "06.why_not_rows", 1.5], ["ana", "06.padding_mask", 0])
    (ana, *_) = mark_assignment("06_masks", RESULTS, given=read_marks(path, RESULTS)).marks
    assert ana.points == 1.5
    assert ana.waits_for == ""
    assert [item.by_person for item in ana.items] == [True, True]
    assert [item.passed for item in ana.items] == [False, False]


def test_a_person_can_mark_what_could_not_be_read(tmp_path):
    items = items_of("06")
    path = marks_file(tmp_path, *(["=cmd()", item.id, 0.5] for item in items))
    unread = mark_assignment("06_masks", RESULTS, given=read_marks(path, RESULTS)).marks[2]
    assert (unread.points, unread.waits_for) == (0.5 * len(items), "")


def test_rows_of_another_assignment_are_passed_over(tmp_path):
    rows = [["ana", "01.bug", 1, "01_positional_encoding"], ["ana", "06.why_not_rows", 1, ""]]
    path = tmp_path / "marks.csv"
    write_csv(path, [["student", "item", "points", "assignment"], *rows])
    given = read_marks(path, RESULTS, assignment="06_masks")
    assert given == {("ana", "06.why_not_rows"): GivenMark(1)}
    with pytest.raises(CourseError, match="no item of what 'ana' handed in"):
        read_marks(path, RESULTS)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["eva", "06.padding_mask", 1], "'eva' handed in nothing"),
        (["Ana", "06.padding_mask", 1], "'Ana' handed in nothing: did you mean ana?"),
        (["ana", "06.causal_mask", 1], "is no item of what 'ana' handed in"),
        (["ana", "06.padding_mask", 3], "'3' for .* is no number from 0 to 2"),
        (["ana", "06.padding_mask", -1], "no number from 0 to 2"),
        (["ana", "06.padding_mask", "nan"], "no number from 0 to 2"),
        (["ana", "06.padding_mask", "two"], "no number from 0 to 2"),
    ],
)
def test_a_mark_that_cannot_be_is_named(tmp_path, row, words):
    with pytest.raises(CourseError, match=words):
        read_marks(marks_file(tmp_path, row), RESULTS)


def test_an_answer_that_changed_after_its_mark_is_pointed_out_and_the_mark_stays(tmp_path):
    header = ["student", "item", "points", "answer_id"]
    path = tmp_path / "marks.csv"
    write_csv(path, [header, ["ana", "06.why_not_rows", 2, answer_id(WRITTEN.text)]])
    (ana, *_) = mark_assignment("06_masks", RESULTS, given=read_marks(path, RESULTS)).marks
    assert ana.items[1].flags == ()
    later = [submission_result("ana", PASSED, replace(WRITTEN, text="Because of the pads."))]
    (ana,) = mark_assignment("06_masks", later, given=read_marks(path, later)).marks
    assert (ana.points, ana.waits_for) == (4, "")
    assert ana.items[1].flags == ("the answer has changed since a person marked it",)


@pytest.mark.parametrize(
    ("marked", "now", "reason", "changed"),
    [
        ("c1", "c1", "", False),
        ("c1", "c2", "", True),
        ("not-run-c1", "c1", "no time is left", False),
        ("not-run-c1", "c2", "no time is left", True),
        ("not-run", "c2", "no time is left", False),  # a mark from before its id had the code
        ("not-run-c1", "c1", "", True),
    ],
)
def test_code_that_changed_after_its_mark_is_pointed_out(marked, now, reason, changed):
    item = replace(PASSED, code=now, reason=reason)
    given = {("ana", PASSED.id): GivenMark(1, answer_id=marked)}
    [ana] = mark_assignment("06_masks", [submission_result("ana", item)], given=given).marks
    assert (ana.points, bool(ana.items[0].review)) == (1, changed)


def test_a_mark_without_an_id_is_pointed_out_once_the_automatic_points_have_changed(tmp_path):
    result = submission_result("=cmd()", replace(PASSED, code="c2"))
    store([result], tmp_path)
    path = marks_file(tmp_path / "06_masks", ["=cmd()", PASSED.id, 1])
    assert load_class(tmp_path)[0].marks[0].items[0].flags == ()
    before = replace(result, items=(replace(PASSED, points=0.0, status="not yet"),))
    append_changes(tmp_path / "06_masks", changes_between(before, result))
    [flag] = load_class(tmp_path)[0].marks[0].items[0].flags
    assert flag.startswith("its automatic points changed (changes.csv), and its mark has no answer")
    assert flag.endswith("that is c2")
    write_csv(path, [["student", "item", "points", "answer_id"], ["=cmd()", PASSED.id, 1, "c2"]])
    assert load_class(tmp_path)[0].marks[0].items[0].flags == ()


def test_a_mark_of_what_could_not_be_read_or_run_is_pointed_out_once_it_could(tmp_path):
    store(RESULTS, tmp_path)
    header, *rows = csv_files(load_class(tmp_path))["to_mark.csv"]
    rows = [[*row[:2], 0, *row[3:]] for row in rows]
    write_csv(tmp_path / "06_masks" / "marks.csv", [header, *rows])
    (assignment,) = load_class(tmp_path)
    assert not any(item.review for mark in assignment.marks for item in mark.items)
    later = [
        submission_result("bo", PASSED, replace(UNRUN, status="passed", points=2.0, reason=""))
    ]
    now_read = [replace(PASSED, id=item.id, most=item.most) for item in assignment.marks[0].items]
    later.append(submission_result("=cmd()", *now_read))
    store(later, tmp_path)
    unread, ana, bo = load_class(tmp_path)[0].marks
    changed = "the answer has changed since a person marked it"
    assert [item.review for item in bo.items] == ["", changed]
    assert {item.review for item in unread.items} == {changed}
    assert [item.review for item in ana.items] == ["", ""]


def test_each_round_of_marking_has_a_file_and_all_are_read(tmp_path):
    store(RESULTS, tmp_path)
    folder = tmp_path / "06_masks"
    header = ["student", "item", "points"]
    write_csv(folder / "marks.csv", [header, ["ana", "06.why_not_rows", 2]])
    write_csv(folder / "marks_2.csv", [header, ["bo", "06.causal_mask", 1]])
    (assignment,) = load_class(tmp_path)
    assert [mark.points for mark in assignment.marks] == [None, 4, 3]
    assert assignment.remarks == (
        f"1 mark read from {folder / 'marks.csv'}",
        f"1 mark read from {folder / 'marks_2.csv'}",
    )
    write_csv(folder / "marks_3.csv", [header, ["bo", "06.causal_mask", 2]])
    with pytest.raises(CourseError, match=r"06.causal_mask of 'bo' has 2 there and 1 in another"):
        load_class(tmp_path)


def test_without_points_nothing_is_decided_yet(tmp_path):
    path = marks_file(tmp_path, ["ana", "06.why_not_rows", None], ["bo", "06.padding_mask", 1])
    assert read_marks(path, RESULTS) == {("bo", "06.padding_mask"): GivenMark(1)}


def test_a_mark_that_is_there_twice_is_named(tmp_path):
    row = ["ana", "06.padding_mask", 1]
    with pytest.raises(CourseError, match=r"06.padding_mask of 'ana' is there twice"):
        read_marks(marks_file(tmp_path, row, row), RESULTS)


def test_a_class_is_read_with_the_marks_beside_it_or_with_others(tmp_path):
    store(RESULTS, tmp_path)
    assert [mark.points for mark in load_class(tmp_path)[0].marks] == [None, None, None]
    marks_file(tmp_path / "06_masks", ["ana", "06.why_not_rows", 2])
    (assignment,) = load_class(tmp_path)
    assert [mark.points for mark in assignment.marks] == [None, 4, None]
    assert [mark.student for mark in assignment.waiting] == ["=cmd()", "bo"]
    other = marks_file(tmp_path, ["bo", "06.causal_mask", 1])
    (assignment,) = load_class(tmp_path, marks=other)
    assert [mark.points for mark in assignment.marks] == [None, None, 3]


def test_the_assignments_of_a_class_are_all_or_those_named(tmp_path):
    store(synthetic_class(3, ("01", "06")), tmp_path)
    (tmp_path / "notes").mkdir()
    assert [each.name for each in load_class(tmp_path)] == ["01_positional_encoding", "06_masks"]
    assert [each.name for each in load_class(tmp_path, ["06_masks"])] == ["06_masks"]


def test_marks_may_be_about_more_assignments_than_are_asked_for(tmp_path):
    store([*RESULTS, *synthetic_class(3, ("07",))], tmp_path)
    path = marks_file(tmp_path, ["Ada Ali", "07.own_residual", 0.5], ["ana", "06.why_not_rows", 1])
    (assignment,) = load_class(tmp_path, ["06_masks"], marks=path)
    assert [mark.points for mark in assignment.marks] == [None, 3, None]


@pytest.mark.parametrize("other", ["Zoë ", "Zoe\u0308"])
def test_two_results_of_the_same_name_are_named(tmp_path, other):
    store([submission_result("Zoë", PASSED), submission_result(other, PASSED)], tmp_path)
    files = sorted(path.name for path in (tmp_path / "06_masks").iterdir())
    with pytest.raises(CourseError, match=f"two for 'Zoë': '{files[0]}' and '{files[1]}'"):
        load_class(tmp_path)


def test_a_name_is_the_same_however_its_letters_are_stored(tmp_path):
    store([submission_result("Zoe\u0308", WRITTEN)], tmp_path)
    for name in ("Zoë", "Zoe\u0308"):
        path = marks_file(tmp_path, [name, "06.why_not_rows", 1])
        (assignment,) = load_class(tmp_path, marks=path)
        assert [(mark.student, mark.points) for mark in assignment.marks] == [("Zoë", 1)]
        write_csv(tmp_path / "roster.csv", [["student"], [name]])
        assert list(load_roster(tmp_path / "roster.csv")) == ["Zoë"]


@pytest.mark.parametrize("names", [[], ["06_masks"]])
def test_a_folder_without_results_is_named(tmp_path, names):
    with pytest.raises(CourseError, match="grade first, with `course grade"):
        load_class(tmp_path, names)


def test_a_result_that_cannot_be_read_is_named(tmp_path):
    store(RESULTS, tmp_path)
    (tmp_path / "06_masks" / "half.json").write_text('{"half')
    with pytest.raises(CourseError, match=r"half\.json: expected a stored result"):
        load_class(tmp_path)
