"""A headless Chromium for the tests that need one.

Without it they are skipped on a learner's machine, which says so, and fail where CI is set.
With COURSE_SCREENSHOTS=FOLDER each page that a test opened is left there as a picture. Without it
none is taken: no test looks at them, and a busy Chromium sometimes can't take one.
"""

import os
import re
from pathlib import Path

import pytest

from tests.browser.lab import start_lab, wait_until_open
from tests.conftest import missing
from tools.chromium import PATIENCE
from tools.npm_package import NoPackage, npm_package

AXE = "4.11.2"
# What Lab and nbconvert log without a network, or when a kernel is stopped: nothing that we cause.
# From a disk, a page may read no file: axe-core reads style sheets, the site's search excerpts.
HARMLESS = (
    "Failed to load resource",
    "net::ERR",
    "require is not",
    "debugger state",
    "Canceled future for",
    "Cannot send",
    "from origin 'null' has been blocked by CORS policy",
)


def pytest_itemcollected(item):
    """Each file in one process, which keeps its browser and its JupyterLab for the next file."""
    item.add_marker(pytest.mark.xdist_group(f"browser-{item.path.stem}"))
    item.add_marker(pytest.mark.slow)
    item.add_marker(pytest.mark.unmeasured)


@pytest.fixture(scope="session")
def take_screenshot():
    """A function of a page and a name, which does nothing unless COURSE_SCREENSHOTS is set."""
    folder = os.environ.get("COURSE_SCREENSHOTS")

    def take(page, name):
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png")  # makes the folder

    return take


@pytest.fixture
def open_page(browser, request, take_screenshot):
    """Open an address without a network; afterwards: no error was logged."""
    pages, errors = [], []

    def open_(address, *, width=1000, dark=False, network=False, wait="load"):
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        page.set_default_timeout(PATIENCE)
        if not network:
            page.context.set_offline(True)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        pages.append(page)
        page.goto(str(address), wait_until=wait)
        return page

    yield open_
    for number, page in enumerate(pages):
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        take_screenshot(page, f"{name}-{number}")
        page.context.close()
    assert not [error for error in errors if not any(noise in error for noise in HARMLESS)]


@pytest.fixture
def open_explorer(open_page, tmp_path):
    """Save an explorer as a page, open it, and wait until it is drawn."""

    def open_(explorer, **options):
        path = tmp_path / f"explorer{len(list(tmp_path.glob('*.html')))}.html"
        explorer.save_html(path)
        page = open_page(path.as_uri(), **options)
        page.wait_for_selector(".ae[data-state]", state="attached")
        return page

    return open_


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, installed with npm into a cache, once."""
    try:
        package = npm_package("axe-core", AXE)
    except NoPackage as error:
        missing(f"the test of accessibility needs {error}")
    return (package / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A running JupyterLab with a folder for notebooks."""
    with start_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def stop_kernels(lab):
    """Afterwards all kernels are stopped, once the pages are closed, which complain otherwise."""
    yield
    lab.end_sessions()


@pytest.fixture
def open_lab(lab, stop_kernels, open_page):  # in this order: the pages are closed first
    """Open a notebook in JupyterLab; afterwards its kernel is stopped."""

    def open_(name, *, kernel=False):
        page = open_page(lab.address(name), network=True, width=1300)
        wait_until_open(page, kernel=kernel)
        return page

    return open_
