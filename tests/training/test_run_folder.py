import re
import sys
from types import SimpleNamespace

import pytest

from course_lib.cli import main
from course_lib.errors import CourseError
from course_lib.training import run_folder
from course_lib.training.checkpoint import PRETRAINED
from course_lib.training.run_folder import locked_run_folder
from tests.training.test_loop import interrupt_at

fcntl = pytest.importorskip("fcntl", reason="Windows has no such lock")


def test_a_folder_in_which_another_process_trains_is_refused_until_it_ends(at_home, capsys):
    with locked_run_folder(at_home / "run", resume=False):
        for resume in ([], ["--resume"]):
            assert main(["train", "toy", "--out", "run", *resume]) == 1
            error = capsys.readouterr().err
            assert "expected run for this run alone, but another process trains there" in error
    assert main(["train", "toy", "--out", "run", "--max-steps", "1"]) == 0


def test_a_stopped_run_of_minutes_is_told_without_a_number_of_steps(at_home, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        assert main(["train", "toy", "--minutes", "1"]) == 130
    assert "Stopped after step 2; nothing is lost" in capsys.readouterr().out
    assert main(["train", "toy", "--minutes", "1"]) == 1
    assert "was stopped at step 2: go on with --resume" in capsys.readouterr().err


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_damaged_or_foreign_run_is_neither_continued_nor_overwritten(at_home, capsys, resume):
    assert main(["train", "toy", "--out", "run", "--max-steps", "2"]) == 0
    last, best = (at_home / "run" / f"{name}.safetensors" for name in ("last", "best"))
    whole = last.read_bytes()
    for content, message in (
        (whole[: len(whole) // 2], "whole checkpoint .*: was it cut off .*copied[?] Delete it to"),
        (best.read_bytes(), "got a checkpoint that can only translate: was best.* Delete it to"),
        (PRETRAINED.read_bytes(), "that can only translate: .* another folder with --out"),
    ):
        last.write_bytes(content)
        capsys.readouterr()
        assert main(["train", "toy", "--out", "run", "--max-steps", "2", *resume]) == 1
        error = capsys.readouterr().err
        assert re.search(message, error) and error.count("\n") == 1
        assert last.read_bytes() == content


def test_half_a_file_of_a_killed_run_is_cleared_away(tmp_path):
    draft = tmp_path / ".saving-x" / "last.safetensors"
    draft.parent.mkdir()
    draft.write_bytes(b"half")
    with locked_run_folder(tmp_path, resume=False):
        assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(CourseError, match="could not write to .*file/run.*is a file in the way"),
        locked_run_folder(tmp_path / "file" / "run", resume=False),
    ):
        pytest.fail("locked_run_folder")


def test_of_several_processes_only_the_first_claims_the_folder(tmp_path, monkeypatch):
    with locked_run_folder(tmp_path, resume=False):
        monkeypatch.setattr(run_folder, "rank", lambda: 1)
        with locked_run_folder(tmp_path, resume=False):
            pass


def test_a_system_without_locks_trains_without_them(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        with locked_run_folder(tmp_path, resume=False), locked_run_folder(tmp_path, resume=False):
            pass

    def no_lock(handle, kind):
        raise OSError(37, "No locks available")

    network = SimpleNamespace(flock=no_lock, LOCK_EX=fcntl.LOCK_EX, LOCK_NB=fcntl.LOCK_NB)
    monkeypatch.setitem(sys.modules, "fcntl", network)
    with locked_run_folder(tmp_path, resume=False), locked_run_folder(tmp_path, resume=False):
        pass
