"""The files for contributors and users name what exists, and agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest
import setuptools
import yaml

from course_lib.checks.table import TOPICS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
HOME = PROJECT["urls"]["Repository"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
FORMS = [path for path in FORMS if path.stem != "config"]


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_is_one_that_github_accepts(path):
    form = read_yaml(path)
    assert {"name", "description", "body"} <= form.keys() <= {*form.keys(), "labels"}
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[\w-]+", each) for each in ids)
    for field in form["body"]:
        assert field["type"] in ("input", "textarea", "dropdown")
        assert field["attributes"]["label"]
        assert ("options" in field["attributes"]) == (field["type"] == "dropdown")
        # An option that looks like a number or a truth value would not be text.
        assert all(isinstance(option, str) for option in field["attributes"].get("options", []))


def test_the_form_about_lessons_lists_every_lesson():
    [lesson] = [
        f for f in read_yaml(".github/ISSUE_TEMPLATE/lesson.yml")["body"] if f["id"] == "lesson"
    ]
    numbers = [option for option in lesson["attributes"]["options"] if option.isdigit()]
    assert numbers == ["00", *TOPICS]


def test_addresses_lead_into_this_repository():
    [link] = read_yaml(".github/ISSUE_TEMPLATE/config.yml")["contact_links"]
    for url in [*PROJECT["urls"].values(), link["url"]]:
        assert url.startswith(HOME), url
        _, is_file, path = url.partition("/blob/main/")
        assert not is_file or (ROOT / path).exists(), url


def test_the_citation_is_of_this_version():
    citation = read_yaml("CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["repository-code"] == HOME
    assert citation["license"] == PROJECT["license"]
    assert [a["name"] for a in citation["authors"]] == [a["name"] for a in PROJECT["authors"]]


def test_the_changelog_tells_of_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in changelog and PROJECT["version"] in changelog
    kinds = set(re.findall(r"^### (.*)", changelog, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.fixture
def setup(monkeypatch):
    """What setup.py defines, and ``settings``: what it gives to setuptools."""
    names = {"__name__": "setup", "settings": {}}
    monkeypatch.setattr(setuptools, "setup", lambda **given: names["settings"].update(given))
    monkeypatch.chdir(ROOT)
    exec(compile((ROOT / "setup.py").read_text("utf-8"), "setup.py", "exec"), names)
    return names


def test_the_source_distribution_has_all_that_the_wheel_is_built_from(setup):
    manifest = (ROOT / "MANIFEST.in").read_text("utf-8").splitlines()
    assert {f"graft {part}" for part in setup["PARTS"]} <= set(manifest)


def test_the_readme_of_the_package_page_has_no_relative_link(setup):
    text = setup["settings"]["long_description"]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert all(link.startswith(("https://", "#")) for link in links), links
    assert f"{HOME}/raw/main/course_lib/assets/readme/attention.png" in links
    assert f"{HOME}/blob/main/CONTRIBUTING.md" in links
