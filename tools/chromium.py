"""A headless browser of the Chromium family, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = """--no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync""".split()
PATIENCE = 240_000  # milliseconds: a slow machine is no error


class NoChromium(Exception):
    """What is missing, and how to get it."""


def find_chromium() -> str | None:
    """A browser of the Chromium family, or None."""
    names = (os.environ.get("COURSE_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """A running browser, closed at the end.

    Raises:
        NoChromium: there is none that starts.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise NoChromium("the package playwright: pip install -e '.[dev]'") from error
    path = find_chromium()
    with sync_playwright() as driver:
        try:
            # If none is on the path, Playwright may know where Chrome is.
            running = driver.chromium.launch(
                args=ARGUMENTS,
                timeout=PATIENCE,
                executable_path=path,
                channel=None if path else "chrome",
            )
        except Error as error:
            reason = str(error).strip().splitlines()[0]
            raise NoChromium(
                "Chromium or Chrome, found none that starts: install it, such as with apt-get "
                f"install chromium, or name one in COURSE_CHROMIUM ({reason})"
            ) from error
        yield running
        running.close()
