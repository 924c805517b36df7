"""Reading files that anybody may have written."""

import json
import os
import re
import tracemalloc
import zipfile

import pytest

from course_lib.grading.class_run.grade import read_hand_in
from course_lib.grading.submissions import own_modules, submission
from course_lib.grading.submissions.submission import (
    SubmissionError,
    find_notebooks,
    read_submission,
)
from course_lib.grading.submissions.transplant import CodeCell


def refused(path, *words):
    with pytest.raises(SubmissionError) as error:
        read_submission(path)
    for word in (path.name, *words):
        assert word in str(error.value)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "real.ipynb").write_text('{"cells": []}')
    (tmp_path / "link.ipynb").symlink_to("real.ipynb")
    refused(tmp_path / "link.ipynb", "got a link", "ask for the notebook itself")


def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    refused(tmp_path / "pipe.ipynb", "got a folder, a pipe or a device")


def test_a_folder_or_a_device_is_no_notebook(tmp_path):
    refused(tmp_path, "got a folder")
    with pytest.raises(SubmissionError, match="got a folder, a pipe or a device"):
        submission.read_regular_file(submission.Path("/dev/zero"))


def test_a_missing_file_is_named(tmp_path):
    refused(tmp_path / "none.ipynb", "could not read", "is it there")


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path):
    with open(tmp_path / "large.ipynb", "wb") as file:
        file.truncate(submission.MOST_BYTES + 1)
    refused(tmp_path / "large.ipynb", "more than 20 MB", "Clear Outputs")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "was it cut off"),
        ('{"cells": [', "was it cut off"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "got list"),
        ("3", "got int"),
        ("{}", "got no cells"),
        ('{"cells": 3}', "got int"),
        ('{"cells": null, "worksheets": 3}', "got no cells"),
        ('{"cells": [' + ",".join(["{}"] * 2001) + "]}", "at most 2000 cells"),
        ('{"a": ' + "9" * 5000 + "}", "was it cut off"),
    ],
)
def test_what_is_no_notebook_is_refused_in_a_sentence(text, words, tmp_path):
    (tmp_path / "x.ipynb").write_text(text)
    refused(tmp_path / "x.ipynb", words)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "x.ipynb").write_bytes(b"\xff\xfe\x00\xd8")
    refused(tmp_path / "x.ipynb", "is it another kind of file")


@pytest.mark.parametrize(("source", "read"), [("\ud800", "?"), ("\ufeffx = 1\r\n", "x = 1\n")])
def test_broken_characters_are_replaced_and_a_byte_order_mark_is_dropped(tmp_path, source, read):
    cell = {"cell_type": "code", "source": source}
    (tmp_path / "x.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert read_submission(tmp_path / "x.ipynb").cells[0].source == read


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(SubmissionError, match="got none. Was the folder handed in empty"):
        find_notebooks(tmp_path, "06_masks")


def test_something_else_than_a_folder_is_named(tmp_path):
    (tmp_path / "student").write_text("")
    with pytest.raises(SubmissionError, match="put each student's work in a folder of its own"):
        find_notebooks(tmp_path / "student", "06_masks")


def test_a_folder_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "masks.ipynb").write_text("")
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "whole").symlink_to(tmp_path / "other")
    for name in ("student", "whole"):
        with pytest.raises(SubmissionError):
            find_notebooks(tmp_path / name, "06_masks")


def test_an_archive_is_to_be_unpacked_and_a_renamed_document_is_called_one(tmp_path):
    for name in ("ana.zip", "ben.ipynb"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(SubmissionError, match="got an archive: unpack it into a folder"):
        find_notebooks(tmp_path / "ana.zip", "06_masks")
    refused(tmp_path / "ben.ipynb", "got a zip archive or a Word document", "was it renamed?")


def test_too_many_notebooks_are_refused(tmp_path):
    for number in range(51):
        (tmp_path / f"{number}.ipynb").write_text("")
    with pytest.raises(SubmissionError, match="at most 50 notebooks"):
        find_notebooks(tmp_path, "06_masks")


def test_notebooks_that_are_too_large_together_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "MOST_BYTES_IN_ALL", 3 << 20)
    for number in range(4):
        (tmp_path / f"{number}.ipynb").write_bytes(b" " * (1 << 20))
    with pytest.raises(SubmissionError, match="at most 3 MB of notebooks in .*, got 4: are large"):
        find_notebooks(tmp_path, "06_masks")


def test_of_many_modules_beside_a_notebook_few_are_read(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(
        own_modules, "read_regular_file", lambda path, **_: read.append(path) or b"x = 1"
    )
    names = [f"m{number:03}" for number in range(300)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("x = 1")
    source = "\n".join(f"import {name}\n{name}.y" for name in names)
    found = own_modules.own_modules([CodeCell("own", source)], [tmp_path])
    assert (len(found), len(read)) == (5, 50)


@pytest.mark.slow
def test_of_many_notebooks_only_the_best_is_kept_in_memory(tmp_path, notebook, masks):
    notebook["cells"].append({"cell_type": "code", "source": "#" * (1 << 20), "metadata": {}})
    text = json.dumps(notebook)
    for number in range(20):
        (tmp_path / f"{number}.ipynb").write_text(text)
        (tmp_path / f"broken_{number}.ipynb").write_text(text[:-1])
    tracemalloc.start()
    handed_in = read_hand_in(tmp_path, masks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 << 20  # 20 MB are set aside for reading any file
    assert handed_in.path.name == "19.ipynb"
    assert len(handed_in.notes) == 21


def test_the_folder_of_another_assignment_does_not_count(tmp_path):
    for name in ("06 Masks", "07_blocks", "more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.ipynb").write_text("")
    more = tmp_path / "more" / "x.ipynb"
    assert find_notebooks(tmp_path, "06_masks") == [tmp_path / "06 Masks" / "x.ipynb", more]
    assert find_notebooks(tmp_path, "05_attention_einsum") == [more]


def test_what_may_hold_a_notebook_and_is_not_read_is_named(tmp_path, masks, notebook):
    deep = "a/b/c/d/e/f/g"
    for name in (deep, "07_blocks/a", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        "masks.zip",
        "07_blocks/a/Masks.ipynb",
        "07_blocks/blocks-2.ipynb",
        ".hidden/x.7z",
    ):
        (tmp_path / name).write_text("")
    found = (
        f'Not read: "07_blocks/a/Masks.ipynb" (in a folder 07_blocks); "{deep}" (too many folders '
        'deep); "masks.zip" (unpack it).'
    )
    with pytest.raises(SubmissionError, match=re.escape(f"got none. {found} Was")):
        find_notebooks(tmp_path, "06_masks")
    (tmp_path / "a/b/c/d/e/f/masks.ipynb").write_text(json.dumps(notebook))
    assert read_hand_in(tmp_path, masks).notes == (found,)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("masks.ipynb.txt", "another ending"),
        ("masks.ipynb (1)", "another ending"),
        ("masks.ipynb ", "another ending"),
        ("mine.ipynb.json", "another ending"),
        ("masks.py", "another ending"),
        ("06_masks.html", "another ending"),
        (".masks.ipynb", "begins with a dot"),
        ("linked", "a link"),
    ],
)
def test_a_file_that_may_be_the_notebook_is_named_beside_a_blank_one(
    name, reason, tmp_path, masks, notebook
):
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "masks.ipynb").write_text(json.dumps(notebook))
    for harmless in ("._masks.ipynb", "timestamp.txt", "notes.md"):
        (folder / harmless).touch()
    assert read_hand_in(folder, masks).notes == ()
    if name == "linked":
        (folder / name).symlink_to(tmp_path / "elsewhere")
    else:
        (folder / name).touch()
    [note] = read_hand_in(folder, masks).notes
    assert note.startswith(f'Not read: "{name}" (') and reason in note


@pytest.mark.parametrize("inner", ["06_masks/06_masks", "06_masks (1)/06_masks", "all/06_masks"])
def test_a_folder_of_the_assignment_is_found_in_any_folder(inner, tmp_path):
    (tmp_path / inner).mkdir(parents=True)
    (tmp_path / inner / "masks.ipynb").write_text("")
    assert find_notebooks(tmp_path, "06_masks") == [tmp_path / inner / "masks.ipynb"]


def test_a_notebook_can_stand_for_a_folder(tmp_path):
    (tmp_path / "ana.ipynb").write_text("")
    assert find_notebooks(tmp_path / "ana.ipynb", "06_masks") == [tmp_path / "ana.ipynb"]
