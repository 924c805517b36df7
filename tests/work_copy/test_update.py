"""A learner's copy of the course: made once, updated without loss, reset item by item."""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib import cli, home
from course_lib.atomic import replace_atomically
from course_lib.checks.progress import FORMER_IDS, load_passed, note_checked
from course_lib.checks.table import TABLE
from course_lib.errors import CourseError
from course_lib.work_copy import folders, verbs
from course_lib.work_copy import update as work_copy
from course_lib.work_copy.trust import trust
from course_lib.work_copy.update import (
    FOR_ASSISTANTS,
    create,
    exercise_path,
    outdated,
    reset,
    update,
)

LESSON, PAGE = Path("notebooks/06_masks.ipynb"), Path("docs/map.md")
EXERCISE = exercise_path("06.padding_mask")
FIRST = {LESSON: ["title"], EXERCISE: ["06-padding-mask-task"]}  # cells that the tests change
ANSWER = {"nbgrader": {"grade_id": "06-padding-mask-answer", "solution": True}}


def write(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), path)


def cells_of(path):
    return {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}


def write_cell(path, name, source):
    """What a learner does in JupyterLab."""
    notebook = nbformat.read(path, as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.id == name)
    cell.source = source
    nbformat.write(notebook, path)


@pytest.fixture
def course(tmp_path):
    """A small course: a lesson, an exercise, a page."""
    folder = tmp_path / "course"
    write(folder / LESSON, new_markdown_cell("# Masks", id="title"), new_code_cell("1", id="one"))
    write(
        folder / EXERCISE,
        new_markdown_cell("Write it.", id="06-padding-mask-task", metadata={"deletable": False}),
        new_code_cell("# your code", id="06-padding-mask-answer", metadata=ANSWER),
        new_markdown_cell("Why?", id="06-why-not-rows-written", metadata=ANSWER),
    )
    (folder / PAGE).parent.mkdir()
    (folder / PAGE).write_text("the map")
    return folder


@pytest.fixture
def work(tmp_path):
    return tmp_path / "my work"


@pytest.fixture
def answered(course, work):
    """A copy with an answer and an experiment."""
    create(work, course)
    write_cell(work / EXERCISE, "06-padding-mask-answer", "def padding_mask(): ...")
    write_cell(work / LESSON, "one", "1 + 1")
    return work


def test_a_copy_is_made_once(course, work):
    assert create(work, course) is True
    assert all(
        (work / name).read_bytes() == (course / name).read_bytes() for name in (LESSON, PAGE)
    )
    (work / LESSON).write_text("mine")
    assert create(work, course) is False
    assert (work / LESSON).read_text() == "mine"


def test_a_copy_that_was_interrupted_is_finished(course, work, monkeypatch):
    copied = []

    def copy(path, write):
        if len(copied) == 3:
            raise KeyboardInterrupt
        copied.append(path)
        replace_atomically(path, write)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(work_copy, "replace_atomically", copy)
        create(work, course)
    assert len(copied) == 3
    assert create(work, course) is True
    assert update(work, course) == []
    assert cells_of(work / EXERCISE) == cells_of(course / EXERCISE)


def test_a_course_without_lessons_is_named(work, tmp_path):
    with pytest.raises(CourseError, match="expected lessons in .*, found none: install"):
        create(work, tmp_path)
    assert not work.exists()


def test_an_update_without_a_copy_makes_one(course, work):
    assert "is new: all lessons and exercises were copied" in update(work, course)[0]


def test_what_nobody_changed_is_taken_over_and_what_was_written_stays(course, answered):
    assert outdated(answered, course) == []
    write_cell(course / EXERCISE, "06-padding-mask-task", "Write it now.")
    (course / PAGE).write_text("another map")
    new = Path("notebooks/16_new.ipynb")
    shutil.copy(course / LESSON, course / new)
    assert outdated(answered, course) == [new, EXERCISE]
    lines = update(answered, course)
    assert cells_of(answered / EXERCISE) == {
        "06-padding-mask-task": "Write it now.",
        "06-padding-mask-answer": "def padding_mask(): ...",
        "06-why-not-rows-written": "Why?",
    }
    assert cells_of(answered / LESSON)["one"] == "1 + 1"
    assert (answered / PAGE).read_text() == "another map"
    assert [line.split(":")[0] for line in lines] == [str(new), str(EXERCISE), str(PAGE)]
    assert "with 1 cell of yours; before the update it was" in lines[1]
    assert update(answered, course) == [] == outdated(answered, course)


def test_opening_a_notebook_is_no_change_and_running_it_is_one(course, work):
    """JupyterLab saves what the kernel says of its language, and lays the file out its own way."""
    create(work, course)
    for name in (LESSON, EXERCISE):
        saved = json.loads((work / name).read_text())
        saved["metadata"]["language_info"] = {"name": "python", "version": "3.11.7"}
        for cell in saved["cells"]:
            cell["source"] = "".join(cell["source"])
        (work / name).write_text(json.dumps(saved))
        write_cell(course / name, *FIRST[name], "# Changed")
    assert [line.split(": ")[1] for line in update(work, course)] == ["up to date"] * 2
    assert not (work / "backup").exists()
    assert (work / LESSON).read_bytes() == (course / LESSON).read_bytes()
    notebook = nbformat.read(work / LESSON, as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="1")]
    nbformat.write(notebook, work / LESSON)
    write_cell(course / LESSON, "title", "# Changed again")
    (line,) = update(work, course)
    assert "with what you ran; before the update it was" in line
    assert nbformat.read(work / LESSON, as_version=4).cells[1].outputs


@pytest.mark.parametrize("what", ["changed", "renamed", "replaced", "dropped"])
def test_of_metadata_that_an_update_replaces_there_is_a_backup_without_a_word(course, work, what):
    """Tags, kinds of slides, another kernel: nothing in the notebook itself has changed."""
    create(work, course)
    renamed = LESSON.with_name("07_masks.ipynb")
    if what == "replaced":
        shutil.copy(work / LESSON, work / renamed)
    tagged = work / (renamed if what == "replaced" else LESSON)
    notebook = nbformat.read(tagged, as_version=4)
    notebook.cells[0].metadata.tags = ["mine"]
    nbformat.write(notebook, tagged)
    before = tagged.read_bytes()
    if what == "dropped":
        (course / LESSON).unlink()
    elif what == "changed":
        write_cell(course / LESSON, "title", "# More masks")
    else:
        (course / LESSON).rename(course / renamed)
    (line,) = update(work, course)
    assert "backup" not in line
    assert [path.read_bytes() for path in (work / "backup").rglob("*.ipynb")] == [before]


def test_what_it_was_before_an_update_is_kept(course, answered):
    before = (answered / EXERCISE).read_bytes()
    write_cell(course / EXERCISE, "06-padding-mask-task", "Write it now.")
    update(answered, course)
    (saved,) = (answered / "backup").rglob("masks.ipynb")
    assert saved.read_bytes() == before


def test_a_page_that_the_learner_changed_is_kept_beside_the_new_one(course, answered):
    (answered / PAGE).write_text("my notes")
    (course / PAGE).write_text("another map")
    (line,) = update(answered, course)
    assert "your own changes are in" in line
    assert (answered / PAGE).read_text() == "another map"
    assert next((answered / "backup").rglob("map.md")).read_text() == "my notes"


def test_what_assistants_read_is_copied_and_a_rule_that_was_changed_stays(course, answered):
    for name in FOR_ASSISTANTS:
        (course / name).write_text("This course's rule: tutor")
    assert update(answered, course) == [f"{name}: up to date" for name in FOR_ASSISTANTS]
    (answered / "AGENTS.md").write_text("This course's rule: forbidden")
    for name in FOR_ASSISTANTS:
        (course / name).write_text("This course's rule: tutor. Ask first.")
    lines = update(answered, course)
    assert lines == [
        "AGENTS.md: left as it is, because you or an instructor changed it. The new one is "
        "AGENTS-new.md",
        "CLAUDE.md: up to date",
    ]
    assert (answered / "AGENTS.md").read_text() == "This course's rule: forbidden"
    assert (answered / "AGENTS-new.md").read_text() == (course / "AGENTS.md").read_text()
    assert update(answered, course) == []


def test_a_notebook_that_is_none_any_more_is_left_alone(course, answered):
    (answered / EXERCISE).write_text("{ half a notebook")
    write_cell(course / EXERCISE, "06-padding-mask-task", "Write it now.")
    (line,) = update(answered, course)
    assert "left as it is, because" in line and "could not be read as a notebook" in line
    assert (answered / EXERCISE).read_text() == "{ half a notebook"
    beside = answered / EXERCISE.with_name("masks-new.ipynb")
    assert cells_of(beside)["06-padding-mask-task"] == "Write it now."


def test_the_new_notebook_beside_a_damaged_one_is_backed_up_once_the_learner_wrote_in_it(
    course, answered
):
    beside = EXERCISE.with_name("masks-new.ipynb")
    (answered / EXERCISE).write_text("{ half a notebook")
    for text in ("Write it now.", "Write it, please."):
        write_cell(course / EXERCISE, "06-padding-mask-task", text)
        (line,) = update(answered, course)
        assert line.endswith(f"The new one is {beside}")  # nobody wrote in the one before
    write_cell(answered / beside, "06-padding-mask-answer", "mine")
    write_cell(course / EXERCISE, "06-padding-mask-task", "Write it again.")
    (line,) = update(answered, course)
    assert cells_of(answered / beside)["06-padding-mask-task"] == "Write it again."
    saved = Path(line.split("; the masks-new.ipynb that you had is in ")[1])
    assert cells_of(saved)["06-padding-mask-answer"] == "mine"


def test_a_damaged_notebook_stays_also_if_the_course_renamed_it(course, answered):
    renamed = LESSON.with_name("07_masks.ipynb")
    (answered / LESSON).write_text("{ half a notebook")
    (course / LESSON).rename(course / renamed)
    (line,) = update(answered, course)
    assert line.startswith(f"{LESSON}: left as it is, because {answered / LESSON} could not be")
    assert line.endswith(f"The new one is {renamed}")
    assert (answered / LESSON).read_text() == "{ half a notebook"
    assert cells_of(answered / renamed) == cells_of(course / renamed)
    assert update(answered, course) == []
    assert (answered / LESSON).exists()


@pytest.mark.parametrize("mine", ["changed", "as released", "damaged", "deleted"])
def test_a_renamed_notebook_replaces_none_of_the_learners_without_a_backup(course, work, mine):
    renamed = LESSON.with_name("07_masks.ipynb")
    create(work, course)
    write(work / renamed, new_code_cell("my own", id="own"))
    if mine == "changed":
        write_cell(work / LESSON, "one", "1 + 1")
    elif mine == "damaged":
        (work / LESSON).write_text("{ half a notebook")
    elif mine == "deleted":
        (work / LESSON).unlink()
    (course / LESSON).rename(course / renamed)
    (line,) = update(work, course)
    assert {*cells_of(work / renamed)} == {"title", "one"}
    saved = Path(line.split("; the 07_masks.ipynb that you had is in ")[1])
    assert cells_of(saved) == {"own": "my own"}


def test_what_is_missing_comes_back_also_if_the_course_has_not_changed(course, answered):
    for name in ("notebooks", "exercises", "docs"):
        shutil.rmtree(answered / name)
    lines = update(answered, course)
    assert lines == [f"{name}: was missing, and is back" for name in (LESSON, EXERCISE, PAGE)]
    assert cells_of(answered / LESSON) == cells_of(course / LESSON)
    assert (answered / PAGE).read_text() == "the map"
    assert update(answered, course) == []


def test_a_notebook_that_the_learner_deleted_comes_back(course, answered):
    (answered / LESSON).unlink()
    write_cell(course / LESSON, "title", "# More masks")
    update(answered, course)
    assert cells_of(answered / LESSON)["title"] == "# More masks"


def test_a_notebook_that_was_renamed_takes_its_answers_along(course, answered):
    renamed = EXERCISE.parent.with_name("07_masks") / EXERCISE.name
    (course / EXERCISE.parent).rename((course / renamed).parent)
    (line,) = update(answered, course)
    assert f"{renamed}: up to date (it was {EXERCISE}), with 1 cell of yours" in line
    assert cells_of(answered / renamed)["06-padding-mask-answer"] == "def padding_mask(): ..."
    assert not (answered / EXERCISE).exists()
    assert update(answered, course) == []


def test_an_item_that_was_renamed_keeps_its_answer(course, work, monkeypatch):
    monkeypatch.setitem(FORMER_IDS, "10.target_entropy", "10.target_only_entropy")
    old, new = "10-target-entropy-answer", "10-target-only-entropy-answer"
    lesson = Path("exercises/10_two_sentences/two_sentences.ipynb")
    write(course / lesson, new_code_cell("# your code", id=old, metadata=ANSWER))
    create(work, course)
    write_cell(work / lesson, old, "mine")
    write(course / lesson, new_code_cell("# your code", id=new, metadata=ANSWER))
    update(work, course)
    assert cells_of(work / lesson) == {new: "mine"}


def test_what_the_course_dropped_stays_if_the_learner_changed_it(course, answered):
    for name in (LESSON, PAGE):
        (course / name).unlink()
    lines = update(answered, course)
    assert f"{LESSON}: the course no longer has it; yours was left where it is" in lines
    assert f"{PAGE}: the course no longer has it, and you had not changed it; removed" in lines
    assert (answered / LESSON).exists() and not (answered / PAGE).exists()
    assert update(answered, course) == []


@pytest.mark.parametrize("both", [True, False])
def test_a_merged_notebook_is_trusted_if_both_were(course, answered, both, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    write_cell(course / EXERCISE, "06-padding-mask-task", "Write it now.")
    trust([course / EXERCISE, answered / EXERCISE][: 1 + both])
    update(answered, course)
    merged = nbformat.read(answered / EXERCISE, as_version=4)
    assert NotebookNotary().check_signature(merged) is both


@pytest.mark.parametrize("both", [True, False])
def test_a_notebook_with_an_answer_put_back_is_trusted_if_it_was_and_its_release(
    course, answered, both, tmp_path, monkeypatch
):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    write_cell(answered / EXERCISE, "06-why-not-rows-written", "Because.")
    trust([course / EXERCISE, answered / EXERCISE][: 1 + both])
    reset(answered, "06.padding_mask")
    notebook = nbformat.read(answered / EXERCISE, as_version=4)
    assert NotebookNotary().check_signature(notebook) is both


def test_one_answer_is_put_back_and_the_other_stays(course, answered):
    write_cell(answered / EXERCISE, "06-why-not-rows-written", "Because.")
    answer = reset(answered, "06.padding_mask")
    assert cells_of(answered / EXERCISE) == cells_of(course / EXERCISE) | {
        "06-why-not-rows-written": "Because."
    }
    saved = Path(answer.split("yours is in ")[1])
    assert cells_of(saved)["06-padding-mask-answer"] == "def padding_mask(): ..."
    reset(answered, "06.why_not_rows")
    assert cells_of(answered / EXERCISE) == cells_of(course / EXERCISE)
    assert len([*(answered / "backup").rglob("masks.ipynb")]) == 2


def test_with_its_answer_a_check_loses_its_output(course, answered):
    ids = ("06-padding-mask-check", "06-causal-mask-check")
    for path in (course, answered, answered / ".course"):
        write(path / EXERCISE, *(new_code_cell("check()", id=name) for name in ids))
    notebook = nbformat.read(answered / EXERCISE, as_version=4)
    for cell in notebook.cells:
        if cell.id in ids:
            cell.outputs = [nbformat.v4.new_output("stream", text="passed")]
    nbformat.write(notebook, answered / EXERCISE)
    reset(answered, "06.padding_mask")
    cells = {c.id: c for c in nbformat.read(answered / EXERCISE, as_version=4).cells}
    assert [len(cells[name].outputs) for name in ids] == [0, 1]


def test_a_deleted_answer_and_a_deleted_notebook_are_put_back(course, answered):
    write(answered / EXERCISE, new_code_cell("mine", id="mine"))
    reset(answered, "06.padding_mask")
    assert {*cells_of(answered / EXERCISE)} == {*cells_of(course / EXERCISE), "mine"}
    (answered / EXERCISE).unlink()
    reset(answered, "06.padding_mask")
    assert cells_of(answered / EXERCISE) == cells_of(course / EXERCISE)


def test_an_answer_that_is_put_back_is_no_longer_passed(course, answered, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    for item in ("06.padding_mask", "06.causal_mask", "07.encoder_block"):
        note_checked(item, passed=True)
    reset(answered, "06.padding_mask")
    assert load_passed() == {"06.causal_mask", "07.encoder_block"}
    reset(answered, str(answered / EXERCISE))
    assert load_passed() == {"07.encoder_block"}


def test_a_lesson_and_its_exercise_are_put_back_by_their_number(
    course, answered, monkeypatch, capsys
):
    monkeypatch.setenv("COURSE_WORK", str(answered))
    monkeypatch.setattr(home, "COURSE", course)
    monkeypatch.setattr(folders, "NOTEBOOKS", course / "notebooks")
    for arguments, name in ((["6"], LESSON), (["06", "--exercise"], EXERCISE)):
        assert cli.main(["reset", *arguments]) == 0
        assert capsys.readouterr().out.startswith(f"{name} is as the course released it; yours is")
        assert cells_of(answered / name) == cells_of(course / name)
    assert cli.main(["reset", "07"]) == 1
    assert "the lessons are 06_masks" in capsys.readouterr().err


def test_an_items_number_may_have_one_digit(answered, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_WORK", str(answered))
    assert cli.main(["reset", "6.padding_mask"]) == 0
    printed = capsys.readouterr().out
    assert "06.padding_mask" in printed
    assert printed.endswith(f"{verbs.RELOAD_AND_RESTART}\n")


def test_the_name_of_an_item_without_its_number_gets_the_whole_id(answered, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_WORK", str(answered))
    names = Counter(item[3:] for item in TABLE)
    for item in (
        item for item in TABLE if names[item[3:]] == 1
    ):  # not "bug", of which there are many
        assert cli.main(["reset", item[3:]]) == 1
        assert f": did you mean {item}?" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["06.padding_mask", "padding_mask", "masks.ipynb"])
def test_the_option_exercise_goes_with_a_lesson_alone(answered, monkeypatch, capsys, what):
    monkeypatch.setenv("COURSE_WORK", str(answered))
    assert cli.main(["reset", what, "--exercise"]) == 1
    assert f"with a lesson's number, such as 06, got it with '{what}'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["notebooks/06_masks.ipynb", "06_masks.ipynb"])
def test_a_whole_notebook_is_put_back_wherever_one_is(course, answered, name, monkeypatch):
    monkeypatch.chdir(answered / "notebooks")
    reset(answered, name)
    assert cells_of(answered / LESSON) == cells_of(course / LESSON)


def test_an_item_is_put_back_without_another_whose_name_begins_alike(course, answered, monkeypatch):
    ids = ("06-pad-answer", "06-padding-mask-answer")
    monkeypatch.setitem(TABLE, "06.pad", TABLE["06.padding_mask"])
    for path in (course, answered, answered / ".course"):
        cells = [new_code_cell("# your code", id=name, metadata=ANSWER) for name in ids]
        write(path / EXERCISE, *cells)
    for name in ids:
        write_cell(answered / EXERCISE, name, "mine")
    reset(answered, "06.pad")
    assert cells_of(answered / EXERCISE) == {ids[0]: "# your code", ids[1]: "mine"}


def test_a_deleted_notebook_is_put_back_by_the_path_that_the_error_shows(
    course, answered, monkeypatch
):
    monkeypatch.chdir(course)
    for path in (answered / EXERCISE, EXERCISE):
        (answered / EXERCISE).unlink()
        assert reset(answered, str(path)) == f"{EXERCISE} is as the course released it"
        assert cells_of(answered / EXERCISE) == cells_of(course / EXERCISE)


@pytest.mark.skipif(os.name != "posix", reason="not everybody may make links on Windows")
def test_a_path_in_the_copy_is_known_through_a_link_to_its_folder(course, answered, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(answered)
    assert "06_masks.ipynb is as the course" in reset(link, str(answered / LESSON))
    assert "06_masks.ipynb is as the course" in reset(answered, str(link / LESSON))
    assert folders.path_inside(link / LESSON, course) is None


@pytest.mark.parametrize("what", ["06.nothing", "07", "notebooks", "docs/map.md", "../mine.ipynb"])
def test_what_cannot_be_reset_is_named(course, answered, what):
    with pytest.raises(
        CourseError, match=r"expected an item such as 06.padding_mask or a notebook"
    ):
        reset(answered, what)


def test_without_a_copy_nothing_is_reset(work):
    with pytest.raises(CourseError, match="found none: run `course lab`"):
        reset(work, "06.padding_mask")


def test_every_item_has_an_answer_cell_in_its_exercise():
    for item in TABLE:
        cells = nbformat.read(folders.COURSE / exercise_path(item), as_version=4).cells
        prefix = item.replace(".", "-").replace("_", "-") + "-"
        assert [c.id for c in cells if c.id.startswith(prefix) and work_copy.is_answer(c)], item


def test_the_copy_of_a_clone_is_ignored_by_git(monkeypatch):
    monkeypatch.delenv("COURSE_WORK", raising=False)
    work = folders.work_folder()
    assert work == folders.COURSE / "work"
    if shutil.which("git") and (folders.COURSE / ".git").exists():
        command = ["git", "-C", str(folders.COURSE), "check-ignore", "-q", "work/notebooks"]
        assert subprocess.run(command).returncode == 0


def test_without_a_clone_the_copy_is_in_the_home(monkeypatch):
    monkeypatch.delenv("COURSE_WORK", raising=False)
    monkeypatch.setattr(folders, "COURSE", folders.LIBRARY / "course")
    assert folders.work_folder() == Path.home() / "transformer-course"
    monkeypatch.setenv("COURSE_WORK", "~/mine")
    assert folders.work_folder() == Path.home() / "mine"


def test_the_commands_tell_what_they_did(course, work, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_WORK", str(work))
    monkeypatch.setattr(home, "COURSE", course)
    assert cli.main(["reset", "06.padding_mask"]) == 1
    assert "run `course lab`" in capsys.readouterr().err
    assert cli.main(["update"]) == 0
    assert cli.main(["update"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [verbs.RELOAD, "Nothing has changed."]
    write_cell(course / LESSON, "title", "# More masks")
    assert cli.main(["update"]) == 0
    before, *_, after = capsys.readouterr().out.splitlines()
    assert (before, after) == (verbs.SAVE, verbs.RELOAD)
    assert cli.main(["reset", "06.padding_mask"]) == 0
    assert f"yours is in {work}{os.sep}backup" in capsys.readouterr().out
    write_cell(work / LESSON, "title", "# My masks")
    write_cell(course / LESSON, "title", "# All masks")
    assert cli.main(["update"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("  below ")


def without_ids(path):
    """The notebook as Colab saves it."""
    notebook = json.loads(path.read_text())
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        del cell["id"]
    path.write_text(json.dumps(notebook))


def test_notebooks_from_before_cells_had_ids_are_merged_and_reset(course, answered):
    write_cell(course / LESSON, "title", "# Masks, again")
    write_cell(course / EXERCISE, "06-padding-mask-task", "Write it again.")
    for name in (LESSON, EXERCISE):
        without_ids(answered / name)
    update(answered, course)
    lesson = list(cells_of(answered / LESSON).values())
    assert lesson.count("# Masks, again") == 1 and "1 + 1" in lesson
    assert "def padding_mask(): ..." in cells_of(answered / EXERCISE).values()
    without_ids(answered / EXERCISE)
    reset(answered, "06.padding_mask")
    assert "def padding_mask(): ..." not in cells_of(answered / EXERCISE).values()


@pytest.mark.parametrize("nbgrader", [None, ["x"], {"grade_id": None}])
def test_metadata_of_another_form_stop_no_update_of_other_files(course, answered, nbgrader):
    notebook = json.loads((answered / LESSON).read_text())
    notebook["cells"][0]["metadata"]["nbgrader"] = nbgrader
    (answered / LESSON).write_text(json.dumps(notebook))
    write_cell(course / LESSON, "title", "# Masks, again")
    (course / PAGE).write_text("A new page")
    assert any("06_masks-new.ipynb" in line for line in update(answered, course))
    assert (answered / PAGE).read_text() == "A new page"


def test_what_is_no_file_where_one_should_be_is_named_and_waited_for_by_nobody(course, answered):
    (answered / PAGE).unlink()
    (answered / PAGE).mkdir()
    (course / PAGE).write_text("A new page")
    with pytest.raises(CourseError, match=r"map\.md, found a folder or a pipe: move it"):
        update(answered, course)
    if os.name == "posix":
        (answered / EXERCISE).unlink()
        os.mkfifo(answered / EXERCISE)
        with pytest.raises(CourseError, match="found a folder or a pipe: move it"):
            reset(answered, "06.padding_mask")


def files_in(folder):
    files = [path for path in [folder, *folder.rglob("*")] if path.is_file()]
    return {path: path.read_bytes() for path in files}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other links")
@pytest.mark.parametrize("name", [EXERCISE, EXERCISE.parent, ".course", "backup", LESSON.parent])
def test_nothing_behind_a_link_in_a_copy_is_deleted_or_overwritten(
    course, answered, tmp_path, name
):
    (answered / "backup").mkdir()
    theirs = tmp_path / "theirs"
    (answered / name).rename(theirs)
    (answered / name).symlink_to(theirs)
    before = files_in(theirs)
    write(course / EXERCISE, new_markdown_cell("New.", id="06-padding-mask-task"))
    (course / LESSON).rename(course / "notebooks" / "07_other.ipynb")
    with pytest.raises(CourseError, match="expected no link at .*Put there what it leads to"):
        update(answered, course)
    if name in (".course", LESSON.parent):  # where a reset of the exercise writes nothing
        assert reset(answered, "06.padding_mask").startswith("06.padding_mask in ")
    else:
        with pytest.raises(CourseError, match="expected no link at"):
            reset(answered, "06.padding_mask")
    assert files_in(theirs) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has other links")
def test_nothing_is_written_behind_a_link_among_the_backups(
    course, answered, tmp_path, monkeypatch
):
    monkeypatch.setattr(work_copy.time, "strftime", lambda form: "now")
    (answered / "backup" / "now").mkdir(parents=True)
    (tmp_path / "theirs").mkdir()
    (answered / "backup" / "now" / "exercises").symlink_to(tmp_path / "theirs")
    with pytest.raises(CourseError, match="expected no link at .*now/exercises"):
        reset(answered, "06.padding_mask")
    assert files_in(tmp_path / "theirs") == {}


def test_a_reset_that_cannot_be_says_what_can(course, answered):
    (answered / EXERCISE).write_text("no notebook")
    with pytest.raises(CourseError, match="put all of it back with `course reset exercises"):
        reset(answered, "06.padding_mask")
    (answered / ".course" / EXERCISE).write_text("no notebook")
    with pytest.raises(CourseError, match=r"delete .*\.course and run `course update`"):
        reset(answered, "06.padding_mask")
    for _ in range(2):  # the release has the notebook without the item, and has no such notebook
        write(answered / ".course" / EXERCISE, new_code_cell("other", id="06-other-answer"))
        with pytest.raises(CourseError, match="is older than this item, so run `course update`"):
            reset(answered, "06.padding_mask")
        (answered / ".course" / EXERCISE).unlink()
    shutil.rmtree(answered / ".course")
    (answered / ".course").mkdir()
    with pytest.raises(CourseError, match="delete that folder and run `course update`"):
        update(answered, course)
