"""A package from npm is fetched once, and what is missing is named."""

import json
import stat
import sys

import pytest

from tools.npm_package import NoPackage, npm_package

NPM = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--prefix") + 1])
name, version = sys.argv[-1].split("@")
with (folder / "asked").open("a") as file:
    file.write("once ")
if name == "unknown":
    sys.exit("404: no such package")
package = folder / "node_modules" / name
package.mkdir(parents=True)
(package / "package.json").write_text(json.dumps({{"version": version}}))
"""


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """An npm that needs no network."""
    if sys.platform == "win32":
        pytest.skip("the npm of this test is a script that Windows does not run")
    script = tmp_path / "bin" / "npm"
    script.parent.mkdir()
    script.write_text(NPM.format(python=sys.executable), "utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return script


def test_a_package_is_fetched_once_in_the_version_that_is_asked_for(npm):
    package = npm_package("some", "1.2.3")
    assert npm_package("some", "1.2.3") == package
    assert json.loads((package / "package.json").read_text("utf-8")) == {"version": "1.2.3"}
    assert (package.parents[1] / "asked").read_text("utf-8") == "once "


def test_what_npm_says_of_a_package_that_it_cannot_fetch_is_passed_on(npm):
    with pytest.raises(NoPackage, match="unknown, which npm could not fetch: 404: no such package"):
        npm_package("unknown", "1.0.0")


def test_without_npm_the_error_names_what_is_missing(npm):
    npm.unlink()
    with pytest.raises(NoPackage, match="npm, which fetches some, found none: install Node"):
        npm_package("some", "1.2.3")
