import ast
import importlib.metadata
import tomllib
from pathlib import Path

import pytest

from course_lib.errors import CourseError, troubleshooting
from tests.project.test_links import anchors_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def linked_anchors():
    """The file and the value of every ``see=…`` of a CourseError in the library."""
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "see=" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "CourseError":
                for keyword in node.keywords:
                    yield path.relative_to(ROOT).as_posix(), ast.literal_eval(keyword.value)


LINKED = list(linked_anchors())


@pytest.mark.parametrize("path, anchor", LINKED)
def test_a_message_links_to_a_section_that_exists(path, anchor):
    assert anchor in anchors_of(PAGE)


def test_messages_of_every_kind_link_somewhere():
    assert len({path for path, _ in LINKED}) > 6


def test_a_message_ends_with_the_address_of_its_section():
    home = PROJECT["urls"]["Repository"]
    error = CourseError("expected a, got b: do c", see="colab")
    address = f"{home}/blob/main/docs/troubleshooting.md#colab"
    assert str(error) == f"expected a, got b: do c (more: {address})"
    assert str(CourseError("expected a, got b: do c")) == "expected a, got b: do c"


def test_where_the_course_is_not_installed_the_file_is_named(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "metadata", missing)
    assert troubleshooting("colab") == "docs/troubleshooting.md#colab"
