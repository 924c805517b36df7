import gzip
import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course_lib.data import cache_folder, download
from course_lib.errors import CourseError

CONTENT = bytes(range(256)) * 2000  # half a million bytes, several blocks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def fetch(server, tmp_path, monkeypatch):
    """Download /file from the server to a folder that is not there yet."""
    monkeypatch.setattr(download, "PAUSE", 0)
    monkeypatch.setenv("COURSE_QUIET", "1")
    server.files["/file"] = CONTENT

    def fetch(addresses=(f"{server.address}/file",), sha256=SHA256, name="file", **known):
        remote = download.RemoteFile(tuple(addresses), sha256=sha256, **known)
        return download.download(remote, tmp_path / "new" / name)

    return fetch


def test_a_file_is_downloaded_once(server, fetch):
    path = fetch()
    assert path.read_bytes() == CONTENT
    assert fetch() == path
    assert len(server.asked) == 1
    assert [file.name for file in path.parent.iterdir()] == ["file"]


def test_a_file_that_exists_is_never_downloaded(server, fetch, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").write_bytes(b"my own")
    assert fetch().read_bytes() == b"my own"
    assert not server.asked


def test_progress_is_shown(fetch, monkeypatch, capsys):
    monkeypatch.delenv("COURSE_QUIET")
    fetch()
    assert "100%" in capsys.readouterr().err


def test_an_interrupted_download_resumes(server, fetch):
    server.breaks = [100_000, 200_000]
    assert fetch().read_bytes() == CONTENT
    assert server.asked == ["bytes=0-", "bytes=100000-", "bytes=300000-"]


def test_the_next_call_resumes_an_interrupted_download(server, fetch, tmp_path):
    server.breaks = [1000] * download.ATTEMPTS
    message = (
        r"file is missing and could not be downloaded .*interrupted 5 times: 5,000 of 512,000 "
    )
    with pytest.raises(CourseError, match=message + r"bytes arrived\): check the network"):
        fetch()
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["file.part"]
    assert fetch().read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=5000-"


def test_if_the_server_ignores_ranges_the_download_starts_again(server, fetch):
    server.resumes = False
    server.breaks = [100_000]
    assert fetch().read_bytes() == CONTENT
    server.breaks = [1000] * download.ATTEMPTS


def test_a_server_that_ignores_ranges_and_always_interrupts_is_an_error(server, fetch):
    server.resumes = False
    server.breaks = [1000] * download.ATTEMPTS
    with pytest.raises(
        CourseError, match="1,000 of 512,000 bytes arrived, and the server cannot res"
    ):
        fetch()


def test_a_download_of_unknown_length_is_accepted(server, fetch):
    server.announces = False
    assert fetch().read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_deleted(server, fetch, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file.part").write_bytes(CONTENT + b"!")
    assert fetch().read_bytes() == CONTENT
    assert server.asked == ["bytes=512001-", "bytes=0-"]


def test_a_file_with_another_checksum_is_deleted(server, fetch, tmp_path):
    server.files["/file"] = b"<html>moved</html>"
    with pytest.raises(CourseError, match=r"expected sha256 [0-9a-f]{12}…, got [0-9a-f]{12}…"):
        fetch()
    assert not list((tmp_path / "new").iterdir())


def test_the_second_address_is_used_if_the_first_fails(server, fetch):
    server.files["/page"] = b"<html>for sale</html>"
    addresses = [f"{server.address}/{name}" for name in ("none", "page", "file")]
    assert fetch(addresses).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"size": 511_999}, r"expected 511,999 bytes, got 512,000"),
        ({"md5_of_start": "0" * 32}, "expected another start: another file, or a damaged"),
    ],
)
def test_what_is_known_of_a_file_without_a_checksum_must_hold(fetch, tmp_path, known, message):
    with pytest.raises(CourseError, match=message):
        fetch(sha256=None, **known)
    assert not list((tmp_path / "new").iterdir())
    start = hashlib.md5(CONTENT).hexdigest()
    assert fetch(sha256=None, size=len(CONTENT), md5_of_start=start).read_bytes() == CONTENT


def test_a_web_page_is_no_file(server, fetch, tmp_path):
    server.headers["Content-Type"] = "text/html; charset=utf-8"
    with pytest.raises(CourseError, match=r"got a web page: has it moved, or must one log in\?"):
        fetch(sha256=None)
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("length", ["abc", "-1", "9" * 5000])
def test_a_length_that_is_no_number_is_refused(server, fetch, length):
    server.announces = False
    server.headers["Content-Length"] = length
    with pytest.raises(CourseError, match="expected a number of bytes as Content-Length, got '"):
        fetch()


PACKED = gzip.compress(CONTENT, mtime=0)
FLIPPED = PACKED[:-9] + bytes([PACKED[-9] ^ 1]) + PACKED[-8:]


@pytest.mark.parametrize("content", [b"", b"<html>", PACKED[:-1], PACKED[:20], FLIPPED])
def test_a_damaged_gz_is_noticed_without_checksum_and_length(server, fetch, tmp_path, content):
    server.announces = False
    server.files["/file"] = content
    with pytest.raises(CourseError, match="could not be downloaded from .*gz"):
        fetch(sha256=None, name="a.gz")
    assert not list((tmp_path / "new").iterdir())
    server.files["/file"] = PACKED
    assert fetch(sha256=None, name="a.gz").read_bytes() == PACKED


def test_without_a_published_checksum_that_of_the_first_download_holds(
    server, fetch, tmp_path, capsys
):
    fetch(sha256=None).unlink()
    note = tmp_path / "new" / "file.sha256"
    assert note.read_text() == f"{SHA256}  file\n"
    assert f"No checksum is published for file: this download's is kept in {note}" in (
        capsys.readouterr().err
    )
    server.files["/file"] = CONTENT[::-1]
    with pytest.raises(CourseError, match=f"not the file downloaded before; .* delete {note}"):
        fetch(sha256=None)
    server.files["/file"] = CONTENT
    assert fetch(sha256=None).read_bytes() == CONTENT


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_of_two_downloads_at_once_one_waits_for_the_other(server, fetch, capsys, sha256):
    pytest.importorskip("fcntl", reason="Windows has no such lock")
    server.hold = threading.Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(fetch, sha256=sha256)
        while not server.asked:
            time.sleep(0.01)
        second = pool.submit(fetch, sha256=sha256)
        while "Waiting for another process" not in capsys.readouterr().err:
            time.sleep(0.01)
        server.hold.set()
        assert first.result() == second.result()
    assert first.result().read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_a_folder_that_cannot_be_made_is_named(fetch, tmp_path):
    (tmp_path / "new").write_text("in the way")
    with pytest.raises(CourseError, match="new/file is missing and .*File exists"):
        fetch()


def test_a_folder_that_cannot_be_locked_is_named_with_the_way_out(fetch, tmp_path):
    (tmp_path / "new" / ".lock").mkdir(parents=True)
    with pytest.raises(CourseError, match=r"could not be downloaded.*\.lock.*get the file elsew"):
        fetch()


def test_if_no_address_works_the_error_names_the_path_and_the_reasons(server, fetch, tmp_path):
    dead = f"{server.address}/none"
    unreachable = "http://127.0.0.1:9/file"
    with pytest.raises(CourseError) as error:
        fetch([dead, unreachable])
    message = str(error.value)
    assert message.startswith(f"{tmp_path / 'new' / 'file'} is missing and could not be downloaded")
    assert f"{dead} (HTTP Error 404" in message and f"or {unreachable} (<urlopen" in message
    assert "put it there as file (more: " in message


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CACHE", "~/mine")
    assert cache_folder() == Path.home() / "mine"
    monkeypatch.delenv("COURSE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "transformer-course"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "transformer-course"
