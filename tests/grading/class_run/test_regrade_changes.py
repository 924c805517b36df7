"""A regrade says which points it changed, and keeps what they were."""

import json
from functools import partial

import pytest

from course_lib import cli
from course_lib.errors import CourseError
from course_lib.grading import grade_command as command
from course_lib.grading.class_run.regrade_changes import (
    CHANGES_FILE,
    Change,
    append_changes,
    changes_between,
    changes_table,
)
from course_lib.grading.safe_csv import read_csv
from tests.grading.class_run.test_class_run import Borrowed
from tests.grading.made_results import item_result, submission_result
from tests.grading.notebooks_to_hand_in import RIGHT, ROOT, answered
from tests.item_points import points_of

PASSED = item_result("06.a", 2.0)
FAILED = item_result("06.a", 0.0)
OTHER = item_result("06.b", 1.0, status="passed")
submission = partial(submission_result, "ana")


def test_only_items_whose_points_changed_are_changes():
    assert changes_between(submission(PASSED, OTHER), submission(FAILED, OTHER, key="l")) == [
        Change(
            student="ana",
            item="06.a",
            before="passed",
            before_points=2.0,
            after="not yet",
            after_points=0.0,
        )
    ]
    assert changes_between(submission(PASSED), submission(PASSED, key="l")) == []
    assert changes_between(None, submission(PASSED)) == []


def test_a_submission_that_can_be_read_at_last_is_a_change_and_so_is_a_lost_item():
    unread = submission(notebook="")
    (change,) = changes_between(unread, submission(PASSED))
    assert (change.before, change.before_points) == ("could not be read", None)
    assert changes_between(submission(PASSED), unread) == [
        Change(
            student="ana",
            item="06.a",
            before="passed",
            before_points=2.0,
            after="could not be read",
            after_points=None,
        )
    ]


def test_the_table_shows_before_after_and_the_difference():
    changes = [
        Change(
            student="b" * 40,
            item="06.a",
            before="passed",
            before_points=2.0,
            after="not yet",
            after_points=0.5,
        ),
        Change(
            student="ana",
            item="06.b",
            before="not run",
            before_points=None,
            after="passed",
            after_points=1.0,
        ),
    ]
    first, second = changes_table(changes).splitlines()
    assert first.split() == ["b" * 31 + "…", *"06.a passed 2 → not yet 0.5 -1.5".split()]
    assert second.split() == "ana 06.b not run ? → passed 1".split()
    assert changes_table([]) == ""


@pytest.mark.usefixtures("own_messages")
def test_every_change_is_kept_and_names_are_no_formulas(tmp_path):
    for points in (0.0, 1.0):
        append_changes(
            tmp_path,
            [
                Change(
                    student="=cmd()",
                    item="06.a",
                    before="not yet",
                    before_points=points,
                    after="passed",
                    after_points=2.0,
                )
            ],
        )
    assert "'=cmd()" in (tmp_path / CHANGES_FILE).read_text()
    rows = read_csv(tmp_path / CHANGES_FILE, ["time", "student"])
    assert [(row["student"], row["before_points"]) for row in rows] == [
        ("=cmd()", "0.0"),
        ("=cmd()", "1.0"),
    ]
    with pytest.raises(CourseError, match="could not add the changed points"):
        append_changes(tmp_path / "none", [])


@pytest.mark.slow
def test_course_grade_previews_changes_and_never_makes_them_without_a_word(
    tmp_path, notebook, jail, one_item, capsys, monkeypatch
):
    monkeypatch.setattr(command, "Jail", lambda trusted, begun: Borrowed(jail))
    monkeypatch.setattr(command, "load_exercise", lambda folder, name: one_item)
    path = tmp_path / "incoming" / "ana" / "masks.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(answered(notebook, RIGHT)))
    arguments = ["grade", str(tmp_path / "incoming"), "--assignment", "06_masks"]
    arguments += ["--results", str(tmp_path), "--exercises", str(ROOT / "exercises")]

    assert cli.main(arguments) == 0
    assert "Changed" not in capsys.readouterr().out
    stored = (tmp_path / "06_masks" / "ana.json").read_text()

    less = {**RIGHT, "06-padding-mask-answer": "padding_mask = None"}
    path.write_text(json.dumps(answered(notebook, less)))
    assert cli.main([*arguments, "--diff"]) == 0
    printed = capsys.readouterr().out
    lost = points_of("06.padding_mask")
    assert f"ana  06.padding_mask  passed {lost}  → not yet 0  -{lost}" in printed
    assert "Nothing was written" in printed
    assert (tmp_path / "06_masks" / "ana.json").read_text() == stored
    assert not (tmp_path / "06_masks" / CHANGES_FILE).exists()

    assert cli.main(arguments) == 0
    assert "Changed: 1 earlier mark of 1 student;" in capsys.readouterr().out
    (row,) = read_csv(tmp_path / "06_masks" / CHANGES_FILE, ["item"])
    assert row["item"] == "06.padding_mask"
    assert cli.main([*arguments, "--diff"]) == 0
    assert "No earlier points would change" in capsys.readouterr().out
