import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib import atomic
from course_lib.errors import CourseError


@pytest.mark.skipif(os.name != "posix", reason="Windows has other pipes and links")
def test_what_is_no_file_is_written_to_and_a_link_stays_a_link(tmp_path):
    atomic.write_atomically(Path(os.devnull), "text")
    assert Path(os.devnull).is_char_device()
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    for text in ("first", "second"):
        atomic.write_atomically(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far" / "file").read_text() == text
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    atomic.write_atomically(tmp_path / "pipe", "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    with pytest.raises(CourseError, match="could not write .*far .*directory"):
        atomic.write_atomically(tmp_path / "far", "text")


def test_a_write_that_stops_half_way_leaves_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "text"
    atomic.write_atomically(path, "old")

    def stop(draft, path):
        assert draft.read_text() == "new" and path.read_text() == "old"
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        atomic.write_atomically(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["text"]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path):
    path = tmp_path / "text"
    atomic.write_atomically(path, "first")
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode
    path.chmod(0o640)
    atomic.write_atomically(path, "second")
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="Windows opens no folders")
def test_the_file_is_on_the_disk_before_its_name_is_and_the_name_before_the_end(
    tmp_path, monkeypatch
):
    done, opened = [], {}

    def note_open(path, *flags):
        descriptor = os.open(path, *flags)
        opened[descriptor] = Path(path).name
        return descriptor

    def note_replace(draft, path):
        done.append(("replace", path.name))
        os.replace(draft, path)

    watched = SimpleNamespace(**vars(os))
    watched.open, watched.replace = note_open, note_replace
    watched.fsync = lambda descriptor: done.append(("fsync", opened[descriptor]))
    monkeypatch.setattr(atomic, "os", watched)
    atomic.write_atomically(tmp_path / "text", "new")
    assert done == [("fsync", "text"), ("replace", "text"), ("fsync", tmp_path.name)]
