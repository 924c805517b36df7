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


def test_a_growing_file_replaces_the_older_one_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "out.txt"
    with atomic.grow_atomically(path) as write:
        for text in ("Größe\n", "b\n"):
            write(text)
            assert atomic.part_of(path).read_text("utf-8").endswith(text)
        assert not path.exists()
    assert path.read_text("utf-8") == "Größe\nb\n"
    assert list(path.parent.iterdir()) == [path]


def test_what_fails_half_way_leaves_the_older_file_and_its_own_part(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic.grow_atomically(path) as write:
        write("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert atomic.part_of(path).read_text() == "half"


@pytest.mark.skipif(os.name == "nt", reason="links and modes are those of POSIX")
def test_a_growing_file_keeps_links_and_modes(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic.grow_atomically(link) as write:
        write("new")
    assert link.is_symlink() and target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no /dev")
def test_a_device_is_written_directly():
    with atomic.grow_atomically(Path("/dev/null")) as write:
        write("x")
    assert not Path("/dev/null.part").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_a_full_disk_is_named_with_the_file():
    with (
        pytest.raises(CourseError, match="could not write /dev/full .*No space left"),
        atomic.grow_atomically(Path("/dev/full")) as write,
    ):
        write("x")


def test_a_file_grows_for_one_process_alone(tmp_path):
    pytest.importorskip("fcntl", reason="Windows has no such lock")
    path = tmp_path / "text"
    with atomic.grow_atomically(path) as write:
        write("mine")
        with (
            pytest.raises(CourseError, match="another one is writing it"),
            atomic.grow_atomically(path),
        ):
            pass
        write(" alone")
    assert path.read_text() == "mine alone" and os.listdir(tmp_path) == ["text"]


def test_what_an_earlier_process_left_of_a_growing_file_is_begun_anew(tmp_path):
    atomic.part_of(tmp_path / "text").write_text("left by a killed process")
    with atomic.grow_atomically(tmp_path / "text") as write:
        write("new")
    assert (tmp_path / "text").read_text() == "new"


def test_a_folder_or_a_file_in_the_way_is_the_likely_cause(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for path, cause in (
        ("folder", "is it the name of a folder"),
        ("file/x", "is a file in the way"),
    ):
        with pytest.raises(CourseError, match=cause):
            atomic.write_atomically(tmp_path / path, "text")


@pytest.mark.skipif(os.name == "nt", reason="Windows has other limits, and no such names")
def test_a_name_that_is_too_long_is_named_without_its_control_characters(tmp_path):
    with pytest.raises(CourseError, match=r"is a name in it too long\?") as error:
        atomic.write_atomically(tmp_path / ("\x1b[2J" + "x" * 300), "text")
    assert str(error.value).isprintable() and r"\x1b[2J" in str(error.value)


def test_half_a_character_is_written_as_a_question_mark(tmp_path):
    atomic.write_atomically(tmp_path / "a.txt", "a\ud800b")
    with atomic.grow_atomically(tmp_path / "b.txt") as write:
        write("a\ud800b")
    assert [(tmp_path / name).read_bytes() for name in ("a.txt", "b.txt")] == [b"a?b", b"a?b"]
