"""A headless browser of the Chromium family, for tests and benchmarks."""

import os
import shutil
from contextlib import contextmanager

ARGUMENTS = """--no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync""".split()
PATIENCE = 240_000  # milliseconds: what is slow is not wrong


class NoChromium(Exception):
    """What is missing, and how to get it."""


def find_chromium():
    """A browser of the Chromium family, or None."""
    names = (os.environ.get("COURSE_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


@contextmanager
def start_chromium():
    """The running browser, closed in the end; `NoChromium` if there is none that starts."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise NoChromium("the package playwright: pip install -e '.[dev]'") from error
    path = find_chromium()
    # Without one of its own, a system may still have Chrome where Playwright looks for it.
    chosen = {"executable_path": path} if path else {"channel": "chrome"}
    with sync_playwright() as driver:
        try:
            running = driver.chromium.launch(args=ARGUMENTS, timeout=PATIENCE, **chosen)
        except Error as error:
            raise NoChromium(f"Chromium or Chrome, found none that starts: {error}") from error
        yield running
        running.close()
