"""What the names of files say: which copy counts, and which modules a notebook lacks."""

from pathlib import PurePath

import pytest

from course_lib.grading.submissions.own_modules import own_modules
from course_lib.grading.submissions.transplant import CodeCell
from course_lib.grading.submissions.which_copy import sort_key


@pytest.mark.parametrize("name", ["masks ².ipynb", "②/masks.ipynb", "masks (٣).ipynb", "½.ipynb"])
def test_digits_of_any_script_can_be_sorted(name):
    first, second = (
        sort_key(PurePath(each), "masks", assignment="06_masks") for each in ("masks.ipynb", name)
    )
    assert first != second


def test_a_long_word_is_searched_once_for_files_it_names(tmp_path):
    (tmp_path / "layers.py").write_text("")
    cell = CodeCell("cell 1", f"data = '{'a' * 400_000}'\n%run layers.py")
    assert own_modules([cell], [tmp_path]) == ("layers.py",)


def test_what_is_installed_is_no_module_of_ones_own(tmp_path):
    for name in ("course_lib", "torch", "json", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "masks.py").write_text("")
    cell = CodeCell("cell 1", "import json, own, torch\nfrom course_lib.model import masks")
    assert own_modules([cell], [tmp_path]) == ("own",)


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("import mine\nfrom mine import answers", False),
        ("from mine import (answers as real)", False),
        ("import mine\nmine.answers()", False),
        ("import mine", True),
        ("from mine import *", True),
        ("import mine as m\nmine.answers", True),
        ("from mine import (answers,\n    real)", True),
        ("import mine\nmine.real()", True),
        ("from mine import answers\n%run mine.py", True),
    ],
)
def test_a_file_without_the_names_that_are_taken_from_it_is_not_needed(source, needed, tmp_path):
    (tmp_path / "mine.py").write_text("def real(): ...")
    assert bool(own_modules([CodeCell("cell 1", source)], [tmp_path])) is needed
