import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib import atomic
from course_lib.errors import CourseError


@pytest.mark.skipif(os.name != "posix", reason="Windows has other pipes and links")
def test_what_is_no_file_is_written_to_and_a_link_that_was_named_stays_a_link(tmp_path):
    atomic.write_atomically(Path(os.devnull), "text")
    assert Path(os.devnull).is_char_device()
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    for text in ("first", "second"):
        atomic.write_atomically(tmp_path / "link", text, through_link=True)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far" / "file").read_text() == text
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    atomic.write_atomically(tmp_path / "pipe", "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    with pytest.raises(CourseError, match="could not write .*far .*directory"):
        atomic.write_atomically(tmp_path / "far", "text")


@pytest.mark.skipif(os.name != "posix", reason="Windows has other links")
def test_what_is_behind_a_link_in_a_folder_stays_as_it_is(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").write_text("theirs")
    (tmp_path / "ours").mkdir()
    for name, target in (("file", "theirs/file"), ("new", "theirs/new"), ("folder", "theirs")):
        (tmp_path / "ours" / name).symlink_to(tmp_path / target)
    for name in ("file", "new"):
        with pytest.raises(CourseError, match="expected no link at .*ours/.*theirs/"):
            atomic.write_atomically(tmp_path / "ours" / name, "ours")
    with pytest.raises(CourseError, match="expected no link at .*ours/folder, found"):
        atomic.below(tmp_path / "ours", "folder", "file")
    (tmp_path / "ours" / "out.part").symlink_to(tmp_path / "theirs" / "file")
    with (
        pytest.raises(CourseError, match=r"expected no link at .*out\.part"),
        atomic.grow_atomically(tmp_path / "ours" / "out"),
    ):
        pass
    assert os.listdir(tmp_path / "theirs") == ["file"]
    assert (tmp_path / "theirs" / "file").read_text() == "theirs"
    (tmp_path / "way").symlink_to(tmp_path / "theirs")  # how one gets to the folder is one's own
    assert atomic.below(tmp_path / "way", "other") == tmp_path / "way" / "other"


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


HOLD = """
import sys
from pathlib import Path
from course_lib.atomic import locked
with locked(Path(sys.argv[1]), "taken"):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds a lock until its standard input is closed."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"locked" + os.linesep.encode()
        yield process


def test_only_one_process_holds_a_lock_and_the_other_may_wait(other, tmp_path):
    lock, told = tmp_path / ".lock", []
    with (
        pytest.raises(CourseError, match=r"^taken, or delete .*\.lock if none does$"),
        atomic.locked(lock, "taken"),
    ):
        pass

    def wait(busy):
        told.append(busy)
        other.stdin.close()

    with (
        atomic.locked(lock, "taken", wait=wait),
        pytest.raises(CourseError, match="^mine, or delete"),
        atomic.locked(lock, "mine"),
    ):
        pass
    assert told == ["taken"] and os.listdir(tmp_path) == []


def test_a_lock_ends_with_its_process_even_if_that_is_killed(other, tmp_path):
    other.kill()
    other.wait()
    with atomic.locked(tmp_path / ".lock", "taken"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows has other links")
def test_a_lock_is_no_link_and_empties_nothing(tmp_path):
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / ".lock").symlink_to(tmp_path / "theirs")
    with (
        pytest.raises(CourseError, match="expected no link"),
        atomic.locked(tmp_path / ".lock", ""),
    ):
        pass
    assert (tmp_path / "theirs").read_text() == "theirs"


@pytest.mark.skipif(os.name == "nt", reason="Windows locks otherwise")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_where_there_are_no_locks_nothing_is_locked_nor_left(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with atomic.locked(tmp_path / ".lock", "taken"), atomic.locked(tmp_path / ".lock", "taken"):
        pass
    assert os.listdir(tmp_path) == []


def test_with_the_filelock_of_colab_nothing_is_locked_where_there_are_no_locks(
    tmp_path, monkeypatch
):
    class FileLock3:
        def __init__(self, file, *, mode):
            """Version 3.20 knows no other options."""

        def acquire(self, timeout):
            raise NotImplementedError("FileSystem does not appear to support flock")

        def release(self):
            """There is nothing to release."""

    monkeypatch.setattr("filelock.FileLock", FileLock3)
    with atomic.locked(tmp_path / ".lock", "taken"):
        pass


def test_a_lock_that_cannot_be_made_leaves_its_cause_to_the_caller(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"), atomic.locked(tmp_path / "file" / ".lock", "taken"):
        pass


def test_a_junction_of_windows_is_a_link(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(Path, "lstat", lambda path: SimpleNamespace(st_reparse_tag=0xA0000003))
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)
    monkeypatch.setattr(os, "readlink", lambda path: "elsewhere")
    with pytest.raises(CourseError, match="expected no link at .*folder, found one to elsewhere"):
        atomic.below(tmp_path, "folder")
