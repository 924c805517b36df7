"""A new release and a learner's copy become one notebook, and nothing that was written is lost."""

import random

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib.work_copy.merge import merge


def notebook(text):
    """A notebook written as "name=source name*=an answer name!=locked", cell by cell."""
    cells = []
    for part in text.split():
        name, source = part.split("=")
        metadata = {}
        if name.endswith("*"):
            metadata = {"nbgrader": {"grade_id": name[:-1], "solution": True}, "deletable": False}
        if name.endswith("!"):
            metadata = {"deletable": False, "editable": False}
        cells.append(new_code_cell(source, id=name.rstrip("*!"), metadata=metadata))
    return new_notebook(cells=cells)


def text_of(merged):
    return " ".join(f"{cell.id}={cell.source}" for cell in merged.notebook.cells)


BASE = "title!=T intro=I answer*=todo check!=C next=N"
HISTORIES = {  # the new release, the learner's copy, what becomes of them
    "nothing happened": (BASE, BASE, "title=T intro=I answer=todo check=C next=N"),
    "an answer, no change": (
        BASE,
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T intro=I answer=mine check=C next=N",
    ),
    "an answer, and another text": (
        "title!=T2 intro=I answer*=todo check!=C next=N2",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T2 intro=I answer=mine check=C next=N2",
    ),
    "an answer, and another start": (
        "title!=T intro=I answer*=todo2 check!=C next=N",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T intro=I answer=mine check=C next=N",
    ),
    "no answer yet, and another start": (
        "title!=T intro=I answer*=todo2 check!=C next=N",
        BASE,
        "title=T intro=I answer=todo2 check=C next=N",
    ),
    "a new cell": (
        "title!=T intro=I new=W answer*=todo check!=C next=N",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T intro=I new=W answer=mine check=C next=N",
    ),
    "a new item at the end": (
        "title!=T intro=I answer*=todo check!=C second*=todo check-2!=C next=N",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T intro=I answer=mine check=C second=todo check-2=C next=N",
    ),
    "the learner's own cell": (
        "title!=T intro=I2 answer*=todo check!=C next=N",
        "title!=T intro=I answer*=mine try=print check!=C next=N",
        "title=T intro=I2 answer=mine try=print check=C next=N",
    ),
    "own cells at both ends": (
        "title!=T2 intro=I answer*=todo check!=C next=N",
        "first=x title!=T intro=I answer*=todo check!=C next=N last=y",
        "first=x title=T2 intro=I answer=todo check=C next=N last=y",
    ),
    "an experiment in a lesson": (
        "title!=T intro=I answer*=todo check!=C next=N2",
        "title!=T intro=I,more answer*=todo check!=C next=N",
        "title=T intro=I,more answer=todo check=C next=N2",
    ),
    "both changed a cell": (
        "title!=T intro=I2 answer*=todo check!=C next=N",
        "title!=T intro=I,more answer*=mine check!=C next=N",
        "title=T intro=I2 yours-intro=I,more answer=mine check=C next=N",
    ),
    "both changed it alike": (
        "title!=T intro=I2 answer*=todo check!=C next=N",
        "title!=T intro=I2 answer*=todo check!=C next=N",
        "title=T intro=I2 answer=todo check=C next=N",
    ),
    "the learner deleted a cell": (
        "title!=T intro=I answer*=todo check!=C next=N2",
        "title!=T answer*=mine check!=C next=N",
        "title=T answer=mine check=C next=N2",
    ),
    "the learner deleted a cell that the course changed": (
        "title!=T intro=I2 answer*=todo check!=C next=N",
        "title!=T answer*=mine check!=C next=N",
        "title=T intro=I2 answer=mine check=C next=N",
    ),
    "the learner deleted an answer and its check": (
        "title!=T2 intro=I answer*=todo check!=C next=N",
        "title!=T intro=I next=N",
        "title=T2 intro=I answer=todo check=C next=N",
    ),
    "the course dropped a cell": (
        "title!=T answer*=todo check!=C next=N",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T answer=mine check=C next=N",
    ),
    "the course dropped an item that was answered": (
        "title!=T intro=I next=N",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T intro=I yours-answer=mine next=N",
    ),
    "the course renamed an item": (
        "title!=T intro=I other*=todo other-check!=C next=N",
        "title!=T intro=I answer*=mine check!=C next=N",
        "title=T intro=I other=mine other-check=C next=N",
    ),
    "the course moved a cell": (
        "title!=T answer*=todo check!=C intro=I next=N",
        "title!=T intro=I answer*=mine try=print check!=C next=N",
        "title=T answer=mine try=print check=C intro=I next=N",
    ),
    "the learner moved a cell": (
        "title!=T2 intro=I answer*=todo check!=C next=N",
        "title!=T answer*=mine check!=C intro=I next=N",
        "title=T2 answer=mine check=C intro=I next=N",
    ),
    "both moved cells": (
        "title!=T next=N intro=I answer*=todo check!=C",
        "title!=T answer*=mine check!=C intro=I next=N mine=m",
        "title=T next=N mine=m intro=I answer=mine check=C",
    ),
    "all at once": (
        "title!=T2 new=W answer*=todo2 check!=C2 intro=I2",
        "title!=T intro=I,more try=1 answer*=mine check!=C next=N,more",
        "title=T2 new=W answer=mine check=C2 yours-next=N,more intro=I2 yours-intro=I,more try=1",
    ),
}
RENAMED = {"answer": "other", "check": "other-check"}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history(name):
    theirs, mine, expected = HISTORIES[name]
    merged = merge(
        notebook(BASE), notebook(theirs), mine=notebook(mine), new_id=lambda i: RENAMED.get(i, i)
    )
    assert text_of(merged) == expected
    nbformat.validate(merged.notebook)


def test_the_course_decides_what_is_an_answer_and_what_is_locked():
    theirs, mine, _ = HISTORIES["both changed a cell"]
    merged = merge(notebook(BASE), notebook(theirs), mine=notebook(mine))
    cells = {cell.id: cell for cell in merged.notebook.cells}
    assert cells["answer"].metadata.nbgrader.solution
    assert not cells["check"].metadata.editable
    assert "deletable" not in cells["yours-intro"].metadata
    assert merged.kept == 2
    assert merged.remarks == (
        "the cell that begins with 'I2': you and the course changed it; yours comes after the "
        "course's",
    )


def test_a_remark_names_a_cell_by_the_heading_above_it():
    base, theirs, mine = (notebook("task=x code=1 gone=2") for _ in range(3))
    for copy in (base, theirs, mine):
        copy.cells[0] = new_markdown_cell(
            "## Q6b. Padding\n\n```python\n# no heading\n```", id="task"
        )
    theirs.cells[1].source, mine.cells[1].source = "one = 1", "# what I tried\nmine = 1"
    theirs.cells.pop()
    mine.cells[2].source = "\nlonger = 2"
    assert merge(base, theirs, mine=mine).remarks == (
        "below 'Q6b. Padding', the cell that begins with 'one = 1': you and the course changed it; "
        "yours comes after the course's",
        "below 'Q6b. Padding', the cell that begins with 'longer = 2': the course has dropped this "
        "cell; yours was kept",
    )
    theirs.cells.pop(0)
    mine.cells[0].source = " \n"
    assert merge(base, theirs, mine=mine).remarks[0].startswith("an empty cell: the course has")


def test_outputs_of_what_was_run_stay_and_others_are_the_courses():
    base, theirs, mine = (notebook("ran=1 new=2 old=3") for _ in range(3))
    for number, copy in enumerate((base, theirs, mine)):
        for cell in copy.cells:
            cell.outputs = [nbformat.v4.new_output("stream", text=f"release {min(number, 1)}")]
    mine.cells[0].outputs[0].text = "what I saw"
    for cell in mine.cells[1:]:
        cell.outputs[0].text = "release 0"
    merged = merge(base, theirs, mine=mine).notebook.cells
    assert [cell.outputs[0].text for cell in merged] == ["what I saw", "release 1", "release 1"]


def test_cells_without_their_ids_are_known_by_nbgraders_name():
    mine = notebook("title!=T intro=I answer*=mine check!=C next=N")
    mine.cells[2].id = "1a2b3c"
    merged = merge(notebook(BASE), notebook(BASE), mine=mine)
    assert "answer=mine check" in text_of(merged)


def test_a_second_update_changes_nothing():
    for theirs, mine, _ in HISTORIES.values():
        new = notebook(theirs)
        once = merge(notebook(BASE), new, mine=notebook(mine), new_id=lambda i: RENAMED.get(i, i))
        again = merge(new, new, mine=once.notebook)
        assert text_of(again) == text_of(once)
        interrupted = merge(notebook(BASE), new, mine=once.notebook)
        assert text_of(interrupted) == text_of(once)


@pytest.mark.parametrize("seed", range(200))
def test_nothing_that_was_written_is_lost_whatever_happened(seed):
    draw = random.Random(seed)
    base = notebook(BASE)
    theirs, mine = (changed(base, draw, who) for who in ("course", "learner"))
    merged = merge(base, theirs, mine=mine)
    nbformat.validate(merged.notebook)
    sources = [cell.source for cell in merged.notebook.cells]
    ids = [cell.id for cell in merged.notebook.cells]
    assert len({*ids}) == len(ids)
    written = {cell.source for cell in mine.cells if cell.source.startswith("learner")}
    assert written <= {*sources}
    released = {cell.id: cell.source for cell in theirs.cells}
    answers = {cell.id for cell in theirs.cells if "nbgrader" in cell.metadata}
    new = {text for i, text in released.items() if i not in answers and text.startswith("course")}
    assert new <= {*sources}


def changed(base, draw, who):
    """A notebook after some edits, additions, deletions and moves by one of the two."""
    new = notebook(BASE)
    for count in range(draw.randrange(12)):
        if not new.cells:
            break
        index = draw.randrange(len(new.cells))
        match draw.choice(["edit", "add", "delete", "move"]):
            case "edit":
                new.cells[index].source = f"{who} {count}"
            case "add":
                new.cells.insert(index, new_code_cell(f"{who} {count}", id=f"{who}-{count}"))
            case "delete":
                del new.cells[index]
            case "move":
                new.cells.insert(draw.randrange(len(new.cells)), new.cells.pop(index))
    return new
