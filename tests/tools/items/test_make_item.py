"""One command does all that a change of an item needs, and begins with the message if it fails."""

import shutil
from types import SimpleNamespace

import pytest

from course_lib.checks.table import TABLE
from course_lib.errors import CourseError
from tools.items import make_item
from tools.notebooks.build_exercises import EXERCISES
from tools.notebooks.notebook_normal_form import NotebookError

ITEM = "06.causal_mask"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "got none: course_lib/checks/table.py lists all"),
        ([""], "got none: course_lib/checks/table.py lists all"),
        (["06.casual_mask"], "got '06.casual_mask': did you mean 06.causal_mask"),
        (["causal_mask"], "did you mean 06.causal_mask"),
        (["7"], "got '7': course_lib/checks/table.py lists all"),
    ],
)
def test_an_item_that_there_is_not_is_refused_with_the_nearest(arguments, message, capsys):
    assert make_item.main(arguments) == 1
    printed = capsys.readouterr()
    assert message in printed.err and not printed.out


def test_what_counts_items_elsewhere_is_up_to_date():
    for path, content in make_item.stamped_pages().items():
        if path.read_bytes() != content:
            pytest.fail(
                f"{path.name} does not count the items that there are: run `make item` for the "
                "item that is new or has other minutes, points or another title",
                pytrace=False,
            )


PRINTED = """\
..F.F                                                                    [100%]
=================================== FAILURES ===================================
_ test_an_item_keeps_the_rule[three_hints-06.causal_mask] _
06.causal_mask: 2 hints, expected 3
_____________ test_the_reference_passes[06.causal_mask-7] ______________
tests/checks/test_items.py:68: in test_the_reference_passes
    assert 1 == 2
E   assert 1 == 2
2 failed, 3 passed, 2310 deselected in 16.06s
"""


def test_of_a_failure_the_message_comes_first_and_then_its_test():
    assert make_item.failures_in(PRINTED).splitlines() == [
        "06.causal_mask: 2 hints, expected 3",
        "    (test_an_item_keeps_the_rule[three_hints-06.causal_mask])",
        "",
        "tests/checks/test_items.py:68: in test_the_reference_passes",
        "    assert 1 == 2",
        "E   assert 1 == 2",
        "    (test_the_reference_passes[06.causal_mask-7])",
    ]


def test_what_stops_the_tests_before_they_begin_is_shown_whole():
    assert make_item.failures_in("ERROR: file or directory not found: x\n") == (
        "ERROR: file or directory not found: x"
    )


@pytest.mark.parametrize(("status", "message"), [(0, "3 passed"), (1, "2 hints, expected 3\n")])
def test_tests_are_run_in_a_process_of_their_own(status, message, monkeypatch, capsys):
    def run(command, **_):
        assert command[1:3] == ["-m", "pytest"] and command[-2:] == ["-k", "a or b"]
        printed = PRINTED if status else "...\n3 passed"
        return SimpleNamespace(returncode=status, stdout=printed, stderr="")

    monkeypatch.setattr(make_item.subprocess, "run", run)
    if status:
        with pytest.raises(CourseError, match=message):
            make_item.run_tests(("tests/a.py",), "a or b")
    else:
        make_item.run_tests(("tests/a.py",), "a or b")
        assert message in capsys.readouterr().out


def test_mutants_are_tried_only_after_a_change_and_a_wrong_name_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(make_item.mutation_testing, "stale", lambda: ["06.bug"])
    monkeypatch.setattr(make_item.mutation_testing, "main", lambda arguments: 1)
    make_item.try_mutants(ITEM)
    assert "nothing has changed since" in capsys.readouterr().out
    with pytest.raises(CourseError, match="06.bug: the check calls a mutant above by"):
        make_item.try_mutants("06.bug")


def test_a_misconception_without_its_name_is_an_error(monkeypatch):
    monkeypatch.setattr(make_item.misconception_matrix, "main", lambda arguments: 1)
    with pytest.raises(CourseError, match="06.causal_mask: a misconception above is not caught"):
        make_item.try_misconceptions(ITEM)


@pytest.fixture
def steps(monkeypatch):
    """No step does anything, but each is noted."""
    done = []
    for name in ("run_tests", "try_misconceptions", "make", "store_pages", "try_mutants"):
        monkeypatch.setattr(make_item, name, lambda *_, _name=name, **__: done.append(_name))
    return done


def test_all_steps_are_done_in_order_and_what_is_left_is_named(steps, capsys):
    assert make_item.main([ITEM]) == 0
    others = ["try_misconceptions", "make", "store_pages", "try_mutants"]
    assert steps == ["run_tests", *others, "run_tests"]
    printed = capsys.readouterr().out
    assert "== 6 of 6: tests of the lesson's notebooks" in printed
    assert "nothing was written" in printed and "exercises/06_masks/masks.ipynb" in printed


def test_an_answer_in_words_has_no_misconceptions_to_try(steps):
    written = next(entry.id for entry in TABLE.values() if entry.kind == "written")
    assert make_item.main([written]) == 0
    assert steps == ["run_tests", "make", "store_pages", "run_tests"]


def test_a_file_that_changes_is_named(steps, monkeypatch, tmp_path, capsys):
    top = tmp_path / "exercises"
    shutil.copytree(EXERCISES / "06_masks", top / "06_masks")
    monkeypatch.setattr(make_item, "EXERCISES", top)
    monkeypatch.setattr(make_item, "ROOT", tmp_path)
    exercise = top / "06_masks" / "masks.ipynb"
    monkeypatch.setattr(make_item, "make", lambda path, run: exercise.write_bytes(b"{}"))
    assert make_item.main([ITEM]) == 0
    assert "Wrote:\n- exercises/06_masks/masks.ipynb\n" in capsys.readouterr().out


@pytest.mark.parametrize("error", [CourseError("too few hints"), NotebookError("no cell")])
def test_the_first_step_that_fails_ends_it_with_its_message(error, steps, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(make_item, "make", fail)
    assert make_item.main([ITEM]) == 1
    assert steps == ["run_tests", "try_misconceptions"]
    message = capsys.readouterr().err.strip()
    assert message.startswith(str(error))
    assert message.endswith("Stopped at: the exercise, made from the solution")
