"""Download a file once, and keep it in the cache."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from course_lib.errors import CourseError

ATTEMPTS = 5  # at one address, if the connection is interrupted
PAUSE = 1.0  # seconds before the second attempt, twice as long before the third …
TIMEOUT = 30  # seconds without receiving a byte


def cache_folder() -> Path:
    """Where downloads are kept: ``$COURSE_CACHE``, by default ``~/.cache/transformer-course``."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "transformer-course"
    return Path(os.environ.get("COURSE_CACHE") or default).expanduser()


def download(addresses: Sequence[str], path: Path, *, sha256: str | None = None) -> Path:
    """Download a file to ``path`` from the first address that has it, unless it exists already.

    An interrupted download stays in ``path.part``, and the next call resumes it. ``path`` itself
    is always the complete file.

    Returns:
        ``path``.

    Raises:
        CourseError: none of the addresses has the file.
    """
    if path.exists():
        return path
    part = path.with_name(path.name + ".part")
    failures = []
    for address in addresses:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _fetch(address, part)
            _check(part, sha256)
            return part.replace(path)
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"{address} ({error})")
    raise CourseError(
        f"{path} is missing and could not be downloaded from {' or '.join(failures)}: check the "
        f"network connection, or get the file elsewhere and put it there as {path.name}"
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
    """
    from tqdm.auto import tqdm

    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "transformer-course", "Range": f"bytes={have}-"}
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        length = answer.headers["Content-Length"]
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
            while block := answer.read(1 << 16):
                file.write(block)
                bar.update(len(block))
            if total is not None and file.tell() < total:
                reason = "" if resumed else ", and the server cannot resume"
                raise ConnectionError(f"{file.tell():,} of {total:,} bytes arrived{reason}")


def _check(part: Path, sha256: str | None) -> None:
    """Delete a download whose checksum is wrong.

    Raises:
        OSError: the checksum is wrong.
    """
    if sha256 is None:
        return
    with part.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != sha256:
        part.unlink()
        raise OSError(
            f"expected sha256 {sha256[:12]}…, got {got[:12]}…: another file, or a damaged download"
        )
