"""What browsers are given is made of the scripts that people read."""

import subprocess

import pytest

from course_lib.viz.web.bundles import BUNDLES
from tests.conftest import missing
from tools import bundles
from tools.bundles import ASSETS, ENTRIES, SEARCH, write_bundles, write_search
from tools.npm_package import NoPackage

# Live widgets and pages read these as they are: each is one short file.
ALONE = {f"widgets/{name}.js" for name in ("picture", "scrolling", "slider", "unanswered")}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with new bundles, and their sources."""
    folder = tmp_path_factory.mktemp("bundles")
    try:
        return folder, write_bundles(folder)
    except NoPackage as error:
        missing(f"the test of the stored bundles needs {error}")


@pytest.mark.slow  # npm, without a network, tries for a while
@pytest.mark.parametrize("name", ENTRIES)
def test_a_stored_bundle_is_what_its_scripts_give(made, name):
    new, stored = ((folder / f"{name}.js").read_text("utf-8") for folder in (made[0], BUNDLES))
    assert new == stored, f"{name}.js is not that of its scripts: run python -m tools.bundles"


@pytest.mark.slow
def test_the_stored_search_is_what_its_script_and_its_libraries_give(made, tmp_path):
    write_search(tmp_path)
    new, stored = tmp_path / "search.js", SEARCH.parents[1] / "static" / "search.js"
    assert new.read_text("utf-8") == stored.read_text("utf-8"), "run python -m tools.bundles"


def test_every_bundle_has_its_entry():
    assert {path.stem for path in BUNDLES.iterdir()} == set(ENTRIES)


@pytest.mark.slow
def test_every_script_is_in_a_bundle(made):
    scripts = {path.relative_to(ASSETS).as_posix() for path in ASSETS.rglob("*.js")}
    bundled = {name for name in made[1] if name.endswith(".js")}
    assert {name for name in scripts if not name.startswith("bundles/")} == bundled | ALONE


def test_every_script_is_short_enough_to_read():
    lengths = {
        path.name: len(path.read_text("utf-8").splitlines())
        for path in ASSETS.rglob("*.js")
        if path.parent != BUNDLES
    }
    assert {name: length for name, length in lengths.items() if length > 400} == {}


@pytest.mark.slow
def test_a_script_that_cannot_be_bundled_stops_the_command(made, tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "ENTRIES", {"none": "none.js"})
    with pytest.raises(subprocess.CalledProcessError):
        write_bundles(tmp_path)


def test_without_node_the_error_names_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "npm_package", lambda name, version: tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoPackage, match="Node, which runs esbuild, found none: install it"):
        write_bundles(tmp_path)
