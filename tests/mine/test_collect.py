"""Answers that pass are collected from the notebooks; whatever is wrong is reported."""

import json
import shutil

import pytest

from course_lib import mine
from course_lib.mine.collect import collect
from course_lib.model import MultiHeadAttention, padding_mask

MASK = (
    "def padding_mask(tokens, pad_id):\n    return (tokens != pad_id)[:, None, None, :]  # mine\n"
)
LEARNERS_FILE = "lesson_06_masks.py"


def test_an_answer_that_passes_is_collected_and_another_is_not(work):
    work.answer("06.padding_mask", MASK)
    work.answer("06.causal_mask", "def causal_mask(size):\n    return 3\n")
    found = collect(work.folder)
    assert found.own == {"06.padding_mask": "padding_mask"}
    assert "the test “" in found.why_not("06.causal_mask")
    assert found.why_not("04.multi_head_attention") == "it isn't written yet"
    assert "# mine" in (work.folder / "mine" / LEARNERS_FILE).read_text()
    library = found.library()
    assert library.part("padding_mask") is not padding_mask
    assert library.part("MultiHeadAttention") is MultiHeadAttention


def test_a_notebook_is_checked_again_only_when_it_changes(work):
    work.answer("06.padding_mask", MASK)
    told = []
    collect(work.folder, tell=told.append)
    collect(work.folder, tell=told.append)
    assert len(told) == 1
    work.answer("06.padding_mask", MASK + "\n")
    collect(work.folder, tell=told.append)
    assert len(told) == 2


def test_an_answer_that_no_longer_passes_gives_way_to_the_courses(work):
    work.answer("06.padding_mask", MASK)
    collect(work.folder)
    work.answer("06.padding_mask", MASK.replace("!=", "=="))
    found = collect(work.folder)
    assert found.own == {}
    assert "it doesn't pass any more" in found.why_not("06.padding_mask")
    assert not (work.folder / "mine" / LEARNERS_FILE).exists()


def test_a_file_that_was_edited_is_kept_beside_the_new_one(work):
    work.answer("06.padding_mask", MASK)
    collect(work.folder)
    file = work.folder / "mine" / LEARNERS_FILE
    written = file.read_text()
    file.write_text("hours of work")
    (remark,) = collect(work.folder).lessons["06"].remarks
    assert "put your change into the notebook" in remark.lower()
    assert file.read_text() == written
    assert file.with_name("lesson_06_masks.edited.py").read_text() == "hours of work"


def test_what_only_the_kernel_or_a_file_of_the_learners_has_is_refused(work):
    work.answer("06.padding_mask", MASK.replace("tokens !=", "elsewhere(tokens) !="))
    work.answer(
        "06.causal_mask", "from triangles import triangle\ndef causal_mask(n): return triangle(n)"
    )
    (work.notebook("06").parent / "triangles.py").write_text("def triangle(n): return 1")
    found = collect(work.folder)
    assert found.own == {}
    assert "triangles, a file of yours" in found.why_not("06.causal_mask")


def test_code_that_ends_or_hangs_a_program_is_no_part(work):
    work.answer("06.padding_mask", "import sys\ndef padding_mask(*_):\n    sys.exit('bye')\n")
    work.answer("06.causal_mask", "raise SystemExit\ndef causal_mask(*_): ...\n")
    found = collect(work.folder)
    assert found.own == {}


def test_a_notebook_that_hangs_or_ends_outside_of_its_answers_is_no_part(work, monkeypatch):
    monkeypatch.setattr("course_lib.mine.collect.SECONDS", 0.5)
    loop = "n = 0\nwhile n >= 0:\n    n += 1\n"
    work.answer("06.padding_mask", loop + MASK.replace("pad_id)[", "pad_id + 0 * n)["))
    work.answer("06.causal_mask", "import sys\nsize = sys.exit()\ndef causal_mask(_): return size")
    found = collect(work.folder)
    assert found.own == {}
    assert "TookTooLong" in found.why_not("06.padding_mask")
    assert "SystemExit" in found.why_not("06.causal_mask")


def test_the_courses_own_code_is_no_part(work):
    work.answer("06.padding_mask", "from course_lib.model import padding_mask\n")
    assert "the course's own code" in collect(work.folder).why_not("06.padding_mask")


def test_a_second_notebook_a_damaged_one_and_a_missing_one_lose_nothing(work):
    work.answer("06.padding_mask", MASK)
    notebook = work.notebook("06")
    shutil.copy(notebook, notebook.with_name("masks-Copy1.ipynb"))
    (remark,) = collect(work.folder).lessons["06"].remarks
    assert "masks-Copy1.ipynb" in remark
    whole = notebook.read_bytes()
    notebook.write_bytes(whole[:500])
    found = collect(work.folder)
    assert found.own == {"06.padding_mask": "padding_mask"}
    assert any("JSON" in remark for remark in found.lessons["06"].remarks)
    notebook.unlink()
    found = collect(work.folder)
    assert found.own == {"06.padding_mask": "padding_mask"}
    assert any("isn't there" in remark for remark in found.lessons["06"].remarks)


@pytest.mark.parametrize("text", ["", "[]", '{"lessons": 3}', '{"lessons": {"06": {"own": []}}}'])
def test_a_damaged_record_only_costs_time(work, text):
    work.answer("06.padding_mask", MASK)
    collect(work.folder)
    (work.folder / "mine" / "parts.json").write_text(text)
    assert collect(work.folder).own == {"06.padding_mask": "padding_mask"}


def test_after_an_update_of_the_course_everything_is_checked_again(work, monkeypatch):
    work.answer("06.padding_mask", MASK)
    collect(work.folder)
    monkeypatch.setattr("course_lib.mine.collect.checks_hash", lambda: "another")
    told = []
    assert collect(work.folder, tell=told.append).own == {"06.padding_mask": "padding_mask"}
    assert len(told) == 1
    stored = json.loads((work.folder / "mine" / "parts.json").read_text())
    assert stored["checks"] == "another"


def test_in_a_copy_of_the_course_an_import_gives_the_learners_part(work, monkeypatch, capsys):
    work.answer("06.padding_mask", MASK)
    monkeypatch.chdir(work.notebook("06").parent)
    assert mine.padding_mask is not padding_mask
    assert mine.padding_mask is mine.padding_mask
    assert mine.MultiHeadAttention is MultiHeadAttention
    assert "Checking what masks.ipynb answers" in capsys.readouterr().out


def test_elsewhere_it_gives_the_courses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mine.padding_mask is padding_mask
    with pytest.raises(AttributeError, match="expected one of"):
        mine.paddings  # noqa: B018
    assert "Encoder" in dir(mine)
