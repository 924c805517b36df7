"""Download a file once, and keep it in the cache."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
import zlib
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path

from course_lib.atomic import below, locked, write_atomically
from course_lib.errors import CourseError
from course_lib.home import expanded
from course_lib.terminal import say

ATTEMPTS = 5  # at one address, if the connection is interrupted
PAUSE = 1.0  # seconds before the second attempt, twice as long before the third …
TIMEOUT = 30  # seconds without receiving a byte
BLOCK = 1 << 16  # bytes
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class RemoteFile:
    """Where a file is, and what somebody who had it has published about it.

    Attributes:
        addresses: tried in this order.
        sha256: of the file.
        size: in bytes.
        md5_of_start: of the first mebibyte.
    """

    addresses: tuple[str, ...]
    _: KW_ONLY
    sha256: str | None = None
    size: int | None = None
    md5_of_start: str | None = None


def cache_folder() -> Path:
    """Where downloads are kept: ``$COURSE_CACHE``, by default ``~/.cache/transformer-course``.

    Raises:
        CourseError: it would be in the home folder, and there is none.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "transformer-course"
    return expanded(os.environ.get("COURSE_CACHE") or default, "COURSE_CACHE")


def download(remote: RemoteFile, path: Path) -> Path:
    """Download a file to ``path`` from the first address that has it, unless it exists already.

    An interrupted download stays in ``path.part``, and the next call resumes it; of two processes,
    one waits for the other. ``path`` itself is always the complete file. Where no checksum is
    published, the one of the first download is kept in ``path.sha256``, and any later download must
    have the same (trust on first use).

    Returns:
        ``path``.

    Raises:
        CourseError: none of the addresses has the file.
    """
    if path.exists():
        return path
    failures = []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        busy = f"Waiting for another process that downloads to {path.parent} …"
        with locked(path.parent / ".lock", busy, wait=partial(say, error=True)):
            if path.exists():  # the other process has downloaded it
                return path
            part = below(path.parent, path.name + ".part")
            for address in remote.addresses:
                try:
                    _fetch(address, part)
                    _check(part, remote)
                    _trust_on_first_use(part, path, remote)
                    return part.replace(path)
                except (OSError, http.client.HTTPException) as error:
                    failures.append(f"{address} ({error})")
    except OSError as error:
        failures.append(f"{remote.addresses[0]} ({error})")
    raise CourseError(
        f"{path} is missing and could not be downloaded from {' or '.join(failures)}: check the "
        f"network connection, or get the file elsewhere and put it there as {path.name}",
        see="a-download-fails",
    )


def _fetch(address: str, part: Path) -> None:
    """Complete ``part`` in at most ``ATTEMPTS`` attempts.

    Raises:
        OSError: there is no connection or no such file, or every attempt was interrupted.
    """
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        try:
            return _fetch_rest(address, part)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            part.unlink(missing_ok=True)  # at least as long as the file: start again
            interruption: Exception = error
        except (ConnectionError, TimeoutError, http.client.HTTPException) as error:
            interruption = error
    raise ConnectionError(f"interrupted {ATTEMPTS} times: {interruption}")


def _fetch_rest(address: str, part: Path) -> None:
    """Append the missing bytes; if the server ignores ``Range``, start again from the first byte.

    Raises:
        ConnectionError: fewer bytes arrived than the server announced.
        OSError: it sends a web page, or announces a length that is no number.
    """
    from tqdm.auto import tqdm

    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "transformer-course", "Range": f"bytes={have}-"}
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        kind = answer.headers.get_content_type()
        if kind == "text/html":
            raise OSError("expected a file, got a web page: has it moved, or must one log in?")
        resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        length = answer.headers["Content-Length"]
        if length and not (length.isdecimal() and len(length) < 20):
            raise OSError(f"expected a number of bytes as Content-Length, got {length[:20]!r}")
        total = int(length) + have * resumed if length else None
        with (
            part.open("ab" if resumed else "wb") as file,
            tqdm(
                desc=part.stem,
                total=total,
                initial=file.tell(),
                unit="B",
                unit_scale=True,
                disable=bool(os.environ.get("COURSE_QUIET")),
            ) as bar,
        ):
            while block := answer.read(BLOCK):
                file.write(block)
                bar.update(len(block))
            if total is not None and file.tell() < total:
                reason = "" if resumed else ", and the server cannot resume"
                raise ConnectionError(f"{file.tell():,} of {total:,} bytes arrived{reason}")


def _check(part: Path, remote: RemoteFile) -> None:
    """Delete a download that is not the file.

    Raises:
        OSError: its size or its checksum is wrong, or it is a damaged ``.gz``.
    """
    try:
        size = part.stat().st_size
        if remote.size not in (None, size):
            raise OSError(f"expected {remote.size:,} bytes, got {size:,}")
        if remote.md5_of_start is not None:
            with part.open("rb") as file:
                start = hashlib.md5(file.read(MEBIBYTE), usedforsecurity=False).hexdigest()
            if start != remote.md5_of_start:
                raise OSError("expected another start: another file, or a damaged download")
        if remote.sha256 is not None:
            _expect(remote.sha256, _sha256(part), "another file, or a damaged download")
        elif part.stem.endswith((".gz", ".tgz")):
            _read_to_the_end(part)
    except OSError:
        part.unlink()
        raise


def _read_to_the_end(path: Path) -> None:
    """Refuse a ``.gz`` that is cut off or damaged, with an OSError; it has checksums of its own."""
    if path.stat().st_size == 0:  # which the library takes for an empty text
        raise OSError("expected a .gz file, got nothing")
    try:
        with gzip.open(path) as file:
            while file.read(MEBIBYTE):
                pass
    except (EOFError, zlib.error) as error:
        raise OSError(f"expected a .gz file, got a damaged one ({error})") from error


def _trust_on_first_use(part: Path, path: Path, remote: RemoteFile) -> None:
    """Keep the checksum of a file for which none is published, or compare it with the one kept.

    Raises:
        OSError: this file differs from the one that was downloaded before.
    """
    if remote.sha256 is not None:
        return
    got, note = _sha256(part), path.with_name(path.name + ".sha256")
    if note.exists():
        kept = note.read_text("utf-8").split(maxsplit=1)[0:1]
        reason = f"not the file downloaded before; if you want this one, delete {note}"
        _expect("".join(kept), got, reason)
        return
    write_atomically(note, f"{got}  {path.name}\n")  # as sha256sum -c reads it
    message = f"No checksum is published for {path.name}: this download's is kept in {note}"
    say(message, error=True)


def _expect(wanted: str, got: str, reason: str) -> None:
    if got != wanted:
        raise OSError(f"expected sha256 {wanted[:12]}…, got {got[:12]}…: {reason}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
