"""Grading a class: stored results, resuming, several processes, and the command."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unicodedata
from dataclasses import replace

import pytest
from distributed import LocalCluster

from course_lib import cli
from course_lib.errors import CourseError
from course_lib.grading import grade_command as command
from course_lib.grading.class_run import class_run
from course_lib.grading.class_run import grade as grade_module
from course_lib.grading.class_run.class_run import ClassRun, grade_class, load_secret
from course_lib.grading.class_run.grade import derive_seed
from course_lib.grading.marks.class_marks import load_class
from course_lib.grading.reports.exports import csv_rows, nbgrader_rows
from course_lib.grading.results import SubmissionResult, shown_points
from course_lib.grading.safe_csv import read_csv, write_csv
from tests.grading.made_results import item_result, submission_result, to_be_marked
from tests.grading.notebooks_to_hand_in import RIGHT, RIGHT_ITEMS, ROOT, SECRET, answered
from tests.item_points import checked_points, points_of

STUDENTS = ["=cmd()", "O'Neil, Jr", "ana", "empty", "gone wrong"]
PASSED = points_of("06.padding_mask")


@pytest.fixture
def incoming(tmp_path, notebook):
    """The work of five students: one has not started, two have, two handed in nothing."""
    folder = tmp_path / "incoming"
    for name in STUDENTS:
        (folder / name).mkdir(parents=True)
    (folder / "=cmd()" / "masks.ipynb").write_text(json.dumps(notebook))
    (folder / "O'Neil, Jr" / "masks (1).ipynb").write_text(json.dumps(answered(notebook, RIGHT)))
    (folder / "ana" / "06_masks").mkdir()
    (folder / "ana" / "06_masks" / "m.ipynb").write_text(json.dumps(answered(notebook, RIGHT)))
    (folder / "gone wrong" / "masks.ipynb").write_text("{")
    return folder


@pytest.fixture
def run(incoming, one_item, tmp_path):
    return ClassRun(
        incoming=incoming, exercise=one_item, results=tmp_path / "results", secret=SECRET
    )


def grade(run, jail):
    return sorted(grade_class(run, jail), key=lambda result: result.student)


def stored(run):
    return {path.name: path.read_text() for path in sorted(run.result_file("x").parent.iterdir())}


def test_each_student_has_a_result_file_and_nobody_a_silent_zero(run, jail):
    results = grade(run, jail)
    assert [result.student for result in results] == STUDENTS
    assert [result.points for result in results] == [0, PASSED, PASSED, None, None]
    assert list(stored(run)) == [f"{name}.json" for name in STUDENTS]
    for result in results:
        assert run.load_result(result.student) == result
        assert result.isolation == jail.isolation
    assert "Was the folder handed in empty" in results[3].notes[0]
    assert "gone wrong/masks.ipynb" in results[4].notes[0]


@pytest.mark.slow
def test_what_is_unchanged_is_not_graded_again(run, jail, monkeypatch, notebook):
    first = grade(run, jail)
    sessions = []
    start = jail.session
    monkeypatch.setattr(
        jail, "session", lambda *args, **more: sessions.append(args) or start(*args, **more)
    )
    assert grade(run, jail) == first
    assert sessions == []
    wrong = answered(notebook, {"06-padding-mask-answer": "def padding_mask(t, p): return t"})
    (run.incoming / "ana" / "06_masks" / "m.ipynb").write_text(json.dumps(wrong))
    assert [result.points for result in grade(run, jail)] == [0, PASSED, 0, None, None]
    assert len(sessions) == 1
    grade(replace(run, secret=b"another secret, as long"), jail)
    assert len(sessions) == 3  # both with answers; untouched ones never need the jail


def test_a_name_that_leaves_no_room_for_a_result_stops_nobody(run, jail):
    names = ["é" * 127, "x" * 253, "y" * 250]
    for name in names:
        shutil.copytree(run.incoming / "ana", run.incoming / name)
    assert sum(result.points == PASSED for result in grade(run, jail)) == 2 + len(names)
    assert len(stored(run)) == len(STUDENTS) + len(names)
    assert [run.load_result(name).student for name in names] == names
    assert run.result_file("y" * 250).name == "y" * 250 + ".json"
    assert run.result_file("x" * 252) != run.result_file("x" * 253)
    looks_like_one = run.result_file("x" * 253).stem
    assert run.result_file(looks_like_one) != run.result_file("x" * 253)


@pytest.mark.slow
def test_two_names_in_another_encoding_are_two_students(run, jail):
    for name in (b"M\xfcller", b"M\xe4ller"):
        shutil.copytree(run.incoming / "ana", run.incoming / os.fsdecode(name))
    assert {result.student for result in grade(run, jail)} > {"M\\udcfcller", "M\\udce4ller"}
    assert len(load_class(run.results)[0].marks) == len(STUDENTS) + 2


def test_when_it_was_handed_in_stands_in_the_exported_points(run, jail, tmp_path):
    time = "2027-01-05 12:00:00.000000 UTC"
    (run.incoming / "ana" / "timestamp.txt").write_text(f"{time}\n")
    assert [result.handed_in for result in grade(run, jail)] == ["", "", time, "", ""]
    (run.incoming / "ana" / "timestamp.txt").write_text("later")
    assert grade(run, jail)[2].handed_in == "later"
    (run.incoming / "O'Neil, Jr").rename(run.incoming / "other")
    (run.incoming / "other" / run.exercise.assignment).symlink_to(run.incoming / "ana")
    assert run.timestamp("other") is None
    assignments = load_class(run.results)
    assert {row[0]: row[-2] for row in csv_rows(assignments, None)}["ana"] == "later"
    assert {row[3]: row[2] for row in nbgrader_rows(assignments, None)}["ana"] == "later"


def test_a_stored_result_that_is_no_text_is_graded_again(run, jail):
    grade(run, jail)
    run.result_file("ana").write_bytes(b"\xff")
    assert run.load_result("ana") is None
    assert [result.points for result in grade(run, jail)] == [0, PASSED, PASSED, None, None]


def test_stopped_in_between_nothing_is_lost_and_the_rest_follows(run, jail):
    results = grade_class(run, jail)
    done = [next(results), next(results)]
    results.close()
    assert set(stored(run)) == {f"{result.student}.json" for result in done}
    run.result_file("ana").write_text('{"half of a')
    assert [result.points for result in grade(run, jail)] == [0, PASSED, PASSED, None, None]
    assert run.load_result("ana").points == PASSED


@pytest.mark.slow
def test_the_results_do_not_depend_on_the_number_of_processes(run, jail, tmp_path):
    grade(run, jail)
    other = replace(run, results=tmp_path / "others", jobs=2)
    grade(other, jail)
    assert stored(run) == stored(other)


IN_A_POOL = """
import os, time
from types import SimpleNamespace
from course_lib.grading.class_run.class_run import _executor
if __name__ == "__main__":
    with _executor(SimpleNamespace(jobs=1, cluster=""), 1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="course grade does not run there")
def test_when_the_command_is_killed_its_processes_end(tmp_path):
    (tmp_path / "grades.py").write_text(IN_A_POOL)
    command = [sys.executable, str(tmp_path / "grades.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        worker = int(process.stdout.readline())
        process.kill()
        try:
            process.communicate(timeout=20)  # until nobody is left who could write
        except subprocess.TimeoutExpired:
            os.kill(worker, signal.SIGKILL)
            raise


@pytest.mark.slow
def test_the_results_of_a_cluster_are_the_same(run, jail, tmp_path, monkeypatch):
    grade(run, jail)
    monkeypatch.setattr(class_run, "Jail", lambda **options: jail)
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        other = replace(run, results=tmp_path / "others", cluster=address)
        grade(other, jail)
    assert stored(run) == stored(other)


def test_a_cluster_that_is_not_there_is_named(run, jail, monkeypatch):
    monkeypatch.setattr(class_run, "CONNECT_SECONDS", 0.2)
    with pytest.raises(CourseError, match="got 'tcp://127.0.0.1:1', and could not connect"):
        grade(replace(run, cluster="tcp://127.0.0.1:1"), jail)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        CourseError, match=r"install it with .*-m pip install .*\[cluster\]\"?, and on"
    ):
        grade(replace(run, cluster="tcp://127.0.0.1:1"), jail)


def test_a_folder_without_students_is_named(run, jail, tmp_path):
    with pytest.raises(CourseError, match="could not read one .* name the folder that holds"):
        grade(replace(run, incoming=tmp_path / "none"), jail)
    (tmp_path / "nobody").mkdir()
    with pytest.raises(CourseError, match="got none: unpack what was handed in there"):
        grade(replace(run, incoming=tmp_path / "nobody"), jail)


def test_a_secret_is_made_once_and_only_its_owner_may_read_it(tmp_path):
    path = tmp_path / "new" / "secret"
    made = load_secret(path)
    assert load_secret(path) == made
    assert path.stat().st_mode & 0o077 == 0
    assert len(made) == 2 * class_run.SECRET_BYTES
    path.write_text("short")
    with pytest.raises(CourseError, match="at least 16 characters .* got 5"):
        load_secret(path)
    with pytest.raises(CourseError, match="name a file with --secret-file that you may write"):
        load_secret(tmp_path)


def test_every_item_and_every_secret_has_its_own_seed():
    seeds = {derive_seed(secret, item) for secret in (b"a", b"b") for item in ("06.bug", "07.bug")}
    assert len(seeds) == 4
    assert derive_seed(b"a", "06.bug") == derive_seed(b"a", "06.bug")


def test_a_result_survives_storing_and_something_else_is_refused():
    item = item_result("06.bug", None, misconceptions=("m",), reason="r")
    result = submission_result("s", item, notes=("note",))
    assert SubmissionResult.from_json(result.to_json()) == result
    assert (result.points, result.most) == (None, 2)
    for text in ("", "[]", "{}", '{"format": 0}', result.to_json().replace("title", "x")):
        with pytest.raises(CourseError, match="delete the file and grade again"):
            SubmissionResult.from_json(text)
    assert [shown_points(x) for x in (3.0, 2.5, None)] == ["3", "2.5", "?"]


def test_the_table_has_a_row_for_each_student_and_says_what_needs_a_person():
    passed = item_result("06.bug", 2.0, flags=("f",))
    unrun = item_result("06.c", None, reason="no time is left")
    results = [
        submission_result("ana", passed, to_be_marked(text="=cmd()"), notes=("1", "2", "3", "4")),
        submission_result("b" * 40, passed, unrun),
        submission_result("carla", notebook="", notes=("expected a notebook",)),
    ]
    text = command.table(results)
    assert text.splitlines()[1].split() == ["ana", "2", "of", "2", "1", "1"]
    assert "b" * 31 + "…  ? of 4" in text
    assert "not all could be run" in text
    assert "could not be read" in text
    assert "06.c was not run: no time is left" in text
    assert "… and 1 more in the result file" in text
    assert "=cmd()" not in text


def test_a_name_whose_accents_are_characters_of_their_own_does_not_shift_its_row():
    name = "Jörg Müller"
    row, other = (
        command.table([submission_result(each, item_result("06.bug", 2.0))]).split("\n")[1]
        for each in (unicodedata.normalize("NFD", name), name)
    )
    assert row == other


@pytest.mark.slow
def test_course_grade_prints_a_table(incoming, jail, tmp_path, capsys, monkeypatch):
    shutil.rmtree(incoming / "empty")
    shutil.rmtree(incoming / "gone wrong")
    monkeypatch.setattr(command, "Jail", lambda trusted, begun: Borrowed(jail))
    arguments = ["grade", str(incoming), "--assignment", "06_masks"]
    arguments += ["--results", str(tmp_path / "out"), "--exercises", str(ROOT / "exercises")]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert f"Isolation: {jail.isolation}" in printed.err
    row = rf"O'Neil, Jr +{points_of(*RIGHT_ITEMS)} of {checked_points('06')}\b"
    assert re.search(row, printed.out), printed.out
    assert str(tmp_path / "out" / "06_masks") in printed.out
    assert "a dot" not in printed.out and "look the same" not in printed.out
    assert "Not in" not in printed.out
    (tmp_path / "out" / "06_masks" / "ana.json").rename(tmp_path / "out/06_masks/ana_998.json")
    (incoming / "empty").mkdir()
    assert cli.main(arguments) == 1
    for name in (".ana", ".ipynb_checkpoints", "__MACOSX", "lost+found", "ana ", "empty\u0301"):
        (incoming / name).mkdir()
    (incoming / "empt\u00fd").mkdir()
    for name in (".DS_Store", "._ana.ipynb", ".bo.ipynb", "Thumbs.db", "grades.csv"):
        (incoming / name).touch()
    capsys.readouterr()
    assert cli.main(arguments) == 1
    printed = capsys.readouterr().out
    left_out = ".ana; .bo.ipynb; Thumbs.db; __MACOSX; grades.csv; lost+found. If"
    assert f"are nobody's work: {left_out}" in printed
    assert "These names look the same: 'ana', 'ana '. Each" in printed
    assert "These names look the same: 'empty\\u0301', 'empt\\xfd'. Each" in printed
    folder = tmp_path / "out" / "06_masks"
    assert f"Not in {incoming}, but with a result in {folder}: ana_998.json. course" in printed


@pytest.mark.slow
def test_the_last_line_is_a_command_that_works(incoming, jail, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "Jail", lambda trusted, begun: Borrowed(jail))
    results = tmp_path / "the results"
    arguments = ["grade", str(incoming), "--assignment", "06_masks", "--results", str(results)]
    arguments += ["--exercises", str(ROOT / "exercises")]
    assert cli.main([*arguments, "--diff"]) == 1
    assert capsys.readouterr().out.endswith("\nNext: the same command without --diff\n")
    assert cli.main(arguments) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"Next: course report '{results}'"
    monkeypatch.chdir(tmp_path)
    assert cli.main(shlex.split(last)[2:]) == 0


@pytest.mark.parametrize("name", ["Ana\nBerg", "Ana\tBerg", "\u202eAna Berg", "Ana\u200bBerg"])
def test_a_result_has_the_name_of_the_folder_whatever_characters_it_has(
    name, run, jail, tmp_path, capsys
):
    (run.incoming / "ana").rename(run.incoming / name)
    for other in set(STUDENTS) - {"ana"}:
        shutil.rmtree(run.incoming / other)
    [result] = grade(run, jail)
    assert (result.student, result.points) == (name, PASSED)
    assert run.load_result(name) == result
    assert name not in command.table([result])
    roster = tmp_path / "roster.csv"
    write_csv(roster, [["student"], [name]])
    arguments = ["export", str(run.results), "--format", "csv", "--roster", str(roster)]
    assert cli.main([*arguments, "--output", str(tmp_path / "points.csv")]) == 0
    assert {row["student"] for row in read_csv(tmp_path / "points.csv", ())} == {name}


class Borrowed:
    """The jail of all tests, which stays open."""

    def __init__(self, jail):
        self.jail = jail

    def __enter__(self):
        return self.jail

    def __exit__(self, *error):
        pass


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--assignment", "99_none"], "the assignments in"),
        (["--assignment", "06_masks", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["--assignment", "06_masks", "--diff", "--gradebook", "x"], "--diff writes nothing"),
        (["--assignment", "06_masks", "--no-sandbox"], "need each other"),
        (["--assignment", "06_masks", "--i-trust-these-submissions"], "need each other"),
    ],
)
def test_a_wrong_option_is_answered_in_a_sentence(arguments, words, incoming, tmp_path, capsys):
    more = ["--results", str(tmp_path), "--exercises", str(ROOT / "exercises")]
    assert cli.main(["grade", str(incoming), *arguments, *more]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "secret").exists()


def test_the_folder_of_one_student_is_not_taken_for_the_class(incoming, tmp_path, capsys):
    (incoming / "ana").mkdir(exist_ok=True)
    (incoming / "ana" / "masks.ipynb").write_text("{}")
    arguments = ["--assignment", "06_masks", "--results", str(tmp_path / "results")]
    assert cli.main(["grade", str(incoming / "ana"), *arguments]) == 1
    assert "is that the folder of one student? Name the folder around" in capsys.readouterr().err


def test_a_command_that_cannot_begin_leaves_no_secret_behind(tmp_path, capsys):
    arguments = ["--assignment", "06_masks", "--exercises", str(ROOT / "exercises")]
    results = tmp_path / "results"
    incoming = str(tmp_path / "none")
    assert cli.main(["grade", incoming, *arguments, "--results", str(results)]) == 1
    assert "name the folder that holds a folder for each student" in capsys.readouterr().err
    assert not results.exists()


def test_an_error_of_the_grader_is_told_and_the_others_are_graded(run, jail, monkeypatch):
    monkeypatch.setattr(grade_module, "find_flags", lambda *args, **options: 1 / 0)
    results = grade(run, jail)
    assert [result.points for result in results] == [0, None, None, None, None]
    assert results[2].items[0].reason == (
        "the grader raised ZeroDivisionError: division by zero. Please report it"
    )
    monkeypatch.undo()
    assert [result.points for result in grade(run, jail)] == [0, PASSED, PASSED, None, None]


def test_windows_is_told_where_grading_works(incoming, monkeypatch, capsys):
    monkeypatch.setattr(cli.sys, "platform", "win32")
    assert cli.main(["grade", str(incoming), "--assignment", "06_masks"]) == 1
    assert "run it in WSL or in a container" in capsys.readouterr().err


def test_the_isolation_is_told_and_what_none_means():
    assert "can do everything that you can" in command.isolation_line("none")
    assert command.isolation_line("bubblewrap") == "Isolation: bubblewrap"
